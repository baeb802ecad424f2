// One grid of output positions of a convolution, with its taps, and how it is packed and stored. Immutable after Prepare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../kernel.h"
#include "epilogue.h"
#include "panel_product.h"

namespace dxtensor::software::fast {

constexpr int kSpatial = 3;

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
  bool normalizes = false;  // input 3 of the grids holds center, factor and shift of each output channel
  bool adds = false;        // input 4 is added, laid out as the output
  Activations activations;

  // Bias or normalisation of n sums of an output channel, of all groups.
  void Finish(const KernelArguments& arguments, int64_t channel, float* sums, int64_t n) const;
  // Adds what lies at the output's places offset, offset + step, ...
  void Add(const KernelArguments& arguments, int64_t offset, int64_t step, float* sums, int64_t n) const;
};

inline bool IsFloat32(DML_TENSOR_DATA_TYPE type) { return type == DML_TENSOR_DATA_TYPE_FLOAT32; }

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

class ConvolutionGrid {
 public:
  ConvolutionGrid(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments) const;

 private:
  friend class GridSource;
  // Without packing the input: see convolution_flat.cpp.
  struct Flat {
    bool used = false, copies = false, shares_copies = false;
    bool single = false;                       // one channel of the input for one of the output
    int64_t parts = 1;                         // of the channels, each with sums of its own
    int64_t pitch = 0, length = 0, tiles = 0;  // of a line of the input; columns of an image, and of tiles
    int64_t chunks = 1;                        // tasks of an image
    int64_t channel_step = 0;
    // Of the copy: lines, the first one's place in the input, zeros in front of a line. With steps between the positions that
    // neighbouring outputs read, it is in phases: lines first_line + phase.y + i * step_y, columns phase.x - left + i * step_x.
    int64_t lines = 0, first_line = 0, left = 0, step_y = 1, step_x = 1;
    struct Phase {
      int64_t y, x;
    };
    std::vector<Phase> phases;
    std::vector<int32_t> offsets;  // of the taps
  };
  void PlanFlat(const ConvolutionShape& shape);
  size_t FlatScratchBytes() const;
  void RunFlat(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  void CopyChannel(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t channel, float* to) const;
  void RunFlatTask(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                   const float* filter, const float* in) const;
  void RunFlatLine(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                   const float* in, float* line) const;
  void RunFlatParts(const ConvolutionShape& shape, const KernelArguments& arguments, float* filter, float* sums) const;
  int64_t LineFloats() const;
  int64_t FlatStart(int64_t tile) const;
  void MultiplyFlat(int64_t row, int64_t rows, int64_t channel, int64_t last_channel, const float* filter, const float* in,
                    float* sums) const;
  void StoreFlat(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m, int64_t rows,
                 float* sums) const;
  // A[m + i][k + j] of a group's filter at to[j * rows + i].
  void PackFilter(const ConvolutionShape& shape, const uint8_t* filter, int64_t group, int64_t m, int64_t rows, int64_t k, int64_t count,
                  float* to) const;
  // Output positions that follow each other along the last dimension.
  struct Stretch {
    int64_t image, at[kSpatial], column, length;  // column: of the panel
  };
  // What a stretch reads for one tap: from + offset, for columns [first, last) of it; the others are zero.
  struct Reach {
    int64_t offset, first, last;
  };

  void Merge();
  int Stretches(int64_t first, int64_t columns, Stretch* stretches) const;
  Reach ReachOf(const Stretch& stretch, int64_t tap) const;
  void RunDirect(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  void PackStretches(const ConvolutionShape& shape, const uint8_t* in, const Stretch* stretches, int count, int64_t width, int64_t k,
                     int64_t depth, float* to) const;
  void PackRuns(const ConvolutionShape& shape, const uint8_t* in, const Stretch* stretches, int count, int64_t columns, int64_t width,
                int64_t k, int64_t depth, float* to) const;

  GridDimension dim_[kSpatial];
  int64_t out_start_;
  int64_t taps_ = 1, columns_ = 1, depth_ = 0;
  std::vector<int64_t> cells_;  // of all taps
  int64_t cell_step_ = 0;       // between neighbouring taps; 0 when they are not evenly spaced
  bool evenly_through_channels_ = false;
  bool grows_ = false;  // output offsets grow with the column
  bool packs_runs_ = false, direct_ = false;
  Flat flat_;
  int64_t images_ = 0, groups_ = 0, rows_ = 0, channels_ = 0;
  PanelProduct product_;
};

}  // namespace dxtensor::software::fast
