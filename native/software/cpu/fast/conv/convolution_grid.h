// One grid of output positions of a convolution, with its taps, and how it is packed and stored. Immutable after Prepare.
#pragma once

#include <vector>

#include "software/cpu/fast/gemm/panel_product.h"
#include "convolution_lines.h"
#include "convolution_pixels.h"
#include "convolution_shape.h"
#include "convolution_winograd.h"
#include "plane_sums.h"
#include "winograd_weights.h"

namespace dxtensor::software::fast {

class ConvolutionGrid {
 public:
  ConvolutionGrid(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  // `prepared`: what Prepare made of the filter, or null.
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, const uint8_t* prepared) const;
  size_t PreparedBytes() const;
  // Whether it takes the filter as it is.
  bool ReadsFilter() const { return depth_ > 0 && PreparedBytes() == 0; }
  void Prepare(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const;

 private:
  friend class GridSource;
  // Without packing the input: see convolution_flat.cpp.
  struct Flat {
    bool copies = false, shares_copies = false;
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
    // Of each tile the taps that read more than the zeros above and below the input; none: all of them.
    struct Reading {
      int32_t first, last;
    };
    std::vector<Reading> readings;
  };
  void PrepareWinograd(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const;
  bool PlanFlat(const ConvolutionShape& shape);  // whether it is worth its while
  size_t FlatScratchBytes() const;
  void RunFlat(const ConvolutionShape& shape, const KernelArguments& arguments, const float* prepared) const;
  bool PacksFlat() const { return !flat_.single && flat_.parts == 1; }
  int64_t FlatFilterFloats() const;
  void PackFlat(const ConvolutionShape& shape, const KernelArguments& arguments, float* to) const;
  void CopyChannel(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t channel, float* to) const;
  void RunFlatTask(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                   const float* filter, const float* in) const;
  void AwaitFlat(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m) const;
  void RunFlatLine(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                   const float* in, float* line) const;
  void RunFlatParts(const ConvolutionShape& shape, const KernelArguments& arguments, float* filter, float* sums) const;
  int64_t LineFloats() const;
  int64_t FlatStart(int64_t tile) const;
  void FindReadings(Flat* flat) const;
  Flat::Reading ReadingOf(int64_t tile) const;
  void MultiplyFlat(int64_t tile, int64_t row, int64_t rows, int64_t channel, int64_t last_channel, const float* filter, const float* in,
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
  void MergeTaps();
  void Choose(const ConvolutionShape& shape);
  void RunNothing(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  void WriteZeros(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  int Stretches(int64_t first, int64_t columns, Stretch* stretches) const;
  Reach ReachOf(const Stretch& stretch, int64_t tap) const;
  void RunDirect(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  void PackStretches(const ConvolutionShape& shape, const uint8_t* in, const Stretch* stretches, int count, int64_t width, int64_t k,
                     int64_t depth, float* to) const;
  void PackImages(const ConvolutionShape& shape, const float* in, int64_t columns, int64_t width, int64_t k, int64_t depth,
                  float* to) const;
  void PackRuns(const ConvolutionShape& shape, const uint8_t* in, const Stretch* stretches, int count, int64_t columns, int64_t width,
                int64_t k, int64_t depth, float* to) const;

  GridDimension dim_[kSpatial];
  int64_t out_start_;
  int64_t taps_ = 1, columns_ = 1, depth_ = 0;
  std::vector<int64_t> cells_;  // of all taps
  int64_t cell_step_ = 0;       // between neighbouring taps; 0 when they are not evenly spaced
  bool evenly_through_channels_ = false;
  bool grows_ = false;                              // output offsets grow with the column
  bool packs_runs_ = false, is_one_place_ = false;  // one output position of each image, whose taps all hit, in float32
  enum class Method { Nothing, Product, Direct, Flat, Winograd, WinogradWeights, Lines, Planes, Pixels } method_ = Method::Nothing;
  Flat flat_;
  Winograd winograd_;
  WinogradWeights winograd_weights_;
  LineSums lines_;
  PlaneSums planes_;
  Pixels pixels_;
  int64_t images_ = 0, groups_ = 0, rows_ = 0, channels_ = 0;
  PanelProduct product_;
};

}  // namespace dxtensor::software::fast
