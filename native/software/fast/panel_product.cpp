#include "panel_product.h"

#include <algorithm>
#include <cstring>

#include "isa_table.h"
#include "thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kDepth = 384;       // of a block of panels: one of B stays in the first cache level, a block in the second
constexpr int64_t kColumns = 256;     // of a block of B
constexpr int64_t kRowsOfOwnA = 192;  // of a block of A that one task packs for itself
constexpr double kTaskWork = 3e6;     // multiply-adds that are worth a task of their own

int64_t Divide(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t a, int64_t b) { return Divide(a, b) * b; }

}  // namespace

PanelProduct::PanelProduct(int64_t batch, int64_t m, int64_t n, int64_t k, bool direct, bool same_a)
    : batch_(batch), m_(m), n_(n), k_(k), rows_(Table().tile_rows), width_(Table().tile_columns), same_a_(same_a) {
  k_block_ = RoundUp(Divide(k, Divide(k, kDepth)), 8);
  n_block_ = std::min(kColumns, RoundUp(n, width_));
  m_block_ = m;
  const double work = static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t threads = ThreadPool::Get().size();
  int64_t wanted = 1;
  if (threads > 1) wanted = std::clamp(static_cast<int64_t>(work / kTaskWork), int64_t{1}, threads * 6);
  // Tasks: the batch, then narrower blocks of B, then rows of A; the last repeats the packing of B.
  if (batch < wanted) {
    int64_t per_product = Divide(wanted, batch);
    const int64_t narrowest = std::min(n_block_, 2 * width_);
    n_block_ = std::clamp(RoundUp(Divide(n, per_product), width_), narrowest, n_block_);
    per_product = Divide(per_product, Divide(n, n_block_));
    if (per_product > 1) m_block_ = std::clamp(RoundUp(Divide(m, per_product), rows_), std::min(m, 4 * rows_), m);
  }
  n_blocks_ = Divide(n, n_block_);
  shares_a_ = n_blocks_ > 1 || (same_a && batch > 1);
  if (!shares_a_) m_block_ = std::min(m_block_, kRowsOfOwnA);
  accumulates_ = !direct && k > k_block_;
  if (accumulates_) m_block_ = std::min(m_block_, 2 * kRowsOfOwnA);
  m_blocks_ = Divide(m, m_block_);
  const int64_t tasks = batch * n_blocks_ * m_blocks_;
  grain_ = std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(tasks) * kTaskWork / 3 / std::max(work, 1.0)), 1, tasks);
  tries_direct_b_ = m <= 2 * rows_;
}

size_t PanelProduct::ScratchBytes() const {
  if (batch_ == 0) return 0;
  const int64_t own =
      k_block_ * n_block_ + (shares_a_ ? 0 : RoundUp(m_block_ * k_block_, 16)) + (accumulates_ ? RoundUp(m_block_, rows_) * n_block_ : 0);
  const int64_t shared = shares_a_ ? RoundUp((same_a_ ? 1 : batch_) * m_ * k_, 16) : 0;
  return static_cast<size_t>(shared + own * ThreadPool::Get().size()) * sizeof(float);
}

void PanelProduct::Run(const PanelSource& source, uint8_t* scratch) const {
  ThreadPool& pool = ThreadPool::Get();
  float* shared = reinterpret_cast<float*>(scratch);
  const int64_t shared_floats = shares_a_ ? RoundUp((same_a_ ? 1 : batch_) * m_ * k_, 16) : 0;
  const int64_t own_floats = (static_cast<int64_t>(ScratchBytes() / sizeof(float)) - shared_floats) / pool.size();
  if (shares_a_) {
    const int64_t panels = Divide(m_, rows_), total = (same_a_ ? 1 : batch_) * panels;
    pool.ParallelFor(0, total, std::max<int64_t>(1, 40000 / (rows_ * k_)), [&](int64_t first, int64_t last, int) {
      for (int64_t p = first; p < last; ++p) {
        const int64_t batch = p / panels, m = p % panels * rows_, rows = std::min(rows_, m_ - m);
        for (int64_t k = 0; k < k_; k += k_block_) {
          const int64_t count = std::min(k_block_, k_ - k);
          source.PackA(batch, m, rows, k, count, shared + (batch * k_ + k) * m_ + m * count);
        }
      }
    });
  }
  pool.ParallelFor(0, batch_ * n_blocks_ * m_blocks_, grain_, [&](int64_t first, int64_t last, int slot) {
    for (int64_t task = first; task < last; ++task) RunTask(source, task, shared, shared + shared_floats + slot * own_floats);
  });
}

