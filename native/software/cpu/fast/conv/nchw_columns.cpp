#include "nchw_columns.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Measured (AVX-512): the 80 layers of the bench suite that these bounds give to implicit_gemm_nchw gain 2.0 times over im2col_gemm in
// total, the 35 depthwise ones 3.0 times.
// Speed (suite, 1 thread, AVX-512): kMaxWaste, kTaskWork, kMaxCopy: within 5 % from 1/4 to 4 times; kMaxStride 0.91 at 1/4.
constexpr int64_t kMaxStride = 4;
constexpr double kMaxWaste = 48;                                 // dropped columns by output, times Co
constexpr int64_t kMaxCopy = 1 << 20, kMaxSharedCopy = 1 << 24;  // floats: one image, all images
constexpr int64_t kTaskWork = 300000;                            // multiply-adds

struct Range {
  int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
  explicit Range(const std::vector<Tap>& taps) {
    for (const Tap& tap : taps) {
      least = std::min(least, tap.offset);
      most = std::max(most, tap.offset);
    }
  }
  bool Inside(const GridDimension& d) const { return least >= 0 && d.count - 1 + most < d.in_size; }
};

}  // namespace

NchwColumns::NchwColumns(const ConvolutionProblem& problem, const ConvolutionGrid& of)
    : grid(of), batch(problem.batch), groups(problem.groups), co(problem.co), ci(problem.ci) {}

bool NchwColumns::IsDepthwise(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return problem.co == 1 && problem.ci == 1 && grid.taps <= kMaxTaps;
}

std::optional<NchwColumns> NchwColumns::Plan(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  const GridDimension &z = grid.dim[0], &y = grid.dim[1], &x = grid.dim[2];
  if (z.count != 1 || z.taps.size() != 1 || z.taps[0].offset != 0) return std::nullopt;
  const int64_t width = Table().tile_columns;
  const Range reach_y(y.taps), reach_x(x.taps);
  NchwColumns f(problem, grid);
  f.stride_h = y.count > 1 ? y.conv_stride : 1;
  f.stride_w = x.count > 1 ? x.conv_stride : 1;
  if (f.stride_h > kMaxStride || f.stride_w > kMaxStride) return std::nullopt;
  const bool strided = f.stride_h > 1 || f.stride_w > 1;
  const bool depthwise = IsDepthwise(problem, grid);
  f.copies = problem.in_type != DML_TENSOR_DATA_TYPE_FLOAT32 || !reach_y.Inside(y) || !reach_x.Inside(x) ||
             (x.in_size > 1 && x.in_stride != 1) || (y.in_size > 1 && y.in_stride < x.in_size) || strided || depthwise;
  f.pitch = y.in_size > 1 ? y.in_stride : x.count;
  f.copies |= (y.count - 1) * f.pitch + x.count < width;  // a tile would read past the end
  if (f.copies) {
    if (grid.taps < 4 && !strided && !depthwise) return std::nullopt;
    f.left = std::max<int64_t>(0, -reach_x.least);
    const int64_t right = std::max<int64_t>(0, x.count + reach_x.most - x.in_size);
    f.pitch = strided ? x.count + (f.left + reach_x.most) / f.stride_w : std::max(x.in_size + std::max(f.left, right), x.count);
    f.first_row = reach_y.least;
    f.rows = y.count + (reach_y.most - reach_y.least) / f.stride_h;
  }
  f.length = (y.count - 1) * f.pitch + x.count;
  f.tiles = DivideUp(f.length, width);
  const double waste = static_cast<double>(f.tiles * width) / static_cast<double>(y.count * x.count) - 1;
  if (waste * static_cast<double>(f.co) > kMaxWaste) return std::nullopt;
  for (const Tap& ty : y.taps)
    for (const Tap& tx : x.taps) {
      int64_t offset = ty.offset * f.pitch + f.left + tx.offset;
      if (f.copies) {
        const int64_t row = ty.offset - f.first_row, column = f.left + tx.offset;
        const Phase phase = {row % f.stride_h, column % f.stride_w};
        auto is_it = [&](const Phase& p) { return p.y == phase.y && p.x == phase.x; };
        auto found = std::find_if(f.phases.begin(), f.phases.end(), is_it);
        if (found == f.phases.end()) found = f.phases.insert(found, phase);
        offset = ((found - f.phases.begin()) * f.rows + row / f.stride_h) * f.pitch + column / f.stride_w;
      }
      if (offset > std::numeric_limits<int32_t>::max()) return std::nullopt;
      f.offsets.push_back(static_cast<int32_t>(offset));
    }
  // One more row: a tile reads past the last.
  const int64_t rows = static_cast<int64_t>(f.phases.size()) * f.rows + 1;
  f.channel_stride = f.copies ? RoundUp(rows * f.pitch + width, kMaxWidth) : problem.in_channel_stride;
  const int64_t planes = f.batch * f.groups, wanted = ThreadPool::Get().size() * 4;
  if (planes < wanted) {
    f.shares_copies = f.copies;
    f.chunks = std::min(f.tiles, DivideUp(wanted, planes));
  }
  if (f.copies && f.ci * f.channel_stride * (f.shares_copies ? planes : 1) > (f.shares_copies ? kMaxSharedCopy : kMaxCopy))
    return std::nullopt;
  return f;
}

