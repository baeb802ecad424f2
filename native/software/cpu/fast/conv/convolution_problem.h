// The description of a convolution that its strategies read: sizes, strides, the taps of each dimension, the epilogue.
//
// Co and Ci are counts of a group. "stride" in a name is a memory stride in elements; conv_stride is the convolution's stride in positions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/round.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

constexpr int kSpatial = 3;
constexpr int64_t kMaxTileRows = 32;

struct Tap {
  int64_t filter_offset;  // in elements
  int64_t offset;         // input position less conv_stride * output position
};

struct GridDimension {
  int64_t count = 1;                      // output positions
  int64_t in_size = 1, conv_stride = 1;   // input positions; the convolution's stride
  int64_t in_stride = 0, out_stride = 0;  // in elements: between input positions; between output positions of this grid
  std::vector<Tap> taps = {{0, 0}};
};

// What all grids of a convolution share. In a weight gradient DirectML swaps roles: `batch` is the layer's Ci, `ci` is its batch.
struct ConvolutionProblem {
  DML_TENSOR_DATA_TYPE in_type, filter_type, out_type;
  int in_bytes, filter_bytes, out_bytes;
  int64_t batch, groups, co, ci;  // co, ci: channels of a group
  int64_t in_batch_stride, in_channel_stride, filter_co_stride, filter_ci_stride, filter_group_stride, out_batch_stride, out_channel_stride,
      bias_stride;
  bool has_bias;
  bool normalizes = false;    // input 3 of the grids is factor and shift by output channel, as ScaleShiftOf gives them
  bool has_residual = false;  // input 4 is added, in the layout of the output
  Activations activations;
  bool clamps = false;              // the result is clamped to [input 5, input 6]; NaN stays
  std::optional<ClampRange> clamp;  // for a float32 result whose activations only clamp: ApplyEpilogue does everything

  bool input_is_padded = false, output_is_padded = false;  // channels of each pixel, to whole vectors

  ClampRange ClampIn(const KernelArguments& arguments) const;
  bool Activates() const { return clamps || !activations.empty(); }
  bool HasEpilogue() const { return has_bias || normalizes || has_residual || Activates(); }

  // Adds the bias, or applies batch norm, to n sums of an output channel (counted over all groups).
  void ApplyScaleShift(const KernelArguments& arguments, int64_t channel, float* sums, int64_t n) const;
  // Factor and shift of all output channels: two arrays of ScaleShiftStride() floats, padded to whole vectors with factors of 1 and shifts
  // of 0. Null where there are none. `buffer`: scratch of 2 * ScaleShiftStride() floats.
  const float* ScaleShiftOf(const KernelArguments& arguments, float* buffer) const;
  int64_t ScaleShiftStride() const { return RoundUp(groups * co + PixelTiles::kMaxVectors * kMaxWidth, kMaxWidth); }
  // Adds the residual at output offsets offset, offset + element_stride, ...
  void AddResidual(const KernelArguments& arguments, int64_t offset, int64_t element_stride, float* sums, int64_t n) const;
  // Activations of n sums.
  void Activate(const KernelArguments& arguments, float* sums, int64_t n) const;
  // Where `clamp` is set: applies the whole epilogue to n sums of each of up to kMaxTileRows output channels, and stores them contiguously
  // from output offset `offset` on.
  void ApplyEpilogue(const KernelArguments& arguments, int64_t channel, int64_t co_count, const float* sums, int64_t stride, int64_t offset,
                     int64_t n) const;
};

// Floats between NHWC pixels: whole vectors. Pixels that are read (one in conv_stride) must not be a multiple of half a page apart, since
// they would compete for few cache sets.
inline int64_t PixelStride(int64_t channels, int64_t conv_stride = 1) {
  const int64_t floats = RoundUp(channels, kMaxWidth);
  return floats * conv_stride % 512 == 0 ? floats + kMaxWidth : floats;
}

inline bool IsFloat32(DML_TENSOR_DATA_TYPE type) { return type == DML_TENSOR_DATA_TYPE_FLOAT32; }

// Input positions between adjacent taps.
inline int64_t TapStep(const GridDimension& d) { return d.taps.size() > 1 ? d.taps[1].offset - d.taps[0].offset : 1; }
// Whether the taps are filter_tap_stride apart in memory, in order, and read input positions at an even distance.
inline bool HasEvenTaps(const GridDimension& d, int64_t filter_tap_stride = 1) {
  const int64_t tap_step = TapStep(d);
  for (size_t i = 1; i < d.taps.size(); ++i)
    if (d.taps[i].filter_offset != d.taps[i - 1].filter_offset + filter_tap_stride || d.taps[i].offset != d.taps[i - 1].offset + tap_step)
      return false;
  return tap_step >= 1;
}

// Columns [first, last) of a row of `length` for which position start + column * conv_stride lies in [0, size).
inline void Clip(int64_t start, int64_t conv_stride, int64_t size, int64_t length, int64_t* first, int64_t* last) {
  if (conv_stride == 1) {  // without a division
    *first = std::max<int64_t>(0, -start);
    *last = std::min(length, size - start);
  } else {
    *first = start >= 0 ? 0 : (-start + conv_stride - 1) / conv_stride;
    *last = start >= size ? 0 : std::min(length, (size - 1 - start) / conv_stride + 1);
  }
  if (*first >= *last) *first = *last = 0;
}

}  // namespace dxtensor::software::fast
