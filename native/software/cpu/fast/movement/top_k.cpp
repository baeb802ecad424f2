// TOP_K: numbers as unsigned keys followed by their index, in a radix sort; for few of many a selection. Long rows are sorted in parts, one
// for each thread, and merged.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/host/thread_pool.h"
#include "software/cpu/reference/element.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kMaxAtOnce 0.89 at 2, 0.91 at 4; kPiece 0.93 at 1/4, 0.93 at 1/2, 0.94 at 2, 1.05 at 4; kMinRadix 0.90
// at 1/2, 0.92 at 2. Speed (no workload, 1 thread, AVX-512): kRowsAtOnce: within 5 % from 1/4 to 4 times.
constexpr int64_t kPiece = 1 << 14;      // elements that are worth a thread's while
constexpr int64_t kMaxAtOnce = 1 << 18;  // longer rows are sorted one after the other, by all threads
constexpr int64_t kMinRadix = 256;       // shorter rows are sorted by comparing
constexpr int kMaxParts = 64;
// Elements that are compared with one bound. 512 by 128: 1.15 for topk 32 of 256 rows of 16384, 1.07 for 5 of 1024 rows of 1000 (AVX-512).
constexpr int64_t kSegment = 512;
constexpr int64_t kRowsAtOnce = 64;

// A key and an index. All are different, so that any sort is stable.
struct Narrow {
  using Key = uint32_t;
  uint64_t word;
  Narrow() = default;
  Narrow(Key key, uint32_t position) : word(uint64_t{key} << 32 | position) {}
  uint32_t position() const { return static_cast<uint32_t>(word); }
  uint32_t Digit(int byte) const { return static_cast<uint32_t>(word >> (32 + 8 * byte)) & 255; }
  bool operator<(const Narrow& other) const { return word < other.word; }
};
struct Wide {
  using Key = uint64_t;
  uint64_t key;
  uint64_t at;
  Wide() = default;
  Wide(Key k, uint32_t position) : key(k), at(position) {}
  uint32_t position() const { return static_cast<uint32_t>(at); }
  uint32_t Digit(int byte) const { return static_cast<uint32_t>(key >> (8 * byte)) & 255; }
  bool operator<(const Wide& other) const { return key != other.key ? key < other.key : at < other.at; }
};

template <typename T>
using ItemOf = std::conditional_t<sizeof(T) == 8, Wide, Narrow>;

// Keys have the order of the numbers; NaN comes behind all others, both zeros are equal.
template <typename T>
typename ItemOf<T>::Key KeyOf(Compute<T> value) {
  using Key = typename ItemOf<T>::Key;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_floating_point_v<Compute<T>>) {
    if (std::isnan(value)) return ~Key{0};
    const Compute<T> plain = value == 0 ? 0 : value;
    Key bits;
    static_assert(sizeof bits == sizeof plain);
    std::memcpy(&bits, &plain, sizeof bits);
    return bits & kSign ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(value) ^ kSign;
  } else {
    return value;
  }
}

