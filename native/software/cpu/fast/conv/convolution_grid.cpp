#include "convolution_grid.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int kMostStretches = 32;  // one for each column of a panel
constexpr int64_t kWrittenAtOnce = 20000;

}  // namespace

ConvolutionGrid::ConvolutionGrid(const ConvolutionShape& shape, const GridDimension* dimensions, int64_t out_start)
    : out_start_(out_start) {
  for (int d = 0; d < kSpatial; ++d) dim_[d] = dimensions[d];
  Merge();
  columns_ = shape.images;
  for (const GridDimension& d : dim_) {
    taps_ *= static_cast<int64_t>(d.taps.size());
    columns_ *= d.count;
  }
  depth_ = shape.channels * taps_;
  for (const Tap& z : dim_[0].taps)
    for (const Tap& y : dim_[1].taps)
      for (const Tap& x : dim_[2].taps) cells_.push_back(z.cell + y.cell + x.cell);
  if (taps_ > 1) cell_step_ = cells_[1] - cells_[0];
  else cell_step_ = shape.filter_channel;
  for (int64_t t = 1; t < taps_; ++t)
    if (cells_[t] != cells_[0] + t * cell_step_) cell_step_ = 0;
  evenly_through_channels_ = cell_step_ != 0 && shape.filter_channel == taps_ * cell_step_;
  grows_ = dim_[2].count == 1 || dim_[2].out_stride > 0;
  int64_t extent = dim_[2].out_stride * (dim_[2].count - 1);
  for (int d = 1; d >= 0; --d) {
    if (dim_[d].count == 1) continue;
    grows_ &= dim_[d].out_stride > extent;
    extent += dim_[d].out_stride * (dim_[d].count - 1);
  }
  grows_ &= shape.images == 1 || shape.out_image > extent;
  images_ = shape.images;
  groups_ = shape.groups;
  rows_ = shape.rows;
  channels_ = shape.channels;
  if (depth_ > 0) Choose(shape);
}

void ConvolutionGrid::Choose(const ConvolutionShape& shape) {
  if (Winograd::Fits(shape, dim_)) {
    method_ = Method::Winograd;
    winograd_ = Winograd(shape, dim_, out_start_);
  } else if (WinogradWeights::Fits(shape, dim_)) {
    method_ = Method::WinogradWeights;
    winograd_weights_ = WinogradWeights(shape, dim_, out_start_);
  } else if (LineSums::Fits(shape, dim_)) {
    method_ = Method::Lines;
    lines_ = LineSums(shape, dim_, out_start_);
  } else if (PlaneSums::Fits(shape, dim_)) {
    method_ = Method::Planes;
    planes_ = PlaneSums(dim_, out_start_);
  } else if (Pixels::Fits(shape, dim_)) {
    method_ = Method::Pixels;
    pixels_ = Pixels(shape, dim_, out_start_);
  } else if (PlanFlat(shape)) {
    method_ = Method::Flat;
  } else if (shape.groups > 1 && shape.rows < 4) {
    method_ = Method::Direct;
  } else {
    method_ = Method::Product;
    MergeTaps();
    packs_runs_ = dim_[2].count < 8 && dim_[2].taps.size() >= 8;
    is_one_place_ = IsFloat32(shape.in_type);
    for (const GridDimension& d : dim_) {
      is_one_place_ &= d.count == 1;
      for (const Tap& tap : d.taps) is_one_place_ &= tap.offset >= 0 && tap.offset < d.in_size;
    }
    product_ = PanelProduct(shape.groups, shape.rows, columns_, depth_, false, false);
  }
}

// Joins a dimension with the next where both have one tap that always hits and lie one in the other.
void ConvolutionGrid::Merge() {
  auto is_simple = [](const GridDimension& d) {
    return d.taps.size() == 1 && d.taps[0].offset == 0 && (d.count - 1) * d.in_step < d.in_size;
  };
  for (int d = 0; d + 1 < kSpatial; ++d) {
    GridDimension &outer = dim_[d], &inner = dim_[d + 1];
    if (!is_simple(outer) || !is_simple(inner)) continue;
    if (outer.count != 1 && (outer.in_stride * outer.in_step != inner.in_stride * inner.in_step * inner.count ||
                             outer.out_stride != inner.out_stride * inner.count))
      continue;
    inner.taps[0].cell += outer.taps[0].cell;
    inner.in_size = inner.count * outer.count;
    inner.in_stride *= inner.in_step;
    inner.in_step = 1;
    inner.count *= outer.count;
    outer = GridDimension();
  }
}

