#include "panel_product.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/host/abandon.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kDepth = 384;                           // of a block of panels: a block of B stays in the second cache level
constexpr int64_t kColumns = 256;                         // of a block of B
constexpr int64_t kPanelOfB = 1 << 13, kRowsAtOnce = 96;  // floats; of A
constexpr int64_t kDividing = 2;                          // blocks of B from which on the last one is divided
constexpr int64_t kSharing = 3;                           // blocks of B from which on A is packed once for all of them
constexpr int64_t kLeastRows = 96, kLeastColumns = 64;    // of a part for a thread
constexpr int64_t kMostSums = 384 * 256;                  // that a task keeps until they are complete
constexpr int64_t kNarrow = 2, kFewRows = 8;              // tiles, and rows of a tile, up to which A is read where it lies
constexpr int64_t kSmallB = 1 << 13;                      // floats that stay in the first cache level without packing
constexpr double kTaskWork = 1e6;                         // multiply-adds that are worth a task of their own
constexpr int64_t kDeep = 4;                              // depth of a product by its rows and columns, from which on it is divided
constexpr int64_t kPartsPerThread = 4;                    // so that one that is held up leaves some to others
constexpr int64_t kMostPartSums = 1 << 20;                // floats

}  // namespace

void PanelSource::PackBlockOfB(int64_t batch, int64_t n, int64_t n_last, int64_t width, int64_t k, int64_t count, float* to) const {
  for (; n < n_last; n += width, to += width * count) PackB(batch, n, std::min(width, n_last - n), width, k, count, to);
}

PanelProduct::PanelProduct(int64_t batch, int64_t m, int64_t n, int64_t k, bool direct, bool same_a)
    : batch_(batch), m_(m), n_(n), k_(k), rows_(Table().tile_rows), width_(Table().tile_columns), same_a_(same_a) {
  k_block_ = RoundUp(DivideUp(k, DivideUp(k, kDepth)), 8);
  rows_ = DivideUp(m, DivideUp(m, rows_));  // panels of nearly one height: a low one at the end would be slow
  // Either a panel of B stays in the first cache level while some of A pass by, or, where it is too large, one of A while those of B do.
  a_block_ = k_block_ * width_ <= kPanelOfB ? RoundUp(std::min(kRowsAtOnce, m), rows_) : rows_;
  const double work = static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int64_t threads = ThreadPool::Get().size();
  const auto wanted = threads > 1 ? std::clamp(static_cast<int64_t>(work / kTaskWork), int64_t{1}, threads) : 1;
  // What is much deeper than it is high and wide is divided there: then none of it is packed twice.
  if (wanted > 1 && batch < wanted && k >= kDeep * (m + n)) {
    const int64_t blocks = DivideUp(k, k_block_);
    parts_ = std::min({blocks, DivideUp(wanted * kPartsPerThread, batch), kMostPartSums / (batch * m * PartStep())});
    parts_ = parts_ < DivideUp(wanted, batch) ? 1 : DivideUp(blocks, DivideUp(blocks, parts_));
    k_part_ = DivideUp(blocks, parts_) * k_block_;
  }
  // Parts for the threads, as square as can be, rows rather than columns. Each thread packs for itself what it needs: to fetch it
  // from another processor's cache is dearer.
  int64_t m_parts = 1, n_parts = 1;
  while (batch * parts_ * m_parts * n_parts < wanted) {
    const bool splits_m = m >= 2 * m_parts * kLeastRows && (m * n_parts >= n * m_parts || n < 2 * n_parts * kLeastColumns);
    if (splits_m) ++m_parts;
    else if (n >= 2 * n_parts * kLeastColumns) ++n_parts;
    else break;
  }
  m_block_ = m_parts > 1 ? RoundUp(DivideUp(m, m_parts), rows_) : m;
  // Blocks of a part: several, so that a thread that is held up leaves some to others; the last one in pieces, so that the threads end
  // together.
  const int64_t part = RoundUp(DivideUp(n, n_parts), width_);
  n_block_ = RoundUp(DivideUp(part, DivideUp(part, kColumns)), width_);
  for (int64_t from = 0; from < n; from += part) {
    const int64_t end = std::min(n, from + part);
    int64_t at = from;
    for (; at + n_block_ < end; at += n_block_) n_edges_.push_back(at);
    if (DivideUp(part, n_block_) >= kDividing)
      for (int64_t half; (half = RoundUp((end - at) / 2, width_)) >= kLeastColumns; at += half) n_edges_.push_back(at);
    n_edges_.push_back(at);
  }
  n_blocks_ = static_cast<int64_t>(n_edges_.size());
  n_edges_.push_back(n);
  shares_a_ = (Table().tile_rows < kFewRows ? DivideUp(n, n_block_) : n_blocks_) >= kSharing || (same_a && batch > 1);
  accumulates_ = !direct && k > k_block_ && parts_ == 1;
  if (accumulates_) m_block_ = std::min(m_block_, RoundUp(kMostSums / n_block_, rows_));
  m_blocks_ = DivideUp(m, m_block_);
  const int64_t tasks = batch * parts_ * n_blocks_ * m_blocks_;
  grain_ = std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(tasks) * kTaskWork / std::max(work, 1.0)), 1, tasks);
  tries_direct_b_ = m <= 2 * rows_ || k * n <= kSmallB;
}

