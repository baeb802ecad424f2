// One grid of output positions of a convolution and its taps; chooses and runs the method. Immutable after construction.
#pragma once

#include <vector>

#include "software/cpu/fast/gemm/panel_gemm.h"
#include "convolution_shape.h"
#include "depthwise_weight_gradient.h"
#include "implicit_gemm_nhwc.h"
#include "weight_gradient_rows.h"
#include "winograd.h"
#include "winograd_weight_gradient.h"

namespace dxtensor::software::fast {

class ConvolutionGrid {
 public:
  ConvolutionGrid(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start);
  size_t ScratchBytes() const;
  // `prepacked`: what Prepack made of the filter, or null.
  void Run(const ConvolutionShape& shape, const KernelArguments& arguments, const uint8_t* prepacked) const;
  size_t PrepackedBytes() const;
  // Whether it reads the filter without packing.
  bool ReadsFilter() const { return depth_ > 0 && PrepackedBytes() == 0; }
  void Prepack(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const;

 private:
  friend class GridSource;
  // The plan of the implicit GEMM for NCHW: see implicit_gemm_nchw.cpp.
  struct NchwPlan {
    bool copies = false, shares_copies = false;
    bool depthwise = false;                    // one input channel for one output channel
    int64_t k_splits = 1;                      // split-K over the channels, each with its own sums
    int64_t pitch = 0, length = 0, tiles = 0;  // floats between input rows; columns of an image; tiles of columns
    int64_t chunks = 1;                        // tasks of an image
    int64_t channel_stride = 0;
    // The padded copy of the input: its rows, the input row of its first row, the zeros at the left. With a convolution stride it has
    // phases: rows first_row + phase.y + i * stride_h, columns phase.x - left + i * stride_w.
    int64_t rows = 0, first_row = 0, left = 0, stride_h = 1, stride_w = 1;
    struct Phase {
      int64_t y, x;
    };
    std::vector<Phase> phases;
    std::vector<int32_t> offsets;  // by tap
    // By tile: the taps that read more than the padding above and below the input. Empty: all taps.
    struct TapSpan {
      int32_t first, last;
    };
    std::vector<TapSpan> tap_spans;
  };
  void PrepackWinograd(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const;
  bool PlanNchw(const ConvolutionShape& shape);  // whether it covers the shape and gains
  size_t NchwScratchBytes() const;
  void RunNchw(const ConvolutionShape& shape, const KernelArguments& arguments, const float* prepacked) const;
  bool PacksNchwFilter() const { return !nchw_.depthwise && nchw_.k_splits == 1; }
  int64_t NchwFilterFloats() const;
  void PackNchwFilter(const ConvolutionShape& shape, const KernelArguments& arguments, float* to) const;
  void CopyChannel(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t channel, float* to) const;
  void RunNchwTask(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                   const float* filter, const float* in) const;
  void PrefetchNchwOutput(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m) const;
  void RunNchwDepthwise(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                        int64_t tile_last, const float* in, float* row) const;
  void RunNchwSplitK(const ConvolutionShape& shape, const KernelArguments& arguments, float* filter, float* sums) const;
  int64_t DepthwiseFloats() const;
  int64_t NchwTileStart(int64_t tile) const;
  void FindTapSpans(NchwPlan* plan) const;
  NchwPlan::TapSpan TapSpanOf(int64_t tile) const;
  void MultiplyNchwTile(int64_t tile, int64_t co, int64_t co_count, int64_t channel, int64_t last_channel, const float* filter,
                        const float* in, float* sums) const;
  void StoreNchwTile(const ConvolutionShape& shape, const KernelArguments& arguments, int64_t plane, int64_t tile, int64_t m,
                     int64_t co_count, float* sums) const;
  // to[j * co_count + i] = A[m + i][k + j], the filter of a group as a matrix of Co x (Ci * taps).
  void PackFilter(const ConvolutionShape& shape, const uint8_t* filter, int64_t group, int64_t m, int64_t co_count, int64_t k,
                  int64_t count, float* to) const;
  // Output positions that are adjacent along the last dimension.
  struct Segment {
    int64_t image, at[kSpatial], column, length;  // column: in the panel
  };
  // What a segment reads for one tap: input offset + column for columns [first, last); the others are padding.
  struct TapRange {
    int64_t offset, first, last;
  };

  void MergeDimensions();
  void MergeTaps();
  void Choose(const ConvolutionShape& shape);
  void RunEmpty(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  void WriteZeros(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  int FindSegments(int64_t first, int64_t columns, Segment* segments) const;
  TapRange TapRangeOf(const Segment& segment, int64_t tap) const;
  void RunDirect(const ConvolutionShape& shape, const KernelArguments& arguments) const;
  void PackInputSegments(const ConvolutionShape& shape, const uint8_t* in, const Segment* segments, int count, int64_t width, int64_t k,
                         int64_t depth, float* to) const;
  void PackSinglePositions(const ConvolutionShape& shape, const float* in, int64_t columns, int64_t width, int64_t k, int64_t depth,
                           float* to) const;
  void PackTapRuns(const ConvolutionShape& shape, const uint8_t* in, const Segment* segments, int count, int64_t columns, int64_t width,
                   int64_t k, int64_t depth, float* to) const;

  GridDimension dim_[kSpatial];
  int64_t out_start_;
  int64_t taps_ = 1, columns_ = 1, depth_ = 0;
  std::vector<int64_t> filter_offsets_;  // by tap
  int64_t filter_tap_stride_ = 0;        // between adjacent taps; 0 when they are not evenly spaced
  bool evenly_through_channels_ = false;
  bool offsets_grow_ = false;                        // with the column
  bool packs_runs_ = false, is_one_output_ = false;  // one output position of each image, float32, no tap in the padding
  enum class Method {
    Empty,
    Im2col,
    Direct,
    ImplicitGemmNchw,
    Winograd,
    WinogradWeightGradient,
    WeightGradientRows,
    DepthwiseWeightGradient,
    ImplicitGemmNhwc
  } method_ = Method::Empty;
  NchwPlan nchw_;
  Winograd winograd_;
  WinogradWeightGradient winograd_weight_gradient_;
  WeightGradientRows weight_gradient_rows_;
  DepthwiseWeightGradient depthwise_weight_gradient_;
  ImplicitGemmNhwc nhwc_;
  int64_t batch_ = 0, groups_ = 0, co_ = 0, ci_ = 0;
  PanelGemm im2col_gemm_;
};

}  // namespace dxtensor::software::fast