// Joins the lines of taps of one output position that read lines which go on one from the other.
void ConvolutionGrid::MergeTaps() {
  GridDimension &outer = dim_[1], &inner = dim_[2];
  const size_t lines = outer.taps.size(), places = inner.taps.size();
  if (dim_[0].taps.size() != 1 || outer.count != 1 || inner.count != 1 || lines < 2 || cell_step_ == 0) return;
  auto covers = [](const GridDimension& d) {  // each position is read by one tap, in their order
    for (size_t t = 0; t < d.taps.size(); ++t)
      if (d.taps[t].offset != static_cast<int64_t>(t)) return false;
    return d.in_size == static_cast<int64_t>(d.taps.size());
  };
  if (!covers(outer) || !covers(inner) || outer.in_stride != inner.in_stride * inner.in_size) return;
  inner.taps.resize(lines * places);
  for (size_t t = 0; t < lines * places; ++t) inner.taps[t] = {cells_[t], static_cast<int64_t>(t)};
  inner.in_size *= outer.in_size;
  outer = GridDimension();
}

size_t ConvolutionGrid::ScratchBytes() const {
  switch (method_) {
    case Method::Nothing: return 0;
    case Method::Product: return product_.ScratchBytes();
    case Method::Direct: return static_cast<size_t>((dim_[2].count + 2 * kMaxWidth) * ThreadPool::Get().size()) * sizeof(float);
    case Method::Flat: return FlatScratchBytes();
    case Method::Winograd: return winograd_.PreparedBytes() + winograd_.ScratchBytes();
    case Method::WinogradWeights: return winograd_weights_.ScratchBytes();
    case Method::Lines: return lines_.ScratchBytes();
    case Method::Planes: return planes_.ScratchBytes();
    case Method::Pixels: return pixels_.PreparedBytes() + pixels_.ScratchBytes();
  }
  return 0;
}

// Of several grids each starts at a line of the cache.
size_t ConvolutionGrid::PreparedBytes() const {
  switch (method_) {
    case Method::Product: return product_.PreparedBytes();
    case Method::Flat: return PacksFlat() ? static_cast<size_t>(FlatFilterFloats()) * sizeof(float) : 0;
    case Method::Winograd: return winograd_.PreparedBytes();
    case Method::Pixels: return pixels_.PreparedBytes();
    default: return 0;
  }
}

int ConvolutionGrid::Stretches(int64_t first, int64_t columns, Stretch* stretches) const {
  int64_t rest = first;
  Stretch s{};
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
    stretches[count++] = s;
    s.at[2] = 0;
    if (++s.at[1] < dim_[1].count) continue;
    s.at[1] = 0;
    if (++s.at[0] < dim_[0].count) continue;
    s.at[0] = 0;
    ++s.image;
  }
  return count;
}

ConvolutionGrid::Reach ConvolutionGrid::ReachOf(const Stretch& s, int64_t tap) const {
  const auto nx = static_cast<int64_t>(dim_[2].taps.size()), ny = static_cast<int64_t>(dim_[1].taps.size());
  const int64_t x = s.at[2] * dim_[2].in_step + dim_[2].taps[static_cast<size_t>(tap % nx)].offset;
  const int64_t y = s.at[1] * dim_[1].in_step + dim_[1].taps[static_cast<size_t>(tap / nx % ny)].offset;
  const int64_t z = s.at[0] * dim_[0].in_step + dim_[0].taps[static_cast<size_t>(tap / nx / ny)].offset;
  Reach r{z * dim_[0].in_stride + y * dim_[1].in_stride + x * dim_[2].in_stride, 0, 0};
  if (z >= 0 && z < dim_[0].in_size && y >= 0 && y < dim_[1].in_size)
    Clip(x, dim_[2].in_step, dim_[2].in_size, s.length, &r.first, &r.last);
  return r;
}

// ---------------------------------------------------------------------------------------------------------------------------

