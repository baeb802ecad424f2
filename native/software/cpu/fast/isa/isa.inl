// The table of one instruction set. The including file defines DX_ISA and DX_TABLE, the name of the function that returns it.
#include <cstdint>
#include <type_traits>
#include <utility>

#if DX_ISA == 3
#include <arm_neon.h>
#elif DX_ISA > 0
#include <immintrin.h>
#endif

#include "isa_table.h"

#include "isa_begin.inl"
namespace dxtensor::software::fast {
namespace {
#include "vector.inl"
#include "lanes.inl"
#include "math.inl"
#include "block_ops.inl"
#include "gemm_tile.inl"
#include "narrow_gemm.inl"
#include "winograd_block.inl"
#include "moves.inl"
#include "pack_segments.inl"
#include "tile_epilogue.inl"
#include "pixel_tile.inl"
#include "reduce_block.inl"
#include "dot_tile.inl"
#include "packed_dot.inl"
#include "norm_block.inl"
#include "running_block.inl"
#include "random_block.inl"
#include "software/shader/block.inl"
}  // namespace
}  // namespace dxtensor::software::fast
#include "isa_end.inl"

namespace dxtensor::software::fast {

const IsaTable& DX_TABLE() {
  static const IsaTable table = {
      .width = kWidth,
      .execute = Execute,
      .load = LoadBlock,
      .store = StoreBlock,
      .tile_rows = kTileRows,
      .tile_columns = kTileColumns,
      .tiles = kTiles,
      .strided_tiles = kStridedTiles,
      .transposed_tiles = kTransposedTiles,
      .taps_tiles = kTapsTiles,
      .narrow_gemm = NarrowGemm,
      .pixel_tiles = AllPixelTiles(std::make_integer_sequence<int, kMaxPixelVectors>()),
      .copy_bytes = CopyBytes,
      .resample_row = ResampleRow,
      .weighted_row_sum = WeightedRowSum,
      .copy_rows = CopyRows,
      .spread_rows = SpreadRows,
      .apply_epilogue = ApplyEpilogue,
      .pack_rows = PackRows,
      .pack_segments = PackSegments,
      .transpose = Transpose,
      .winograd_input = WinogradInput,
      .winograd_filter = WinogradFilter,
      .winograd_output = WinogradOutput,
      .winograd_gradient = WinogradGradient,
      .winograd_weight_gradient = WinogradWeightGradient,
      .depthwise_row = DepthwiseRow,
      .dots = Dots,
      .max_rows = MaxRows,
      .sum_rows = SumRows,
      .pool_max_row = PoolMaxRow,
      .pool_mean_row = PoolMeanRow,
      .pool_max_taps = PoolMaxTaps,
      .sum = SumBlock,
      .sum_of_squares = SumOfSquaresBlock,
      .sum_of_absolutes = SumOfAbsolutesBlock,
      .moments = MomentsBlock,
      .norm_gradient_sums = NormGradientSums,
      .norm_gradient = NormGradient,
      .normalize = Normalize,
      .dot_rows = DotRows,
      .dot_sums = kDotSums,
      .max_dot_vectors = kMaxDotVectors,
      .dot_tile = MultiplyDotTile,
      .pack_vector = PackVector,
      .packed_lanes = kPackedLanes,
      .packed_dot = MultiplyPacked,
      .add_rows = AddRows,
      .flush_sums = FlushSums,
      .max = MaxBlock,
      .max_or_nan = MaxOrNanBlock,
      .min = MinBlock,
      .fold_rows = FoldRows,
      .arg_extreme_rows = ArgExtremeRows,
      .first_equal = FirstEqual,
      .first_beyond = FirstBeyond,
      .indices_beyond = IndicesBeyond,
      .exp_sum = ExpSumBlock,
      .norm_scale_shift = NormScaleShift,
      .scale_shift = ScaleShiftBlock,
      .axpy = AxpyBlock,
      .running_row = RunningRowOf,
      .philox = PhiloxBlock,
      .multiply_add = MultiplyAddLoop,
      .run_shader_block = RunShaderBlock,
  };
  return table;
}

}  // namespace dxtensor::software::fast
