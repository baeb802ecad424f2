#include "panel_gemm.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/abandon.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kDepth, kPanelOfB, kRowsAtOnce, kColumns, kFewRows, kSharing, kTaskWork, kSmallB, kNarrow, kMinColumns:
// within 5 % from 1/4 to 4 times; kMaxSums 0.91 at 1/4.
constexpr int64_t kDepth = 384;                           // K of a block: a block of B stays in the level 2 cache
constexpr int64_t kColumns = 256;                         // of a block of B
constexpr int64_t kPanelOfB = 1 << 13, kRowsAtOnce = 96;  // floats; rows of A
constexpr int64_t kSharing = 3;                           // blocks of B from which on A is packed once for all of them
constexpr int64_t kMinRows = 96, kMinColumns = 64;        // of a thread's part
constexpr int64_t kMaxSums = 384 * 256;                   // accumulators of a task
constexpr int64_t kNarrow = 2,
                  kFewRows = 8;          // tiles, and rows of a tile, up to which A is not packed: 1.35 for attention scores 64 x 32 x 64
constexpr int64_t kSmallB = 1 << 13;     // floats of B, up to which it is not packed: 1.49 for a weight gradient 512 x 64 x 10
constexpr double kTaskWork = 1e6;        // multiply-adds that are worth a task of their own
constexpr int64_t kSplitKDepth = 4;      // K by M + N, from which on K is split
constexpr int64_t kSplitsPerThread = 4;  // so that a delayed thread leaves some to others
constexpr int64_t kMaxSplitSums = 1 << 20;  // floats

}  // namespace

void PanelSource::PackBlockOfB(int64_t batch, int64_t n, int64_t n_last, int64_t width, int64_t k, int64_t count, float* to) const {
  for (; n < n_last; n += width, to += width * count) PackB(batch, n, std::min(width, n_last - n), width, k, count, to);
}

PanelGemm::PanelGemm(int64_t batch, int64_t m, int64_t n, int64_t k, bool direct, bool same_a)
    : batch_(batch), m_(m), n_(n), k_(k), rows_(Table().tile_rows), width_(Table().tile_columns), same_a_(same_a) {
  k_block_ = RoundUp(DivideUp(k, DivideUp(k, kDepth)), 8);
  rows_ = DivideUp(m, DivideUp(m, rows_));  // panels of nearly equal height: a low one at the end would be slow
  // A panel of B stays in the level 1 cache while panels of A stream; where it is too large, a panel of A stays while those of B stream.
  a_block_ = k_block_ * width_ <= kPanelOfB ? RoundUp(std::min(kRowsAtOnce, m), rows_) : rows_;
  const double work = static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t threads = ThreadPool::Get().size();
  const auto wanted = threads > 1 ? std::clamp(static_cast<int64_t>(work / kTaskWork), int64_t{1}, threads) : 1;
  // Split-K where K is much larger than M + N: nothing is packed twice then.
  if (wanted > 1 && batch < wanted && k >= kSplitKDepth * (m + n)) {
    const int64_t blocks = DivideUp(k, k_block_);
    k_splits_ = std::min({blocks, DivideUp(wanted * kSplitsPerThread, batch), kMaxSplitSums / (batch * m * SplitStride())});
    k_splits_ = k_splits_ < DivideUp(wanted, batch) ? 1 : DivideUp(blocks, DivideUp(blocks, k_splits_));
    k_split_depth_ = DivideUp(blocks, k_splits_) * k_block_;
  }
  // Parts for the threads, as square as possible, rows before columns. Each thread packs its own panels: fetching them from another core's
  // cache costs more.
  int64_t m_parts = 1, n_parts = 1;
  while (batch * k_splits_ * m_parts * n_parts < wanted) {
    const bool splits_m = m >= 2 * m_parts * kMinRows && (m * n_parts >= n * m_parts || n < 2 * n_parts * kMinColumns);
    if (splits_m) ++m_parts;
    else if (n >= 2 * n_parts * kMinColumns) ++n_parts;
    else break;
  }
  m_block_ = m_parts > 1 ? RoundUp(DivideUp(m, m_parts), rows_) : m;
  // A part has several blocks, so that a delayed thread leaves some to others.
  const int64_t part = RoundUp(DivideUp(n, n_parts), width_);
  n_block_ = RoundUp(DivideUp(part, DivideUp(part, kColumns)), width_);
  for (int64_t from = 0; from < n; from += part) {
    const int64_t end = std::min(n, from + part);
    for (int64_t at = from; at < end; at += n_block_) n_edges_.push_back(at);
  }
  n_blocks_ = static_cast<int64_t>(n_edges_.size());
  n_edges_.push_back(n);
  shares_a_ = (Table().tile_rows < kFewRows ? DivideUp(n, n_block_) : n_blocks_) >= kSharing || (same_a && batch > 1);
  accumulates_ = !direct && k > k_block_ && k_splits_ == 1;
  if (accumulates_) m_block_ = std::min(m_block_, RoundUp(kMaxSums / n_block_, rows_));
  m_blocks_ = DivideUp(m, m_block_);
  const int64_t tasks = batch * k_splits_ * n_blocks_ * m_blocks_;
  grain_ = std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(tasks) * kTaskWork / std::max(work, 1.0)), 1, tasks);
  tries_direct_b_ = m <= 2 * rows_ || k * n <= kSmallB;
}