class GridSource final : public PanelSource {
 public:
  GridSource(const ConvolutionGrid& grid, const ConvolutionShape& shape, const KernelArguments& arguments)
      : g_(grid), s_(shape), arguments_(arguments) {}

  void PackA(int64_t group, int64_t m, int64_t rows, int64_t k, int64_t count, float* to) const override {
    g_.PackFilter(s_, arguments_.inputs[1], group, m, rows, k, count, to);
  }
  const float* DirectA(int64_t group, int64_t m, int64_t k, int64_t* stride) const override {
    if (!IsFloat32(s_.filter_type) || !g_.evenly_through_channels_ || g_.cell_step_ != 1) return nullptr;
    *stride = s_.filter_row;
    return reinterpret_cast<const float*>(arguments_.inputs[1]) + group * s_.filter_group + m * s_.filter_row + g_.cells_[0] + k;
  }
  void PackB(int64_t group, int64_t n, int64_t columns, int64_t width, int64_t k, int64_t count, float* to) const override {
    ConvolutionGrid::Stretch stretches[kMostStretches];
    const int found = g_.Stretches(n, columns, stretches);
    const uint8_t* in = arguments_.inputs[0] + group * s_.channels * s_.in_channel * s_.in_bytes;
    if (g_.packs_runs_) g_.PackRuns(s_, in, stretches, found, columns, width, k, count, to);
    else g_.PackStretches(s_, in, stretches, found, width, k, count, to);
  }
  int64_t OutOffset(int64_t group, int64_t m, int64_t column) const {
    int64_t offset = g_.out_start_ + (group * s_.rows + m) * s_.out_row;
    for (int d = kSpatial - 1; d >= 0; --d) {
      offset += column % g_.dim_[d].count * g_.dim_[d].out_stride;
      column /= g_.dim_[d].count;
    }
    return offset + column * s_.out_image;
  }
  float* DirectC(int64_t group, int64_t m, int64_t n, int64_t columns, int64_t* stride) const override {
    if (!IsFloat32(s_.out_type) || !g_.grows_) return nullptr;
    const int64_t first = OutOffset(group, m, n);
    if (columns > 1 && OutOffset(group, m, n + columns - 1) - first != columns - 1) return nullptr;
    *stride = s_.out_row;
    return reinterpret_cast<float*>(arguments_.outputs[0]) + first;
  }
  bool NeedsStore() const override { return s_.has_bias || s_.normalizes || s_.adds || s_.Activates(); }
  void Store(int64_t group, int64_t m, int64_t rows, int64_t n, int64_t columns, float* tile, int64_t stride) const override {
    ConvolutionGrid::Stretch stretches[kMostStretches];
    if (s_.limits && (g_.dim_[2].out_stride == 1 || g_.dim_[2].count == 1)) {
      const int found = g_.Stretches(n, columns, stretches);
      for (int i = 0; i < found; ++i)
        s_.EndTile(arguments_, group * s_.rows + m, rows, tile + stretches[i].column, stride, OutOffset(group, m, n + stretches[i].column),
                   stretches[i].length);
      return;
    }
    const IsaTable& table = Table();
    alignas(64) float local[kMostTileFloats];
    uint8_t* out = arguments_.outputs[0];
    const bool in_place = reinterpret_cast<uint8_t*>(tile) >= out && stride != table.tile_columns && IsFloat32(s_.out_type) && g_.grows_ &&
                          reinterpret_cast<uint8_t*>(tile) == out + OutOffset(group, m, n) * s_.out_bytes;
    if (s_.Activates() && stride != table.tile_columns) {
      for (int64_t r = 0; r < rows; ++r)
        std::memcpy(local + r * table.tile_columns, tile + r * stride, static_cast<size_t>(columns) * sizeof(float));
      tile = local;
      stride = table.tile_columns;
    }
    if (s_.has_bias || s_.normalizes)
      for (int64_t r = 0; r < rows; ++r) s_.Finish(arguments_, group * s_.rows + m + r, tile + r * stride, columns);
    int found = 0;
    if (s_.adds) {
      found = g_.Stretches(n, columns, stretches);
      for (int i = 0; i < found; ++i)
        for (int64_t r = 0; r < rows; ++r)
          s_.Add(arguments_, OutOffset(group, m + r, n + stretches[i].column), g_.dim_[2].out_stride,
                 tile + r * stride + stretches[i].column, stretches[i].length);
    }
    s_.Activate(arguments_, tile, rows * stride);
    if (in_place && tile != local) return;
    if (!s_.adds) found = g_.Stretches(n, columns, stretches);
    for (int i = 0; i < found; ++i) {
      const ConvolutionGrid::Stretch& s = stretches[i];
      for (int64_t r = 0; r < rows; ++r)
        table.store(s_.out_type, out + OutOffset(group, m + r, n + s.column) * s_.out_bytes,
                    reinterpret_cast<const uint8_t*>(tile + r * stride + s.column), g_.dim_[2].out_stride, s.length);
    }
  }

