// Panels of a convolution's filter and input.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_grid.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kMostRun = 384;  // depth of a block of panels
constexpr int64_t kLongRun = 48;   // whose rest beyond whole vectors is turned one by one

void LoadFloats(DML_TENSOR_DATA_TYPE type, float* to, const uint8_t* from, int64_t stride, int64_t n) {
  if (IsFloat32(type) && stride == 1) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  else Table().load(type, reinterpret_cast<uint8_t*>(to), from, stride, n);
}

// `rows` rows of the filter, `n` cells of each.
void PackCells(const ConvolutionShape& s, const uint8_t* filter, int64_t from, int64_t rows, int64_t step, int64_t n, float* to) {
  const IsaTable& table = Table();
  if (IsFloat32(s.filter_type)) {
    table.pack_rows(to, rows, rows, reinterpret_cast<const float*>(filter) + from, s.filter_row, step, n);
    return;
  }
  constexpr int64_t kStep = 64;
  alignas(64) float values[32 * kStep];
  for (int64_t j = 0; j < n; j += kStep) {
    const int64_t count = std::min(kStep, n - j);
    for (int64_t i = 0; i < rows; ++i)
      table.load(s.filter_type, reinterpret_cast<uint8_t*>(values + i * kStep),
                 filter + (from + i * s.filter_row + j * step) * s.filter_bytes, step, count);
    table.pack_rows(to + j * rows, rows, rows, values, kStep, 1, count);
  }
}

}  // namespace

void ConvolutionGrid::PackFilter(const ConvolutionShape& shape, const uint8_t* filter, int64_t group, int64_t m, int64_t rows, int64_t k,
                                 int64_t count, float* to) const {
  const int64_t start = group * shape.filter_group + m * shape.filter_row;
  if (evenly_through_channels_) {
    PackCells(shape, filter, start + cells_[0] + k * cell_step_, rows, cell_step_, count, to);
    return;
  }
  for (int64_t done = 0; done < count;) {
    const int64_t channel = (k + done) / taps_, tap = (k + done) % taps_;
    const int64_t from = start + channel * shape.filter_channel + cells_[static_cast<size_t>(tap)];
    int64_t n = 1;
    if (cell_step_) {
      n = std::min(taps_ - tap, count - done);
    } else {
      const int64_t step = tap + 1 < taps_ ? cells_[static_cast<size_t>(tap + 1)] - cells_[static_cast<size_t>(tap)] : 0;
      while (tap + n < taps_ && done + n < count && cells_[static_cast<size_t>(tap + n)] - cells_[static_cast<size_t>(tap + n - 1)] == step)
        ++n;
      PackCells(shape, filter, from, rows, step, n, to + done * rows);
      done += n;
      continue;
    }
    PackCells(shape, filter, from, rows, cell_step_, n, to + done * rows);
    done += n;
  }
}

// Rows of the panel one after the other: what a tap reads for neighbouring output positions lies side by side.
void ConvolutionGrid::PackStretches(const ConvolutionShape& shape, const uint8_t* in, const Stretch* stretches, int count, int64_t width,
                                    int64_t k, int64_t depth, float* to) const {
  const int64_t step = dim_[2].in_step * dim_[2].in_stride;
  // The pieces of a tap's line are the same for every channel; those of a few taps at a time are kept.
  constexpr int64_t kKept = 96;
  PackPiece kept[kKept];
  const int64_t used = stretches[count - 1].column + stretches[count - 1].length;
  const int per_line = count + (used < width ? 1 : 0);
  const int64_t group = std::max<int64_t>(1, std::min<int64_t>(taps_, kKept / per_line));
  for (int64_t start = 0; start < taps_; start += group) {
    const int64_t taps = std::min(group, taps_ - start);
    for (int64_t t = 0; t < taps; ++t) {
      PackPiece* pieces = kept + t * per_line;
      for (int s = 0; s < count; ++s) {
        const Reach r = ReachOf(stretches[s], start + t);
        pieces[s] = {r.offset + stretches[s].image * shape.in_image, static_cast<int32_t>(stretches[s].column),
                     static_cast<int32_t>(r.first), static_cast<int32_t>(r.last), static_cast<int32_t>(stretches[s].length)};
      }
      if (per_line > count) pieces[count] = {0, static_cast<int32_t>(used), 0, 0, static_cast<int32_t>(width - used)};
    }
    const int64_t first_channel = k / taps_, last_channel = (k + depth - 1) / taps_;
    for (int64_t channel = first_channel; channel <= last_channel; ++channel) {
      const int64_t row = channel * taps_ + start - k;  // of the panel, for the first of these taps
      const int64_t first = std::max<int64_t>(0, -row), last = std::min(taps, depth - row);
      if (first >= last) continue;
      float* lines = to + (row + first) * width;
      const uint8_t* base = in + channel * shape.in_channel * shape.in_bytes;
      if (IsFloat32(shape.in_type)) {
        Table().pack_lines(lines, width, reinterpret_cast<const float*>(base), step, kept + first * per_line,
                           static_cast<int>(last - first), per_line);
        continue;
      }
      for (int64_t t = first; t < last; ++t, lines += width)
        for (int p = 0; p < per_line; ++p) {
          const PackPiece& piece = kept[t * per_line + p];
          float* part = lines + piece.column;
          std::fill(part, part + piece.length, 0.0f);
          if (piece.last > piece.first)
            LoadFloats(shape.in_type, part + piece.first, base + (piece.offset + piece.first * step) * shape.in_bytes, step,
                       piece.last - piece.first);
        }
    }
  }
}

