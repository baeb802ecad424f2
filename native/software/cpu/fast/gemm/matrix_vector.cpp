#include "matrix_vector.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kWork = 1 << 17;  // elements of the matrix that are worth a thread's while
constexpr int64_t kColumns = 4096;  // sums that stay in the level 1 cache
constexpr int64_t kBlock = 512;     // results that are finished at once
constexpr int64_t kMostPieces = 16, kFewTasks = 16;
constexpr int64_t kLeastRows = 64, kLeastDots = 512;    // of k in a piece
constexpr int64_t kDotRows = 4;                         // that a call takes
constexpr int64_t kMostVectors = 16;                    // more are worth packing the matrix for
constexpr int64_t kLeastLength = 64, kMostLeast = 256;  // of several vectors, by vector: shorter sums are not worth the adding of lanes
constexpr int64_t kMostSteps = 256;                     // of a sum in a vector's lanes: longer ones are rounded too often

// Result j of a vector is the sum over k of matrix(j, k) * vector(k). The vectors are the rows of A, or the only column of B.
class MatrixVectorKernel final : public Kernel {
 public:
  explicit MatrixVectorKernel(const Product& p) : p_(p), by_rows_(p.n == 1) {
    const Matrix& m = by_rows_ ? p.a : p.b;
    const Matrix& v = by_rows_ ? p.b : p.a;
    length_ = by_rows_ ? p.m : p.n;
    vectors_ = by_rows_ ? 1 : p.m;
    step_j_ = by_rows_ ? m.row : m.column;
    step_k_ = by_rows_ ? m.column : m.row;
    vector_step_ = by_rows_ ? v.row : v.column;
    out_step_ = by_rows_ ? p.out.row : p.out.column;
    c_step_ = by_rows_ ? p.c.row : p.c.column;
    dots_ = step_k_ == 1 || p.k == 1;
    copies_vector_ = v.type != DML_TENSOR_DATA_TYPE_FLOAT32 || (vector_step_ != 1 && p.k > 1);
    // Sums over parts of k where there are too few results for many threads, or they would be narrow stretches of memory. The number of
    // threads does not matter: the bits of a result are the same with each.
    const int64_t at_once = RowsAtOnce(vectors_), work = length_ * p.k * vectors_, threads = ThreadPool::Get().size();
    if (p.batch * DivideUp(length_, dots_ ? at_once : kColumns) < kFewTasks)
      pieces_ = std::clamp<int64_t>(work / kWork, 1, std::min(kMostPieces, DivideUp(p.k, dots_ ? kLeastDots : kLeastRows)));
    block_ = dots_ ? std::clamp(RoundUp(kWork / (p.k * vectors_), at_once), at_once, RoundUp(DivideUp(length_, threads), at_once))
                   : std::min(length_, kColumns);
    blocks_ = DivideUp(length_, block_);
    sums_step_ = Padded(pieces_ == 1 ? block_ : length_);
  }
  size_t ScratchBytes() const override {
    const int64_t sums = sums_step_ * vectors_ * (pieces_ == 1 ? ThreadPool::Get().size() : pieces_ * p_.batch);
    return static_cast<size_t>(sums + (copies_vector_ ? Padded(p_.k) * vectors_ * p_.batch : 0)) * sizeof(float);
  }
  void Run(const KernelArguments& a) const override {
    ThreadPool& pool = ThreadPool::Get();
    const int64_t copy_step = Padded(p_.k), piece_floats = sums_step_ * vectors_;
    auto* sums = reinterpret_cast<float*>(a.scratch);
    float* copies = sums + piece_floats * (pieces_ == 1 ? pool.size() : pieces_ * p_.batch);
    const Matrix& v = by_rows_ ? p_.b : p_.a;
    for (int64_t i = 0; copies_vector_ && i < p_.batch * vectors_; ++i)
      Table().load(v.type, reinterpret_cast<uint8_t*>(copies + i * copy_step), VectorOf(a, i / vectors_, i % vectors_), vector_step_, p_.k);
    const int64_t work = std::max<int64_t>(1, block_ * p_.k * vectors_ / pieces_);
    pool.ParallelFor(0, p_.batch * blocks_ * pieces_, std::max<int64_t>(1, kWork / work), [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t piece = i % pieces_, block = i / pieces_ % blocks_, batch = i / pieces_ / blocks_;
        const int64_t j = block * block_, n = std::min(block_, length_ - j), begin = p_.k * piece / pieces_;
        Vectors vectors{reinterpret_cast<const float*>(VectorOf(a, batch, 0)), v.row};
        if (copies_vector_) vectors = {copies + batch * vectors_ * copy_step, copy_step};
        vectors.first += begin;
        float* to = sums + (pieces_ == 1 ? slot * piece_floats : (batch * pieces_ + piece) * piece_floats + j);
        Multiply(a, batch, j, n, begin, p_.k * (piece + 1) / pieces_ - begin, vectors, to);
        if (pieces_ == 1) Finish(a, batch, j, n, to);
      }
    });
    if (pieces_ == 1) return;
    for (int64_t batch = 0; batch < p_.batch; ++batch) {
      float* total = sums + batch * pieces_ * piece_floats;
      for (int64_t piece = 1; piece < pieces_; ++piece)
        for (int64_t of_vector = 0; of_vector < piece_floats; of_vector += sums_step_)
          Table().axpy(total + of_vector, total + piece * piece_floats + of_vector, 1, length_);
      Finish(a, batch, 0, length_, total);
    }
  }

 private:
  struct Vectors {
    const float* first;
    int64_t step;
  };

  static int64_t Padded(int64_t floats) { return RoundUp(floats, kMaxWidth); }
  // Of the matrix, for some of so many vectors that are multiplied together.
  static int64_t RowsAtOnce(int64_t vectors) {
    const IsaTable& table = Table();
    return vectors == 1 ? kDotRows : table.dot_sums / (vectors == 2 ? 2 : table.most_dot_vectors);
  }
  int64_t Offset(const Matrix& x, int64_t batch) const { return batch / p_.channels * x.outer + batch % p_.channels * x.inner; }
  const uint8_t* VectorOf(const KernelArguments& a, int64_t batch, int64_t vector) const {
    const Matrix& v = by_rows_ ? p_.b : p_.a;
    return a.inputs[by_rows_ ? 1 : 0] + (Offset(v, batch) + vector * v.row) * v.bytes;
  }
  // sums[i] = those of result j + i over `count` k from `begin` on, for each vector sums_step_ further.
  void Multiply(const KernelArguments& a, int64_t batch, int64_t j, int64_t n, int64_t begin, int64_t count, const Vectors& vectors,
                float* sums) const {
    const IsaTable& table = Table();
    const Matrix& m = by_rows_ ? p_.a : p_.b;
    const float* from = reinterpret_cast<const float*>(a.inputs[by_rows_ ? 0 : 1]) + Offset(m, batch) + j * step_j_ + begin * step_k_;
    const int64_t at_once = RowsAtOnce(vectors_), most = kMostSteps * table.width;
    if (!dots_) {
      std::memset(sums, 0, static_cast<size_t>(n) * sizeof(float));
      for (int64_t k = 0; k < count; k += 4, from += 4 * step_k_)
        table.add_rows(sums, from, step_k_, vectors.first + k, static_cast<int>(std::min<int64_t>(4, count - k)), n);
      return;
    }
    if (vectors_ == 1) {
      for (int64_t k = 0; k < count; k += most)
        for (int64_t i = 0; i < n; i += at_once)
          table.dot_rows(sums + i, from + i * step_j_ + k, step_j_, vectors.first + k, static_cast<int>(std::min(at_once, n - i)),
                         std::min(most, count - k), k > 0);
      return;
    }
    DotTile t{};
    t.row_step = step_j_;
    t.vector_step = vectors.step;
    t.sums_step = sums_step_;
    for (int64_t i = 0; i < n; i += at_once) {
      t.matrix = from + i * step_j_;
      t.rows = static_cast<int>(std::min(at_once, n - i));
      // These rows stay in a near cache level for all vectors.
      for (int64_t k = 0; k < count; k += t.length, t.matrix += t.length) {
        t.length = std::min(most, count - k);
        t.adds = k > 0;
        for (int64_t v = 0; v < vectors_; v += t.count) {
          t.count = static_cast<int>(std::min<int64_t>(table.most_dot_vectors, vectors_ - v));
          t.vectors = vectors.first + v * vectors.step + k;
          t.sums = sums + v * sums_step_ + i;
          table.dot_tile(t);
        }
      }
    }
  }
  // Alpha, C, activations of each vector's sums, which are overwritten.
  void Finish(const KernelArguments& a, int64_t batch, int64_t j, int64_t n, const float* sums) const {
    const IsaTable& table = Table();
    alignas(64) float block[kBlock], added[kBlock];
    for (int64_t v = 0; v < vectors_; ++v, sums += sums_step_) {
      const int64_t added_first = Offset(p_.c, batch) + v * p_.c.row, out_first = Offset(p_.out, batch) + v * p_.out.row;
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t count = std::min(kBlock, n - i);
        table.scale_shift(block, sums + i, p_.alpha, 0, count);
        if (p_.adds_c) {
          table.load(p_.c.type, reinterpret_cast<uint8_t*>(added), a.inputs[2] + (added_first + (j + i) * c_step_) * p_.c.bytes, c_step_,
                     count);
          table.axpy(block, added, p_.beta, count);
        }
        Activate(p_.activations, block, count);
        table.store(p_.out.type, a.outputs[0] + (out_first + (j + i) * out_step_) * p_.out.bytes, reinterpret_cast<const uint8_t*>(block),
                    out_step_, count);
      }
    }
  }

  Product p_;
  bool by_rows_, dots_ = false, copies_vector_ = false;
  int64_t length_, vectors_, step_j_, step_k_, vector_step_, out_step_, c_step_;
  int64_t block_ = 0, blocks_ = 0, pieces_ = 1, sums_step_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> MakeMatrixVectorKernel(const Product& p) {
  const bool by_rows = p.n == 1;
  const Matrix& m = by_rows ? p.a : p.b;
  const int64_t length = by_rows ? p.m : p.n, vectors = by_rows ? 1 : p.m, step_j = by_rows ? m.row : m.column,
                step_k = by_rows ? m.column : m.row;
  if (m.type != DML_TENSOR_DATA_TYPE_FLOAT32 || vectors > kMostVectors) return nullptr;
  const bool lies_along_k = step_k == 1 || p.k == 1, lies_along_j = step_j == 1 || length == 1;
  if (vectors == 1) return lies_along_k || lies_along_j ? std::make_unique<MatrixVectorKernel>(p) : nullptr;
  // What is the same for a whole batch is worth packing too.
  if (step_k != 1 || p.k < std::min(kLeastLength * vectors, kMostLeast) || (p.batch > 1 && m.inner == 0)) return nullptr;
  return std::make_unique<MatrixVectorKernel>(p);
}

}  // namespace dxtensor::software::fast
