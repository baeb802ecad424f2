#include "matrix_vector.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kMaxVectors, kFewTasks, kWork, kMaxSteps, kBlock, kMaxMinLength, kMinLength: within 5 % from 1/4 to 4
// times. Speed (no workload, 1 thread, AVX-512): kMinRows, kMaxSplits: within 5 % from 1/4 to 4 times; kColumns 1.07 at 1/4, 1.09 at 1/2,
// 1.13 at 2, 1.12 at 4; kMinDots (linear 8 x 2,048 to 60, 8 x 8,192 to 40) 0.77 and 1.02 at 1/4, 1.08 and 1.13 at 4.
constexpr int64_t kWork = 1 << 17;  // elements of the matrix that are worth a thread
constexpr int64_t kColumns = 4096;  // sums that stay in the level 1 cache
constexpr int64_t kBlock = 512;     // results that get their epilogue at once
constexpr int64_t kMaxSplits = 16, kFewTasks = 16;
constexpr int64_t kMinRows = 64, kMinDots = 512;  // K of a split
constexpr int64_t kDotRows = 4;                   // of one call
constexpr int64_t kMaxVectors = 16;               // with more, packing the matrix pays; 8 gain 1.42 for a linear layer of 2048 to 1000
constexpr int64_t kMinLength = 64, kMaxMinLength = 256;  // K for several vectors, by vector: shorter sums do not pay for adding the lanes
constexpr int64_t kMaxSteps = 256;                       // additions to one lane: longer sums lose too much to rounding

