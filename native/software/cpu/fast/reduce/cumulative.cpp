// Cumulative sums and products along an axis: a vector of totals for adjacent rows, or a few rows at once, which do not wait for each
// other's additions.
#include <algorithm>
#include <array>
#include <type_traits>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"
#include "software/cpu/reference/element.h"

namespace dxtensor::software::fast {

namespace {

// Speed (no workload, 1 thread, AVX-512): kMinColumns, kTask: within 5 % from 1/4 to 4 times; kBlock 1.07 at 2, 1.09 at 4; kColumns 0.81 at
// 1/4, 0.71 at 1/2, 1.06 at 2, 1.15 at 4.
constexpr int64_t kTask = kTaskElements / 2;  // each addition waits for the one before it
constexpr int64_t kColumns = 1024;            // totals that lie in the level 1 cache
constexpr int64_t kMinColumns = 16;
constexpr int kLanes = 4;        // rows that are scanned at once: 2.8 for 4096 x 4096
constexpr int64_t kBlock = 256;  // elements of each of them

template <typename T>
class CumulativeKernel final : public Kernel {
  using Number = Compute<T>;
  using Total = Sum<T>;
  static constexpr bool kIsFloat = std::is_same_v<Number, float>;

 public:
  CumulativeKernel(const schema::OperatorDesc& desc, uint32_t axis, uint32_t adjacent)
      : type_(desc.Inputs()[0]->data_type),
        is_product_(desc.type() == DML_OPERATOR_CUMULATIVE_PRODUCT),
        is_exclusive_(desc.Get<bool>(is_product_ ? "HasExclusiveProduct" : "HasExclusiveSum")),
        is_descending_(desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_DECREASING),
        size_(desc.Inputs()[0]->sizes[axis]),
        in_stride_(desc.Inputs()[0]->strides[axis]),
        out_stride_(desc.Outputs()[0]->strides[axis]),
        columns_(adjacent == axis ? 1 : desc.Inputs()[0]->sizes[adjacent]),
        rows_(*desc.Inputs()[0], 1u << axis | 1u << adjacent, {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Outputs()[0])},
              true) {}

  void Run(const KernelArguments& a) const override {
    if (columns_ > 1) RunRows(a);
    else RunEachRow(a);
  }

 private:
  int64_t Threads() const { return ThreadPool::Get().size(); }
  Total Identity() const { return is_product_ ? Total(1) : Total(0); }

  // n numbers from index i on: a pointer to the memory, or to a copy in `buffer`.
  const Number* Read(const KernelArguments& a, int64_t at, int64_t element_stride, int64_t n, Number* buffer) const {
    const T* from = reinterpret_cast<const T*>(a.inputs[0]) + at;
    if constexpr (kIsFloat) {
      if (std::is_same_v<T, float> && element_stride == 1) return reinterpret_cast<const float*>(from);
      Table().load(type_, reinterpret_cast<uint8_t*>(buffer), reinterpret_cast<const uint8_t*>(from), element_stride, n);
      return buffer;
    } else {
      if (element_stride == 1) return from;
      for (int64_t i = 0; i < n; ++i) buffer[i] = from[i * element_stride];
      return buffer;
    }
  }
  Number* Target(const KernelArguments& a, int64_t at, int64_t element_stride, Number* buffer) const {
    if constexpr (std::is_same_v<T, Number>) {
      if (element_stride == 1) return reinterpret_cast<Number*>(a.outputs[0]) + at;
    }
    return buffer;
  }
  void Write(const KernelArguments& a, int64_t at, int64_t element_stride, int64_t n, const Number* from) const {
    T* to = reinterpret_cast<T*>(a.outputs[0]) + at;
    if (static_cast<const void*>(to) == from) return;
    if constexpr (kIsFloat) {
      Table().store(type_, reinterpret_cast<uint8_t*>(to), reinterpret_cast<const uint8_t*>(from), element_stride, n);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i * element_stride] = from[i];
    }
  }

  // Adjacent rows.
  void RunRows(const KernelArguments& a) const {
    const int64_t wanted = std::max<int64_t>(1, std::min(Threads() / rows_.count(), size_ * columns_ / kTask));
    const int64_t width = std::min(kColumns, std::max(kMinColumns, (columns_ + wanted - 1) / wanted)),
                  strips = (columns_ + width - 1) / width;
    ThreadPool::Get().ParallelFor(0, rows_.count() * strips, std::max<int64_t>(1, kTask / (size_ * width)),
                                  [&](int64_t begin, int64_t end, int) {
                                    for (int64_t i = begin; i < end; ++i) {
                                      const int64_t first = i % strips * width;
                                      Columns(a, rows_.Start(i / strips), first, std::min(width, columns_ - first));
                                    }
                                  });
  }
  void Columns(const KernelArguments& a, const RowSplit::Offsets& start, int64_t first, int64_t n) const {
    Total totals[kColumns];
    Number buffer[kColumns], result[kColumns];
    std::fill_n(totals, n, Identity());
    for (int64_t i = 0; i < size_; ++i) {
      const int64_t position = is_descending_ ? size_ - 1 - i : i;
      const Number* x = Read(a, start[0] + position * in_stride_ + first, 1, n, buffer);
      const int64_t at = start[1] + position * out_stride_ + first;
      Number* y = Target(a, at, 1, result);
      if constexpr (kIsFloat) Table().running_row(y, totals, x, is_product_, is_exclusive_, n);
      else Integers(y, totals, x, n);
      Write(a, at, 1, n, y);
    }
  }
  void Integers(Number* y, Total* totals, const Number* x, int64_t n) const {
    for (int64_t c = 0; c < n; ++c) {
      const Total before = totals[c];
      totals[c] = is_product_ ? before * static_cast<Total>(x[c]) : before + static_cast<Total>(x[c]);
      y[c] = static_cast<Number>(is_exclusive_ ? before : totals[c]);
    }
  }