size_t PanelGemm::ScratchBytes() const {
  if (batch_ == 0) return 0;
  const int64_t own =
      k_block_ * n_block_ + (shares_a_ ? 0 : RoundUp(a_block_ * k_block_, 16)) + (accumulates_ ? RoundUp(m_block_, rows_) * n_block_ : 0);
  return static_cast<size_t>((shares_a_ ? SharedFloats() : 0) + SplitFloats() + own * ThreadPool::Get().size()) * sizeof(float);
}

int64_t PanelGemm::SplitStride() const { return RoundUp(n_, width_); }

int64_t PanelGemm::SharedFloats() const { return RoundUp((same_a_ ? 1 : batch_) * m_ * k_, 16); }

size_t PanelGemm::PrepackedBytes() const { return batch_ == 0 ? 0 : static_cast<size_t>(SharedFloats()) * sizeof(float); }

void PanelGemm::Prepack(const PanelSource& source, uint8_t* to) const {
  auto* shared = reinterpret_cast<float*>(to);
  const int64_t panels = DivideUp(m_, rows_), total = (same_a_ ? 1 : batch_) * panels;
  const int64_t grain = std::clamp<int64_t>(40000 / (rows_ * k_), 1, std::max<int64_t>(1, m_block_ / rows_));
  ThreadPool::Get().ParallelFor(0, total, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t batch = p / panels, m = p % panels * rows_, rows = std::min(rows_, m_ - m);
      for (int64_t k = 0; k < k_; k += k_block_) {
        const int64_t count = std::min(k_block_, k_ - k);
        source.PackA(batch, m, rows, k, count, shared + (batch * k_ + k) * m_ + m * count);
      }
    }
  });
}

void PanelGemm::Run(const PanelSource& source, uint8_t* scratch, const uint8_t* prepacked) const {
  ThreadPool& pool = ThreadPool::Get();
  auto* floats = reinterpret_cast<float*>(scratch);
  float* split_sums = floats + (shares_a_ ? SharedFloats() : 0);
  float* own = split_sums + SplitFloats();
  const int64_t own_floats = (static_cast<int64_t>(ScratchBytes() / sizeof(float)) - (own - floats)) / pool.size();
  if (shares_a_ && !prepacked) Prepack(source, scratch);
  const float* shared = prepacked ? reinterpret_cast<const float*>(prepacked) : shares_a_ ? floats : nullptr;
  pool.ParallelFor(0, batch_ * k_splits_ * n_blocks_ * m_blocks_, grain_, [&](int64_t first, int64_t last, int slot) {
    for (int64_t task = first; task < last; ++task) RunTask(source, task, shared, own + slot * own_floats, split_sums);
  });
  if (k_splits_ > 1) ReduceSplitK(source, split_sums);
}

// Adds the sums of all splits, and stores them.
void PanelGemm::ReduceSplitK(const PanelSource& source, const float* split_sums) const {
  const int64_t panels = DivideUp(m_, rows_), tiles = DivideUp(n_, width_), step = SplitStride();
  const int64_t grain = std::max<int64_t>(1, 20000 / (k_splits_ * rows_ * width_));
  const bool needs_store = source.NeedsStore();
  ThreadPool::Get().ParallelFor(0, batch_ * panels * tiles, grain, [&](int64_t first, int64_t last, int) {
    alignas(64) float sums[kMaxTileFloats];
    for (int64_t i = first; i < last; ++i) {
      const int64_t n = i % tiles * width_, m = i / tiles % panels * rows_, batch = i / tiles / panels;
      const int64_t rows = std::min(rows_, m_ - m), columns = std::min(width_, n_ - n);
      for (int64_t r = 0; r < rows; ++r) {
        const float* of_split = split_sums + (batch * k_splits_ * m_ + m + r) * step + n;
        std::memcpy(sums + r * width_, of_split, static_cast<size_t>(width_) * sizeof(float));
        for (int64_t part = 1; part < k_splits_; ++part) Table().axpy(sums + r * width_, of_split + part * m_ * step, 1, width_);
      }
      int64_t stride = 0;
      float* c = needs_store ? nullptr : source.DirectC(batch, m, n, columns, &stride);
      if (!c) source.Store(batch, m, rows, n, columns, sums, width_);
      for (int64_t r = 0; c && r < rows; ++r) std::memcpy(c + r * stride, sums + r * width_, static_cast<size_t>(columns) * sizeof(float));
    }
  });
}

