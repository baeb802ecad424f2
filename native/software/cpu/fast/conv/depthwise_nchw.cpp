// Depthwise convolution for NCHW: the columns of a plane (nchw_columns.h) as one row of weighted sums.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "convolution_strategy.h"
#include "nchw_columns.h"

namespace dxtensor::software::fast {

namespace {

void LoadFloat(DML_TENSOR_DATA_TYPE type, float* to, const uint8_t* base, int64_t offset) {
  if (IsFloat32(type)) std::memcpy(to, base + offset * 4, 4);
  else Table().load(type, reinterpret_cast<uint8_t*>(to), base + offset * 2, 1, 1);
}

class DepthwiseNchw final : public ConvStrategy {
 public:
  explicit DepthwiseNchw(NchwColumns columns) : columns_(std::move(columns)) {}
  size_t WorkspaceBytes() const override {
    return static_cast<size_t>(columns_.CopyFloats() + RowFloats() * ThreadPool::Get().size()) * sizeof(float);
  }
  void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t*) const override {
    auto* copies = reinterpret_cast<float*>(arguments.scratch);
    float* rows = copies + columns_.CopyFloats();
    const int64_t work = columns_.grid.depth * columns_.tiles * Table().tile_columns;
    columns_.ForEachTile(problem, arguments, copies, work, [&](int64_t plane, int64_t first, int64_t last, const float* in, int thread) {
      RunTiles(problem, arguments, plane, first, last, in, rows + thread * RowFloats());
    });
  }

 private:
  int64_t RowFloats() const { return (columns_.tiles / columns_.chunks + 1) * Table().tile_columns; }
  void RunTiles(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile_first, int64_t tile_last,
                const float* in, float* row) const;

  NchwColumns columns_;
};

// All columns of some tiles at once, then the rows among them are stored.
void DepthwiseNchw::RunTiles(const ConvolutionProblem& problem, const KernelArguments& arguments, int64_t plane, int64_t tile_first,
                             int64_t tile_last, const float* in, float* row) const {
  const IsaTable& table = Table();
  const GridDimension &y = columns_.grid.dim[1], &x = columns_.grid.dim[2];
  const int64_t group = plane % columns_.groups, start = tile_first * table.tile_columns;
  const int64_t end = std::min(tile_last * table.tile_columns, columns_.length);
  if (start >= end) return;
  float weights[NchwColumns::kMaxTaps], bias = 0;
  for (int64_t t = 0; t < columns_.grid.taps; ++t)
    LoadFloat(problem.filter_type, weights + t, arguments.inputs[1],
              group * problem.filter_group_stride + columns_.grid.filter_offsets[static_cast<size_t>(t)]);
  if (problem.has_bias) LoadFloat(problem.filter_type, &bias, arguments.inputs[2], group * problem.bias_stride);
  table.depthwise_row(row, in + start, columns_.offsets.data(), weights, columns_.grid.taps, bias, end - start);
  const int64_t out = columns_.grid.out_start + plane / columns_.groups * problem.out_batch_stride + group * problem.out_channel_stride;
  if (problem.normalizes) problem.ApplyScaleShift(arguments, group, row, end - start);
  if (problem.has_residual)
    for (int64_t at_y = start / columns_.pitch; at_y * columns_.pitch < end; ++at_y) {
      const int64_t first = std::max<int64_t>(0, start - at_y * columns_.pitch), last = std::min(x.count, end - at_y * columns_.pitch);
      if (first < last)
        problem.AddResidual(arguments, out + at_y * y.out_stride + first * x.out_stride, x.out_stride,
                            row + at_y * columns_.pitch + first - start, last - first);
    }
  problem.Activate(arguments, row, end - start);
  const bool stores_rows = IsFloat32(problem.out_type);
  for (int64_t at_y = start / columns_.pitch; at_y * columns_.pitch < end; ++at_y) {
    const int64_t first = std::max<int64_t>(0, start - at_y * columns_.pitch), last = std::min(x.count, end - at_y * columns_.pitch);
    if (first >= last) continue;
    const float* from = row + at_y * columns_.pitch + first - start;
    const int64_t to = out + at_y * y.out_stride + first * x.out_stride;
    if (stores_rows && first == 0 && last == x.count) {  // and all complete rows that follow
      const int64_t rows = std::max<int64_t>(1, std::min(y.count, (end - x.count) / columns_.pitch + 1) - at_y);
      table.spread_rows(reinterpret_cast<float*>(arguments.outputs[0]) + to, y.out_stride, x.out_stride, from, columns_.pitch, rows,
                        x.count);
      at_y += rows - 1;
    } else {
      table.store(problem.out_type, arguments.outputs[0] + to * problem.out_bytes, reinterpret_cast<const uint8_t*>(from), x.out_stride,
                  last - first);
    }
  }
}

}  // namespace

std::unique_ptr<ConvStrategy> MakeDepthwiseNchw(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  if (!NchwColumns::IsDepthwise(problem, grid)) return nullptr;
  auto columns = NchwColumns::Plan(problem, grid);
  return columns ? std::make_unique<DepthwiseNchw>(std::move(*columns)) : nullptr;
}

}  // namespace dxtensor::software::fast
