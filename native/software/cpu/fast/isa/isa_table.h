// The table of functions over blocks that are compiled once for each instruction set. Stateless; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/abi.h"
#include "software/shader/block.h"
#include "cpu.h"
#include "micro_op.h"

namespace dxtensor::software::fast {

// The widest vector, in floats. Registers of the engine and panels are padded to it.
constexpr int kMaxWidth = 16;

// GEMM micro-kernels. C is a tile of `rows` x tile_columns; it is overwritten, or added to where `add` is set.
// A panel of A: k columns of `rows` values. A panel of B: k rows of tile_columns values, b_stride apart. `next`: memory to prefetch,
// next_step floats with each k.
using GemmTile = void (*)(int64_t k, const float* a, const float* b, int64_t b_stride, float* c, int64_t c_stride, bool add,
                          const float* next, int64_t next_step);

// A is not packed: row r lies at a + r * a_stride.
using StridedTile = void (*)(int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride,
                             bool add);

// A is transposed: column k lies at a + k * a_column_stride.
using TransposedTile = void (*)(int64_t k, const float* a, int64_t a_column_stride, const float* b, int64_t b_stride, float* c,
                                int64_t c_stride, bool add);

// Implicit GEMM: row (channel, tap) of B lies at b + channel * channel_stride + offsets[tap]. `ahead`: prefetches the columns after these.
using TapsTile = void (*)(int64_t channels, int64_t taps, const int32_t* offsets, const float* a, const float* b, int64_t channel_stride,
                          float* c, int64_t c_stride, bool add, bool ahead);

// A segment of a panel's row: `length` floats from `column` on. Those in [first, last) come from base + offset + i * stride; the others are
// zero padding.
struct PackSegment {
  int64_t offset;
  int32_t column, first, last, length;
};

// Weighted taps of a row, for outputs in groups of one vector: for tap t, output i of group g reads row[starts[t * groups + g] +
// lanes[t * pitch + g * width + i]].
struct ResampleTaps {
  int64_t taps, groups, pitch;
  const int32_t *starts, *lanes;
  const float* weights;  // indexed as lanes; weights of later taps count only where they are not 0
};

// A tap of pooling windows: outputs [first, last) read x[start + i * stride].
struct PoolTap {
  int64_t start, first, last;
};

// The epilogue of Winograd's output transform, by channel: output * factor + shift. Both null: none.
struct WinogradEpilogue {
  const float *factor, *shift;
};

// Sums over a row whose mean is known: dy; x - mean, which is zero but for rounding; dy * (x - mean).
struct NormSums {
  double dy = 0, distance = 0, product = 0;
};

// Statistics, scale and bias of normalized channels.
struct NormChannels {
  const float *mean, *variance, *scale, *bias, *offset;
};

// The epilogue of a GEMM tile: sum * factor + shift, then the residual is added, then the result is clamped to [low, high]. NaN stays.
struct TileEpilogue {
  float low, high;                                  // infinite: no clamp
  const float *factor = nullptr, *shift = nullptr;  // by row, or null
  const float* residual = nullptr;                  // or null
  int64_t residual_stride = 0;                      // between rows
};

// One tile of an NHWC convolution: pixels by channels. A depthwise tile has `length` channels and one filter for each.
struct PixelTile {
  const float* in;  // the first pixel; pixels are in_stride apart
  int64_t in_stride;
  int64_t tiles = 1;              // consecutive tiles; 1 in depthwise convolutions
  const int64_t* offsets;         // in the input, by tap
  const int64_t* filter_offsets;  // by tap
  int64_t taps, length;           // contiguous floats that a tap reads; depthwise: channels, in whole vectors
  const float* filter;            // for each float of a tap a row of weights, one for each channel of the tile
  float* out;
  int64_t out_stride;     // between pixels
  const float* residual;  // or null
  int64_t residual_stride;
  const float *factor, *shift;  // by channel, or null: sum * factor + shift, before the residual is added
  float low, high;              // the clamp; NaN stays
  bool clamps;
};
using PixelTileKernel = void (*)(const PixelTile&);

struct PixelTiles {
  static constexpr int kMaxVectors = 4, kMaxPixels = 14, kDepthwisePixels = 8;

