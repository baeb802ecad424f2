// The blocked matrix product that GEMM and CONVOLUTION share: C = A B for each of a batch, A and B packed into panels by whoever
// knows their memory, C handed back tile by tile.
//
// A plan is immutable and says how much scratch memory a run needs; runs use the thread pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dxtensor::software::fast {

class PanelSource {
 public:
  virtual ~PanelSource() = default;
  // to[j * rows + i] = A[m + i][k + j] for i < rows, j < count.
  virtual void PackA(int64_t batch, int64_t m, int64_t rows, int64_t k, int64_t count, float* to) const = 0;
  // to[j * width + i] = B[k + j][n + i] for i < columns, zero for columns <= i < width; j < count.
  virtual void PackB(int64_t batch, int64_t n, int64_t columns, int64_t width, int64_t k, int64_t count, float* to) const = 0;
  // The panels of the columns [n, n_last), one behind the other.
  virtual void PackBlockOfB(int64_t batch, int64_t n, int64_t n_last, int64_t width, int64_t k, int64_t count, float* to) const;
  // A's own memory from (m, k) on, when k runs side by side there as floats; rows are *stride apart.
  virtual const float* DirectA(int64_t, int64_t /*m*/, int64_t /*k*/, int64_t* /*stride*/) const { return nullptr; }
  // B's own memory from (k, n) on, when `width` columns lie side by side there as floats; rows are *stride apart.
  virtual const float* DirectB(int64_t, int64_t /*n*/, int64_t /*width*/, int64_t /*k*/, int64_t* /*stride*/) const { return nullptr; }
  // The output's own memory from (m, n) on, when `columns` elements of a row lie side by side there as floats.
  virtual float* DirectC(int64_t batch, int64_t m, int64_t n, int64_t columns, int64_t* stride) const = 0;
  // Whether a sum still has to go through Store when it lies in DirectC.
  virtual bool NeedsStore() const = 0;
  // The finished sums of a tile, which it may overwrite: rows of `stride` floats.
  virtual void Store(int64_t batch, int64_t m, int64_t rows, int64_t n, int64_t columns, float* tile, int64_t stride) const = 0;
};

class PanelProduct {
 public:
  PanelProduct() = default;
  // `direct`: DirectC answers for every whole tile. `same_a`: A is one for the whole batch.
  PanelProduct(int64_t batch, int64_t m, int64_t n, int64_t k, bool direct, bool same_a);
  size_t ScratchBytes() const;
  // `prepared`: what Prepare made of A, or null.
  void Run(const PanelSource& source, uint8_t* scratch, const uint8_t* prepared = nullptr) const;
  size_t PreparedBytes() const;
  void Prepare(const PanelSource& source, uint8_t* to) const;

 private:
  int64_t SharedFloats() const;
  int64_t PartStep() const;  // of a row of a part's sums
  int64_t PartFloats() const { return parts_ > 1 ? batch_ * parts_ * m_ * PartStep() : 0; }
  void RunTask(const PanelSource& source, int64_t task, const float* shared, float* own, float* part_sums) const;
  void JoinParts(const PanelSource& source, const float* part_sums) const;

  int64_t batch_ = 0, m_ = 0, n_ = 0, k_ = 0;
  int64_t k_block_ = 0, n_block_ = 0, m_block_ = 0, n_blocks_ = 0, m_blocks_ = 0;
  int64_t rows_ = 0, width_ = 0;    // of a tile
  int64_t a_block_ = 0;             // rows of A that are multiplied by a panel of B after the other
  int64_t parts_ = 1, k_part_ = 0;  // of the depth, each with sums of its own
  int64_t grain_ = 1;
  std::vector<int64_t> n_edges_;  // where the blocks of columns begin, and n
  bool shares_a_ = false, same_a_ = false, accumulates_ = false, tries_direct_b_ = false;
};

// Room for the tile of any instruction set.
constexpr int kMostTileFloats = 12 * 32;

}  // namespace dxtensor::software::fast
