// What is compiled once for each instruction set: functions over blocks, behind one table. Stateless; any thread.
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

// C (rows x columns, packed in rows of `tile_columns`) = or += the product of a panel of A and one of B.
// `a`: k columns of `rows` values; `b`: k rows of tile_columns values, `b_stride` apart.
using GemmTile = void (*)(int64_t k, const float* a, const float* b, int64_t b_stride, float* c, int64_t c_stride, bool add,
                          const float* next, int64_t next_step);

// The same where row r of A lies at a + r * a_stride.
using StridedTile = void (*)(int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride,
                             bool add);

// The same where column k of A lies at a + k * a_step.
using TurnedTile = void (*)(int64_t k, const float* a, int64_t a_step, const float* b, int64_t b_stride, float* c, int64_t c_stride,
                            bool add);

// The same where row (channel, tap) of B lies at b + channel * channel_step + offsets[tap]. `ahead`: fetches the columns behind these, too.
using TapsTile = void (*)(int64_t channels, int64_t taps, const int32_t* offsets, const float* a, int64_t skipped, const float* b,
                          int64_t channel_step, float* c, int64_t c_stride, bool add, bool ahead);

// A stretch of a panel's line: `length` floats from `column` on, of which [first, last) come from base + offset + i * step and the
// others are zero.
struct PackPiece {
  int64_t offset;
  int32_t column, first, last, length;
};

// Weighed elements of a line for places in groups of one vector: of tap t, place i of group g reads line[starts[t * groups + g] +
// lanes[t * pitch + g * width + i]].
struct PlaceWindows {
  int64_t taps, groups, pitch;
  const int32_t *starts, *lanes;
  const float* weights;  // like lanes; those of later taps count only where they are not 0
};

// A cell of pooling windows: place i, from `first` to `last`, reads x[start + i * step].
struct PoolCell {
  int64_t start, first, last;
};

// What becomes of an output of each channel: output * factor + shift; both null for nothing.
struct WinogradEnd {
  const float *factor, *shift;
};

// Of a line whose mean is known: dy, x - mean, which is zero but for rounding, and dy * (x - mean).
struct NormSums {
  double dy = 0, distance = 0, product = 0;
};

// Statistics, scale and bias of channels that are normalised.
struct NormChannels {
  const float *mean, *variance, *scale, *bias, *offset;
};

// What becomes of a tile's sums: sum * factor + shift, then another tensor's element is added, then what is not in [low, high] becomes the
// nearer one of these; NaN stays.
struct TileEnd {
  float low, high;                                  // infinite: nothing to hold
  const float *factor = nullptr, *shift = nullptr;  // of each row, or null
  const float* added = nullptr;                     // or null
  int64_t added_step = 0;                           // from one row to the next
};

// Pixels by channels of a convolution whose channels lie side by side.
struct PixelTile {
  const float* in;  // of the first pixel; the next one's lies in_step further
  int64_t in_step;
  int64_t tiles = 1;       // one behind the other; where each channel is by itself: one
  const int64_t* offsets;  // of what each tap reads
  const int64_t* cells;    // and of its weights
  int64_t taps, length;    // floats that a tap reads side by side; where each channel is by itself: channels, in whole vectors
  // Of lines of taps, each of which `taps`, `offsets` and `cells` then mean one: floats from one input to the next, and from the weights of
  // one tap to those of the next; inputs of the first and the last pixels that lie outside.
  int64_t place_step, cell_step;
  int skips_first, skips_last;
  const float* filter;  // for each float of a tap a line of weights, one for each channel of the tile
  float* out;
  int64_t out_step;
  const float* added;  // or null
  int64_t added_step;
  const float *factor, *shift;  // of each channel, or null: sum * factor + shift, before the addition
  float low, high;              // what is beyond becomes the nearer one; NaN stays
  bool holds;
};
using PixelTileKernel = void (*)(const PixelTile&);

struct PixelTiles {
  static constexpr int kMostVectors = 4, kMostPixels = 14, kFilterPixels = 8;

  int vectors;               // of a tile: from 1 on
  int pixels[kMostVectors];  // by vectors less one: of the largest tile
  PixelTileKernel tiles[kMostVectors][kMostPixels];
  PixelTileKernel filters[kFilterPixels];      // each channel by itself
  PixelTileKernel lines[2][2][kFilterPixels];  // the same for lines of 3 or 5 taps side by side, 1 or 2 inputs from pixel to pixel
};

// Rows of a matrix times vectors that lie along them: sums[v * sums_step + r] = row r times vector v.
struct DotTile {
  const float* matrix;
  int64_t row_step;
  int rows;
  const float* vectors;
  int64_t vector_step;
  int count;  // of the vectors
  int64_t length;
  float* sums;
  int64_t sums_step;
  bool adds;  // to the sums, or begins them
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

// A row whose sum is no less exact for being carried in floats.
constexpr int64_t kFoldedRow = 4096;

enum class Fold { Sum, SumOfAbsolutes, SumOfSquares, SumOfExponentials, Max, Min };

struct IsaTable {
  int width;

