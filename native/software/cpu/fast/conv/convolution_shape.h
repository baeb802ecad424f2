// What describes a convolution to its kernels: the dimensions with their taps, strides, the filter's layout.
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
constexpr int64_t kMostTileRows = 32;

struct Tap {
  int64_t cell;    // offset in the filter, in elements
  int64_t offset;  // in positions of the input
};

struct GridDimension {
  int64_t count = 1;                      // output positions
  int64_t in_size = 1, in_step = 1;       // positions of the input, and how far apart neighbours read
  int64_t in_stride = 0, out_stride = 0;  // in elements: of an input position, from one output position of this grid to the next
  std::vector<Tap> taps = {{0, 0}};
};

// What all grids of a convolution share.
struct ConvolutionShape {
  DML_TENSOR_DATA_TYPE in_type, filter_type, out_type;
  int in_bytes, filter_bytes, out_bytes;
  int64_t images, groups, rows, channels;  // rows: output channels of a group; channels: input channels of a group
  int64_t in_image, in_channel, filter_row, filter_channel, filter_group, out_image, out_row, bias_row;
  bool has_bias;
  bool normalizes = false;  // input 3 of the grids holds factor and shift of each output channel, as EndsOf gives them
  bool adds = false;        // input 4 is added, laid out as the output
  Activations activations;
  bool holds = false;            // inputs 5 and 6 are the limits of the result, of which it becomes the nearer one; NaN stays
  std::optional<Limits> limits;  // where the result is float32 and the activations only hold it: EndTile does all

  bool input_has_room = false, output_has_room = false;  // behind the channels of each pixel, up to whole vectors

  Limits LimitsIn(const KernelArguments& arguments) const;
  bool Activates() const { return holds || !activations.empty(); }

  // Bias or normalisation of n sums of an output channel, of all groups.
  void Finish(const KernelArguments& arguments, int64_t channel, float* sums, int64_t n) const;
  // Factor and shift of each output channel of all groups, in two arrays of EndStep() floats; behind the channels, where whole vectors are
  // read too, those of nothing. Null where there are none. `room`: of 2 * EndStep() floats.
  const float* EndsOf(const KernelArguments& arguments, float* room) const;
  int64_t EndStep() const { return RoundUp(groups * rows + PixelTiles::kMostVectors * kMaxWidth, kMaxWidth); }
  // Adds what lies at the output's places offset, offset + step, ...
  void Add(const KernelArguments& arguments, int64_t offset, int64_t step, float* sums, int64_t n) const;
  // Activations of n sums.
  void Activate(const KernelArguments& arguments, float* sums, int64_t n) const;
  // Where there are limits: all that happens to n sums of each of up to kMostTileRows output channels, and stores them from the output's
  // place `offset` on, side by side.
  void EndTile(const KernelArguments& arguments, int64_t channel, int64_t rows, const float* sums, int64_t stride, int64_t offset,
               int64_t n) const;
};

// Floats from a pixel whose channels lie side by side to the next: whole vectors. Every step-th pixel is read, and these are not to lie a
// multiple of half a page apart, where they would share few places of the cache.
inline int64_t PixelStep(int64_t channels, int64_t step = 1) {
  const int64_t floats = RoundUp(channels, kMaxWidth);
  return floats * step % 512 == 0 ? floats + kMaxWidth : floats;
}

inline bool IsFloat32(DML_TENSOR_DATA_TYPE type) { return type == DML_TENSOR_DATA_TYPE_FLOAT32; }

// How far apart neighbouring taps read.
inline int64_t StepOf(const GridDimension& d) { return d.taps.size() > 1 ? d.taps[1].offset - d.taps[0].offset : 1; }
// Whether taps lie `cell_step` apart in memory, in their order, and read inputs at one distance from each other.
inline bool IsLine(const GridDimension& d, int64_t cell_step = 1) {
  const int64_t step = StepOf(d);
  for (size_t i = 1; i < d.taps.size(); ++i)
    if (d.taps[i].cell != d.taps[i - 1].cell + cell_step || d.taps[i].offset != d.taps[i - 1].offset + step) return false;
  return step >= 1;
}

// Columns [first, last) of a line of `length` for which position start + column * step lies in [0, size).
inline void Clip(int64_t start, int64_t step, int64_t size, int64_t length, int64_t* first, int64_t* last) {
  if (step == 1) {  // without a division
    *first = std::max<int64_t>(0, -start);
    *last = std::min(length, size - start);
  } else {
    *first = start >= 0 ? 0 : (-start + step - 1) / step;
    *last = start >= size ? 0 : std::min(length, (size - 1 - start) / step + 1);
  }
  if (*first >= *last) *first = *last = 0;
}

}  // namespace dxtensor::software::fast
