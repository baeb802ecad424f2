// im2col GEMM, for every shape: panels of the filter (A), and panels of the input (B) made from its taps without an im2col buffer.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/gemm/panel_gemm.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "convolution_strategy.h"

namespace dxtensor::software::fast {

namespace {

constexpr int kMaxSegments = 32;  // one for each column of a panel
// Speed (suite, 1 thread, AVX-512): kKept, kMaxRun, kLongRun: within 5 % from 1/4 to 4 times.
constexpr int64_t kMaxRun = 384;  // depth of a block of panels
constexpr int64_t kLongRun = 48;  // taps of a row from which on they are transposed without a copy

void LoadFloats(DML_TENSOR_DATA_TYPE type, float* to, const uint8_t* from, int64_t stride, int64_t n) {
  if (IsFloat32(type) && stride == 1) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  else Table().load(type, reinterpret_cast<uint8_t*>(to), from, stride, n);
}

class Im2colGemm final : public ConvStrategy {
 public:
  static bool Fits(const ConvolutionProblem&, const ConvolutionGrid&) { return true; }

  Im2colGemm(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
  size_t WorkspaceBytes() const override { return gemm_.ScratchBytes(); }
  size_t PrepackedBytes() const override { return gemm_.PrepackedBytes(); }
  void Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* to) const override;
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const override;

 private:
  class Source;
  using Segment = ConvolutionGrid::Segment;
  void MergeTaps();
  void PackInputSegments(const ConvolutionProblem& problem, const uint8_t* in, const Segment* segments, int count, int64_t width, int64_t k,
                         int64_t depth, float* to) const;
  void PackSinglePositions(const ConvolutionProblem& problem, const float* in, int64_t columns, int64_t width, int64_t k, int64_t depth,
                           float* to) const;
  void PackTapRuns(const ConvolutionProblem& problem, const uint8_t* in, const Segment* segments, int count, int64_t columns, int64_t width,
                   int64_t k, int64_t depth, float* to) const;