  // Runs `count` instructions over registers of n elements, n a multiple of `width`.
  void (*execute)(const MicroOp* ops, int count, uint8_t* const* registers, int64_t n);

  // Between memory of a data type and a register; strides in elements. A register's bits are the memory's for types of 4 and 8 bytes.
  void (*load)(DML_TENSOR_DATA_TYPE type, uint8_t* to, const uint8_t* from, int64_t stride, int64_t n);
  void (*store)(DML_TENSOR_DATA_TYPE type, uint8_t* to, const uint8_t* from, int64_t stride, int64_t n);

  // Micro-kernels: tile[r - 1] has r rows, up to tile_rows.
  int tile_rows, tile_columns;
  const GemmTile* tiles;
  const StridedTile* strided_tiles;
  const TurnedTile* turned_tiles;
  const TapsTile* taps_tiles;
  // Row r of C is that of A times B, which has `width` columns side by side, one row behind the other.
  void (*thin_rows)(int64_t k, const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows);
  PixelTiles pixel_tiles;
  // Of bytes side by side; of n elements, to[i] = from[-i].
  void (*copy_bytes)(uint8_t* to, const uint8_t* from, int64_t n);
  void (*copy_reversed)(uint8_t* to, const uint8_t* from, int64_t bytes_per_element, int64_t n);
  // to[i] = the sum of what place i reads of a line of `length` floats.
  void (*weigh_places)(float* to, const float* line, int64_t length, const PlaceWindows& of, int64_t n);
  // to[i] = the sum of weights[r] * m[rows[r] * row_stride + i] for some rows.
  void (*weigh_rows)(float* to, const float* m, int64_t row_stride, const int32_t* rows, const float* weights, int64_t count, int64_t n);
  // to[r * to_stride + i] = from[r * from_stride + i * step] for r < rows, i < n.
  void (*copy_rows)(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t step, int64_t rows, int64_t n);
  // to[r * to_stride + i * step] = from[r * from_stride + i] for r < rows, i < n.
  void (*spread_rows)(float* to, int64_t to_stride, int64_t step, const float* from, int64_t from_stride, int64_t rows, int64_t n);
  // The first n of each row of a tile, ended; `to` may be `sums`.
  void (*end_tile)(float* to, int64_t to_stride, const float* sums, int64_t sums_stride, const TileEnd& end, int64_t rows, int64_t n);
  // to[j * to_stride + i] = from[i * row_stride + j * column_stride] for i < height, j < n.
  void (*pack_rows)(float* to, int64_t to_stride, int64_t height, const float* from, int64_t row_stride, int64_t column_stride, int64_t n);

  // Lines of `width` floats, each of `per_line` pieces.
  void (*pack_lines)(float* to, int64_t width, const float* base, int64_t step, const PackPiece* pieces, int lines, int per_line);

  // to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns; touches nothing else.
  void (*turn)(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns);
  // Winograd's F(4 x 4, 3 x 3) for n channels side by side, in whole vectors: 6 x 6 cells to their 36 places; 3 x 3 weights, of which
  // [y][x] lies at from + taps[3 * y + x] * tap_step, to theirs; 36 places to 4 x 4 outputs.
  void (*winograd_input)(float* to, int64_t place_step, const float* from, int64_t x_step, int64_t y_step, int64_t n);
  void (*winograd_filter)(float* to, int64_t place_step, const float* from, int64_t tap_step, const int32_t* taps, int64_t n);
  void (*winograd_output)(float* to, int64_t x_step, int64_t y_step, const float* from, int64_t place_step, const WinogradEnd& end,
                          int64_t n);

  // Of the weights' gradient: 4 x 4 cells of the outputs' to 36 places; the sums of 36 places to 3 x 3 weights, tap_step apart.
  void (*winograd_gradient)(float* to, int64_t place_step, const float* from, int64_t x_step, int64_t y_step, int64_t n);
  void (*winograd_weights)(float* to, int64_t tap_step, const float* from, int64_t place_step, int64_t n);

