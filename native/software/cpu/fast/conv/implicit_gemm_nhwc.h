// Implicit GEMM convolution for NHWC: a tile computes some pixels of a row for some vectors of output channels; no im2col buffer, no packed
// input. An NCHW input or output is transposed on the way, and both may be where columns are few. Depthwise convolutions have tiles of
// their own.
#pragma once

#include <vector>

#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_strategy.h"

namespace dxtensor::software::fast {

class ImplicitGemmNhwc final : public ConvStrategy {
 public:
  static bool Fits(const ConvolutionProblem& problem, const ConvolutionGrid& grid);

  ImplicitGemmNhwc(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  size_t WorkspaceBytes() const override;
  size_t PrepackedBytes() const override;
  void Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* to) const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  static constexpr int64_t kMaxTaps = 256;
  // Adjacent pixels of an output row that read the same taps [first_tap, last_tap) of a row, as several tiles.
  struct RowPart {
    int64_t first, count;
    size_t first_tap, last_tap;
    int64_t first_tile, tiles;
  };
  static int64_t FirstOf(const RowPart& part, int64_t tile);  // the first pixel of a tile
  struct RunBuffers;
  void PlanTiles(int64_t max_pixels);
  void ChooseVectors();
  void PlanTasks();
  void PrepackContiguousTaps(const ConvolutionProblem& problem, const float* filter, float* to) const;
  void CopyRow(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t image, int64_t row, float* to) const;
  void RunTask(const ConvolutionProblem& problem, const KernelArguments& arguments, const RunBuffers& buffers, int64_t first_image,
               int64_t task) const;
  // The taps that the pixels of a row read: their offsets in the input and in the filter.
  int64_t FindTaps(const RowPart& part, int64_t row, int64_t tap_floats, int64_t* offsets, int64_t* filter_offsets) const;
  int64_t PanelWidth(int64_t panel) const;
  int64_t GroupFloats() const;  // of the packed filter
  // Applies the epilogue to pixels in `sums`, `stride` floats apart, and stores them, transposed where the output is NCHW.
  void StoreSums(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t pixels, float* sums, int64_t stride,
                 int64_t channel, int64_t channels, int64_t to) const;
  int64_t CopiedFloats() const { return y_.in_size * padded_row_floats_; }  // of an image

  GridDimension y_, x_;
  int64_t scale_shift_stride_ = 0;                                    // of ConvolutionProblem
  int64_t out_start_ = 0, batch_ = 0, groups_ = 0, co_ = 0, ci_ = 0;  // rows and channels: of a group
  bool depthwise_ = false;                                            // each channel by itself
  bool transposes_input_ = false, transposes_output_ = false;
  bool merges_row_taps_ = false;                                            // the taps of a row become one
  int64_t in_pixel_stride_ = 0, in_row_stride_ = 0, out_pixel_stride_ = 0;  // memory strides
  int64_t left_ = 0, padded_row_floats_ = 0;                                // of the copy: pixels of padding at the left
  int64_t vectors_ = 0, width_ = 0, panels_ = 0, tap_floats_ = 0;           // of a tile's channels; floats that a tap reads
  std::vector<RowPart> parts_;                                              // of an output row
  int64_t tiles_ = 0;
  int64_t block_ = 1, blocks_ = 1, panel_block_ = 1, panel_blocks_ = 1;  // tiles and panels of a task
  bool pixels_first_ = false;                                            // adjacent tasks have the same tiles, else the same panels
  int64_t images_per_pass_ = 1;
};

}  // namespace dxtensor::software::fast