// The same where each column is an image: runs of taps of all images together.
void ConvolutionGrid::PackImages(const ConvolutionShape& shape, const float* in, int64_t columns, int64_t width, int64_t k, int64_t depth,
                                 float* to) const {
  const auto nx = static_cast<int64_t>(dim_[2].taps.size()), ny = static_cast<int64_t>(dim_[1].taps.size());
  const int64_t step = nx > 1 ? (dim_[2].taps[1].offset - dim_[2].taps[0].offset) * dim_[2].in_stride : 1;
  const bool turns_at_once = step == 1 && nx >= kLongRun;
  alignas(64) float lines[32 * kMostRun];
  for (int64_t done = 0; done < depth;) {
    const int64_t at = k + done, channel = at / taps_, tap = at % taps_, n = std::min(nx - tap % nx, depth - done);
    const float* from = in + channel * shape.in_channel + dim_[2].taps[static_cast<size_t>(tap % nx)].offset * dim_[2].in_stride +
                        dim_[1].taps[static_cast<size_t>(tap / nx % ny)].offset * dim_[1].in_stride +
                        dim_[0].taps[static_cast<size_t>(tap / nx / ny)].offset * dim_[0].in_stride;
    if (turns_at_once) Table().pack_rows(to + done * width, width, columns, from, shape.in_image, 1, n);
    else Table().copy_rows(lines + done, kMostRun, from, shape.in_image, step, columns, n);
    done += n;
  }
  if (!turns_at_once) Table().pack_rows(to, width, columns, lines, kMostRun, 1, depth);
}

// Columns of the panel one after the other, then turned: what one output position reads through neighbouring taps lies side by side.
void ConvolutionGrid::PackRuns(const ConvolutionShape& shape, const uint8_t* in, const Stretch* stretches, int count, int64_t columns,
                               int64_t width, int64_t k, int64_t depth, float* to) const {
  const auto nx = static_cast<int64_t>(dim_[2].taps.size()), ny = static_cast<int64_t>(dim_[1].taps.size());
  const auto pack_lines = Table().pack_lines;
  if (columns < width) std::memset(to, 0, static_cast<size_t>(width * depth) * sizeof(float));
  if (is_one_place_)
    return PackImages(shape, reinterpret_cast<const float*>(in) + stretches[0].image * shape.in_image, columns, width, k, depth, to);
  alignas(64) float lines[32 * kMostRun];
  const int64_t tap_step = nx > 1 ? dim_[2].taps[1].offset - dim_[2].taps[0].offset : 1;
  const int64_t line_step = tap_step * dim_[2].in_stride;
  const bool plain = IsFloat32(shape.in_type) && line_step == 1;
  for (int64_t done = 0; done < depth;) {
    const int64_t at = k + done, channel = at / taps_, tap = at % taps_, tx = tap % nx;
    const int64_t n = std::min(nx - tx, depth - done);
    const int64_t tap_y = dim_[1].taps[static_cast<size_t>(tap / nx % ny)].offset,
                  tap_z = dim_[0].taps[static_cast<size_t>(tap / nx / ny)].offset;
    const int64_t tap_x = dim_[2].taps[static_cast<size_t>(tx)].offset;
    for (int s = 0; s < count; ++s) {
      const Stretch& stretch = stretches[s];
      const int64_t y = stretch.at[1] * dim_[1].in_step + tap_y, z = stretch.at[0] * dim_[0].in_step + tap_z;
      const bool inside = z >= 0 && z < dim_[0].in_size && y >= 0 && y < dim_[1].in_size;
      const int64_t start = stretch.image * shape.in_image + channel * shape.in_channel + z * dim_[0].in_stride + y * dim_[1].in_stride;
      for (int64_t j = 0; j < stretch.length; ++j) {
        float* part = lines + (stretch.column + j) * kMostRun + done;
        const int64_t x = (stretch.at[2] + j) * dim_[2].in_step + tap_x;
        int64_t first = 0, last = 0;
        if (inside) {
          if (tap_step > 0) Clip(x, tap_step, dim_[2].in_size, n, &first, &last);
          else if (tap_step < 0) Clip(dim_[2].in_size - 1 - x, -tap_step, dim_[2].in_size, n, &first, &last);
          else last = x >= 0 && x < dim_[2].in_size ? n : 0;
        }
        const int64_t offset = start + x * dim_[2].in_stride;
        if (plain) {
          const PackPiece piece = {offset, 0, static_cast<int32_t>(first), static_cast<int32_t>(last), static_cast<int32_t>(n)};
          pack_lines(part, n, reinterpret_cast<const float*>(in), 1, &piece, 1, 1);
          continue;
        }
        std::fill(part, part + n, 0.0f);
        if (last > first)
          LoadFloats(shape.in_type, part + first, in + (offset + first * line_step) * shape.in_bytes, line_step, last - first);
      }
    }
    done += n;
  }
  Table().pack_rows(to, width, columns, lines, kMostRun, 1, depth);
}

}  // namespace dxtensor::software::fast