void PanelProduct::RunTask(const PanelSource& source, int64_t task, float* shared, float* own) const {
  const IsaTable& table = Table();
  const int64_t batch = task / (n_blocks_ * m_blocks_), within = task % (n_blocks_ * m_blocks_);
  const int64_t m_first = within / n_blocks_ * m_block_, m_last = std::min(m_, m_first + m_block_);
  const int64_t n_first = within % n_blocks_ * n_block_, n_last = std::min(n_, n_first + n_block_);
  const bool needs_store = source.NeedsStore();
  float* b_block = own;
  float* own_a = own + k_block_ * n_block_;
  float* sums = own_a + (shares_a_ ? 0 : RoundUp(m_block_ * k_block_, 16));
  const int64_t columns_of_block = RoundUp(n_last - n_first, width_);
  alignas(64) float local[kMostTileFloats];

  for (int64_t k = 0; k < k_; k += k_block_) {
    const int64_t count = std::min(k_block_, k_ - k);
    const bool first = k == 0, last = k + count == k_;
    const float* a_block;  // of all rows when it is shared
    if (shares_a_) {
      a_block = shared + ((same_a_ ? 0 : batch) * k_ + k) * m_ + m_first * count;
    } else {
      for (int64_t m = m_first; m < m_last; m += rows_)
        source.PackA(batch, m, std::min(rows_, m_last - m), k, count, own_a + (m - m_first) * count);
      a_block = own_a;
    }
    // A block that is used by few rows is better read where it lies.
    int64_t direct_stride = 0;
    const float* direct_b = tries_direct_b_ ? source.DirectB(batch, n_first, width_, k, &direct_stride) : nullptr;
    for (int64_t n = n_first; n < n_last; n += width_)
      if (!direct_b || n + width_ > n_last)
        source.PackB(batch, n, std::min(width_, n_last - n), width_, k, count, b_block + (n - n_first) * count);

    for (int64_t m = m_first; m < m_last; m += rows_) {
      const int64_t rows = std::min(rows_, m_last - m);
      const float* a = a_block + (m - m_first) * count;
      const GemmTile multiply = table.tiles[rows - 1];
      for (int64_t n = n_first; n < n_last; n += width_) {
        const int64_t columns = std::min(width_, n_last - n);
        const bool reads_direct = direct_b && columns == width_;
        const float* b = reads_direct ? direct_b + (n - n_first) : b_block + (n - n_first) * count;
        const int64_t b_stride = reads_direct ? direct_stride : width_;
        int64_t stride = width_;
        float* c = source.DirectC(batch, m, n, columns, &stride);
        if (c && columns == width_) {
          multiply(count, a, b, b_stride, c, stride, !first);
          if (last && needs_store) source.Store(batch, m, rows, n, columns, c, stride);
          continue;
        }
        float* tile = accumulates_ ? sums + (m - m_first) * columns_of_block + (n - n_first) * rows : local;
        if (c && !first && !accumulates_)
          for (int64_t r = 0; r < rows; ++r) std::memcpy(tile + r * width_, c + r * stride, static_cast<size_t>(columns) * sizeof(float));
        multiply(count, a, b, b_stride, tile, width_, !first);
        if (last) source.Store(batch, m, rows, n, columns, tile, width_);
        else if (!accumulates_)
          for (int64_t r = 0; r < rows; ++r) std::memcpy(c + r * stride, tile + r * width_, static_cast<size_t>(columns) * sizeof(float));
      }
    }
  }
}

}  // namespace dxtensor::software::fast