  int vectors;              // of channels in a tile, at most
  int pixels[kMaxVectors];  // of the largest tile, by vectors - 1
  PixelTileKernel tiles[kMaxVectors][kMaxPixels];
  PixelTileKernel depthwise[kDepthwisePixels];
};

// Skinny GEMM with K-contiguous rows: sums[v * sums_stride + r] = row r times vector v.
struct DotTile {
  const float* matrix;
  int64_t row_stride;
  int rows;
  const float* vectors;
  int64_t vector_stride;
  int count;  // of the vectors
  int64_t length;
  float* sums;
  int64_t sums_stride;
  bool adds;  // to the sums, else it overwrites them
};

// Packed codes: one group is kPackedBytes bytes of a row, and the digits of the elements of a vector that they are multiplied by.
constexpr int kPackedBytes = 64;
struct PackedGroup {
  alignas(64) int8_t low[2][kPackedBytes], middle[2][kPackedBytes], high[2][kPackedBytes];  // x = (high * 128 + middle) * 128 + low
  int32_t shift[kPackedBytes / 4];                                                          // by 4 bytes: the part of the codes' middle
  alignas(64) float sums[kPackedBytes / 4];                                                 // by 4 bytes: of x
  float scale;                                                                              // of x
};
// The scales of a vector of codes, and which of them each 4 bytes have: a window of `count` from the row's scale `first` on, as many as a
// vector of floats has at most. `count` is 0 where the former vector's window continues.
struct PackedScales {
  alignas(64) int32_t lanes[kPackedBytes / 4];
  int32_t first, count;
};
// sums[r] = row r of the matrix times the vector.
struct PackedDot {
  const uint8_t* codes;
  int64_t row_bytes;
  const uint8_t *scales, *minima;  // of float32, or of halves; minima may be null
  bool half_scales, half_minima;
  int64_t blocks;  // of a row
  const PackedScales* scales_of;
  const float* block_sums;  // of x, for minima; padded by zeros to whole vectors
  const PackedGroup* groups;
  int rows, bits;
  bool flips;  // codes are signed
  float* sums;
};

// Of a set of numbers: their mean and the sum of squared distances from it.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void Join(const Moments& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count, distance = other.mean - mean, share = other.count / total;
    mean += distance * share;
    squares += other.squares + distance * distance * count * share;
    count = total;
  }
};

// Rows up to this length are summed in float without loss against double.
constexpr int64_t kFoldedRow = 4096;  // 1024 to 16384: within 5 % for reductions of the suite

enum class Fold { Sum, SumOfAbsolutes, SumOfSquares, SumOfExponentials, Max, Min };

// Kernels of one instruction set. isa.inl fills the table by name.
struct IsaTable {
  int width;  // floats in a vector

  // Runs `count` instructions over registers of n elements, n a multiple of `width`.
  void (*execute)(const MicroOp* ops, int count, uint8_t* const* registers, int64_t n);

  // Between memory of a data type and a register; strides in elements. A register's bits are the memory's for types of 4 and 8 bytes.
  void (*load)(DML_TENSOR_DATA_TYPE type, uint8_t* to, const uint8_t* from, int64_t stride, int64_t n);
  void (*store)(DML_TENSOR_DATA_TYPE type, uint8_t* to, const uint8_t* from, int64_t stride, int64_t n);

  // GEMM micro-kernels: tile[r - 1] has r rows, up to tile_rows.
  int tile_rows, tile_columns;
  const GemmTile* tiles;
  const StridedTile* strided_tiles;
  const TransposedTile* transposed_tiles;
  const TapsTile* taps_tiles;
  // Small-N GEMM: C = A * B, where B has `width` contiguous columns.
  void (*narrow_gemm)(int64_t k, const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows);
  PixelTiles pixel_tiles;
  // n contiguous bytes.
  void (*copy_bytes)(uint8_t* to, const uint8_t* from, int64_t n);
  // to[i] = the weighted sum of what output i reads of a row of `length` floats.
  void (*resample_row)(float* to, const float* row, int64_t length, const ResampleTaps& of, int64_t n);
  // to[i] = the sum of weights[r] * m[rows[r] * row_stride + i].
  void (*weighted_row_sum)(float* to, const float* m, int64_t row_stride, const int32_t* rows, const float* weights, int64_t count,
                           int64_t n);
  // to[r * to_stride + i] = from[r * from_stride + i * element_stride] for r < rows, i < n.
  void (*copy_rows)(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t element_stride, int64_t rows, int64_t n);
  // to[r * to_stride + i * element_stride] = from[r * from_stride + i] for r < rows, i < n.
  void (*spread_rows)(float* to, int64_t to_stride, int64_t element_stride, const float* from, int64_t from_stride, int64_t rows,
                      int64_t n);
  // Applies the epilogue to the first n sums of each row of a tile; `to` may be `sums`.
  void (*apply_epilogue)(float* to, int64_t to_stride, const float* sums, int64_t sums_stride, const TileEpilogue& epilogue, int64_t rows,
                         int64_t n);
  // to[j * to_stride + i] = from[i * row_stride + j * column_stride] for i < height, j < n.
  void (*pack_rows)(float* to, int64_t to_stride, int64_t height, const float* from, int64_t row_stride, int64_t column_stride, int64_t n);

