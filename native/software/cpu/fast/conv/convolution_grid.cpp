#include "convolution_grid.h"

#include <algorithm>

#include "software/cpu/fast/isa/isa_table.h"

namespace dxtensor::software::fast {

namespace {

// `rows` output channels of the filter, `n` weights of each.
void PackTaps(const ConvolutionProblem& s, const uint8_t* filter, int64_t from, int64_t co_count, int64_t read_stride, int64_t n,
              float* to) {
  const IsaTable& table = Table();
  if (IsFloat32(s.filter_type)) {
    table.pack_rows(to, co_count, co_count, reinterpret_cast<const float*>(filter) + from, s.filter_co_stride, read_stride, n);
    return;
  }
  constexpr int64_t kChunk = 64;
  alignas(64) float values[32 * kChunk];
  for (int64_t j = 0; j < n; j += kChunk) {
    const int64_t count = std::min(kChunk, n - j);
    for (int64_t i = 0; i < co_count; ++i)
      table.load(s.filter_type, reinterpret_cast<uint8_t*>(values + i * kChunk),
                 filter + (from + i * s.filter_co_stride + j * read_stride) * s.filter_bytes, read_stride, count);
    table.pack_rows(to + j * co_count, co_count, co_count, values, kChunk, 1, count);
  }
}

}  // namespace

ConvolutionGrid::ConvolutionGrid(const ConvolutionProblem& problem, const GridDimension* dimensions, int64_t start) : out_start(start) {
  for (int d = 0; d < kSpatial; ++d) dim[d] = dimensions[d];
  MergeDimensions();
  columns = problem.batch;
  for (const GridDimension& d : dim) {
    taps *= static_cast<int64_t>(d.taps.size());
    columns *= d.count;
  }
  depth = problem.ci * taps;
  for (const Tap& z : dim[0].taps)
    for (const Tap& y : dim[1].taps)
      for (const Tap& x : dim[2].taps) filter_offsets.push_back(z.filter_offset + y.filter_offset + x.filter_offset);
  if (taps > 1) filter_tap_stride = filter_offsets[1] - filter_offsets[0];
  else filter_tap_stride = problem.filter_ci_stride;
  for (int64_t t = 1; t < taps; ++t)
    if (filter_offsets[t] != filter_offsets[0] + t * filter_tap_stride) filter_tap_stride = 0;
  evenly_through_channels = filter_tap_stride != 0 && problem.filter_ci_stride == taps * filter_tap_stride;
  offsets_grow = dim[2].count == 1 || dim[2].out_stride > 0;
  int64_t extent = dim[2].out_stride * (dim[2].count - 1);
  for (int d = 1; d >= 0; --d) {
    if (dim[d].count == 1) continue;
    offsets_grow &= dim[d].out_stride > extent;
    extent += dim[d].out_stride * (dim[d].count - 1);
  }
  offsets_grow &= problem.batch == 1 || problem.out_batch_stride > extent;
}

// Merges a dimension with the next where both have one tap that is never in the padding, and memory is contiguous across them.
void ConvolutionGrid::MergeDimensions() {
  auto is_simple = [](const GridDimension& d) {
    return d.taps.size() == 1 && d.taps[0].offset == 0 && (d.count - 1) * d.conv_stride < d.in_size;
  };
  for (int d = 0; d + 1 < kSpatial; ++d) {
    GridDimension &outer = dim[d], &inner = dim[d + 1];
    if (!is_simple(outer) || !is_simple(inner)) continue;
    if (outer.count != 1 && (outer.in_stride * outer.conv_stride != inner.in_stride * inner.conv_stride * inner.count ||
                             outer.out_stride != inner.out_stride * inner.count))
      continue;
    inner.taps[0].filter_offset += outer.taps[0].filter_offset;
    inner.in_size = inner.count * outer.count;
    inner.in_stride *= inner.conv_stride;
    inner.conv_stride = 1;
    inner.count *= outer.count;
    outer = GridDimension();
  }
}

int ConvolutionGrid::FindSegments(int64_t first, int64_t columns, Segment* segments) const {
  int64_t rest = first;
  Segment s{};
  for (int d = kSpatial - 1; d >= 0; --d) {
    s.at[d] = rest % dim[d].count;
    rest /= dim[d].count;
  }
  s.image = rest;
  int count = 0;
  for (int64_t done = 0; done < columns;) {
    s.column = done;
    s.length = std::min(dim[2].count - s.at[2], columns - done);
    done += s.length;
    segments[count++] = s;
    s.at[2] = 0;
    if (++s.at[1] < dim[1].count) continue;
    s.at[1] = 0;
    if (++s.at[0] < dim[0].count) continue;
    s.at[0] = 0;
    ++s.image;
  }
  return count;
}

ConvolutionGrid::TapRange ConvolutionGrid::TapRangeOf(const Segment& s, int64_t tap) const {
  const auto nx = static_cast<int64_t>(dim[2].taps.size()), ny = static_cast<int64_t>(dim[1].taps.size());
  const int64_t x = s.at[2] * dim[2].conv_stride + dim[2].taps[static_cast<size_t>(tap % nx)].offset;
  const int64_t y = s.at[1] * dim[1].conv_stride + dim[1].taps[static_cast<size_t>(tap / nx % ny)].offset;
  const int64_t z = s.at[0] * dim[0].conv_stride + dim[0].taps[static_cast<size_t>(tap / nx / ny)].offset;
  TapRange r{z * dim[0].in_stride + y * dim[1].in_stride + x * dim[2].in_stride, 0, 0};
  if (z >= 0 && z < dim[0].in_size && y >= 0 && y < dim[1].in_size)
    Clip(x, dim[2].conv_stride, dim[2].in_size, s.length, &r.first, &r.last);
  return r;
}

int64_t ConvolutionGrid::OutOffset(const ConvolutionProblem& problem, int64_t group, int64_t m, int64_t column) const {
  int64_t offset = out_start + (group * problem.co + m) * problem.out_channel_stride;
  for (int d = kSpatial - 1; d >= 0; --d) {
    offset += column % dim[d].count * dim[d].out_stride;
    column /= dim[d].count;
  }
  return offset + column * problem.out_batch_stride;
}

void ConvolutionGrid::PackFilter(const ConvolutionProblem& problem, const uint8_t* filter, int64_t group, int64_t m, int64_t co_count,
                                 int64_t k, int64_t count, float* to) const {
  const int64_t start = group * problem.filter_group_stride + m * problem.filter_co_stride;
  if (evenly_through_channels) {
    PackTaps(problem, filter, start + filter_offsets[0] + k * filter_tap_stride, co_count, filter_tap_stride, count, to);
    return;
  }
  for (int64_t done = 0; done < count;) {
    const int64_t channel = (k + done) / taps, tap = (k + done) % taps;
    const int64_t from = start + channel * problem.filter_ci_stride + filter_offsets[static_cast<size_t>(tap)];
    int64_t n = 1;
    if (filter_tap_stride) {
      n = std::min(taps - tap, count - done);
    } else {
      const int64_t read_stride =
          tap + 1 < taps ? filter_offsets[static_cast<size_t>(tap + 1)] - filter_offsets[static_cast<size_t>(tap)] : 0;
      while (tap + n < taps && done + n < count &&
             filter_offsets[static_cast<size_t>(tap + n)] - filter_offsets[static_cast<size_t>(tap + n - 1)] == read_stride)
        ++n;
      PackTaps(problem, filter, from, co_count, read_stride, n, to + done * co_count);
      done += n;
      continue;
    }
    PackTaps(problem, filter, from, co_count, filter_tap_stride, n, to + done * co_count);
    done += n;
  }
}

}  // namespace dxtensor::software::fast
