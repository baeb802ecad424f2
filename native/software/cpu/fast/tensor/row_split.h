// A box of coordinates split into rows: some dimensions choose the row, the others run along it. A row consists of runs, which are evenly
// strided. For reductions, softmax and normalizations. Immutable after construction.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "schema/schema.h"
#include "extents.h"

namespace dxtensor::software::fast {

class RowSplit {
 public:
  static constexpr int kMaxOperands = 8;
  using Offsets = std::array<int64_t, kMaxOperands>;

  // `along`: mask of the dimensions that run along a row. `in_order`: the elements of a row are visited in row-major order; otherwise in
  // the order of the first operand's memory.
  RowSplit(const schema::TensorDesc& box, uint32_t along, std::initializer_list<Extents> strides, bool in_order) {
    operands_ = static_cast<int>(strides.size());
    Add(box, along, strides, in_order, &run_);
    Add(box, ~along, strides, true, &kept_);
    for (const Dimension& d : kept_) count_ *= d.size;
    for (const Dimension& d : run_) length_ *= d.size;
  }

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  // The stride of a run, and its length.
  int64_t element_stride(int operand) const { return run_.back().stride[static_cast<size_t>(operand)]; }
  int64_t run_length() const { return run_.back().size; }
  int64_t runs() const { return length_ / run_length(); }
  // Whether the runs of a row are evenly strided, and the stride.
  bool has_even_runs() const { return run_.size() == 2; }
  int64_t run_stride(int operand) const { return run_.front().stride[static_cast<size_t>(operand)]; }

  Offsets Start(int64_t row) const {
    Offsets at{};
    for (size_t d = kept_.size(); d-- > 0;) {
      const int64_t i = d ? row % kept_[d].size : row;  // a division takes as long as a short row
      if (d) row /= kept_[d].size;
      for (int o = 0; o < operands_; ++o) at[static_cast<size_t>(o)] += i * kept_[d].stride[static_cast<size_t>(o)];
    }
    return at;
  }
  // Calls visit(offsets, index in the row) at the start of each of the runs [first, last) of a row.
  template <typename Visit>
  void ForRuns(const Offsets& start, int64_t first, int64_t last, const Visit& visit) const {
    for (int64_t run = first; run < last; ++run) {
      Offsets at = start;
      int64_t rest = run;
      for (size_t d = run_.size() - 1; d-- > 0;) {
        const int64_t i = rest % run_[d].size;
        rest /= run_[d].size;
        for (int o = 0; o < operands_; ++o) at[static_cast<size_t>(o)] += i * run_[d].stride[static_cast<size_t>(o)];
      }
      visit(at, run * run_length());
    }
  }
  template <typename Visit>
  void ForRuns(const Offsets& start, const Visit& visit) const {
    ForRuns(start, 0, runs(), visit);
  }

  // Across rows: the stride between adjacent rows along the last kept dimension, and how many there are.
  int64_t kept_stride(int operand) const { return kept_.back().stride[static_cast<size_t>(operand)]; }
  int64_t kept_length() const { return kept_.back().size; }

 private:
  struct Dimension {
    int64_t size = 1;
    Offsets stride{};
  };
  void Add(const schema::TensorDesc& box, uint32_t mask, std::initializer_list<Extents> strides, bool in_order,
           std::vector<Dimension>* to) {
    std::vector<uint32_t> order;
    for (uint32_t d = 0; d < box.rank; ++d)
      if ((mask >> d & 1) && box.sizes[d] != 1) order.push_back(d);
    const Extents& lead = *strides.begin();
    if (!in_order) std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return lead[x] > lead[y]; });
    for (uint32_t d : order) {
      Dimension next;
      next.size = box.sizes[d];
      int o = 0;
      for (const Extents& s : strides) next.stride[static_cast<size_t>(o++)] = s[d];
      bool merges = !to->empty();
      for (int i = 0; i < operands_ && merges; ++i)
        merges = to->back().stride[static_cast<size_t>(i)] == next.stride[static_cast<size_t>(i)] * next.size;
      if (merges) {
        next.size *= to->back().size;
        to->back() = next;
      } else {
        to->push_back(next);
      }
    }
    if (to->empty()) to->push_back(Dimension{});
  }

  int operands_ = 0;
  int64_t count_ = 1, length_ = 1;
  std::vector<Dimension> kept_, run_;
};

}  // namespace dxtensor::software::fast