  // `rows` rows of a panel of `width` columns, each of `per_row` segments.
  void (*pack_segments)(float* to, int64_t width, const float* base, int64_t stride, const PackSegment* segments, int rows, int per_row);

  // to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns; touches nothing else.
  void (*transpose)(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns);
  // Winograd F(4 x 4, 3 x 3) for n contiguous channels, in whole vectors. Input transform: 6 x 6 inputs to 36 positions. Filter transform:
  // 3 x 3 weights, where [y][x] lies at from + taps[3 * y + x] * tap_stride, to 36 positions. Output transform: 36 positions to 4 x 4
  // outputs.
  void (*winograd_input)(float* to, int64_t position_stride, const float* from, int64_t x_stride, int64_t y_stride, int64_t n);
  void (*winograd_filter)(float* to, int64_t position_stride, const float* from, int64_t tap_stride, const int32_t* taps, int64_t n);
  void (*winograd_output)(float* to, int64_t x_stride, int64_t y_stride, const float* from, int64_t position_stride,
                          const WinogradEpilogue& epilogue, int64_t n);

  // Weight gradient: 4 x 4 elements of the outputs' gradient to 36 positions; the sums of 36 positions to 3 x 3 weights, tap_stride apart.
  void (*winograd_gradient)(float* to, int64_t position_stride, const float* from, int64_t x_stride, int64_t y_stride, int64_t n);
  void (*winograd_weight_gradient)(float* to, int64_t tap_stride, const float* from, int64_t position_stride, int64_t n);

  // out[i] = bias + the sum of weights[t] * in[i + offsets[t]]; reads and writes whole vectors.
  void (*depthwise_row)(float* out, const float* in, const int32_t* offsets, const float* weights, int64_t taps, float bias, int64_t n);
  // sums[j] += the sum of a[i] * x[i + offsets[j]] for n elements, in whole vectors.
  void (*dots)(float* sums, const float* a, const float* x, const int64_t* offsets, int64_t count, int64_t n);
  // Separable pooling. First step: row[i] is the fold of `start` and x[rows[r] + i]. Second step: out[i] is the fold of `lowest` and
  // row[i * stride + tap * dilation], or their sum divided by counts[i] * rows. The second step reads `row` in whole vectors of outputs.
  void (*max_rows)(float* row, const float* x, const int64_t* rows, int count, float start, int64_t n);
  void (*sum_rows)(float* row, const float* x, const int64_t* rows, int count, float start, int64_t n);
  void (*pool_max_row)(float* out, const float* row, int64_t stride, int64_t dilation, int64_t taps, float lowest, int64_t n);
  void (*pool_mean_row)(float* out, const float* row, int64_t stride, int64_t dilation, int64_t taps, const float* counts, float rows,
                        int64_t n);
  // For each of n outputs: the largest value that the taps read, and its index in x. The first of equal values wins. `index` may be null.
  // Unless it `continues` an earlier call, best starts at `lowest` and index at -1.
  void (*pool_max_taps)(float* best, int32_t* index, const float* x, const PoolTap* taps, int count, int64_t stride, float lowest,
                        bool continues, int64_t n);

