// Windows that move over tensors of two or three spatial dimensions, shared by the pooling kernels. Plain data; any thread.
#pragma once

#include <array>

#include "iterate.h"

namespace dxtensor::software {

constexpr uint32_t kPoolDimensions = 3;
using Position = std::array<uint64_t, kPoolDimensions>;

// A tensor {N, C, D, H, W}; two spatial dimensions have a depth of 1.
struct Grid {
  Position size{1, 1, 1}, stride{};
  Position packed{};  // strides of positions in row-major order, for indices
  uint64_t n = 1, c = 1, n_stride = 0, c_stride = 0, n_packed = 0, c_packed = 0;

  explicit Grid(const schema::TensorDesc& t) {
    const Dimensions strides = BroadcastStrides(t), rows = PackedStrides(t);
    n = t.sizes[0];
    c = t.sizes[1];
    n_stride = strides[0];
    c_stride = strides[1];
    n_packed = rows[0];
    c_packed = rows[1];
    for (uint32_t d = 2; d < t.rank; ++d) {
      const uint32_t to = kPoolDimensions - t.rank + d;
      size[to] = t.sizes[d];
      stride[to] = strides[d];
      packed[to] = rows[d];
    }
  }
  uint64_t At(uint64_t batch, uint64_t channel) const { return batch * n_stride + channel * c_stride; }
  uint64_t At(const Position& p) const { return p[0] * stride[0] + p[1] * stride[1] + p[2] * stride[2]; }
  uint64_t PackedAt(const Position& p) const { return p[0] * packed[0] + p[1] * packed[1] + p[2] * packed[2]; }
};

// The window: how it moves over the larger tensor ("image"); the smaller one has an element for each of its positions.
struct Window {
  Position size{1, 1, 1};
  std::array<int64_t, kPoolDimensions> stride{1, 1, 1}, dilation{1, 1, 1}, padding{};

  explicit Window(const schema::OperatorDesc& desc) {
    const uint32_t spatial = desc.UInt("DimensionCount"), first = kPoolDimensions - spatial;
    for (uint32_t d = 0; d < spatial; ++d) {
      size[first + d] = desc.UInts("WindowSize")[d];
      stride[first + d] = desc.UInts("Strides")[d];
      padding[first + d] = desc.UInts("StartPadding")[d];
      if (desc.Has("Dilations")) dilation[first + d] = desc.UInts("Dilations")[d];
    }
  }
  uint64_t Taps() const { return size[0] * size[1] * size[2]; }

  // visit(at) for each tap of the window at `position` that lies in the image, in row-major order.
  template <typename F>
  void Visit(const Position& image, const Position& position, F&& visit) const {
    Position at;
    for (uint64_t z = 0; z < size[0]; ++z) {
      if (!Tap(0, position, z, image, &at)) continue;
      for (uint64_t y = 0; y < size[1]; ++y) {
        if (!Tap(1, position, y, image, &at)) continue;
        for (uint64_t x = 0; x < size[2]; ++x)
          if (Tap(2, position, x, image, &at)) visit(static_cast<const Position&>(at));
      }
    }
  }

 private:
  bool Tap(uint32_t d, const Position& position, uint64_t k, const Position& image, Position* at) const {
    const int64_t i = static_cast<int64_t>(position[d]) * stride[d] + static_cast<int64_t>(k) * dilation[d] - padding[d];
    if (i < 0 || i >= static_cast<int64_t>(image[d])) return false;
    (*at)[d] = static_cast<uint64_t>(i);
    return true;
  }
};

// visit(batch, channel, position) for every element of a grid.
template <typename F>
void ForEach(const Grid& grid, F&& visit) {
  for (uint64_t n = 0; n < grid.n; ++n)
    for (uint64_t c = 0; c < grid.c; ++c) {
      Position p;
      for (p[0] = 0; p[0] < grid.size[0]; ++p[0])
        for (p[1] = 0; p[1] < grid.size[1]; ++p[1]) {
          CheckAbandoned();
          for (p[2] = 0; p[2] < grid.size[2]; ++p[2]) visit(n, c, static_cast<const Position&>(p));
        }
    }
}

}  // namespace dxtensor::software