  // out[i] = bias + the sum of weights[t] * in[i + offsets[t]]; reads and writes whole vectors.
  void (*taps_line)(float* out, const float* in, const int32_t* offsets, const float* weights, int64_t taps, float bias, int64_t n);
  // sums[j] += the sum of a[i] * x[i + offsets[j]] for n elements, in whole vectors.
  void (*dots)(float* sums, const float* a, const float* x, const int64_t* offsets, int64_t count, int64_t n);
  // Pooling in two steps: line[i] is the fold of `start` and x[rows[r] + i]; out[i] that of `lowest` and line[i * step + cell * dilation],
  // or their sum divided by counts[i] * rows. The second step reads `line` for whole vectors of places.
  void (*max_rows)(float* line, const float* x, const int64_t* rows, int count, float start, int64_t n);
  void (*sum_rows)(float* line, const float* x, const int64_t* rows, int count, float start, int64_t n);
  void (*max_places)(float* out, const float* line, int64_t step, int64_t dilation, int64_t cells, float lowest, int64_t n);
  void (*mean_places)(float* out, const float* line, int64_t step, int64_t dilation, int64_t cells, const float* counts, float rows,
                      int64_t n);
  // The largest of what the cells read for each of n places, and where that lies in x: of equals the first. `position` may be null.
  // Unless `goes_on`, best starts as `lowest`, and position as -1, none.
  void (*max_cells)(float* best, int32_t* position, const float* x, const PoolCell* cells, int count, int64_t step, float lowest,
                    bool goes_on, int64_t n);

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
  float (*dot)(const float* x, const float* y, int64_t n);
  // sums[r] = the products of row r with v, for up to four rows; or adds them.
  void (*dot_rows)(float* sums, const float* m, int64_t row_stride, const float* v, int rows, int64_t n, bool adds);
  // The same for two to most_dot_vectors vectors, and as many rows as make dot_sums sums with that many.
  int dot_sums, most_dot_vectors;
  void (*dot_tile)(const DotTile& tile);
  // sums[i] += weights[r] * m[r * row_stride + i] for up to four rows.
  void (*add_rows)(float* sums, const float* m, int64_t row_stride, const float* weights, int rows, int64_t n);
  // totals += sums; sums = 0
  void (*flush_sums)(double* totals, float* sums, int64_t n);
  float (*max)(const float* x, int64_t n);
  float (*max_or_nan)(const float* x, int64_t n);  // NaN where one is; the others leave it out
  float (*min)(const float* x, int64_t n);
  // Of each of some rows of at most kFoldedRow floats: the fold, but no sum of exponentials; where NaN is no extreme.
  void (*fold_rows)(Fold fold, float* to, const float* x, int64_t row_stride, int64_t rows, int64_t n);
  // Of each of some rows: the first of the largest or smallest elements and its place. NaN is larger than all.
  void (*first_rows)(bool largest, float* values, uint32_t* places, const float* x, int64_t row_stride, int64_t rows, int64_t n);
  // The place of the first element that equals a value; n where none does.
  int64_t (*first_equal)(const float* x, float value, int64_t n);
  // Of n integers and the one that `to` holds: the largest or the smallest. Of pairs: to[i] and x[i], for each i.
  void (*integer_extreme)(DML_TENSOR_DATA_TYPE type, bool largest, const uint8_t* x, int64_t n, uint8_t* to);
  void (*join_extremes)(DML_TENSOR_DATA_TYPE type, bool largest, uint8_t* to, const uint8_t* x, int64_t n);
  // The first of some kMaxWidth elements, of which one is below the bound, or else not at most it, as NaN is; or where fewer are left.
  int64_t (*first_beyond)(const float* x, float bound, bool below, int64_t n);
  // The places of all such elements; `places` has room for n + kMaxWidth.
  int64_t (*places_beyond)(int32_t* places, const float* x, float bound, bool below, int64_t n);
  // Sum of e^(x - shift), which is also written to y unless that is null.
  double (*exp_sum)(float* y, const float* x, float shift, int64_t n);
  // What normalisation does to each channel, as factor and shift: (x + offset - mean) * scale / sqrt(variance + epsilon) + bias. `offset`:
  // or null.
  void (*norm_ends)(float* factor, float* shift, const NormChannels& of, float epsilon, int64_t n);
  // y = x * scale + shift
  void (*scale_shift)(float* y, const float* x, float scale, float shift, int64_t n);
  // y += x * scale
  void (*axpy)(float* y, const float* x, float scale, int64_t n);
  // totals[i] becomes its sum or product with x[i]; y[i] is that, or where it is exclusive what it was before. y may be x.
  void (*running_row)(float* y, double* totals, const float* x, bool is_product, bool is_exclusive, int64_t n);
  // The words of `blocks` blocks of Philox 4x32-10 from a counter on.
  void (*philox)(uint64_t counter_low, uint64_t counter_high, uint32_t key0, uint32_t key1, uint32_t* to, int64_t blocks);
  // Multiplies and adds in registers, as fast as the processor can; the number of operations. For benchmarks.
  int64_t (*multiply_add)(int64_t steps);

  // Runs a block of a shader's threads: null, or what the shader did wrong.
  const char* (*run_shader_block)(const shader::Block& block);
};

const IsaTable& PortableTable();
const IsaTable& NeonTable();
const IsaTable& Avx2Table();
const IsaTable& Avx512Table();
// The active set's.
const IsaTable& Table();

}  // namespace dxtensor::software::fast
