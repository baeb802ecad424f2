// A convolution whose input or output has its channels side by side (channels last): tiles of some pixels of a line by some channels,
// which need no packing of the input and no whole vectors of columns. A side that lies otherwise is turned on the way, both where columns
// are few.
//
// Immutable; Run uses the thread pool.
#pragma once

#include <vector>

#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_shape.h"

namespace dxtensor::software::fast {

class Pixels {
 public:
  static bool Fits(const ConvolutionShape& shape, const GridDimension* dimensions);

  Pixels() = default;
  Pixels(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  size_t PreparedBytes() const;
  void Prepare(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const;
  // `filter`: what Prepare made; scratch without what the filter may take.
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, const float* filter, float* scratch) const;

 private:
  static constexpr int64_t kMostTaps = 256;
  // Pixels side by side in a line of outputs that read the same taps of a line, [first_tap, last_tap), as several tiles.
  struct Part {
    int64_t first, count;
    size_t first_tap, last_tap;
    int64_t first_tile, tiles;
  };
  static int64_t FirstOf(const Part& part, int64_t tile);  // of a part's tiles
  struct Room;
  void PlanTiles(int64_t most);
  bool PlanLines();
  double ChooseVectors();
  bool GainsByCopies(int64_t length);
  void PlanTasks();
  void PrepareEvenly(const ConvolutionShape& shape, const float* filter, float* to) const;
  void CopyLine(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t image, int64_t line, float* to) const;
  void RunTask(const ConvolutionShape& shape, const KernelArguments& arguments, const Room& room, int64_t first_image, int64_t task) const;
  // The taps that pixels of a line read, from their places on: their offsets and weights.
  int64_t FindTaps(const Part& part, int64_t line, int64_t tap_floats, int64_t* offsets, int64_t* cells) const;
  int64_t PanelWidth(int64_t panel) const;
  int64_t GroupFloats() const;  // of the packed filter
  // Activations and the turn of what was computed in `sums`, `step` floats a pixel.
  void Finish(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t pixels, float* sums, int64_t step, int64_t channel,
              int64_t channels, int64_t to) const;
  int64_t CopiedFloats() const { return y_.in_size * line_floats_; }  // of an image

  GridDimension y_, x_;
  int64_t end_step_ = 0;                                                       // of ConvolutionShape
  int64_t out_start_ = 0, images_ = 0, groups_ = 0, rows_ = 0, channels_ = 0;  // rows and channels: of a group
  bool by_channel_ = false;                                                    // each channel by itself
  int line_taps_ = 0, line_step_ = 0;  // whose taps of a line lie side by side: see PixelTiles; or 0
  bool turns_input_ = false, turns_output_ = false;
  bool copies_input_ = false, pads_ = false;                // as it is or turned; with zeros at the ends of lines
  bool joins_taps_ = false;                                 // those of a line, which then are one
  int64_t in_step_ = 0, in_line_ = 0, out_step_ = 0;        // floats of a pixel and a line
  int64_t left_ = 0, line_floats_ = 0;                      // of the copy: zeros in front of a line
  int64_t vectors_ = 0, width_ = 0, panels_ = 0, run_ = 0;  // of a tile's channels; floats that a tap reads
  std::vector<Part> parts_;                                 // of a line
  int64_t tiles_ = 0;
  int64_t block_ = 1, blocks_ = 1, panel_block_ = 1, panel_blocks_ = 1;  // tiles and panels of a task
  bool pixels_first_ = false;  // tasks side by side are of the same tiles, or else of the same panels
  int64_t images_at_once_ = 1;
};

}  // namespace dxtensor::software::fast
