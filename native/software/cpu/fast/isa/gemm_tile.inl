// GEMM micro-kernels, and the packing of panels. Included between isa_begin.inl and isa_end.inl, after lanes.inl.

#if DX_ISA == 3  // 32 registers: with more rows sums would pass through memory
constexpr int kTileRows = 8, kTileVectors = 2;
#elif DX_ISA == 2
constexpr int kTileRows = 12, kTileVectors = 2;
#elif DX_ISA == 1
constexpr int kTileRows = 6, kTileVectors = 2;
#else
constexpr int kTileRows = 4, kTileVectors = 2;
#endif
constexpr int kTileColumns = kTileVectors * kWidth;

// Sums by name: an array of them would pass through memory before and after the loop.
#if DX_ISA == 3
#define DX_EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#elif DX_ISA == 2
#define DX_EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#elif DX_ISA == 1
#define DX_EACH_ROW(F) F(0) F(1) F(2) F(3) F(4) F(5)
#else
#define DX_EACH_ROW(F) F(0) F(1) F(2) F(3)
#endif
#define DX_PREFETCH(p, level) __builtin_prefetch(p, 0, level)
constexpr int kAhead = 8;  // steps; 4 to 16: within the noise of 4 % for products of the suite
// value: a broadcast; adding zero would keep an addition because of -0.
#define DX_MULTIPLY_ROW(r)        \
  if constexpr (kRows > r) {      \
    const VF value = a[r] - VF{}; \
    low##r += value * b_low;      \
    high##r += value * b_high;    \
  }
#define DX_ADD_ROW(r)                            \
  if constexpr (kRows > r) {                     \
    low##r += LoadF(c + r * c_stride);           \
    high##r += LoadF(c + r * c_stride + kWidth); \
  }