// `shared`: packed A, or null: the task packs its panels of A.
void PanelGemm::RunTask(const PanelSource& source, int64_t task, const float* shared, float* own, float* split_sums) const {
  const IsaTable& table = Table();
  const int64_t part = task / (n_blocks_ * m_blocks_), batch = part / k_splits_, within = task % (n_blocks_ * m_blocks_);
  const int64_t m_first = within / n_blocks_ * m_block_, m_last = std::min(m_, m_first + m_block_);
  const int64_t n_first = n_edges_[static_cast<size_t>(within % n_blocks_)], n_last = n_edges_[static_cast<size_t>(within % n_blocks_) + 1];
  const int64_t k_first = part % k_splits_ * k_split_depth_, k_last = k_splits_ > 1 ? std::min(k_, k_first + k_split_depth_) : k_;
  const bool needs_store = source.NeedsStore();
  float* split_c = k_splits_ > 1 ? split_sums + part * m_ * SplitStride() : nullptr;
  float* b_block = own;
  float* own_a = own + k_block_ * n_block_;
  float* sums = own_a + (shares_a_ ? 0 : RoundUp(a_block_ * k_block_, 16));
  const int64_t columns_of_block = RoundUp(n_last - n_first, width_);
  const bool narrow = columns_of_block <= kNarrow * width_ || table.tile_rows < kFewRows;
  alignas(64) float local[kMaxTileFloats];

  for (int64_t k = k_first; k < k_last && !IsAbandoned(); k += k_block_) {
    const int64_t count = std::min(k_block_, k_last - k);
    const bool first = k == k_first, last = k + count == k_last;
    const float* shared_a = shared ? shared + ((same_a_ ? 0 : batch) * k_ + k) * m_ : nullptr;
    // With small M a block of B is not packed: it is used too seldom.
    int64_t direct_stride = 0;
    const float* direct_b = tries_direct_b_ ? source.DirectB(batch, n_first, width_, k, &direct_stride) : nullptr;
    if (!direct_b) {
      source.PackBlockOfB(batch, n_first, n_last, width_, k, count, b_block);
    } else if (const int64_t rest = (n_last - n_first) % width_) {
      source.PackB(batch, n_last - rest, rest, width_, k, count, b_block + (n_last - rest - n_first) * count);
    }

    for (int64_t m_some = m_first; m_some < m_last; m_some += a_block_) {
      const int64_t m_end = std::min(m_last, m_some + a_block_);
      int64_t a_stride = 0;
      const float* direct_a = narrow && !shared ? source.DirectA(batch, m_some, k, &a_stride) : nullptr;
      if (!shared && !direct_a)
        for (int64_t m = m_some; m < m_end; m += rows_)
          source.PackA(batch, m, std::min(rows_, m_end - m), k, count, own_a + (m - m_some) * count);
      const float* packed = shared ? shared_a + m_some * count : own_a;
      // Prefetches the next panel of A during this one; where there is only one panel, a share of it with each tile.
      const bool is_single = m_end - m_some <= rows_;
      const int64_t next_step = is_single ? DivideUp(rows_ * width_, columns_of_block) : rows_;
      for (int64_t n = n_first; n < n_last; n += width_) {
        const int64_t columns = std::min(width_, n_last - n);
        const bool reads_direct = direct_b && columns == width_;
        const float* b = reads_direct ? direct_b + (n - n_first) : b_block + (n - n_first) * count;
        const int64_t b_stride = reads_direct ? direct_stride : width_;
        for (int64_t m = m_some; m < m_end; m += rows_) {
          const int64_t rows = std::min(rows_, m_end - m);
          auto multiply = [&](float* c, int64_t c_stride) {
            const float* a = direct_a ? direct_a + (m - m_some) * a_stride : packed + (m - m_some) * count;
            const float* next = a + rows * count + (is_single ? (n - n_first) / width_ * next_step * count : 0);
            if (direct_a) table.strided_tiles[rows - 1](count, a, a_stride, b, b_stride, c, c_stride, !first);
            else table.tiles[rows - 1](count, a, b, b_stride, c, c_stride, !first, next, next_step);
          };
          if (split_c) {
            multiply(split_c + m * SplitStride() + n, SplitStride());
            continue;
          }
          int64_t stride = width_;
          float* c = source.DirectC(batch, m, n, columns, &stride);
          if (c && columns == width_) {
            multiply(c, stride);
            if (last && needs_store) source.Store(batch, m, rows, n, columns, c, stride);
            continue;
          }
          float* tile = accumulates_ ? sums + (m - m_first) * columns_of_block + (n - n_first) * rows : local;
          if (c && !first && !accumulates_)
            for (int64_t r = 0; r < rows; ++r) std::memcpy(tile + r * width_, c + r * stride, static_cast<size_t>(columns) * sizeof(float));
          multiply(tile, width_);
          if (last) source.Store(batch, m, rows, n, columns, tile, width_);
          else if (!accumulates_)
            for (int64_t r = 0; r < rows; ++r) std::memcpy(c + r * stride, tile + r * width_, static_cast<size_t>(columns) * sizeof(float));
        }
      }
    }
  }
}

}  // namespace dxtensor::software::fast
