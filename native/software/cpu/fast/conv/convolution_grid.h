// One grid of output positions of a convolution, and the taps of the filter that meet it. Plain data, immutable after construction.
#pragma once

#include <vector>

#include "convolution_problem.h"

namespace dxtensor::software::fast {

struct ConvolutionGrid {
  // Output positions that are adjacent along the last dimension.
  struct Segment {
    int64_t image, at[kSpatial], column, length;  // column: in the panel
  };
  // What a segment reads for one tap: input offset + column for columns [first, last); the others are padding.
  struct TapRange {
    int64_t offset, first, last;
  };

  ConvolutionGrid(const ConvolutionProblem& problem, const GridDimension* dimensions, int64_t out_start);

  // The segments of `columns` output positions from `first` on, counted over all images; returns how many.
  int FindSegments(int64_t first, int64_t columns, Segment* segments) const;
  TapRange TapRangeOf(const Segment& segment, int64_t tap) const;
  // Where output position `column` of an output channel (m of a group) is stored.
  int64_t OutOffset(const ConvolutionProblem& problem, int64_t group, int64_t m, int64_t column) const;
  // to[j * co_count + i] = A[m + i][k + j], the filter of a group as a matrix of Co x (Ci * taps).
  void PackFilter(const ConvolutionProblem& problem, const uint8_t* filter, int64_t group, int64_t m, int64_t co_count, int64_t k,
                  int64_t count, float* to) const;

  GridDimension dim[kSpatial];
  int64_t out_start;
  int64_t taps = 1, columns = 1, depth = 0;  // columns: output positions of all images; depth: Ci * taps
  std::vector<int64_t> filter_offsets;       // by tap
  int64_t filter_tap_stride = 0;             // between adjacent taps; 0 when they are not evenly spaced
  bool evenly_through_channels = false;
  bool offsets_grow = false;  // with the column

 private:
  void MergeDimensions();
};

}  // namespace dxtensor::software::fast
