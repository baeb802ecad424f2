// Packing for the im2col GEMM: panels of the filter (A), and panels of the input (B) made from its taps without an im2col buffer.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_grid.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMaxRun = 384;  // depth of a block of panels
constexpr int64_t kLongRun = 48;  // taps of a row from which on they are transposed without a copy

void LoadFloats(DML_TENSOR_DATA_TYPE type, float* to, const uint8_t* from, int64_t stride, int64_t n) {
  if (IsFloat32(type) && stride == 1) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  else Table().load(type, reinterpret_cast<uint8_t*>(to), from, stride, n);
}

// `rows` output channels of the filter, `n` weights of each.
void PackTaps(const ConvolutionShape& s, const uint8_t* filter, int64_t from, int64_t co_count, int64_t read_stride, int64_t n, float* to) {
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

void ConvolutionGrid::PackFilter(const ConvolutionShape& shape, const uint8_t* filter, int64_t group, int64_t m, int64_t co_count,
                                 int64_t k, int64_t count, float* to) const {
  const int64_t start = group * shape.filter_group_stride + m * shape.filter_co_stride;
  if (evenly_through_channels_) {
    PackTaps(shape, filter, start + filter_offsets_[0] + k * filter_tap_stride_, co_count, filter_tap_stride_, count, to);
    return;
  }
  for (int64_t done = 0; done < count;) {
    const int64_t channel = (k + done) / taps_, tap = (k + done) % taps_;
    const int64_t from = start + channel * shape.filter_ci_stride + filter_offsets_[static_cast<size_t>(tap)];
    int64_t n = 1;
    if (filter_tap_stride_) {
      n = std::min(taps_ - tap, count - done);
    } else {
      const int64_t read_stride =
          tap + 1 < taps_ ? filter_offsets_[static_cast<size_t>(tap + 1)] - filter_offsets_[static_cast<size_t>(tap)] : 0;
      while (tap + n < taps_ && done + n < count &&
             filter_offsets_[static_cast<size_t>(tap + n)] - filter_offsets_[static_cast<size_t>(tap + n - 1)] == read_stride)
        ++n;
      PackTaps(shape, filter, from, co_count, read_stride, n, to + done * co_count);
      done += n;
      continue;
    }
    PackTaps(shape, filter, from, co_count, filter_tap_stride_, n, to + done * co_count);
    done += n;
  }
}

// Row by row of the panel: what a tap reads for adjacent output positions is contiguous.
void ConvolutionGrid::PackInputSegments(const ConvolutionShape& shape, const uint8_t* in, const Segment* segments, int count, int64_t width,
                                        int64_t k, int64_t depth, float* to) const {
  const int64_t read_stride = dim_[2].conv_stride * dim_[2].in_stride;
  // The segments of a tap's row are the same for every channel; those of a few taps at a time are kept.
  constexpr int64_t kKept = 96;
  PackSegment kept[kKept];
  const int64_t used = segments[count - 1].column + segments[count - 1].length;
  const int per_row = count + (used < width ? 1 : 0);
  const int64_t group = std::max<int64_t>(1, std::min<int64_t>(taps_, kKept / per_row));
  for (int64_t start = 0; start < taps_; start += group) {
    const int64_t taps = std::min(group, taps_ - start);
    for (int64_t t = 0; t < taps; ++t) {
      PackSegment* segments_of_tap = kept + t * per_row;
      for (int s = 0; s < count; ++s) {
        const TapRange r = TapRangeOf(segments[s], start + t);
        segments_of_tap[s] = {r.offset + segments[s].image * shape.in_batch_stride, static_cast<int32_t>(segments[s].column),
                              static_cast<int32_t>(r.first), static_cast<int32_t>(r.last), static_cast<int32_t>(segments[s].length)};
      }
      if (per_row > count) segments_of_tap[count] = {0, static_cast<int32_t>(used), 0, 0, static_cast<int32_t>(width - used)};
    }
    const int64_t first_channel = k / taps_, last_channel = (k + depth - 1) / taps_;
    for (int64_t channel = first_channel; channel <= last_channel; ++channel) {
      const int64_t panel_row = channel * taps_ + start - k;  // of the panel, for the first of these taps
      const int64_t first = std::max<int64_t>(0, -panel_row), last = std::min(taps, depth - panel_row);
      if (first >= last) continue;
      float* rows = to + (panel_row + first) * width;
      const uint8_t* base = in + channel * shape.in_channel_stride * shape.in_bytes;
      if (IsFloat32(shape.in_type)) {
        Table().pack_segments(rows, width, reinterpret_cast<const float*>(base), read_stride, kept + first * per_row,
                              static_cast<int>(last - first), per_row);
        continue;
      }
      for (int64_t t = first; t < last; ++t, rows += width)
        for (int p = 0; p < per_row; ++p) {
          const PackSegment& pack_segment = kept[t * per_row + p];
          float* target = rows + pack_segment.column;
          std::fill(target, target + pack_segment.length, 0.0f);
          if (pack_segment.last > pack_segment.first)
            LoadFloats(shape.in_type, target + pack_segment.first,
                       base + (pack_segment.offset + pack_segment.first * read_stride) * shape.in_bytes, read_stride,
                       pack_segment.last - pack_segment.first);
        }
    }
  }
}

// One output position in each image: runs of taps of all images together.
void ConvolutionGrid::PackSinglePositions(const ConvolutionShape& shape, const float* in, int64_t columns, int64_t width, int64_t k,
                                          int64_t depth, float* to) const {
  const auto nx = static_cast<int64_t>(dim_[2].taps.size()), ny = static_cast<int64_t>(dim_[1].taps.size());
  const int64_t read_stride = nx > 1 ? (dim_[2].taps[1].offset - dim_[2].taps[0].offset) * dim_[2].in_stride : 1;
  const bool transposes_directly = read_stride == 1 && nx >= kLongRun;
  alignas(64) float rows[32 * kMaxRun];
  for (int64_t done = 0; done < depth;) {
    const int64_t at = k + done, channel = at / taps_, tap = at % taps_, n = std::min(nx - tap % nx, depth - done);
    const float* from = in + channel * shape.in_channel_stride + dim_[2].taps[static_cast<size_t>(tap % nx)].offset * dim_[2].in_stride +
                        dim_[1].taps[static_cast<size_t>(tap / nx % ny)].offset * dim_[1].in_stride +
                        dim_[0].taps[static_cast<size_t>(tap / nx / ny)].offset * dim_[0].in_stride;
    if (transposes_directly) Table().pack_rows(to + done * width, width, columns, from, shape.in_batch_stride, 1, n);
    else Table().copy_rows(rows + done, kMaxRun, from, shape.in_batch_stride, read_stride, columns, n);
    done += n;
  }
  if (!transposes_directly) Table().pack_rows(to, width, columns, rows, kMaxRun, 1, depth);
}

// Column by column of the panel, then transposed: what an output position reads for adjacent taps is contiguous.
void ConvolutionGrid::PackTapRuns(const ConvolutionShape& shape, const uint8_t* in, const Segment* segments, int count, int64_t columns,
                                  int64_t width, int64_t k, int64_t depth, float* to) const {
  const auto nx = static_cast<int64_t>(dim_[2].taps.size()), ny = static_cast<int64_t>(dim_[1].taps.size());
  const auto pack_segments = Table().pack_segments;
  if (columns < width) std::memset(to, 0, static_cast<size_t>(width * depth) * sizeof(float));
  if (is_one_output_)
    return PackSinglePositions(shape, reinterpret_cast<const float*>(in) + segments[0].image * shape.in_batch_stride, columns, width, k,
                               depth, to);
  alignas(64) float rows[32 * kMaxRun];
  const int64_t tap_step = nx > 1 ? dim_[2].taps[1].offset - dim_[2].taps[0].offset : 1;
  const int64_t tap_stride = tap_step * dim_[2].in_stride;
  const bool plain = IsFloat32(shape.in_type) && tap_stride == 1;
  for (int64_t done = 0; done < depth;) {
    const int64_t at = k + done, channel = at / taps_, tap = at % taps_, tx = tap % nx;
    const int64_t n = std::min(nx - tx, depth - done);
    const int64_t tap_y = dim_[1].taps[static_cast<size_t>(tap / nx % ny)].offset,
                  tap_z = dim_[0].taps[static_cast<size_t>(tap / nx / ny)].offset;
    const int64_t tap_x = dim_[2].taps[static_cast<size_t>(tx)].offset;
    for (int s = 0; s < count; ++s) {
      const Segment& segment = segments[s];
      const int64_t y = segment.at[1] * dim_[1].conv_stride + tap_y, z = segment.at[0] * dim_[0].conv_stride + tap_z;
      const bool inside = z >= 0 && z < dim_[0].in_size && y >= 0 && y < dim_[1].in_size;
      const int64_t start =
          segment.image * shape.in_batch_stride + channel * shape.in_channel_stride + z * dim_[0].in_stride + y * dim_[1].in_stride;
      for (int64_t j = 0; j < segment.length; ++j) {
        float* target = rows + (segment.column + j) * kMaxRun + done;
        const int64_t x = (segment.at[2] + j) * dim_[2].conv_stride + tap_x;
        int64_t first = 0, last = 0;
        if (inside) {
          if (tap_step > 0) Clip(x, tap_step, dim_[2].in_size, n, &first, &last);
          else if (tap_step < 0) Clip(dim_[2].in_size - 1 - x, -tap_step, dim_[2].in_size, n, &first, &last);
          else last = x >= 0 && x < dim_[2].in_size ? n : 0;
        }
        const int64_t offset = start + x * dim_[2].in_stride;
        if (plain) {
          const PackSegment pack_segment = {offset, 0, static_cast<int32_t>(first), static_cast<int32_t>(last), static_cast<int32_t>(n)};
          pack_segments(target, n, reinterpret_cast<const float*>(in), 1, &pack_segment, 1, 1);
          continue;
        }
        std::fill(target, target + n, 0.0f);
        if (last > first)
          LoadFloats(shape.in_type, target + first, in + (offset + first * tap_stride) * shape.in_bytes, tap_stride, last - first);
      }
    }
    done += n;
  }
  Table().pack_rows(to, width, columns, rows, kMaxRun, 1, depth);
}

}  // namespace dxtensor::software::fast