  ConvolutionGrid grid_;
  bool packs_runs_ = false, is_one_output_ = false;  // one output position of each image, float32, no tap in the padding
  PanelGemm gemm_;
};

Im2colGemm::Im2colGemm(const ConvolutionProblem& problem, const ConvolutionGrid& grid) : grid_(grid) {
  MergeTaps();
  // Measured (AVX-512): weight gradients of 20 layers of ResNet-50 and MobileNetV2 gain 17.7 times by runs, up to 260 times.
  packs_runs_ = grid_.dim[2].count < 8 && grid_.dim[2].taps.size() >= 8;
  is_one_output_ = IsFloat32(problem.in_type);
  for (const GridDimension& d : grid_.dim) {
    is_one_output_ &= d.count == 1;
    for (const Tap& tap : d.taps) is_one_output_ &= tap.offset >= 0 && tap.offset < d.in_size;
  }
  gemm_ = PanelGemm(problem.groups, problem.co, grid_.columns, grid_.depth, false, false);
}

// Merges the rows of taps of a single output position where the rows that they read are contiguous.
void Im2colGemm::MergeTaps() {
  GridDimension &outer = grid_.dim[1], &inner = grid_.dim[2];
  const size_t rows = outer.taps.size(), taps_per_row = inner.taps.size();
  if (grid_.dim[0].taps.size() != 1 || outer.count != 1 || inner.count != 1 || rows < 2 || grid_.filter_tap_stride == 0) return;
  auto covers = [](const GridDimension& d) {  // one tap for each input position, in order
    for (size_t t = 0; t < d.taps.size(); ++t)
      if (d.taps[t].offset != static_cast<int64_t>(t)) return false;
    return d.in_size == static_cast<int64_t>(d.taps.size());
  };
  if (!covers(outer) || !covers(inner) || outer.in_stride != inner.in_stride * inner.in_size) return;
  inner.taps.resize(rows * taps_per_row);
  for (size_t t = 0; t < rows * taps_per_row; ++t) inner.taps[t] = {grid_.filter_offsets[t], static_cast<int64_t>(t)};
  inner.in_size *= outer.in_size;
  outer = GridDimension();
}

// Row by row of the panel: what a tap reads for adjacent output positions is contiguous.
void Im2colGemm::PackInputSegments(const ConvolutionProblem& problem, const uint8_t* in, const Segment* segments, int count, int64_t width,
                                   int64_t k, int64_t depth, float* to) const {
  const int64_t read_stride = grid_.dim[2].conv_stride * grid_.dim[2].in_stride;
  // The segments of a tap's row are the same for every channel; those of a few taps at a time are kept.
  constexpr int64_t kKept = 96;
  PackSegment kept[kKept];
  const int64_t used = segments[count - 1].column + segments[count - 1].length;
  const int per_row = count + (used < width ? 1 : 0);
  const int64_t group = std::max<int64_t>(1, std::min<int64_t>(grid_.taps, kKept / per_row));
  for (int64_t start = 0; start < grid_.taps; start += group) {
    const int64_t taps = std::min(group, grid_.taps - start);
    for (int64_t t = 0; t < taps; ++t) {
      PackSegment* segments_of_tap = kept + t * per_row;
      for (int s = 0; s < count; ++s) {
        const ConvolutionGrid::TapRange r = grid_.TapRangeOf(segments[s], start + t);
        segments_of_tap[s] = {r.offset + segments[s].image * problem.in_batch_stride, static_cast<int32_t>(segments[s].column),
                              static_cast<int32_t>(r.first), static_cast<int32_t>(r.last), static_cast<int32_t>(segments[s].length)};
      }
      if (per_row > count) segments_of_tap[count] = {0, static_cast<int32_t>(used), 0, 0, static_cast<int32_t>(width - used)};
    }
    const int64_t first_channel = k / grid_.taps, last_channel = (k + depth - 1) / grid_.taps;
    for (int64_t channel = first_channel; channel <= last_channel; ++channel) {
      const int64_t panel_row = channel * grid_.taps + start - k;  // of the panel, for the first of these taps
      const int64_t first = std::max<int64_t>(0, -panel_row), last = std::min(taps, depth - panel_row);
      if (first >= last) continue;
      float* rows = to + (panel_row + first) * width;
      const uint8_t* base = in + channel * problem.in_channel_stride * problem.in_bytes;
      if (IsFloat32(problem.in_type)) {
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
            LoadFloats(problem.in_type, target + pack_segment.first,
                       base + (pack_segment.offset + pack_segment.first * read_stride) * problem.in_bytes, read_stride,
                       pack_segment.last - pack_segment.first);
        }
    }
  }
}

// One output position in each image: runs of taps of all images together.
void Im2colGemm::PackSinglePositions(const ConvolutionProblem& problem, const float* in, int64_t columns, int64_t width, int64_t k,
                                     int64_t depth, float* to) const {
  const auto nx = static_cast<int64_t>(grid_.dim[2].taps.size()), ny = static_cast<int64_t>(grid_.dim[1].taps.size());
  const int64_t read_stride = nx > 1 ? (grid_.dim[2].taps[1].offset - grid_.dim[2].taps[0].offset) * grid_.dim[2].in_stride : 1;
  const bool transposes_directly = read_stride == 1 && nx >= kLongRun;
  alignas(64) float rows[32 * kMaxRun];
  for (int64_t done = 0; done < depth;) {
    const int64_t at = k + done, channel = at / grid_.taps, tap = at % grid_.taps, n = std::min(nx - tap % nx, depth - done);
    const float* from = in + channel * problem.in_channel_stride +
                        grid_.dim[2].taps[static_cast<size_t>(tap % nx)].offset * grid_.dim[2].in_stride +
                        grid_.dim[1].taps[static_cast<size_t>(tap / nx % ny)].offset * grid_.dim[1].in_stride +
                        grid_.dim[0].taps[static_cast<size_t>(tap / nx / ny)].offset * grid_.dim[0].in_stride;
    if (transposes_directly) Table().pack_rows(to + done * width, width, columns, from, problem.in_batch_stride, 1, n);
    else Table().copy_rows(rows + done, kMaxRun, from, problem.in_batch_stride, read_stride, columns, n);
    done += n;
  }
  if (!transposes_directly) Table().pack_rows(to, width, columns, rows, kMaxRun, 1, depth);
}

// Column by column of the panel, then transposed: what an output position reads for adjacent taps is contiguous.
void Im2colGemm::PackTapRuns(const ConvolutionProblem& problem, const uint8_t* in, const Segment* segments, int count, int64_t columns,
                             int64_t width, int64_t k, int64_t depth, float* to) const {
  const auto nx = static_cast<int64_t>(grid_.dim[2].taps.size()), ny = static_cast<int64_t>(grid_.dim[1].taps.size());
  const auto pack_segments = Table().pack_segments;
  if (columns < width) std::memset(to, 0, static_cast<size_t>(width * depth) * sizeof(float));
  if (is_one_output_)
    return PackSinglePositions(problem, reinterpret_cast<const float*>(in) + segments[0].image * problem.in_batch_stride, columns, width, k,
                               depth, to);
  alignas(64) float rows[32 * kMaxRun];
  const int64_t tap_step = nx > 1 ? grid_.dim[2].taps[1].offset - grid_.dim[2].taps[0].offset : 1;
  const int64_t tap_stride = tap_step * grid_.dim[2].in_stride;
  const bool plain = IsFloat32(problem.in_type) && tap_stride == 1;
  for (int64_t done = 0; done < depth;) {
    const int64_t at = k + done, channel = at / grid_.taps, tap = at % grid_.taps, tx = tap % nx;
    const int64_t n = std::min(nx - tx, depth - done);
    const int64_t tap_y = grid_.dim[1].taps[static_cast<size_t>(tap / nx % ny)].offset,
                  tap_z = grid_.dim[0].taps[static_cast<size_t>(tap / nx / ny)].offset;
    const int64_t tap_x = grid_.dim[2].taps[static_cast<size_t>(tx)].offset;
    for (int s = 0; s < count; ++s) {
      const Segment& segment = segments[s];
      const int64_t y = segment.at[1] * grid_.dim[1].conv_stride + tap_y, z = segment.at[0] * grid_.dim[0].conv_stride + tap_z;
      const bool inside = z >= 0 && z < grid_.dim[0].in_size && y >= 0 && y < grid_.dim[1].in_size;
      const int64_t start = segment.image * problem.in_batch_stride + channel * problem.in_channel_stride + z * grid_.dim[0].in_stride +
                            y * grid_.dim[1].in_stride;
      for (int64_t j = 0; j < segment.length; ++j) {
        float* target = rows + (segment.column + j) * kMaxRun + done;
        const int64_t x = (segment.at[2] + j) * grid_.dim[2].conv_stride + tap_x;
        int64_t first = 0, last = 0;
        if (inside) {
          if (tap_step > 0) Clip(x, tap_step, grid_.dim[2].in_size, n, &first, &last);
          else if (tap_step < 0) Clip(grid_.dim[2].in_size - 1 - x, -tap_step, grid_.dim[2].in_size, n, &first, &last);
          else last = x >= 0 && x < grid_.dim[2].in_size ? n : 0;
        }
        const int64_t offset = start + x * grid_.dim[2].in_stride;
        if (plain) {
          const PackSegment pack_segment = {offset, 0, static_cast<int32_t>(first), static_cast<int32_t>(last), static_cast<int32_t>(n)};
          pack_segments(target, n, reinterpret_cast<const float*>(in), 1, &pack_segment, 1, 1);
          continue;
        }
        std::fill(target, target + n, 0.0f);
        if (last > first)
          LoadFloats(problem.in_type, target + first, in + (offset + first * tap_stride) * problem.in_bytes, tap_stride, last - first);
      }
    }
    done += n;
  }
  Table().pack_rows(to, width, columns, rows, kMaxRun, 1, depth);
}

class Im2colGemm::Source final : public PanelSource {
 public:
  Source(const Im2colGemm& strategy, const ConvolutionProblem& problem, const KernelArguments& arguments)
      : strategy_(strategy), g_(strategy.grid_), s_(problem), arguments_(arguments) {}