// Sorts `items`; `other` is scratch for as many.
template <typename Item>
void Sort(Item* items, Item* other, int64_t n) {
  if (n < kMinRadix) {
    std::sort(items, items + n);
    return;
  }
  constexpr int kDigits = sizeof(typename Item::Key);
  std::array<std::array<uint32_t, 256>, kDigits> counts{};
  for (int64_t i = 0; i < n; ++i)
    for (int d = 0; d < kDigits; ++d) ++counts[static_cast<size_t>(d)][items[i].Digit(d)];
  Item *from = items, *to = other;
  for (int d = 0; d < kDigits; ++d) {
    std::array<uint32_t, 256>& count = counts[static_cast<size_t>(d)];
    if (count[from[0].Digit(d)] == static_cast<uint64_t>(n)) continue;
    uint32_t start = 0;
    for (uint32_t& c : count) start += std::exchange(c, start);
    for (int64_t i = 0; i < n; ++i) to[count[from[i].Digit(d)]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

// The k smallest items so far, in any order.
template <typename Item>
class Smallest {
 public:
  // buffer: scratch for ScratchItems(k) items.
  Smallest(Item* buffer, int64_t k) : items_(buffer), k_(k) {}
  static int64_t ScratchItems(int64_t k) { return 2 * k + 64; }

  void Add(const Item& item) {
    if (is_full_ && !(item < items_[k_ - 1])) return;
    items_[count_++] = item;
    if (count_ == ScratchItems(k_)) Cut();
  }
  int64_t Finish() {
    if (count_ > k_) Cut();
    return count_;
  }
  // The largest of the k smallest so far, once there are k; later items with its key sort after it.
  const Item* bound() const { return is_full_ ? items_ + k_ - 1 : nullptr; }

 private:
  void Cut() {
    std::nth_element(items_, items_ + k_ - 1, items_ + count_);
    count_ = k_;
    is_full_ = true;
  }
  Item* items_;
  int64_t k_, count_ = 0;
  bool is_full_ = false;  // items_[k_ - 1] is the greatest of the first k_
};

// How many of the first `d` items of two sorted runs, merged, come from the first one.
template <typename Item>
int64_t FromFirst(const Item* a, int64_t a_size, const Item* b, int64_t b_size, int64_t d) {
  int64_t low = std::max<int64_t>(0, d - b_size), high = std::min(d, a_size);
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (b[d - middle - 1] < a[middle]) high = middle;
    else low = middle + 1;
  }
  return low;
}

template <typename T>
class TopKKernel final : public Kernel {
  using Item = ItemOf<T>;
  using Key = typename Item::Key;

 public:
  TopKKernel(const schema::OperatorDesc& desc, uint32_t axis, bool increasing)
      : flip_(increasing ? Key{0} : ~Key{0}),
        size_(desc.Inputs()[0]->sizes[axis]),
        k_(desc.UInt("K")),
        in_stride_(desc.Inputs()[0]->strides[axis]),
        value_stride_(desc.Outputs()[0]->strides[axis]),
        index_stride_(desc.Outputs()[1]->strides[axis]),
        has_wide_index_(schema::BytesPerElement(desc.Outputs()[1]->data_type) == 8),
        rows_(*desc.Inputs()[0], 1u << axis,
              {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Outputs()[0]), BroadcastStrides(*desc.Outputs()[1])}, true) {}

  size_t ScratchBytes() const override {
    const int64_t threads = ThreadPool::Get().size();
    const int64_t items =
        Selects() ? Smallest<Item>::ScratchItems(k_) * (IsByRows() ? threads : Parts()) : 2 * size_ * (IsByRows() ? threads : 1);
    return static_cast<size_t>(items) * sizeof(Item);
  }

  void Run(const KernelArguments& a) const override {
    if constexpr (std::is_same_v<T, float>) {
      if (k_ == 1 && in_stride_ == 1 && IsByRows()) return FirstOfRows(a);
    }
    auto* items = reinterpret_cast<Item*>(a.scratch);
    if (!IsByRows()) {
      for (int64_t row = 0; row < rows_.count(); ++row) OrderWithAll(a, rows_.Start(row), items);
      return;
    }
    const int64_t buffer = Selects() ? Smallest<Item>::ScratchItems(k_) : 2 * size_;
    ThreadPool::Get().ParallelFor(0, rows_.count(), std::max<int64_t>(1, kPiece / size_), [&](int64_t first, int64_t last, int slot) {
      Item* own = items + slot * buffer;
      for (int64_t row = first; row < last; ++row) {
        const RowSplit::Offsets start = rows_.Start(row);
        if (Selects()) {
          std::sort(own, own + Select(a, start, own, 0, size_));
        } else {
          Load(a, start, own, 0, size_);
          Sort(own, own + size_, size_);
        }
        Store(a, start, own, 0, k_);
      }
    });
  }

 private:
  // Only the first element of each row.
  void FirstOfRows(const KernelArguments& a) const {
    const int64_t grain = std::max<int64_t>(1, kPiece / size_);
    ThreadPool::Get().ParallelFor(0, rows_.count(), grain, [&](int64_t first, int64_t last, int) {
      float values[kRowsAtOnce];
      uint32_t positions[kRowsAtOnce];
      for (int64_t row = first; row < last;) {
        const RowSplit::Offsets start = rows_.Start(row);
        const int64_t n = std::min({last - row, rows_.kept_length() - row % rows_.kept_length(), kRowsAtOnce});
        Table().arg_extreme_rows(flip_ != 0, values, positions, reinterpret_cast<const float*>(a.inputs[0]) + start[0],
                                 rows_.kept_stride(0), n, size_);
        for (int64_t i = 0; i < n; ++i) {
          const auto value = static_cast<uint64_t>(start[1] + i * rows_.kept_stride(1)),
                     index = static_cast<uint64_t>(start[2] + i * rows_.kept_stride(2));
          software::Store<float>(a.outputs[0], value, values[i]);
          if (has_wide_index_) software::Store<uint64_t>(a.outputs[1], index, positions[i]);
          else software::Store<uint32_t>(a.outputs[1], index, positions[i]);
        }
        row += n;
      }
    });
  }

  bool Selects() const { return k_ <= size_ / 8 / (IsByRows() ? 1 : Parts()); }
  bool IsByRows() const { return size_ <= kMaxAtOnce && (size_ <= 2 * kPiece || rows_.count() >= ThreadPool::Get().size()); }
  // A row that all threads sort.
  int64_t Parts() const { return std::clamp<int64_t>(std::min<int64_t>(ThreadPool::Get().size(), size_ / kPiece), 1, kMaxParts); }

  Item ItemAt(const KernelArguments& a, const RowSplit::Offsets& start, int64_t i) const {
    const auto at = static_cast<uint64_t>(start[0] + i * in_stride_);
    return Item(KeyOf<T>(software::Load<T>(a.inputs[0], at)) ^ flip_, static_cast<uint32_t>(i));
  }
  void Load(const KernelArguments& a, const RowSplit::Offsets& start, Item* items, int64_t first, int64_t last) const {
    for (int64_t i = first; i < last; ++i) items[i] = ItemAt(a, start, i);
  }
  // The index of the first of n in sorted order.
  int64_t FirstOf(const float* x, int64_t n) const {
    const IsaTable& table = Table();
    if (flip_ == 0) {
      const int64_t at = table.first_equal(x, table.min(x, n), n);
      return at < n ? at : 0;  // nothing but NaN
    }
    const float largest = table.max_or_nan(x, n);
    return std::isnan(largest) ? std::find_if(x, x + n, [](float v) { return std::isnan(v); }) - x : table.first_equal(x, largest, n);
  }
  int64_t Select(const KernelArguments& a, const RowSplit::Offsets& start, Item* buffer, int64_t first, int64_t last) const {
    Smallest<Item> smallest(buffer, k_);
    if constexpr (std::is_same_v<T, float>) {
      if (in_stride_ == 1) {
        // Vectors skip what can't be among the k smallest.
        const float* x = reinterpret_cast<const float*>(a.inputs[0]) + start[0];
        if (k_ == 1) {
          *buffer = ItemAt(a, start, first + FirstOf(x + first, last - first));
          return 1;
        }
        int32_t positions[kSegment + kMaxWidth];
        while (first < last) {
          const Item* bound = smallest.bound();
          const float limit = bound ? x[bound->position()] : 0;
          if (!bound || (flip_ == 0 && std::isnan(limit))) {
            for (const int64_t end = std::min(last, first + kMaxWidth); first < end; ++first) smallest.Add(ItemAt(a, start, first));
            continue;
          }
          first += Table().first_beyond(x + first, limit, flip_ == 0, last - first);
          const int64_t size = std::min(kSegment, last - first),
                        count = Table().indices_beyond(positions, x + first, limit, flip_ == 0, size);
          for (int64_t i = 0; i < count; ++i) smallest.Add(ItemAt(a, start, first + positions[i]));
          first += size;
        }
        return smallest.Finish();
      }
    }
    for (int64_t i = first; i < last; ++i) smallest.Add(ItemAt(a, start, i));
    return smallest.Finish();
  }
  void Store(const KernelArguments& a, const RowSplit::Offsets& start, const Item* items, int64_t first, int64_t last) const {
    for (int64_t i = first; i < last; ++i) {
      const uint32_t position = items[i].position();
      const auto value = static_cast<uint64_t>(start[1] + i * value_stride_), index = static_cast<uint64_t>(start[2] + i * index_stride_);
      software::Store<T>(a.outputs[0], value, software::Load<T>(a.inputs[0], static_cast<uint64_t>(start[0] + position * in_stride_)));
      if (has_wide_index_) software::Store<uint64_t>(a.outputs[1], index, position);
      else software::Store<uint32_t>(a.outputs[1], index, position);
    }
  }

  void OrderWithAll(const KernelArguments& a, const RowSplit::Offsets& start, Item* items) const {
    ThreadPool& pool = ThreadPool::Get();
    const int64_t parts = Parts();
    auto bound = [&](int64_t part) { return part * size_ / parts; };
    if (Selects()) {
      const int64_t buffer = Smallest<Item>::ScratchItems(k_);
      std::array<int64_t, kMaxParts> counts{};
      pool.ParallelFor(0, parts, 1, [&](int64_t first, int64_t last, int) {
        for (int64_t p = first; p < last; ++p)
          counts[static_cast<size_t>(p)] = Select(a, start, items + p * buffer, bound(p), bound(p + 1));
      });
      int64_t count = counts[0];
      for (int64_t p = 1; p < parts; count += counts[static_cast<size_t>(p++)])
        std::copy(items + p * buffer, items + p * buffer + counts[static_cast<size_t>(p)], items + count);
      std::nth_element(items, items + k_ - 1, items + count);
      std::sort(items, items + k_);
      Store(a, start, items, 0, k_);
      return;
    }
    Item *from = items, *to = items + size_;
    pool.ParallelFor(0, parts, 1, [&](int64_t first, int64_t last, int) {
      for (int64_t p = first; p < last; ++p) {
        Load(a, start, from, bound(p), bound(p + 1));
        Sort(from + bound(p), to + bound(p), bound(p + 1) - bound(p));
      }
    });
    for (int64_t run = 1; run < parts; run *= 2, std::swap(from, to))
      pool.ParallelFor(0, size_, (size_ + parts - 1) / parts, [&](int64_t first, int64_t last, int) {
        for (int64_t p = 0; p < parts; p += 2 * run)
          Merge(from, to, bound(p), bound(std::min(p + run, parts)), bound(std::min(p + 2 * run, parts)), first, last);
      });
    pool.ParallelFor(0, k_, kPiece, [&](int64_t first, int64_t last, int) { Store(a, start, from, first, last); });
  }

  // Merges two neighbouring runs, as far as the result lies in [first, last).
  static void Merge(const Item* from, Item* to, int64_t begin, int64_t middle, int64_t end, int64_t first, int64_t last) {
    first = std::max(first, begin);
    last = std::min(last, end);
    if (first >= last) return;
    const Item *a = from + begin, *b = from + middle;
    int64_t i = FromFirst(a, middle - begin, b, end - middle, first - begin);
    int64_t j = first - begin - i;
    const int64_t i_end = FromFirst(a, middle - begin, b, end - middle, last - begin), j_end = last - begin - i_end;
    for (Item* out = to + first; out != to + last; ++out) {
      const bool takes_first = j == j_end || (i < i_end && a[i] < b[j]);
      *out = takes_first ? a[i++] : b[j++];
    }
  }

  Key flip_;
  int64_t size_, k_, in_stride_, value_stride_, index_stride_;
  bool has_wide_index_;
  RowSplit rows_;
};

}  // namespace

std::unique_ptr<Kernel> MakeTopKKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& in = *desc.Inputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  const bool increasing = desc.Has("AxisDirection") && desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_INCREASING;
  return ByNumber(in.data_type, [&](auto tag) -> std::unique_ptr<Kernel> {
    using T = typename decltype(tag)::Type;
    return std::make_unique<TopKKernel<T>>(desc, axis, increasing);
  });
}

}  // namespace dxtensor::software::fast
