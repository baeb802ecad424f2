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
#include "thin_rows.inl"
#include "winograd_block.inl"
#include "moves.inl"
#include "pack_lines.inl"
#include "tile_end.inl"
#include "pixel_tile.inl"
#include "reduce_block.inl"
#include "dot_tile.inl"
#include "integer_extreme.inl"
#include "norm_block.inl"
#include "running_block.inl"
#include "random_block.inl"
#include "software/shader/block.inl"
}  // namespace
}  // namespace dxtensor::software::fast
#include "isa_end.inl"

namespace dxtensor::software::fast {

const IsaTable& DX_TABLE() {
  static const IsaTable table = {kWidth,
                                 Execute,
                                 LoadBlock,
                                 StoreBlock,
                                 kTileRows,
                                 kTileColumns,
                                 kTiles,
                                 kStridedTiles,
                                 kTurnedTiles,
                                 kTapsTiles,
                                 ThinRows,
                                 AllPixelTiles(std::make_integer_sequence<int, kMostPixelVectors>()),
                                 CopyBytes,
                                 CopyReversed,
                                 WeighPlaces,
                                 WeighRows,
                                 CopyRows,
                                 SpreadRows,
                                 EndTile,
                                 PackRows,
                                 PackLines,
                                 Turn,
                                 WinogradInput,
                                 WinogradFilter,
                                 WinogradOutput,
                                 WinogradGradient,
                                 WinogradWeights,
                                 TapsLine,
                                 Dots,
                                 MaxRows,
                                 SumRows,
                                 MaxPlaces,
                                 MeanPlaces,
                                 MaxCells,
                                 SumBlock,
                                 SumOfSquaresBlock,
                                 SumOfAbsolutesBlock,
                                 MomentsBlock,
                                 NormGradientSums,
                                 NormGradient,
                                 Normalize,
                                 DotBlock,
                                 DotRows,
                                 kDotSums,
                                 kMostDotVectors,
                                 MultiplyDotTile,
                                 AddRows,
                                 FlushSums,
                                 MaxBlock,
                                 MaxOrNanBlock,
                                 MinBlock,
                                 FoldRows,
                                 FirstRows,
                                 FirstEqual,
                                 IntegerExtreme,
                                 JoinExtremes,
                                 FirstBeyond,
                                 PlacesBeyond,
                                 ExpSumBlock,
                                 NormEnds,
                                 ScaleShiftBlock,
                                 AxpyBlock,
                                 RunningRowOf,
                                 PhiloxBlock,
                                 MultiplyAddLoop,
                                 RunShaderBlock};
  return table;
}

}  // namespace dxtensor::software::fast