// The last tile is moved back, so that it reads nothing past the input.
int64_t NchwColumns::TileStart(int64_t tile) const {
  const int64_t width = Table().tile_columns;
  return std::max<int64_t>(0, std::min(tile * width, length - width));
}

int64_t NchwColumns::CopyFloats() const {
  return (shares_copies ? batch * groups : copies ? ThreadPool::Get().size() : 0) * ci * channel_stride;
}

void NchwColumns::CopyChannel(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t channel,
                              float* to) const {
  const GridDimension &y = grid.dim[1], &x = grid.dim[2];
  std::memset(to, 0, static_cast<size_t>(channel_stride) * sizeof(float));
  const int64_t start = plane / groups * problem.in_batch_stride + (plane % groups * ci + channel) * problem.in_channel_stride;
  for (const Phase& phase : phases) {
    int64_t row, last_row, column, last_column;
    Clip(first_row + phase.y, stride_h, y.in_size, rows, &row, &last_row);
    Clip(phase.x - left, stride_w, x.in_size, pitch, &column, &last_column);
    const int64_t n = last_column - column, read_stride = stride_w * x.in_stride, row_stride = stride_h * y.in_stride;
    const uint8_t* from = arguments.inputs[0] + (start + (first_row + phase.y + row * stride_h) * y.in_stride +
                                                 (phase.x - left + column * stride_w) * x.in_stride) *
                                                    problem.in_bytes;
    float* target = to + row * pitch + column;
    if (n > 0 && IsFloat32(problem.in_type)) {
      Table().copy_rows(target, pitch, reinterpret_cast<const float*>(from), row_stride, read_stride, last_row - row, n);
    } else if (n > 0) {
      for (int64_t i = row; i < last_row; ++i, target += pitch, from += row_stride * problem.in_bytes)
        Table().load(problem.in_type, reinterpret_cast<uint8_t*>(target), from, read_stride, n);
    }
    to += rows * pitch;
  }
}

void NchwColumns::ForEachTile(const ConvolutionProblem& problem, const KernelArguments& arguments, float* copied, int64_t work,
                              const RunTiles& run) const {
  ThreadPool& pool = ThreadPool::Get();
  const int64_t copy_floats = ci * channel_stride, planes = batch * groups;
  if (shares_copies)
    pool.ParallelFor(0, planes * ci, std::max<int64_t>(1, 40000 / channel_stride), [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) CopyChannel(problem, arguments, i / ci, i % ci, copied + i * channel_stride);
    });
  pool.ParallelFor(0, planes * chunks, std::max<int64_t>(1, kTaskWork / (work / chunks)), [&](int64_t first, int64_t last, int thread) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t plane = task / chunks, chunk = task % chunks;
      const float* in = copied + (shares_copies ? plane : thread) * copy_floats;
      if (!copies) {
        in = reinterpret_cast<const float*>(arguments.inputs[0]) + plane / groups * problem.in_batch_stride +
             plane % groups * ci * problem.in_channel_stride;
      } else if (!shares_copies) {
        for (int64_t channel = 0; channel < ci; ++channel)
          CopyChannel(problem, arguments, plane, channel, copied + thread * copy_floats + channel * channel_stride);
      }
      run(plane, tiles * chunk / chunks, tiles * (chunk + 1) / chunks, in, thread);
    }
  });
}

}  // namespace dxtensor::software::fast