size_t PanelProduct::ScratchBytes() const {
  if (batch_ == 0) return 0;
  const int64_t own =
      k_block_ * n_block_ + (shares_a_ ? 0 : RoundUp(a_block_ * k_block_, 16)) + (accumulates_ ? RoundUp(m_block_, rows_) * n_block_ : 0);
  return static_cast<size_t>((shares_a_ ? SharedFloats() : 0) + PartFloats() + own * ThreadPool::Get().size()) * sizeof(float);
}

int64_t PanelProduct::PartStep() const { return RoundUp(n_, width_); }

int64_t PanelProduct::SharedFloats() const { return RoundUp((same_a_ ? 1 : batch_) * m_ * k_, 16); }

size_t PanelProduct::PreparedBytes() const { return batch_ == 0 ? 0 : static_cast<size_t>(SharedFloats()) * sizeof(float); }

void PanelProduct::Prepare(const PanelSource& source, uint8_t* to) const {
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

void PanelProduct::Run(const PanelSource& source, uint8_t* scratch, const uint8_t* prepared) const {
  ThreadPool& pool = ThreadPool::Get();
  auto* floats = reinterpret_cast<float*>(scratch);
  float* part_sums = floats + (shares_a_ ? SharedFloats() : 0);
  float* own = part_sums + PartFloats();
  const int64_t own_floats = (static_cast<int64_t>(ScratchBytes() / sizeof(float)) - (own - floats)) / pool.size();
  if (shares_a_ && !prepared) Prepare(source, scratch);
  const float* shared = prepared ? reinterpret_cast<const float*>(prepared) : shares_a_ ? floats : nullptr;
  pool.ParallelFor(0, batch_ * parts_ * n_blocks_ * m_blocks_, grain_, [&](int64_t first, int64_t last, int slot) {
    for (int64_t task = first; task < last; ++task) RunTask(source, task, shared, own + slot * own_floats, part_sums);
  });
  if (parts_ > 1) JoinParts(source, part_sums);
}

// Adds the sums of all parts, and hands them back.
void PanelProduct::JoinParts(const PanelSource& source, const float* part_sums) const {
  const int64_t panels = DivideUp(m_, rows_), tiles = DivideUp(n_, width_), step = PartStep();
  const int64_t grain = std::max<int64_t>(1, 20000 / (parts_ * rows_ * width_));
  const bool needs_store = source.NeedsStore();
  ThreadPool::Get().ParallelFor(0, batch_ * panels * tiles, grain, [&](int64_t first, int64_t last, int) {
    alignas(64) float sums[kMostTileFloats];
    for (int64_t i = first; i < last; ++i) {
      const int64_t n = i % tiles * width_, m = i / tiles % panels * rows_, batch = i / tiles / panels;
      const int64_t rows = std::min(rows_, m_ - m), columns = std::min(width_, n_ - n);
      for (int64_t r = 0; r < rows; ++r) {
        const float* of_part = part_sums + (batch * parts_ * m_ + m + r) * step + n;
        std::memcpy(sums + r * width_, of_part, static_cast<size_t>(width_) * sizeof(float));
        for (int64_t part = 1; part < parts_; ++part) Table().axpy(sums + r * width_, of_part + part * m_ * step, 1, width_);
      }
      int64_t stride = 0;
      float* c = needs_store ? nullptr : source.DirectC(batch, m, n, columns, &stride);
      if (!c) source.Store(batch, m, rows, n, columns, sums, width_);
      for (int64_t r = 0; c && r < rows; ++r) std::memcpy(c + r * stride, sums + r * width_, static_cast<size_t>(columns) * sizeof(float));
    }
  });
}

// `shared`: A in panels, or null: then the task packs what it needs of it.
void PanelProduct::RunTask(const PanelSource& source, int64_t task, const float* shared, float* own, float* part_sums) const {
  const IsaTable& table = Table();
  const int64_t part = task / (n_blocks_ * m_blocks_), batch = part / parts_, within = task % (n_blocks_ * m_blocks_);
  const int64_t m_first = within / n_blocks_ * m_block_, m_last = std::min(m_, m_first + m_block_);
  const int64_t n_first = n_edges_[static_cast<size_t>(within % n_blocks_)], n_last = n_edges_[static_cast<size_t>(within % n_blocks_) + 1];
  const int64_t k_first = part % parts_ * k_part_, k_last = parts_ > 1 ? std::min(k_, k_first + k_part_) : k_;
  const bool needs_store = source.NeedsStore();
  float* part_c = parts_ > 1 ? part_sums + part * m_ * PartStep() : nullptr;
  float* b_block = own;
  float* own_a = own + k_block_ * n_block_;
  float* sums = own_a + (shares_a_ ? 0 : RoundUp(a_block_ * k_block_, 16));
  const int64_t columns_of_block = RoundUp(n_last - n_first, width_);
  const bool narrow = columns_of_block <= kNarrow * width_ || table.tile_rows < kFewRows;
  alignas(64) float local[kMostTileFloats];

  for (int64_t k = k_first; k < k_last && !IsAbandoned(); k += k_block_) {
    const int64_t count = std::min(k_block_, k_last - k);
    const bool first = k == k_first, last = k + count == k_last;
    const float* shared_a = shared ? shared + ((same_a_ ? 0 : batch) * k_ + k) * m_ : nullptr;
    // A block that is used by few rows is better read where it lies.
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
      // The next panel of A comes nearer while this one is multiplied; where there is but one, a share of it with each tile.
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
          if (part_c) {
            multiply(part_c + m * PartStep() + n, PartStep());
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
