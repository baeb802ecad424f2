// The elements that a convolution reads: shared by float and integer convolutions. Plain data; any thread.
#pragma once

#include <array>

#include "iterate.h"

namespace dxtensor::software {

constexpr uint32_t kConvolved = 3;  // spatial dimensions
using OutputPosition = std::array<uint64_t, kConvolved>;

// A tensor {N, C, D, H, W}; missing leading spatial dimensions have size 1.
struct Volume {
  uint64_t n = 1, c = 1;
  std::array<uint64_t, kConvolved> size{1, 1, 1};
  uint64_t n_stride = 0, c_stride = 0;
  std::array<uint64_t, kConvolved> stride{};

  explicit Volume(const schema::TensorDesc& t) {
    const Dimensions strides = BroadcastStrides(t);
    n = t.sizes[0];
    c = t.sizes[1];
    n_stride = strides[0];
    c_stride = strides[1];
    for (uint32_t d = 2; d < t.rank; ++d) {
      size[kConvolved - t.rank + d] = t.sizes[d];
      stride[kConvolved - t.rank + d] = strides[d];
    }
  }
  uint64_t At(uint64_t batch, uint64_t channel) const { return batch * n_stride + channel * c_stride; }
};

// One spatial dimension of the window. Microsoft's library computes nothing in the last output_padding elements of a dimension:
// they are 0, without bias but activated, in both directions.
struct ConvolvedAxis {
  int64_t stride = 1, dilation = 1, padding = 0;
  uint64_t output_padding = 0;
};

struct ConvolutionShape {
  ConvolutionShape(const schema::OperatorDesc& desc, const schema::TensorDesc& input, const schema::TensorDesc& filter);

  Volume in, filter, out;
  std::array<ConvolvedAxis, kConvolved> axis{};
  uint64_t groups = 1;
  bool flips = false;
  bool backward = false;

  // The input position that filter tap k of output position p reads along dimension d; false when there is none.
  bool Position(uint32_t d, uint64_t p, uint64_t k, uint64_t* position) const {
    const ConvolvedAxis& a = axis[d];
    int64_t at = static_cast<int64_t>(p), tap = static_cast<int64_t>(k) * a.dilation;
    if (backward) {
      at += a.padding - tap;
      if (at < 0 || at % a.stride) return false;
      at /= a.stride;
    } else {
      at = at * a.stride + tap - a.padding;
    }
    if (at < 0 || at >= static_cast<int64_t>(in.size[d])) return false;
    *position = static_cast<uint64_t>(at);
    return true;
  }
  bool IsOutputPadding(const OutputPosition& p) const {
    for (uint32_t d = 0; d < kConvolved; ++d)
      if (p[d] + axis[d].output_padding >= out.size[d]) return true;
    return false;
  }
  uint64_t Tap(uint32_t d, uint64_t k) const { return (flips ? filter.size[d] - 1 - k : k) * filter.stride[d]; }

  // visit(offset in the input, offset in the filter) for everything that output channel co of batch n reads at position p.
  template <typename F>
  void Visit(uint64_t n, uint64_t co, const OutputPosition& p, F&& visit) const {
    const uint64_t per_group_in = in.c / groups, per_group_out = out.c / groups, group = co / per_group_out;
    for (uint64_t i = 0; i < per_group_in; ++i) {
      const uint64_t ci = group * per_group_in + i;
      const uint64_t from = in.At(n, ci), weights = backward ? filter.At(ci, co % per_group_out) : filter.At(co, i);
      uint64_t z, y, x;
      for (uint64_t kz = 0; kz < filter.size[0]; ++kz) {
        if (!Position(0, p[0], kz, &z)) continue;
        for (uint64_t ky = 0; ky < filter.size[1]; ++ky) {
          if (!Position(1, p[1], ky, &y)) continue;
          for (uint64_t kx = 0; kx < filter.size[2]; ++kx)
            if (Position(2, p[2], kx, &x))
              visit(from + z * in.stride[0] + y * in.stride[1] + x * in.stride[2], weights + Tap(0, kz) + Tap(1, ky) + Tap(2, kx));
        }
      }
    }
  }
  // visit(n, channel, position, offset in the output) for every element of the output.
  template <typename F>
  void ForEach(F&& visit) const {
    for (uint64_t n = 0; n < out.n; ++n)
      for (uint64_t co = 0; co < out.c; ++co) {
        OutputPosition p;
        for (p[0] = 0; p[0] < out.size[0]; ++p[0])
          for (p[1] = 0; p[1] < out.size[1]; ++p[1]) {
            CheckAbandoned();
            for (p[2] = 0; p[2] < out.size[2]; ++p[2])
              visit(n, co, static_cast<const OutputPosition&>(p),
                    out.At(n, co) + p[0] * out.stride[0] + p[1] * out.stride[1] + p[2] * out.stride[2]);
          }
      }
  }
};

}  // namespace dxtensor::software