// Result j of a vector is the sum over k of matrix(j, k) * vector(k). The vectors are the rows of A, or the only column of B.
class MatrixVectorKernel final : public Kernel {
 public:
  explicit MatrixVectorKernel(const GemmShape& p) : p_(p), by_rows_(p.n == 1) {
    const Matrix& m = by_rows_ ? p.a : p.b;
    const Matrix& v = by_rows_ ? p.b : p.a;
    length_ = by_rows_ ? p.m : p.n;
    vectors_ = by_rows_ ? 1 : p.m;
    stride_j_ = by_rows_ ? m.row : m.column;
    stride_k_ = by_rows_ ? m.column : m.row;
    vector_stride_ = by_rows_ ? v.row : v.column;
    out_stride_ = by_rows_ ? p.out.row : p.out.column;
    c_stride_ = by_rows_ ? p.c.row : p.c.column;
    dots_ = stride_k_ == 1 || p.k == 1;
    copies_vector_ = v.type != DML_TENSOR_DATA_TYPE_FLOAT32 || (vector_stride_ != 1 && p.k > 1);
    // Split-K where there are too few results for many threads, or their segments of memory would be short. The number of splits does not
    // depend on the number of threads: results are the same bits with any.
    const int64_t rows_at_once = RowsAtOnce(vectors_), work = length_ * p.k * vectors_, threads = ThreadPool::Get().size();
    if (p.batch * DivideUp(length_, dots_ ? rows_at_once : kColumns) < kFewTasks)
      k_splits_ = std::clamp<int64_t>(work / kWork, 1, std::min(kMaxSplits, DivideUp(p.k, dots_ ? kMinDots : kMinRows)));
    block_ =
        dots_ ? std::clamp(RoundUp(kWork / (p.k * vectors_), rows_at_once), rows_at_once, RoundUp(DivideUp(length_, threads), rows_at_once))
              : std::min(length_, kColumns);
    blocks_ = DivideUp(length_, block_);
    sums_stride_ = Padded(k_splits_ == 1 ? block_ : length_);
  }
  size_t ScratchBytes() const override {
    const int64_t sums = sums_stride_ * vectors_ * (k_splits_ == 1 ? ThreadPool::Get().size() : k_splits_ * p_.batch);
    return static_cast<size_t>(sums + (copies_vector_ ? Padded(p_.k) * vectors_ * p_.batch : 0)) * sizeof(float);
  }
  void Run(const KernelArguments& a) const override {
    ThreadPool& pool = ThreadPool::Get();
    const int64_t copy_stride = Padded(p_.k), split_floats = sums_stride_ * vectors_;
    auto* sums = reinterpret_cast<float*>(a.scratch);
    float* copies = sums + split_floats * (k_splits_ == 1 ? pool.size() : k_splits_ * p_.batch);
    const Matrix& v = by_rows_ ? p_.b : p_.a;
    for (int64_t i = 0; copies_vector_ && i < p_.batch * vectors_; ++i)
      Table().load(v.type, reinterpret_cast<uint8_t*>(copies + i * copy_stride), VectorOf(a, i / vectors_, i % vectors_), vector_stride_,
                   p_.k);
    const int64_t work = std::max<int64_t>(1, block_ * p_.k * vectors_ / k_splits_);
    pool.ParallelFor(0, p_.batch * blocks_ * k_splits_, std::max<int64_t>(1, kWork / work), [&](int64_t first, int64_t last, int slot) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t k_split = i % k_splits_, block = i / k_splits_ % blocks_, batch = i / k_splits_ / blocks_;
        const int64_t j = block * block_, n = std::min(block_, length_ - j), begin = p_.k * k_split / k_splits_;
        Vectors vectors{reinterpret_cast<const float*>(VectorOf(a, batch, 0)), v.row};
        if (copies_vector_) vectors = {copies + batch * vectors_ * copy_stride, copy_stride};
        vectors.first += begin;
        float* to = sums + (k_splits_ == 1 ? slot * split_floats : (batch * k_splits_ + k_split) * split_floats + j);
        Multiply(a, batch, j, n, begin, p_.k * (k_split + 1) / k_splits_ - begin, vectors, to);
        if (k_splits_ == 1) Finish(a, batch, j, n, to);
      }
    });
    if (k_splits_ == 1) return;
    for (int64_t batch = 0; batch < p_.batch; ++batch) {
      float* total = sums + batch * k_splits_ * split_floats;
      for (int64_t k_split = 1; k_split < k_splits_; ++k_split)
        for (int64_t of_vector = 0; of_vector < split_floats; of_vector += sums_stride_)
          Table().axpy(total + of_vector, total + k_split * split_floats + of_vector, 1, length_);
      Finish(a, batch, 0, length_, total);
    }
  }

 private:
  struct Vectors {
    const float* first;
    int64_t stride;
  };

  static int64_t Padded(int64_t floats) { return RoundUp(floats, kMaxWidth); }
  // Rows of the matrix in one micro-kernel call, for so many vectors.
  static int64_t RowsAtOnce(int64_t vectors) {
    const IsaTable& table = Table();
    return vectors == 1 ? kDotRows : table.dot_sums / (vectors == 2 ? 2 : table.max_dot_vectors);
  }
  int64_t Offset(const Matrix& x, int64_t batch) const { return batch / p_.channels * x.outer + batch % p_.channels * x.inner; }
  const uint8_t* VectorOf(const KernelArguments& a, int64_t batch, int64_t vector) const {
    const Matrix& v = by_rows_ ? p_.b : p_.a;
    return a.inputs[by_rows_ ? 1 : 0] + (Offset(v, batch) + vector * v.row) * v.bytes;
  }
  // sums[v * sums_stride_ + i] = result j + i of vector v, over `count` k from `begin` on.
  void Multiply(const KernelArguments& a, int64_t batch, int64_t j, int64_t n, int64_t begin, int64_t count, const Vectors& vectors,
                float* sums) const {
    const IsaTable& table = Table();
    const Matrix& m = by_rows_ ? p_.a : p_.b;
    const float* from = reinterpret_cast<const float*>(a.inputs[by_rows_ ? 0 : 1]) + Offset(m, batch) + j * stride_j_ + begin * stride_k_;
    const int64_t rows_at_once = RowsAtOnce(vectors_), max_length = kMaxSteps * table.width;
    if (!dots_) {
      std::memset(sums, 0, static_cast<size_t>(n) * sizeof(float));
      for (int64_t k = 0; k < count; k += 4, from += 4 * stride_k_)
        table.add_rows(sums, from, stride_k_, vectors.first + k, static_cast<int>(std::min<int64_t>(4, count - k)), n);
      return;
    }
    if (vectors_ == 1) {
      for (int64_t k = 0; k < count; k += max_length)
        for (int64_t i = 0; i < n; i += rows_at_once)
          table.dot_rows(sums + i, from + i * stride_j_ + k, stride_j_, vectors.first + k, static_cast<int>(std::min(rows_at_once, n - i)),
                         std::min(max_length, count - k), k > 0);
      return;
    }
    DotTile t{};
    t.row_stride = stride_j_;
    t.vector_stride = vectors.stride;
    t.sums_stride = sums_stride_;
    for (int64_t i = 0; i < n; i += rows_at_once) {
      t.matrix = from + i * stride_j_;
      t.rows = static_cast<int>(std::min(rows_at_once, n - i));
      // These rows stay in the cache for all vectors.
      for (int64_t k = 0; k < count; k += t.length, t.matrix += t.length) {
        t.length = std::min(max_length, count - k);
        t.adds = k > 0;
        for (int64_t v = 0; v < vectors_; v += t.count) {
          t.count = static_cast<int>(std::min<int64_t>(table.max_dot_vectors, vectors_ - v));
          t.vectors = vectors.first + v * vectors.stride + k;
          t.sums = sums + v * sums_stride_ + i;
          table.dot_tile(t);
        }
      }
    }
  }
  // The epilogue of each vector's sums: alpha, C, activations.
  void Finish(const KernelArguments& a, int64_t batch, int64_t j, int64_t n, const float* sums) const {
    const IsaTable& table = Table();
    alignas(64) float block[kBlock], c_values[kBlock];
    for (int64_t v = 0; v < vectors_; ++v, sums += sums_stride_) {
      const int64_t c_first = Offset(p_.c, batch) + v * p_.c.row, out_first = Offset(p_.out, batch) + v * p_.out.row;
      for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t count = std::min(kBlock, n - i);
        table.scale_shift(block, sums + i, p_.alpha, 0, count);
        if (p_.adds_c) {
          table.load(p_.c.type, reinterpret_cast<uint8_t*>(c_values), a.inputs[2] + (c_first + (j + i) * c_stride_) * p_.c.bytes, c_stride_,
                     count);
          table.axpy(block, c_values, p_.beta, count);
        }
        Activate(p_.activations, block, count);
        table.store(p_.out.type, a.outputs[0] + (out_first + (j + i) * out_stride_) * p_.out.bytes, reinterpret_cast<const uint8_t*>(block),
                    out_stride_, count);
      }
    }
  }

  GemmShape p_;
  bool by_rows_, dots_ = false, copies_vector_ = false;
  int64_t length_, vectors_, stride_j_, stride_k_, vector_stride_, out_stride_, c_stride_;
  int64_t block_ = 0, blocks_ = 0, k_splits_ = 1, sums_stride_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> MakeMatrixVectorKernel(const GemmShape& p) {
  const bool by_rows = p.n == 1;
  const Matrix& m = by_rows ? p.a : p.b;
  const int64_t length = by_rows ? p.m : p.n, vectors = by_rows ? 1 : p.m, stride_j = by_rows ? m.row : m.column,
                stride_k = by_rows ? m.column : m.row;
  if (m.type != DML_TENSOR_DATA_TYPE_FLOAT32 || vectors > kMaxVectors) return nullptr;
  const bool k_contiguous = stride_k == 1 || p.k == 1, j_contiguous = stride_j == 1 || length == 1;
  if (vectors == 1) return k_contiguous || j_contiguous ? std::make_unique<MatrixVectorKernel>(p) : nullptr;
  // A matrix that a batch shares is worth packing.
  if (stride_k != 1 || p.k < std::min(kMinLength * vectors, kMaxMinLength) || (p.batch > 1 && m.inner == 0)) return nullptr;
  return std::make_unique<MatrixVectorKernel>(p);
}

}  // namespace dxtensor::software::fast
