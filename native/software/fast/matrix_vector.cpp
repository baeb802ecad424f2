#include "matrix_vector.h"

#include <algorithm>
#include <cstring>

#include "isa_table.h"
#include "round.h"
#include "thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kWork = 1 << 17;  // elements of the matrix that are worth a thread's while
constexpr int64_t kColumns = 4096;  // sums that stay in the level 1 cache
constexpr int64_t kBlock = 512;     // results that are finished at once
constexpr int64_t kMostPieces = 16;

// Result j is the sum over k of matrix(j, k) * vector(k).
class MatrixVectorKernel final : public Kernel {
 public:
  explicit MatrixVectorKernel(const Product& p) : p_(p), by_rows_(p.n == 1) {
    const Matrix& m = by_rows_ ? p.a : p.b;
    const Matrix& v = by_rows_ ? p.b : p.a;
    length_ = by_rows_ ? p.m : p.n;
    step_j_ = by_rows_ ? m.row : m.column;
    step_k_ = by_rows_ ? m.column : m.row;
    vector_step_ = by_rows_ ? v.row : v.column;
    out_step_ = by_rows_ ? p.out.row : p.out.column;
    c_step_ = by_rows_ ? p.c.row : p.c.column;
    dots_ = step_k_ == 1 || p.k == 1;
    copies_vector_ = v.type != DML_TENSOR_DATA_TYPE_FLOAT32 || (vector_step_ != 1 && p.k > 1);
    // Sums over parts of k where there are too few results for all threads, or they would be narrow stretches of memory.
    const int64_t threads = ThreadPool::Get().size(), tasks = p.batch * (dots_ ? DivideUp(length_, 4) : DivideUp(length_, kColumns));
    if (threads > 1 && tasks < threads * 4 && length_ * p.k >= 2 * kWork)
      pieces_ = std::clamp<int64_t>(std::min(threads * 4, length_ * p.k / kWork), 1, std::min(kMostPieces, DivideUp(p.k, 64)));
    block_ = dots_ ? std::clamp<int64_t>(kWork / p.k / 4 * 4, 4, std::max<int64_t>(4, DivideUp(DivideUp(length_, threads), 4) * 4))
                   : std::min(length_, kColumns);
    blocks_ = DivideUp(length_, block_);
  }
  size_t ScratchBytes() const override {
    return static_cast<size_t>(Padded(length_) * pieces_ * p_.batch + (copies_vector_ ? Padded(p_.k) * p_.batch : 0)) * sizeof(float);
  }
  void Run(const KernelArguments& a) const override {
    ThreadPool& pool = ThreadPool::Get();
    auto* sums = reinterpret_cast<float*>(a.scratch);
    float* vectors = sums + Padded(length_) * pieces_ * p_.batch;
    const Matrix& v = by_rows_ ? p_.b : p_.a;
    if (copies_vector_)
      for (int64_t batch = 0; batch < p_.batch; ++batch)
        Table().load(v.type, reinterpret_cast<uint8_t*>(vectors + batch * Padded(p_.k)), Vector(a, batch), vector_step_, p_.k);
    const int64_t work = std::max<int64_t>(1, block_ * p_.k / pieces_);
    pool.ParallelFor(0, p_.batch * blocks_ * pieces_, std::max<int64_t>(1, kWork / work), [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t piece = i % pieces_, block = i / pieces_ % blocks_, batch = i / pieces_ / blocks_;
        const float* vector = copies_vector_ ? vectors + batch * Padded(p_.k) : reinterpret_cast<const float*>(Vector(a, batch));
        const int64_t j = block * block_, n = std::min(block_, length_ - j);
        float* to = sums + (batch * pieces_ + piece) * Padded(length_) + j;
        Multiply(a, batch, j, n, p_.k * piece / pieces_, p_.k * (piece + 1) / pieces_, vector, to);
        if (pieces_ == 1) Finish(a, batch, j, n, to);
      }
    });
    if (pieces_ == 1) return;
    for (int64_t batch = 0; batch < p_.batch; ++batch) {
      float* total = sums + batch * pieces_ * Padded(length_);
      for (int64_t piece = 1; piece < pieces_; ++piece) Table().axpy(total, total + piece * Padded(length_), 1, length_);
      Finish(a, batch, 0, length_, total);
    }
  }

 private:
  static int64_t Padded(int64_t floats) { return DivideUp(floats, kMaxWidth) * kMaxWidth; }
  int64_t Offset(const Matrix& x, int64_t batch) const { return batch / p_.channels * x.outer + batch % p_.channels * x.inner; }
  const uint8_t* Vector(const KernelArguments& a, int64_t batch) const {
    const Matrix& v = by_rows_ ? p_.b : p_.a;
    return a.inputs[by_rows_ ? 1 : 0] + Offset(v, batch) * v.bytes;
  }
  // sums[i] = those of result j + i over k from first to last.
  void Multiply(const KernelArguments& a, int64_t batch, int64_t j, int64_t n, int64_t first, int64_t last, const float* vector,
                float* sums) const {
    const IsaTable& table = Table();
    const Matrix& m = by_rows_ ? p_.a : p_.b;
    const float* from = reinterpret_cast<const float*>(a.inputs[by_rows_ ? 0 : 1]) + Offset(m, batch) + j * step_j_ + first * step_k_;
    if (dots_) {
      for (int64_t i = 0; i < n; i += 4)
        table.dot_rows(sums + i, from + i * step_j_, step_j_, vector + first, static_cast<int>(std::min<int64_t>(4, n - i)), last - first);
      return;
    }
    std::memset(sums, 0, static_cast<size_t>(n) * sizeof(float));
    for (int64_t k = first; k < last; k += 4, from += 4 * step_k_)
      table.add_rows(sums, from, step_k_, vector + k, static_cast<int>(std::min<int64_t>(4, last - k)), n);
  }
  // Alpha, C, activations; the sums are overwritten.
  void Finish(const KernelArguments& a, int64_t batch, int64_t j, int64_t n, const float* sums) const {
    const IsaTable& table = Table();
    alignas(64) float block[kBlock], added[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = std::min(kBlock, n - i);
      table.scale_shift(block, sums + i, p_.alpha, 0, count);
      if (p_.adds_c) {
        table.load(p_.c.type, reinterpret_cast<uint8_t*>(added), a.inputs[2] + (Offset(p_.c, batch) + (j + i) * c_step_) * p_.c.bytes,
                   c_step_, count);
        table.axpy(block, added, p_.beta, count);
      }
      Activate(p_.activations, block, count);
      table.store(p_.out.type, a.outputs[0] + (Offset(p_.out, batch) + (j + i) * out_step_) * p_.out.bytes,
                  reinterpret_cast<const uint8_t*>(block), out_step_, count);
    }
  }

  Product p_;
  bool by_rows_, dots_ = false, copies_vector_ = false;
  int64_t length_, step_j_, step_k_, vector_step_, out_step_, c_step_;
  int64_t block_ = 0, blocks_ = 0, pieces_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> MakeMatrixVectorKernel(const Product& p) {
  if (p.m != 1 && p.n != 1) return nullptr;
  const bool by_rows = p.n == 1;
  const Matrix& m = by_rows ? p.a : p.b;
  const int64_t length = by_rows ? p.m : p.n, step_j = by_rows ? m.row : m.column, step_k = by_rows ? m.column : m.row;
  if (m.type != DML_TENSOR_DATA_TYPE_FLOAT32) return nullptr;
  if (!(step_k == 1 || p.k == 1) && !(step_j == 1 || length == 1)) return nullptr;
  return std::make_unique<MatrixVectorKernel>(p);
}

}  // namespace dxtensor::software::fast