 private:
  const ConvolutionGrid& g_;
  const ConvolutionShape& s_;
  const KernelArguments& arguments_;
};

// Few output channels of a group: line by line, each tap adding its share of an input line.
void ConvolutionGrid::RunDirect(const ConvolutionShape& shape, const KernelArguments& arguments) const {
  const IsaTable& table = Table();
  const int64_t length = dim_[2].count, lines = dim_[0].count * dim_[1].count;
  const int64_t step = dim_[2].in_step * dim_[2].in_stride;
  const int64_t work = length * lines * depth_;
  ThreadPool::Get().ParallelFor(
      0, shape.images * shape.groups * shape.rows, std::max<int64_t>(1, 200000 / std::max<int64_t>(work, 1)),
      [&](int64_t first, int64_t last, int slot) {
        float* line = reinterpret_cast<float*>(arguments.scratch) + slot * (length + 2 * kMaxWidth);
        for (int64_t plane = first; plane < last; ++plane) {
          const int64_t row = plane % shape.rows, group = plane / shape.rows % shape.groups, image = plane / shape.rows / shape.groups;
          float bias = 0;
          if (shape.has_bias)
            table.load(shape.filter_type, reinterpret_cast<uint8_t*>(&bias),
                       arguments.inputs[2] + (group * shape.rows + row) * shape.bias_row * shape.filter_bytes, 1, 1);
          for (int64_t l = 0; l < lines; ++l) {
            const Stretch stretch{image, {l / dim_[1].count, l % dim_[1].count, 0}, 0, length};
            std::fill(line, line + length, bias);
            for (int64_t channel = 0; channel < shape.channels; ++channel)
              for (int64_t tap = 0; tap < taps_; ++tap) {
                const Reach r = ReachOf(stretch, tap);
                if (r.first >= r.last) continue;
                float weight;
                table.load(shape.filter_type, reinterpret_cast<uint8_t*>(&weight),
                           arguments.inputs[1] + (group * shape.filter_group + row * shape.filter_row + channel * shape.filter_channel +
                                                  cells_[static_cast<size_t>(tap)]) *
                                                     shape.filter_bytes,
                           1, 1);
                const int64_t from =
                    image * shape.in_image + (group * shape.channels + channel) * shape.in_channel + r.offset + r.first * step;
                const uint8_t* in = arguments.inputs[0] + from * shape.in_bytes;
                if (IsFloat32(shape.in_type) && step == 1) {
                  table.axpy(line + r.first, reinterpret_cast<const float*>(in), weight, r.last - r.first);
                  continue;
                }
                alignas(64) float values[256];
                for (int64_t j = r.first; j < r.last; j += 256) {
                  const int64_t n = std::min<int64_t>(256, r.last - j);
                  table.load(shape.in_type, reinterpret_cast<uint8_t*>(values), in + (j - r.first) * step * shape.in_bytes, step, n);
                  table.axpy(line + j, values, weight, n);
                }
              }
            const int64_t to = out_start_ + image * shape.out_image + (group * shape.rows + row) * shape.out_row +
                               stretch.at[0] * dim_[0].out_stride + stretch.at[1] * dim_[1].out_stride;
            if (shape.normalizes) shape.Finish(arguments, group * shape.rows + row, line, length);
            if (shape.adds) shape.Add(arguments, to, dim_[2].out_stride, line, length);
            shape.Activate(arguments, line, length);
            table.store(shape.out_type, arguments.outputs[0] + to * shape.out_bytes, reinterpret_cast<const uint8_t*>(line),
                        dim_[2].out_stride, length);
          }
        }
      });
}

