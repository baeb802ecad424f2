// The blocked GEMM that GEMM and CONVOLUTION share: C = A B for each matrix of a batch. A PanelSource packs A and B into panels and stores
// C tile by tile.
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
  // The panels of the columns [n, n_last), consecutively.
  virtual void PackBlockOfB(int64_t batch, int64_t n, int64_t n_last, int64_t width, int64_t k, int64_t count, float* to) const;
  // A's own memory from (m, k) on, where it is float32 and K-contiguous; rows are *stride apart. Null: it has to be packed.
  virtual const float* DirectA(int64_t, int64_t /*m*/, int64_t /*k*/, int64_t* /*stride*/) const { return nullptr; }
  // B's own memory from (k, n) on, where `width` columns are contiguous float32; rows are *stride apart.
  virtual const float* DirectB(int64_t, int64_t /*n*/, int64_t /*width*/, int64_t /*k*/, int64_t* /*stride*/) const { return nullptr; }
  // The output's own memory from (m, n) on, where `columns` elements of a row are contiguous float32.
  virtual float* DirectC(int64_t batch, int64_t m, int64_t n, int64_t columns, int64_t* stride) const = 0;
  // Whether there is an epilogue: sums in DirectC then go through Store as well.
  virtual bool NeedsStore() const = 0;
  // Applies the epilogue to a finished tile, which it may overwrite, and stores it; rows are `stride` floats apart.
  virtual void Store(int64_t batch, int64_t m, int64_t rows, int64_t n, int64_t columns, float* tile, int64_t stride) const = 0;
};

class PanelGemm {
 public:
  PanelGemm() = default;
  // `direct`: DirectC is not null for complete tiles. `same_a`: the batch shares A.
  PanelGemm(int64_t batch, int64_t m, int64_t n, int64_t k, bool direct, bool same_a);
  size_t ScratchBytes() const;
  // `prepacked`: what Prepack made of A, or null.
  void Run(const PanelSource& source, uint8_t* scratch, const uint8_t* prepacked = nullptr) const;
  size_t PrepackedBytes() const;
  void Prepack(const PanelSource& source, uint8_t* to) const;

 private:
  int64_t SharedFloats() const;
  int64_t SplitStride() const;  // between rows of a split's sums
  int64_t SplitFloats() const { return k_splits_ > 1 ? batch_ * k_splits_ * m_ * SplitStride() : 0; }
  void RunTask(const PanelSource& source, int64_t task, const float* shared, float* own, float* split_sums) const;
  void ReduceSplitK(const PanelSource& source, const float* split_sums) const;

  int64_t batch_ = 0, m_ = 0, n_ = 0, k_ = 0;
  int64_t k_block_ = 0, n_block_ = 0, m_block_ = 0, n_blocks_ = 0, m_blocks_ = 0;
  int64_t rows_ = 0, width_ = 0;              // of a tile
  int64_t a_block_ = 0;                       // rows of A that a panel of B is multiplied by
  int64_t k_splits_ = 1, k_split_depth_ = 0;  // of K, each with its own sums
  int64_t grain_ = 1;
  std::vector<int64_t> n_edges_;  // first columns of the blocks, and n
  bool shares_a_ = false, same_a_ = false, accumulates_ = false, tries_direct_b_ = false;
};

// Floats of the largest tile of any instruction set.
constexpr int kMaxTileFloats = 12 * 32;

}  // namespace dxtensor::software::fast
