#include "convolution_grid.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int kMaxSegments = 32;  // one for each column of a panel
constexpr int64_t kWrittenAtOnce = 20000;

}  // namespace

ConvolutionGrid::ConvolutionGrid(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : out_start_(out_start) {
  for (int d = 0; d < kSpatial; ++d) dim_[d] = dimensions[d];
  MergeDimensions();
  columns_ = shape.batch;
  for (const GridDimension& d : dim_) {
    taps_ *= static_cast<int64_t>(d.taps.size());
    columns_ *= d.count;
  }
  depth_ = shape.ci * taps_;
  for (const Tap& z : dim_[0].taps)
    for (const Tap& y : dim_[1].taps)
      for (const Tap& x : dim_[2].taps) filter_offsets_.push_back(z.filter_offset + y.filter_offset + x.filter_offset);
  if (taps_ > 1) filter_tap_stride_ = filter_offsets_[1] - filter_offsets_[0];
  else filter_tap_stride_ = shape.filter_ci_stride;
  for (int64_t t = 1; t < taps_; ++t)
    if (filter_offsets_[t] != filter_offsets_[0] + t * filter_tap_stride_) filter_tap_stride_ = 0;
  evenly_through_channels_ = filter_tap_stride_ != 0 && shape.filter_ci_stride == taps_ * filter_tap_stride_;
  offsets_grow_ = dim_[2].count == 1 || dim_[2].out_stride > 0;
  int64_t extent = dim_[2].out_stride * (dim_[2].count - 1);
  for (int d = 1; d >= 0; --d) {
    if (dim_[d].count == 1) continue;
    offsets_grow_ &= dim_[d].out_stride > extent;
    extent += dim_[d].out_stride * (dim_[d].count - 1);
  }
  offsets_grow_ &= shape.batch == 1 || shape.out_batch_stride > extent;
  batch_ = shape.batch;
  groups_ = shape.groups;
  co_ = shape.co;
  ci_ = shape.ci;
  if (depth_ > 0) Choose(shape);
}

void ConvolutionGrid::Choose(const ConvolutionShape& shape) {
  if (Winograd::Fits(shape, dim_)) {
    method_ = Method::Winograd;
    winograd_ = Winograd(shape, dim_, out_start_);
  } else if (WinogradWeightGradient::Fits(shape, dim_)) {
    method_ = Method::WinogradWeightGradient;
    winograd_weight_gradient_ = WinogradWeightGradient(shape, dim_, out_start_);
  } else if (WeightGradientRows::Fits(shape, dim_)) {
    method_ = Method::WeightGradientRows;
    weight_gradient_rows_ = WeightGradientRows(shape, dim_, out_start_);
  } else if (DepthwiseWeightGradient::Fits(shape, dim_)) {
    method_ = Method::DepthwiseWeightGradient;
    depthwise_weight_gradient_ = DepthwiseWeightGradient(dim_, out_start_);
  } else if (ImplicitGemmNhwc::Fits(shape, dim_)) {
    method_ = Method::ImplicitGemmNhwc;
    nhwc_ = ImplicitGemmNhwc(shape, dim_, out_start_);
  } else if (PlanNchw(shape)) {
    method_ = Method::ImplicitGemmNchw;
  } else if (shape.groups > 1 && shape.co < 4) {
    method_ = Method::Direct;
  } else {
    method_ = Method::Im2col;
    MergeTaps();
    packs_runs_ = dim_[2].count < 8 && dim_[2].taps.size() >= 8;
    is_one_output_ = IsFloat32(shape.in_type);
    for (const GridDimension& d : dim_) {
      is_one_output_ &= d.count == 1;
      for (const Tap& tap : d.taps) is_one_output_ &= tap.offset >= 0 && tap.offset < d.in_size;
    }
    im2col_gemm_ = PanelGemm(shape.groups, shape.co, columns_, depth_, false, false);
  }
}

// Merges a dimension with the next where both have one tap that is never in the padding, and memory is contiguous across them.
void ConvolutionGrid::MergeDimensions() {
  auto is_simple = [](const GridDimension& d) {
    return d.taps.size() == 1 && d.taps[0].offset == 0 && (d.count - 1) * d.conv_stride < d.in_size;
  };
  for (int d = 0; d + 1 < kSpatial; ++d) {
    GridDimension &outer = dim_[d], &inner = dim_[d + 1];
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

// Merges the rows of taps of a single output position where the rows that they read are contiguous.
void ConvolutionGrid::MergeTaps() {
  GridDimension &outer = dim_[1], &inner = dim_[2];
  const size_t rows = outer.taps.size(), taps_per_row = inner.taps.size();
  if (dim_[0].taps.size() != 1 || outer.count != 1 || inner.count != 1 || rows < 2 || filter_tap_stride_ == 0) return;
  auto covers = [](const GridDimension& d) {  // one tap for each input position, in order
    for (size_t t = 0; t < d.taps.size(); ++t)
      if (d.taps[t].offset != static_cast<int64_t>(t)) return false;
    return d.in_size == static_cast<int64_t>(d.taps.size());
  };
  if (!covers(outer) || !covers(inner) || outer.in_stride != inner.in_stride * inner.in_size) return;
  inner.taps.resize(rows * taps_per_row);
  for (size_t t = 0; t < rows * taps_per_row; ++t) inner.taps[t] = {filter_offsets_[t], static_cast<int64_t>(t)};
  inner.in_size *= outer.in_size;
  outer = GridDimension();
}

size_t ConvolutionGrid::ScratchBytes() const {
  switch (method_) {
    case Method::Empty: return 0;
    case Method::Im2col: return im2col_gemm_.ScratchBytes();
    case Method::Direct: return static_cast<size_t>((dim_[2].count + 2 * kMaxWidth) * ThreadPool::Get().size()) * sizeof(float);
    case Method::ImplicitGemmNchw: return NchwScratchBytes();
    case Method::Winograd: return winograd_.PrepackedBytes() + winograd_.ScratchBytes();
    case Method::WinogradWeightGradient: return winograd_weight_gradient_.ScratchBytes();
    case Method::WeightGradientRows: return weight_gradient_rows_.ScratchBytes();
    case Method::DepthwiseWeightGradient: return depthwise_weight_gradient_.ScratchBytes();
    case Method::ImplicitGemmNhwc: return nhwc_.PrepackedBytes() + nhwc_.ScratchBytes();
  }
  return 0;
}

// With several grids each one's part starts at a cache line.
size_t ConvolutionGrid::PrepackedBytes() const {
  switch (method_) {
    case Method::Im2col: return im2col_gemm_.PrepackedBytes();
    case Method::ImplicitGemmNchw: return PacksNchwFilter() ? static_cast<size_t>(NchwFilterFloats()) * sizeof(float) : 0;
    case Method::Winograd: return winograd_.PrepackedBytes();
    case Method::ImplicitGemmNhwc: return nhwc_.PrepackedBytes();
    default: return 0;
  }
}

int ConvolutionGrid::FindSegments(int64_t first, int64_t columns, Segment* segments) const {
  int64_t rest = first;
  Segment s{};
  for (int d = kSpatial - 1; d >= 0; --d) {
    s.at[d] = rest % dim_[d].count;
    rest /= dim_[d].count;
  }
  s.image = rest;
  int count = 0;
  for (int64_t done = 0; done < columns;) {
    s.column = done;
    s.length = std::min(dim_[2].count - s.at[2], columns - done);
    done += s.length;
    segments[count++] = s;
    s.at[2] = 0;
    if (++s.at[1] < dim_[1].count) continue;
    s.at[1] = 0;
    if (++s.at[0] < dim_[0].count) continue;
    s.at[0] = 0;
    ++s.image;
  }
  return count;
}

ConvolutionGrid::TapRange ConvolutionGrid::TapRangeOf(const Segment& s, int64_t tap) const {
  const auto nx = static_cast<int64_t>(dim_[2].taps.size()), ny = static_cast<int64_t>(dim_[1].taps.size());
  const int64_t x = s.at[2] * dim_[2].conv_stride + dim_[2].taps[static_cast<size_t>(tap % nx)].offset;
  const int64_t y = s.at[1] * dim_[1].conv_stride + dim_[1].taps[static_cast<size_t>(tap / nx % ny)].offset;
  const int64_t z = s.at[0] * dim_[0].conv_stride + dim_[0].taps[static_cast<size_t>(tap / nx / ny)].offset;
  TapRange r{z * dim_[0].in_stride + y * dim_[1].in_stride + x * dim_[2].in_stride, 0, 0};
  if (z >= 0 && z < dim_[0].in_size && y >= 0 && y < dim_[1].in_size)
    Clip(x, dim_[2].conv_stride, dim_[2].in_size, s.length, &r.first, &r.last);
  return r;
}

class GridSource final : public PanelSource {
 public:
  GridSource(const ConvolutionGrid& grid, const ConvolutionShape& shape, const KernelArguments& arguments)
      : g_(grid), s_(shape), arguments_(arguments) {}

  void PackA(int64_t group, int64_t m, int64_t co_count, int64_t k, int64_t count, float* to) const override {
    g_.PackFilter(s_, arguments_.inputs[1], group, m, co_count, k, count, to);
  }
  const float* DirectA(int64_t group, int64_t m, int64_t k, int64_t* stride) const override {
    if (!IsFloat32(s_.filter_type) || !g_.evenly_through_channels_ || g_.filter_tap_stride_ != 1) return nullptr;
    *stride = s_.filter_co_stride;
    return reinterpret_cast<const float*>(arguments_.inputs[1]) + group * s_.filter_group_stride + m * s_.filter_co_stride +
           g_.filter_offsets_[0] + k;
  }
  void PackB(int64_t group, int64_t n, int64_t columns, int64_t width, int64_t k, int64_t count, float* to) const override {
    ConvolutionGrid::Segment segments[kMaxSegments];
    const int found = g_.FindSegments(n, columns, segments);
    const uint8_t* in = arguments_.inputs[0] + group * s_.ci * s_.in_channel_stride * s_.in_bytes;
    if (g_.packs_runs_) g_.PackTapRuns(s_, in, segments, found, columns, width, k, count, to);
    else g_.PackInputSegments(s_, in, segments, found, width, k, count, to);
  }
  int64_t OutOffset(int64_t group, int64_t m, int64_t column) const {
    int64_t offset = g_.out_start_ + (group * s_.co + m) * s_.out_channel_stride;
    for (int d = kSpatial - 1; d >= 0; --d) {
      offset += column % g_.dim_[d].count * g_.dim_[d].out_stride;
      column /= g_.dim_[d].count;
    }
    return offset + column * s_.out_batch_stride;
  }
  float* DirectC(int64_t group, int64_t m, int64_t n, int64_t columns, int64_t* stride) const override {
    if (!IsFloat32(s_.out_type) || !g_.offsets_grow_) return nullptr;
    const int64_t first = OutOffset(group, m, n);
    if (columns > 1 && OutOffset(group, m, n + columns - 1) - first != columns - 1) return nullptr;
    *stride = s_.out_channel_stride;
    return reinterpret_cast<float*>(arguments_.outputs[0]) + first;
  }
  bool NeedsStore() const override { return s_.has_bias || s_.normalizes || s_.has_residual || s_.Activates(); }
  void Store(int64_t group, int64_t m, int64_t co_count, int64_t n, int64_t columns, float* tile, int64_t stride) const override {
    ConvolutionGrid::Segment segments[kMaxSegments];
    if (s_.clamp && (g_.dim_[2].out_stride == 1 || g_.dim_[2].count == 1)) {
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
                          g_.offsets_grow_ && reinterpret_cast<uint8_t*>(tile) == out + OutOffset(group, m, n) * s_.out_bytes;
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
          s_.AddResidual(arguments_, OutOffset(group, m + r, n + segments[i].column), g_.dim_[2].out_stride,
                         tile + r * stride + segments[i].column, segments[i].length);
    }
    s_.Activate(arguments_, tile, co_count * stride);
    if (in_place && tile != local) return;
    if (!s_.has_residual) found = g_.FindSegments(n, columns, segments);
    for (int i = 0; i < found; ++i) {
      const ConvolutionGrid::Segment& s = segments[i];
      for (int64_t r = 0; r < co_count; ++r)
        table.store(s_.out_type, out + OutOffset(group, m + r, n + s.column) * s_.out_bytes,
                    reinterpret_cast<const uint8_t*>(tile + r * stride + s.column), g_.dim_[2].out_stride, s.length);
    }
  }

 private:
  const ConvolutionGrid& g_;
  const ConvolutionShape& s_;
  const KernelArguments& arguments_;
};

// Few output channels in a group: row by row, each tap adds an input row times its weight.
void ConvolutionGrid::RunDirect(const ConvolutionShape& shape, const KernelArguments& arguments) const {
  const IsaTable& table = Table();
  const int64_t length = dim_[2].count, rows = dim_[0].count * dim_[1].count;
  const int64_t read_stride = dim_[2].conv_stride * dim_[2].in_stride;
  const int64_t work = length * rows * depth_;
  ThreadPool::Get().ParallelFor(
      0, shape.batch * shape.groups * shape.co, std::max<int64_t>(1, 200000 / std::max<int64_t>(work, 1)),
      [&](int64_t first, int64_t last, int slot) {
        float* row = reinterpret_cast<float*>(arguments.scratch) + slot * (length + 2 * kMaxWidth);
        for (int64_t plane = first; plane < last; ++plane) {
          const int64_t co = plane % shape.co, group = plane / shape.co % shape.groups, image = plane / shape.co / shape.groups;
          float bias = 0;
          if (shape.has_bias)
            table.load(shape.filter_type, reinterpret_cast<uint8_t*>(&bias),
                       arguments.inputs[2] + (group * shape.co + co) * shape.bias_stride * shape.filter_bytes, 1, 1);
          for (int64_t l = 0; l < rows; ++l) {
            const Segment segment{image, {l / dim_[1].count, l % dim_[1].count, 0}, 0, length};
            std::fill(row, row + length, bias);
            for (int64_t channel = 0; channel < shape.ci; ++channel)
              for (int64_t tap = 0; tap < taps_; ++tap) {
                const TapRange r = TapRangeOf(segment, tap);
                if (r.first >= r.last) continue;
                float weight;
                table.load(shape.filter_type, reinterpret_cast<uint8_t*>(&weight),
                           arguments.inputs[1] + (group * shape.filter_group_stride + co * shape.filter_co_stride +
                                                  channel * shape.filter_ci_stride + filter_offsets_[static_cast<size_t>(tap)]) *
                                                     shape.filter_bytes,
                           1, 1);
                const int64_t from = image * shape.in_batch_stride + (group * shape.ci + channel) * shape.in_channel_stride + r.offset +
                                     r.first * read_stride;
                const uint8_t* in = arguments.inputs[0] + from * shape.in_bytes;
                if (IsFloat32(shape.in_type) && read_stride == 1) {
                  table.axpy(row + r.first, reinterpret_cast<const float*>(in), weight, r.last - r.first);
                  continue;
                }
                alignas(64) float values[256];
                for (int64_t j = r.first; j < r.last; j += 256) {
                  const int64_t n = std::min<int64_t>(256, r.last - j);
                  table.load(shape.in_type, reinterpret_cast<uint8_t*>(values), in + (j - r.first) * read_stride * shape.in_bytes,
                             read_stride, n);
                  table.axpy(row + j, values, weight, n);
                }
              }
            const int64_t to = out_start_ + image * shape.out_batch_stride + (group * shape.co + co) * shape.out_channel_stride +
                               segment.at[0] * dim_[0].out_stride + segment.at[1] * dim_[1].out_stride;
            if (shape.normalizes) shape.ApplyScaleShift(arguments, group * shape.co + co, row, length);
            if (shape.has_residual) shape.AddResidual(arguments, to, dim_[2].out_stride, row, length);
            shape.Activate(arguments, row, length);
            table.store(shape.out_type, arguments.outputs[0] + to * shape.out_bytes, reinterpret_cast<const uint8_t*>(row),
                        dim_[2].out_stride, length);
          }
        }
      });
}

void ConvolutionGrid::PrepackWinograd(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const {
  winograd_.Prepack([&](int64_t co, int64_t co_count, int64_t k, int64_t count,
                        float* panel) { PackFilter(shape, arguments.inputs[1], 0, co, co_count, k, count, panel); },
                    to);
}

void ConvolutionGrid::Prepack(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const {
  if (!PrepackedBytes()) return;
  if (method_ == Method::Winograd) PrepackWinograd(shape, arguments, to);
  else if (method_ == Method::ImplicitGemmNhwc) nhwc_.Prepack(shape, arguments, to);
  else if (method_ == Method::ImplicitGemmNchw) PackNchwFilter(shape, arguments, reinterpret_cast<float*>(to));
  else im2col_gemm_.Prepack(GridSource(*this, shape, arguments), to);
}

void ConvolutionGrid::Run(const ConvolutionShape& shape, const KernelArguments& arguments, const uint8_t* prepacked) const {
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  const auto* filter = reinterpret_cast<const float*>(prepacked);
  switch (method_) {
    case Method::Empty: return RunEmpty(shape, arguments);
    case Method::Im2col: return im2col_gemm_.Run(GridSource(*this, shape, arguments), arguments.scratch, prepacked);
    case Method::Direct: return RunDirect(shape, arguments);
    case Method::ImplicitGemmNchw: return RunNchw(shape, arguments, PacksNchwFilter() ? filter : nullptr);
    case Method::WinogradWeightGradient: return winograd_weight_gradient_.Run(shape, arguments, scratch);
    case Method::WeightGradientRows: return weight_gradient_rows_.Run(shape, arguments, scratch);
    case Method::DepthwiseWeightGradient: return depthwise_weight_gradient_.Run(shape, arguments, scratch);
    case Method::Winograd:
      if (!prepacked) PrepackWinograd(shape, arguments, arguments.scratch);
      return winograd_.Run(shape, arguments, prepacked ? filter : scratch, scratch + winograd_.PrepackedBytes() / sizeof(float));
    case Method::ImplicitGemmNhwc:
      if (!prepacked) nhwc_.Prepack(shape, arguments, arguments.scratch);
      return nhwc_.Run(shape, arguments, prepacked ? filter : scratch, scratch + nhwc_.PrepackedBytes() / sizeof(float));
  }
}

// No tap of the filter meets this grid: bias and activation alone.
void ConvolutionGrid::RunEmpty(const ConvolutionShape& shape, const KernelArguments& arguments) const {
  const GridSource source(*this, shape, arguments);
  if (!source.NeedsStore() && IsFloat32(shape.out_type)) return WriteZeros(shape, arguments);
  const int64_t co_count = Table().tile_rows, width = Table().tile_columns;
  for (int64_t group = 0; group < shape.groups; ++group)
    for (int64_t m = 0; m < shape.co; m += co_count)
      for (int64_t n = 0; n < columns_; n += width) {
        alignas(64) float tile[kMaxTileFloats] = {};
        source.Store(group, m, std::min(co_count, shape.co - m), n, std::min(width, columns_ - n), tile, width);
      }
}

void ConvolutionGrid::WriteZeros(const ConvolutionShape& shape, const KernelArguments& arguments) const {
  constexpr int64_t kZeros = 512;
  alignas(64) static const float zeros[kZeros] = {};
  const GridDimension &z = dim_[0], &y = dim_[1], &x = dim_[2];
  const int64_t co_count = shape.groups * shape.co, grain = std::max<int64_t>(1, kWrittenAtOnce / (z.count * y.count * x.count));
  ThreadPool::Get().ParallelFor(0, shape.batch * co_count, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t plane = first; plane < last; ++plane)
      for (int64_t at_z = 0; at_z < z.count; ++at_z)
        for (int64_t at_x = 0; at_x < x.count; at_x += kZeros)
          Table().spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + out_start_ + plane / co_count * shape.out_batch_stride +
                                  plane % co_count * shape.out_channel_stride + at_z * z.out_stride + at_x * x.out_stride,
                              y.out_stride, x.out_stride, zeros, 0, y.count, std::min(kZeros, x.count - at_x));
  });
}

}  // namespace dxtensor::software::fast