void ConvolutionGrid::PrepareWinograd(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const {
  winograd_.Prepare([&](int64_t row, int64_t rows, int64_t k, int64_t count,
                        float* panel) { PackFilter(shape, arguments.inputs[1], 0, row, rows, k, count, panel); },
                    to);
}

void ConvolutionGrid::Prepare(const ConvolutionShape& shape, const KernelArguments& arguments, uint8_t* to) const {
  if (!PreparedBytes()) return;
  if (method_ == Method::Winograd) PrepareWinograd(shape, arguments, to);
  else if (method_ == Method::Pixels) pixels_.Prepare(shape, arguments, to);
  else if (method_ == Method::Flat) PackFlat(shape, arguments, reinterpret_cast<float*>(to));
  else product_.Prepare(GridSource(*this, shape, arguments), to);
}

void ConvolutionGrid::Run(const ConvolutionShape& shape, const KernelArguments& arguments, const uint8_t* prepared) const {
  auto* scratch = reinterpret_cast<float*>(arguments.scratch);
  const auto* filter = reinterpret_cast<const float*>(prepared);
  switch (method_) {
    case Method::Nothing: return RunNothing(shape, arguments);
    case Method::Product: return product_.Run(GridSource(*this, shape, arguments), arguments.scratch, prepared);
    case Method::Direct: return RunDirect(shape, arguments);
    case Method::Flat: return RunFlat(shape, arguments, PacksFlat() ? filter : nullptr);
    case Method::WinogradWeights: return winograd_weights_.Run(shape, arguments, scratch);
    case Method::Lines: return lines_.Run(shape, arguments, scratch);
    case Method::Planes: return planes_.Run(shape, arguments, scratch);
    case Method::Winograd:
      if (!prepared) PrepareWinograd(shape, arguments, arguments.scratch);
      return winograd_.Run(shape, arguments, prepared ? filter : scratch, scratch + winograd_.PreparedBytes() / sizeof(float));
    case Method::Pixels:
      if (!prepared) pixels_.Prepare(shape, arguments, arguments.scratch);
      return pixels_.Run(shape, arguments, prepared ? filter : scratch, scratch + pixels_.PreparedBytes() / sizeof(float));
  }
}

// No cell of the filter meets this grid: nothing but bias and activation.
void ConvolutionGrid::RunNothing(const ConvolutionShape& shape, const KernelArguments& arguments) const {
  const GridSource source(*this, shape, arguments);
  if (!source.NeedsStore() && IsFloat32(shape.out_type)) return WriteZeros(shape, arguments);
  const int64_t rows = Table().tile_rows, width = Table().tile_columns;
  for (int64_t group = 0; group < shape.groups; ++group)
    for (int64_t m = 0; m < shape.rows; m += rows)
      for (int64_t n = 0; n < columns_; n += width) {
        alignas(64) float tile[kMostTileFloats] = {};
        source.Store(group, m, std::min(rows, shape.rows - m), n, std::min(width, columns_ - n), tile, width);
      }
}

void ConvolutionGrid::WriteZeros(const ConvolutionShape& shape, const KernelArguments& arguments) const {
  constexpr int64_t kZeros = 512;
  alignas(64) static const float zeros[kZeros] = {};
  const GridDimension &z = dim_[0], &y = dim_[1], &x = dim_[2];
  const int64_t rows = shape.groups * shape.rows, grain = std::max<int64_t>(1, kWrittenAtOnce / (z.count * y.count * x.count));
  ThreadPool::Get().ParallelFor(0, shape.images * rows, grain, [&](int64_t first, int64_t last, int) {
    for (int64_t plane = first; plane < last; ++plane)
      for (int64_t at_z = 0; at_z < z.count; ++at_z)
        for (int64_t at_x = 0; at_x < x.count; at_x += kZeros)
          Table().spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + out_start_ + plane / rows * shape.out_image +
                                  plane % rows * shape.out_row + at_z * z.out_stride + at_x * x.out_stride,
                              y.out_stride, x.out_stride, zeros, 0, y.count, std::min(kZeros, x.count - at_x));
  });
}

}  // namespace dxtensor::software::fast
