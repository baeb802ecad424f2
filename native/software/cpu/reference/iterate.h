// Loops over the coordinates of tensors of up to eight dimensions and any strides.
//
// A BoxIterator<N> visits a box of coordinates in row-major order and gives, for each of N operands, the element offset there.
// Dimensions that are contiguous for every operand are merged, so the inner loop is as long as possible. Immutable.
//
// CheckAbandoned ends the loops early if the queue's work is abandoned.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "schema/schema.h"
#include "software/cpu/host/abandon.h"

namespace dxtensor::software {

constexpr uint64_t kVisitsPerCheck = 1024;

using Dimensions = std::array<uint64_t, schema::kMaxRank>;  // sizes or strides

// The strides of a tensor, 0 where its size is 1, so that it broadcasts over any box.
inline Dimensions BroadcastStrides(const schema::TensorDesc& tensor) {
  Dimensions strides{};
  for (uint32_t i = 0; i < tensor.rank; ++i) strides[i] = tensor.sizes[i] == 1 ? 0 : tensor.strides[i];
  return strides;
}
inline Dimensions SizesOf(const schema::TensorDesc& tensor) {
  Dimensions sizes{};
  for (uint32_t i = 0; i < tensor.rank; ++i) sizes[i] = tensor.sizes[i];
  return sizes;
}
// Strides as if the tensor were packed: offsets are then positions in row-major order.
inline Dimensions PackedStrides(const schema::TensorDesc& tensor) {
  Dimensions strides{};
  uint64_t step = 1;
  for (uint32_t i = tensor.rank; i-- > 0; step *= tensor.sizes[i]) strides[i] = step;
  return strides;
}

template <size_t N>
using Offsets = std::array<uint64_t, N>;

template <size_t N>
class BoxIterator {
 public:
  BoxIterator() = default;
  BoxIterator(uint32_t rank, const Dimensions& sizes, const std::array<Dimensions, N>& strides) {
    for (uint32_t d = 0; d < rank; ++d) {
      if (sizes[d] == 1) continue;
      bool merges = rank_ > 0;
      for (size_t n = 0; n < N && merges; ++n) merges = steps_[rank_ - 1][n] == strides[n][d] * sizes[d];
      if (!merges) sizes_[rank_++] = 1;
      sizes_[rank_ - 1] *= sizes[d];
      for (size_t n = 0; n < N; ++n) steps_[rank_ - 1][n] = strides[n][d];
    }
    if (rank_ == 0) sizes_[rank_++] = 1;
  }
  // Over the coordinates of `box`, with its broadcasting operands.
  BoxIterator(const schema::TensorDesc& box, const std::array<const schema::TensorDesc*, N>& operands)
      : BoxIterator(box.rank, SizesOf(box), StridesOf(operands)) {}

  uint64_t Count() const {
    uint64_t count = 1;
    for (uint32_t d = 0; d < rank_; ++d) count *= sizes_[d];
    return count;
  }

  // visit(const Offsets<N>&) for each coordinate, beginning at `start`.
  template <typename F>
  void operator()(F&& visit, Offsets<N> start = {}) const {
    std::array<uint64_t, schema::kMaxRank> index{};
    const uint32_t last = rank_ - 1;
    uint64_t unchecked = kVisitsPerCheck;
    for (;;) {
      Offsets<N> at = start;
      for (uint64_t i = 0; i < sizes_[last];) {
        const uint64_t end = std::min(sizes_[last], i + unchecked);
        unchecked -= end - i;
        for (; i < end; ++i) {
          visit(static_cast<const Offsets<N>&>(at));
          for (size_t n = 0; n < N; ++n) at[n] += steps_[last][n];
        }
        if (unchecked) continue;
        CheckAbandoned();
        unchecked = kVisitsPerCheck;
      }
      uint32_t d = last;
      for (;;) {
        if (d-- == 0) return;
        if (++index[d] < sizes_[d]) break;
        index[d] = 0;
        for (size_t n = 0; n < N; ++n) start[n] -= steps_[d][n] * (sizes_[d] - 1);
      }
      for (size_t n = 0; n < N; ++n) start[n] += steps_[d][n];
    }
  }

 private:
  static std::array<Dimensions, N> StridesOf(const std::array<const schema::TensorDesc*, N>& operands) {
    std::array<Dimensions, N> strides{};
    for (size_t n = 0; n < N; ++n) strides[n] = BroadcastStrides(*operands[n]);
    return strides;
  }

  uint32_t rank_ = 0;
  Dimensions sizes_{};
  std::array<Offsets<N>, schema::kMaxRank> steps_{};
};

// visit(coordinates) for each position of a box, in row-major order.
template <typename F>
void ForEachPosition(uint32_t rank, const Dimensions& sizes, F&& visit) {
  Dimensions at{};
  for (uint64_t visits = 1;; ++visits) {
    visit(static_cast<const Dimensions&>(at));
    if (visits % kVisitsPerCheck == 0) CheckAbandoned();
    uint32_t d = rank;
    for (;;) {
      if (d-- == 0) return;
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
}
inline uint64_t OffsetAt(uint32_t rank, const Dimensions& at, const Dimensions& strides) {
  uint64_t offset = 0;
  for (uint32_t d = 0; d < rank; ++d) offset += at[d] * strides[d];
  return offset;
}

// Over those dimensions of `box` whose bit is set; the others stay at the start.
template <size_t N>
BoxIterator<N> IterateSome(const schema::TensorDesc& box, const std::array<Dimensions, N>& strides, uint32_t dimensions) {
  Dimensions sizes = SizesOf(box);
  for (uint32_t d = 0; d < box.rank; ++d)
    if (!(dimensions >> d & 1)) sizes[d] = 1;
  return BoxIterator<N>(box.rank, sizes, strides);
}

// Bit d for each dimension d in a list of axes.
inline uint32_t AxisMask(const std::vector<uint32_t>& axes) {
  uint32_t mask = 0;
  for (uint32_t axis : axes) mask |= 1u << axis;
  return mask;
}

}  // namespace dxtensor::software