  // A row of which totals are carried.
  struct Lane {
    int64_t in, out, size;
    Total total;
  };
  Lane LaneAt(int64_t row) const {
    const RowSplit::Offsets start = rows_.Start(row);
    return {start[0], start[1], size_, Identity()};
  }
  void RunEachRow(const KernelArguments& a) const {
    const int64_t count = rows_.count(), groups = (count + kLanes - 1) / kLanes;
    ThreadPool::Get().ParallelFor(0, groups, std::max<int64_t>(1, kTask / (size_ * kLanes)), [&](int64_t begin, int64_t end, int) {
      for (int64_t g = begin; g < end; ++g) {
        std::array<Lane, kLanes> lanes{};
        for (int64_t l = 0; l < kLanes && g * kLanes + l < count; ++l) lanes[static_cast<size_t>(l)] = LaneAt(g * kLanes + l);
        if (is_product_) GoOver<true>(a, lanes);
        else GoOver<false>(a, lanes);
      }
    });
  }

  template <bool kIsProduct>
  void GoOver(const KernelArguments& a, std::array<Lane, kLanes>& lanes) const {
    Number buffers[kLanes][kBlock], results[kLanes][kBlock];
    int64_t size = 0;
    for (const Lane& lane : lanes) size = std::max(size, lane.size);
    // Blocks from where the axis begins: in descending order from the end.
    for (int64_t done = 0; done < size; done += kBlock) {
      const Number* x[kLanes];
      Number* y[kLanes];
      int64_t n[kLanes], out[kLanes];
      bool is_full = true;
      for (size_t l = 0; l < kLanes; ++l) {
        n[l] = std::clamp<int64_t>(lanes[l].size - done, 0, kBlock);
        is_full &= n[l] == n[0];
        const int64_t position = is_descending_ ? lanes[l].size - done - n[l] : done;
        out[l] = lanes[l].out + position * out_stride_;
        x[l] = n[l] == 0 ? buffers[l] : Read(a, lanes[l].in + position * in_stride_, in_stride_, n[l], buffers[l]);
        y[l] = n[l] == 0 ? results[l] : Target(a, out[l], out_stride_, results[l]);
      }
      if (is_full) Together<kIsProduct>(lanes, x, y, n[0]);
      else
        for (size_t l = 0; l < kLanes; ++l) lanes[l].total = Alone<kIsProduct>(lanes[l].total, x[l], y[l], n[l]);
      for (size_t l = 0; l < kLanes; ++l)
        if (n[l] > 0) Write(a, out[l], out_stride_, n[l], y[l]);
    }
  }
  template <bool kIsProduct>
  static Total Join(Total total, Number value) {
    return kIsProduct ? total * static_cast<Total>(value) : total + static_cast<Total>(value);
  }
  template <bool kIsProduct>
  void Together(std::array<Lane, kLanes>& lanes, const Number* const* x, Number* const* y, int64_t n) const {
    const Number *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    Number *y0 = y[0], *y1 = y[1], *y2 = y[2], *y3 = y[3];
    Total t0 = lanes[0].total, t1 = lanes[1].total, t2 = lanes[2].total, t3 = lanes[3].total;
    const bool is_exclusive = is_exclusive_;
    const int64_t element_stride = is_descending_ ? -1 : 1;
    for (int64_t i = is_descending_ ? n - 1 : 0, k = 0; k < n; ++k, i += element_stride) {
      const Total b0 = t0, b1 = t1, b2 = t2, b3 = t3;
      t0 = Join<kIsProduct>(t0, x0[i]);
      t1 = Join<kIsProduct>(t1, x1[i]);
      t2 = Join<kIsProduct>(t2, x2[i]);
      t3 = Join<kIsProduct>(t3, x3[i]);
      y0[i] = static_cast<Number>(is_exclusive ? b0 : t0);
      y1[i] = static_cast<Number>(is_exclusive ? b1 : t1);
      y2[i] = static_cast<Number>(is_exclusive ? b2 : t2);
      y3[i] = static_cast<Number>(is_exclusive ? b3 : t3);
    }
    lanes[0].total = t0;
    lanes[1].total = t1;
    lanes[2].total = t2;
    lanes[3].total = t3;
  }
  template <bool kIsProduct>
  Total Alone(Total total, const Number* x, Number* y, int64_t n) const {
    const int64_t element_stride = is_descending_ ? -1 : 1;
    for (int64_t i = is_descending_ ? n - 1 : 0, k = 0; k < n; ++k, i += element_stride) {
      const Total before = total;
      total = Join<kIsProduct>(total, x[i]);
      y[i] = static_cast<Number>(is_exclusive_ ? before : total);
    }
    return total;
  }

  DML_TENSOR_DATA_TYPE type_;
  bool is_product_, is_exclusive_, is_descending_;
  int64_t size_, in_stride_, out_stride_;
  int64_t columns_;  // adjacent rows that are scanned together, or 1
  RowSplit rows_;
};

}  // namespace

std::unique_ptr<Kernel> MakeCumulativeKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  // Another dimension that is contiguous in both tensors.
  uint32_t adjacent = axis;
  for (uint32_t d = 0; d < in.rank; ++d)
    if (d != axis && in.sizes[d] >= kMinColumns && in.strides[d] == 1 && out.strides[d] == 1) adjacent = d;
  return ByNumber(in.data_type, [&](auto tag) -> std::unique_ptr<Kernel> {
    using T = typename decltype(tag)::Type;
    return std::make_unique<CumulativeKernel<T>>(desc, axis, adjacent);
  });
}

}  // namespace dxtensor::software::fast