  // Reductions of n floats.
  double (*sum)(const float* x, int64_t n);
  double (*sum_of_squares)(const float* x, int64_t n);
  double (*sum_of_absolutes)(const float* x, int64_t n);
  // Joins the moments of n floats to m.
  void (*moments)(const float* x, int64_t n, Moments* m);
  // Adds to all three.
  void (*norm_gradient_sums)(const float* dy, const float* x, float mean, int64_t n, NormSums* sums);
  // dx = (dy - dy_mean) * of_dy + (x - mean) * of_x
  void (*norm_gradient)(float* dx, const float* dy, const float* x, float mean, float dy_mean, float of_dy, float of_x, int64_t n);
  // y = ((x - mean) * factor + offset) * scale + shift + bias; scale and bias by element, or null for none.
  void (*normalize)(float* y, const float* x, float mean, float factor, float offset, const float* scale, float shift, const float* bias,
                    int64_t n);
  // sums[r] = the dot product of row r with v, for up to four rows; or adds it.
  void (*dot_rows)(float* sums, const float* m, int64_t row_stride, const float* v, int rows, int64_t n, bool adds);
  // Several vectors: 2 to max_dot_vectors, with as many rows as make dot_sums sums.
  int dot_sums, max_dot_vectors;
  void (*dot_tile)(const DotTile& tile);
  // The digits of n floats for codes of so many bits, whose middle stands for 0. False where x has NaN, infinities or only tiny numbers.
  bool (*pack_vector)(const float* x, int64_t n, int bits, int32_t middle, PackedGroup* groups);
  int packed_lanes;                          // of a vector of codes, 4 bytes each
  void (*packed_dot)(const PackedDot& dot);  // null where rows are better unpacked
  // sums[i] += weights[r] * m[r * row_stride + i] for up to four rows.
  void (*add_rows)(float* sums, const float* m, int64_t row_stride, const float* weights, int rows, int64_t n);
  // totals += sums; sums = 0
  void (*flush_sums)(double* totals, float* sums, int64_t n);
  float (*max)(const float* x, int64_t n);
  float (*max_or_nan)(const float* x, int64_t n);  // NaN where there is one; max and min ignore NaN
  float (*min)(const float* x, int64_t n);
  // Folds each of some rows of at most kFoldedRow floats. Not for sums of exponentials, nor for NaN as an extreme.
  void (*fold_rows)(Fold fold, float* to, const float* x, int64_t row_stride, int64_t rows, int64_t n);
  // For each row: its largest or smallest element, and the first index of that. NaN is larger than all.
  void (*arg_extreme_rows)(bool largest, float* values, uint32_t* indices, const float* x, int64_t row_stride, int64_t rows, int64_t n);
  // The index of the first element that equals a value; n where none does.
  int64_t (*first_equal)(const float* x, float value, int64_t n);
  // The start of the first kMaxWidth elements of which one is below the bound, or else is not at most the bound (NaN is not); or the start
  // of the incomplete vector at the end.
  int64_t (*first_beyond)(const float* x, float bound, bool below, int64_t n);
  // The indices of all such elements; `indices` has space for n + kMaxWidth.
  int64_t (*indices_beyond)(int32_t* indices, const float* x, float bound, bool below, int64_t n);
  // Sum of e^(x - shift), which is also written to y unless that is null.
  double (*exp_sum)(float* y, const float* x, float shift, int64_t n);
  // Normalization of each channel as factor and shift: (x + offset - mean) * scale / sqrt(variance + epsilon) + bias. `offset` may be null.
  void (*norm_scale_shift)(float* factor, float* shift, const NormChannels& of, float epsilon, int64_t n);
  // y = x * scale + shift
  void (*scale_shift)(float* y, const float* x, float scale, float shift, int64_t n);
  // y += x * scale
  void (*axpy)(float* y, const float* x, float scale, int64_t n);
  // totals[i] becomes its sum or product with x[i]; y[i] is that, or the former total where it is exclusive. y may be x.
  void (*running_row)(float* y, double* totals, const float* x, bool is_product, bool is_exclusive, int64_t n);
  // The words of `blocks` blocks of Philox 4x32-10 from a counter on.
  void (*philox)(uint64_t counter_low, uint64_t counter_high, uint32_t key0, uint32_t key1, uint32_t* to, int64_t blocks);
  // Multiplies and adds in registers at the CPU's peak rate; returns the number of operations. For benchmarks.
  int64_t (*multiply_add)(int64_t steps);

  // Runs a block of a shader's threads: null, or what the shader did wrong.
  const char* (*run_shader_block)(const shader::Block& block);
};

const IsaTable& PortableTable();
const IsaTable& NeonTable();
const IsaTable& NeonDotTable();
const IsaTable& Avx2Table();
const IsaTable& Avx512Table();
const IsaTable& Avx512VnniTable();
// The active instruction set's.
const IsaTable& Table();

}  // namespace dxtensor::software::fast