  void PackA(int64_t group, int64_t m, int64_t co_count, int64_t k, int64_t count, float* to) const override {
    g_.PackFilter(s_, arguments_.inputs[1], group, m, co_count, k, count, to);
  }
  const float* DirectA(int64_t group, int64_t m, int64_t k, int64_t* stride) const override {
    if (!IsFloat32(s_.filter_type) || !g_.evenly_through_channels || g_.filter_tap_stride != 1) return nullptr;
    *stride = s_.filter_co_stride;
    return reinterpret_cast<const float*>(arguments_.inputs[1]) + group * s_.filter_group_stride + m * s_.filter_co_stride +
           g_.filter_offsets[0] + k;
  }
  void PackB(int64_t group, int64_t n, int64_t columns, int64_t width, int64_t k, int64_t count, float* to) const override {
    ConvolutionGrid::Segment segments[kMaxSegments];
    const int found = g_.FindSegments(n, columns, segments);
    const uint8_t* in = arguments_.inputs[0] + group * s_.ci * s_.in_channel_stride * s_.in_bytes;
    if (strategy_.packs_runs_) strategy_.PackTapRuns(s_, in, segments, found, columns, width, k, count, to);
    else strategy_.PackInputSegments(s_, in, segments, found, width, k, count, to);
  }
  int64_t OutOffset(int64_t group, int64_t m, int64_t column) const { return g_.OutOffset(s_, group, m, column); }
  float* DirectC(int64_t group, int64_t m, int64_t n, int64_t columns, int64_t* stride) const override {
    if (!IsFloat32(s_.out_type) || !g_.offsets_grow) return nullptr;
    const int64_t first = OutOffset(group, m, n);
    if (columns > 1 && OutOffset(group, m, n + columns - 1) - first != columns - 1) return nullptr;
    *stride = s_.out_channel_stride;
    return reinterpret_cast<float*>(arguments_.outputs[0]) + first;
  }
  bool NeedsStore() const override { return s_.HasEpilogue(); }
  void Store(int64_t group, int64_t m, int64_t co_count, int64_t n, int64_t columns, float* tile, int64_t stride) const override {
    ConvolutionGrid::Segment segments[kMaxSegments];
    if (s_.clamp && (g_.dim[2].out_stride == 1 || g_.dim[2].count == 1)) {
      const int found = g_.FindSegments(n, columns, segments);
      for (int i = 0; i < found; ++i)
        s_.ApplyEpilogue(arguments_, group * s_.co + m, co_count, tile + segments[i].column, stride,
                         OutOffset(group, m, n + segments[i].column), segments[i].length);
      return;
    }
    const IsaTable& table = Table();
    alignas(64) float local[kMaxTileFloats];
    uint8_t* out = arguments_.outputs[0];
    const bool in_place = reinterpret_cast<uint8_t*>(tile) >= out && stride != table.tile_columns && IsFloat32(s_.out_type) &&
                          g_.offsets_grow && reinterpret_cast<uint8_t*>(tile) == out + OutOffset(group, m, n) * s_.out_bytes;
    if (s_.Activates() && stride != table.tile_columns) {
      for (int64_t r = 0; r < co_count; ++r)
        std::memcpy(local + r * table.tile_columns, tile + r * stride, static_cast<size_t>(columns) * sizeof(float));
      tile = local;
      stride = table.tile_columns;
    }
    if (s_.has_bias || s_.normalizes)
      for (int64_t r = 0; r < co_count; ++r) s_.ApplyScaleShift(arguments_, group * s_.co + m + r, tile + r * stride, columns);
    int found = 0;
    if (s_.has_residual) {
      found = g_.FindSegments(n, columns, segments);
      for (int i = 0; i < found; ++i)
        for (int64_t r = 0; r < co_count; ++r)
          s_.AddResidual(arguments_, OutOffset(group, m + r, n + segments[i].column), g_.dim[2].out_stride,
                         tile + r * stride + segments[i].column, segments[i].length);
    }
    s_.Activate(arguments_, tile, co_count * stride);
    if (in_place && tile != local) return;
    if (!s_.has_residual) found = g_.FindSegments(n, columns, segments);
    for (int i = 0; i < found; ++i) {
      const ConvolutionGrid::Segment& s = segments[i];
      for (int64_t r = 0; r < co_count; ++r)
        table.store(s_.out_type, out + OutOffset(group, m + r, n + s.column) * s_.out_bytes,
                    reinterpret_cast<const uint8_t*>(tile + r * stride + s.column), g_.dim[2].out_stride, s.length);
    }
  }

 private:
  const Im2colGemm& strategy_;
  const ConvolutionGrid& g_;
  const ConvolutionProblem& s_;
  const KernelArguments& arguments_;
};

void Im2colGemm::Prepack(const ConvolutionProblem& problem, const KernelArguments& arguments, uint8_t* to) const {
  gemm_.Prepack(Source(*this, problem, arguments), to);
}

void Im2colGemm::Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const {
  gemm_.Run(Source(*this, problem, arguments), arguments.scratch, prepacked);
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeIm2colGemm(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return MakeIfFits<Im2colGemm>(problem, grid);
}

}  // namespace dxtensor::software::fast
