// PADDING1: by rows of the output's memory, in runs that are evenly strided in the input.
#include "software/cpu/reference/padding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/row_chunks.h"
#include "software/cpu/fast/tensor/row_split.h"

namespace dxtensor::software::fast {

namespace {

// A dimension of the output: positions before `start` and from start + inside on are padding.
struct Dimension {
  int64_t size, start, inside, from, to;

  bool IsWhole() const { return size == inside; }
};

// In the order of the output's memory, those that can be gone through as one merged.
std::vector<Dimension> DimensionsOf(const schema::OperatorDesc& desc, uint32_t mode) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  std::vector<Dimension> list;
  for (uint32_t d = 0; d < out.rank; ++d)
    if (out.sizes[d] != 1)
      list.push_back({out.sizes[d], desc.UInts("StartPadding")[d], in.sizes[d], static_cast<int64_t>(in.strides[d]),
                      static_cast<int64_t>(out.strides[d])});
  std::stable_sort(list.begin(), list.end(), [](const Dimension& x, const Dimension& y) { return x.to > y.to; });
  std::vector<Dimension> merged;
  for (const Dimension& d : list) {
    // What is behind the padding of a constant is padding too.
    const bool merges = !merged.empty() && d.IsWhole() && (merged.back().IsWhole() || mode == DML_PADDING_MODE_CONSTANT) &&
                        merged.back().from == d.from * d.size && merged.back().to == d.to * d.size;
    if (!merges) {
      merged.push_back(d);
      continue;
    }
    Dimension& outer = merged.back();
    outer = {outer.size * d.size, outer.start * d.size, outer.inside * d.size, d.from, d.to};
  }
  if (merged.empty()) merged.push_back({1, 0, 1, 0, 1});
  return merged;
}

// A segment of a row, which reads from + i * step, or is the constant.
struct Segment {
  int64_t first, size, from, element_stride;
  bool is_outside;
};

std::vector<Segment> SegmentsOf(const Dimension& d, uint32_t mode) {
  std::vector<Segment> list;
  auto add = [&](int64_t first, int64_t last) {
    if (mode == DML_PADDING_MODE_CONSTANT) {
      if (first < last) list.push_back({first, last - first, 0, 0, true});
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      const int64_t from = PaddedIndex(mode, i - d.start, d.inside) * d.from;
      if (i > first) {
        Segment& s = list.back();
        if (s.size == 1) s.element_stride = from - s.from;
        if (s.from + s.size * s.element_stride == from) {
          ++s.size;
          continue;
        }
      }
      list.push_back({i, 1, from, 0, false});
    }
  };
  add(0, d.start);
  list.push_back({d.start, d.inside, 0, d.from, false});
  add(d.start + d.inside, d.size);
  return list;
}

template <typename T>
class PaddingKernel final : public Kernel {
 public:
  PaddingKernel(const schema::OperatorDesc& desc, uint32_t mode) : mode_(mode), outer_(DimensionsOf(desc, mode)) {
    row_ = outer_.back();
    outer_.pop_back();
    if (!outer_.empty()) {
      middle_ = outer_.back();
      outer_.pop_back();
    }
    segments_ = SegmentsOf(row_, mode);
    for (const Dimension& d : outer_) planes_ *= d.size;
    std::memcpy(&constant_, &desc.Get<DML_SCALAR_UNION>("PaddingValue"), sizeof constant_);
  }
  void Run(const KernelArguments& a) const override {
    if (row_.size > kTaskElements) {
      ForRowChunks(planes_ * middle_.size, row_.size, [&](int64_t row, int64_t first, int64_t last) {
        WriteRow(PlaneAt(a, row / middle_.size), row % middle_.size, first, last);
      });
      return;
    }
    const int64_t rows = planes_ * middle_.size;
    ThreadPool::Get().ParallelFor(0, rows, std::max<int64_t>(1, kTaskElements / row_.size), [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end;) {
        const Plane plane = PlaneAt(a, row / middle_.size);
        for (int64_t i = row % middle_.size; i < middle_.size && row < end; ++i, ++row) WriteRow(plane, i, 0, row_.size);
      }
    });
  }

 private:
  // Rows that differ in the middle dimension only. `from`: null where all is padding.
  struct Plane {
    const T* from;
    T* to;
  };
  Plane PlaneAt(const KernelArguments& a, int64_t plane) const {
    Plane p{reinterpret_cast<const T*>(a.inputs[0]), reinterpret_cast<T*>(a.outputs[0])};
    for (size_t d = outer_.size(); d-- > 0; plane /= outer_[d].size) {
      const int64_t i = plane % outer_[d].size, index = PaddedIndex(mode_, i - outer_[d].start, outer_[d].inside);
      p.to += i * outer_[d].to;
      if (index == kOutside) p.from = nullptr;
      else if (p.from) p.from += index * outer_[d].from;
    }
    return p;
  }
  void WriteRow(const Plane& plane, int64_t i, int64_t first, int64_t last) const {
    int64_t index = i - middle_.start;
    if (index < 0 || index >= middle_.inside) index = PaddedIndex(mode_, index, middle_.inside);
    T* to = plane.to + i * middle_.to;
    if (!plane.from || index == kOutside) Fill(to + first * row_.to, constant_, last - first);
    else Write(to, plane.from + index * middle_.from, first, last);
  }
  void Write(T* to, const T* from, int64_t first, int64_t last) const {
    for (const Segment& s : segments_) {
      const int64_t skipped = std::max<int64_t>(0, first - s.first), n = std::min(s.size, last - s.first) - skipped;
      if (n <= 0) continue;
      T* target = to + (s.first + skipped) * row_.to;
      const T* source = from + s.from + skipped * s.element_stride;
      if (s.is_outside) Fill(target, constant_, n);
      else if (n < 4 || row_.to != 1) Step(target, source, s.element_stride, n);
      else if (s.element_stride == 1) Table().copy_bytes(Bytes(target), Bytes(source), n * static_cast<int64_t>(sizeof(T)));
      else if (s.element_stride == 0) Fill(target, *source, n);
      else Step(target, source, s.element_stride, n);
    }
  }
  void Step(T* to, const T* from, int64_t element_stride, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) to[i * row_.to] = from[i * element_stride];
  }
  void Fill(T* to, T value, int64_t n) const {
    if (row_.to == 1) std::fill(to, to + n, value);
    else
      for (int64_t i = 0; i < n; ++i) to[i * row_.to] = value;
  }
  static uint8_t* Bytes(T* p) { return reinterpret_cast<uint8_t*>(p); }
  static const uint8_t* Bytes(const T* p) { return reinterpret_cast<const uint8_t*>(p); }

  uint32_t mode_;
  std::vector<Dimension> outer_;
  Dimension middle_{1, 0, 1, 0, 0}, row_;
  std::vector<Segment> segments_;
  int64_t planes_ = 1;
  T constant_;
};

}  // namespace

std::unique_ptr<Kernel> MakePaddingKernel(const schema::OperatorDesc& desc) {
  const uint32_t mode = desc.UInt("PaddingMode");
  switch (schema::BytesPerElement(desc.Outputs()[0]->data_type)) {
    case 1: return std::make_unique<PaddingKernel<uint8_t>>(desc, mode);
    case 2: return std::make_unique<PaddingKernel<uint16_t>>(desc, mode);
    case 4: return std::make_unique<PaddingKernel<uint32_t>>(desc, mode);
    case 8: return std::make_unique<PaddingKernel<uint64_t>>(desc, mode);
    default: return nullptr;
  }
}

}  // namespace dxtensor::software::fast