#define DX_STORE_ROW(r)                         \
  if constexpr (kRows > r) {                    \
    StoreF(c + r * c_stride, low##r);           \
    StoreF(c + r * c_stride + kWidth, high##r); \
  }

template <int kRows>
void MultiplyTile(int64_t k, const float* a, const float* b, int64_t b_stride, float* c, int64_t c_stride, bool add, const float* next,
                  int64_t next_step) {
#define DX_ROW(r) VF low##r = VF{}, high##r = VF{};
  DX_EACH_ROW(DX_ROW)
#undef DX_ROW
  // Into the level 2 cache: rows that are a multiple of 4 KiB apart compete for a few sets of level 1.
#define DX_ROW(r)                                        \
  if constexpr (kRows > r) {                             \
    DX_PREFETCH(c + r * c_stride, 2);                    \
    DX_PREFETCH(c + r * c_stride + kTileColumns - 1, 2); \
  }
  DX_EACH_ROW(DX_ROW)
#undef DX_ROW
  for (int64_t step = 0; step < k; ++step, a += kRows, b += b_stride, next += next_step) {
    DX_PREFETCH(next, 2);
    DX_PREFETCH(b + kAhead * b_stride, 3);
    if constexpr (kTileColumns * sizeof(float) > 64) DX_PREFETCH(b + kAhead * b_stride + 16, 3);
    DX_PREFETCH(a + kAhead * kRows, 3);
    const VF b_low = LoadF(b), b_high = LoadF(b + kWidth);
    DX_EACH_ROW(DX_MULTIPLY_ROW)
  }
  if (add) {
    DX_EACH_ROW(DX_ADD_ROW)
  }
  DX_EACH_ROW(DX_STORE_ROW)
}

// A is not packed: its rows are a_stride apart. Three rows by one pointer.
#define DX_MULTIPLY_STRIDED(r)                            \
  if constexpr (kRows > r) {                              \
    const VF value = p[r / 3][(r % 3) * a_stride] - VF{}; \
    low##r += value * b_low;                              \
    high##r += value * b_high;                            \
  }
template <int kRows>
void MultiplyStrided(int64_t k, const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride, bool add) {
#define DX_ROW(r) VF low##r = VF{}, high##r = VF{};
  DX_EACH_ROW(DX_ROW)
#undef DX_ROW
  const float* p[4] = {a, a + 3 * a_stride, a + 6 * a_stride, a + 9 * a_stride};
  for (int64_t step = 0; step < k; ++step, b += b_stride) {
    DX_PREFETCH(b + kAhead * b_stride, 3);
    if constexpr (kTileColumns * sizeof(float) > 64) DX_PREFETCH(b + kAhead * b_stride + 16, 3);
    const VF b_low = LoadF(b), b_high = LoadF(b + kWidth);
    DX_EACH_ROW(DX_MULTIPLY_STRIDED)
    ++p[0];
    if constexpr (kRows > 3) ++p[1];
    if constexpr (kRows > 6) ++p[2];
    if constexpr (kRows > 9) ++p[3];
  }
  if (add) {
    DX_EACH_ROW(DX_ADD_ROW)
  }
  DX_EACH_ROW(DX_STORE_ROW)
}
#undef DX_MULTIPLY_STRIDED

// A is transposed: column k at a + k * a_column_stride.
template <int kRows>
void MultiplyTransposed(int64_t k, const float* a, int64_t a_column_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride,
                        bool add) {
#define DX_ROW(r) VF low##r = VF{}, high##r = VF{};
  DX_EACH_ROW(DX_ROW)
#undef DX_ROW
  for (int64_t step = 0; step < k; ++step, a += a_column_stride, b += b_stride) {
    DX_PREFETCH(a + kAhead * a_column_stride, 3);
    DX_PREFETCH(b + kAhead * b_stride, 3);
    if constexpr (kTileColumns * sizeof(float) > 64) DX_PREFETCH(b + kAhead * b_stride + 16, 3);
    const VF b_low = LoadF(b), b_high = LoadF(b + kWidth);
    DX_EACH_ROW(DX_MULTIPLY_ROW)
  }
  if (add) {
    DX_EACH_ROW(DX_ADD_ROW)
  }
  DX_EACH_ROW(DX_STORE_ROW)
}

// The same where the rows of B lie at offsets from each other: those of a convolution's taps, for each channel. `ahead`: fetches what the
// next tile reads.
template <int kRows>
void MultiplyTaps(int64_t channels, int64_t taps, const int32_t* offsets, const float* a, const float* b,
                  int64_t channel_stride, float* c, int64_t c_stride, bool add, bool ahead) {
#define DX_ROW(r) VF low##r = VF{}, high##r = VF{};
  DX_EACH_ROW(DX_ROW)
#undef DX_ROW
  for (int64_t channel = 0; ahead && channel < channels; ++channel, b += channel_stride)
    for (int64_t tap = 0; tap < taps; ++tap, a += kRows) {
      DX_PREFETCH(a + kAhead * kRows, 3);
      const float* p = b + offsets[tap];
      DX_PREFETCH(p + kTileColumns, 2);
      if constexpr (kTileColumns * sizeof(float) > 64) DX_PREFETCH(p + kTileColumns + 16, 2);
      const VF b_low = LoadF(p), b_high = LoadF(p + kWidth);
      DX_EACH_ROW(DX_MULTIPLY_ROW)
    }
  for (int64_t channel = 0; !ahead && channel < channels; ++channel, b += channel_stride)
    for (int64_t tap = 0; tap < taps; ++tap, a += kRows) {
      DX_PREFETCH(a + kAhead * kRows, 3);
      const float* p = b + offsets[tap];
      const VF b_low = LoadF(p), b_high = LoadF(p + kWidth);
      DX_EACH_ROW(DX_MULTIPLY_ROW)
    }
  if (add) {
    DX_EACH_ROW(DX_ADD_ROW)
  }
  DX_EACH_ROW(DX_STORE_ROW)
}
#undef DX_MULTIPLY_ROW
#undef DX_ADD_ROW
#undef DX_STORE_ROW
#undef DX_PREFETCH
#undef DX_EACH_ROW

#if DX_ISA == 3
#define DX_EACH_TILE(T) \
  { T<1>, T<2>, T<3>, T<4>, T<5>, T<6>, T<7>, T<8> }
#elif DX_ISA == 2
#define DX_EACH_TILE(T) \
  { T<1>, T<2>, T<3>, T<4>, T<5>, T<6>, T<7>, T<8>, T<9>, T<10>, T<11>, T<12> }
#elif DX_ISA == 1
#define DX_EACH_TILE(T) \
  { T<1>, T<2>, T<3>, T<4>, T<5>, T<6> }
#else
#define DX_EACH_TILE(T) \
  { T<1>, T<2>, T<3>, T<4> }
#endif
static const GemmTile kTiles[] = DX_EACH_TILE(MultiplyTile);
static const StridedTile kStridedTiles[] = DX_EACH_TILE(MultiplyStrided);
static const TransposedTile kTransposedTiles[] = DX_EACH_TILE(MultiplyTransposed);
static const TapsTile kTapsTiles[] = DX_EACH_TILE(MultiplyTaps);
#undef DX_EACH_TILE

// to[j * to_stride + i] = from[i * row_stride + j * column_stride] for i < height, j < n.
static void PackRows(float* to, int64_t to_stride, int64_t height, const float* from, int64_t row_stride, int64_t column_stride,
                     int64_t n) {
  if (row_stride == 1) {
    if (height == kTileColumns) {
      for (int64_t j = 0; j < n; ++j, to += to_stride, from += column_stride)
        for (int v = 0; v < kTileVectors; ++v) StoreF(to + v * kWidth, LoadF(from + v * kWidth));
      return;
    }
    const int64_t whole = height / kWidth * kWidth, rest = height - whole;
    // What a store writes past a row, the next row overwrites.
    const bool repairs = to_stride == height && whole + kWidth <= 2 * height;
    for (int64_t j = 0; j < n; ++j, to += to_stride, from += column_stride) {
      for (int64_t i = 0; i < whole; i += kWidth) StoreF(to + i, LoadF(from + i));
      if (rest == 0) continue;
      const VF some = LoadSome(from + whole, rest);
      if (repairs && j + 1 < n) StoreF(to + whole, some);
      else StoreSome(to + whole, some, rest);
    }
    return;
  }
  int64_t j = 0;
  if (column_stride == 1)
    for (; j + kWidth <= n; j += kWidth)
      for (int64_t i = 0; i < height; i += kWidth)
        TransposeSquare(to + j * to_stride + i, to_stride, from + i * row_stride + j, row_stride, height - i < kWidth ? height - i : kWidth,
                        kWidth);
  for (; j < n; ++j)
    for (int64_t i = 0; i < height; ++i) to[j * to_stride + i] = from[i * row_stride + j * column_stride];
}

// Twelve independent chains: enough for two units of four or five cycles.
static int64_t MultiplyAddLoop(int64_t steps) {
  constexpr int kChains = 12;
  VF sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = SplatF(static_cast<float>(i));
  const VF factor = SplatF(0.999f);
  for (int64_t step = 0; step < steps; ++step) {
#if defined(__GNUC__)
#pragma GCC unroll 12
#endif
    for (int i = 0; i < kChains; ++i) sum[i] = sum[i] * factor + factor;
  }
  VF total = VF{};
  for (int i = 0; i < kChains; ++i) total += sum[i];
  volatile float used = SumOf(total);
  (void)used;
  return steps * kChains * kWidth * 2;
}
