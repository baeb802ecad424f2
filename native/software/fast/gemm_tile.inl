// Micro-kernels of the matrix product, and the packing of panels. Included between isa_begin.inl and isa_end.inl.

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
constexpr int kAhead = 8;  // steps
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
  // Into the second level: rows that lie a multiple of 4 KiB apart have the same few places in the first.
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

// The same where A is not packed: its rows lie a_stride apart. Three rows by one pointer.
#define DX_MULTIPLY_STRIDED(r)                                   \
  if constexpr (kRows > r) {                                     \
    const VF value = p[r / 3][(r % 3) * a_stride] - VF{};        \
    low##r += value * b_low;                                     \
    high##r += value * b_high;                                   \
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

// The same where the rows of B lie at offsets from each other: those of a convolution's taps, for each channel. `ahead`: fetches what
// the next tile reads.
template <int kRows>
void MultiplyTaps(int64_t channels, int64_t taps, const int32_t* offsets, const float* a, const float* b, int64_t channel_step, float* c,
                  int64_t c_stride, bool add, bool ahead) {
#define DX_ROW(r) VF low##r = VF{}, high##r = VF{};
  DX_EACH_ROW(DX_ROW)
#undef DX_ROW
  for (int64_t channel = 0; ahead && channel < channels; ++channel, b += channel_step)
    for (int64_t tap = 0; tap < taps; ++tap, a += kRows) {
      DX_PREFETCH(a + kAhead * kRows, 3);
      const float* p = b + offsets[tap];
      DX_PREFETCH(p + kTileColumns, 2);
      if constexpr (kTileColumns * sizeof(float) > 64) DX_PREFETCH(p + kTileColumns + 16, 2);
      const VF b_low = LoadF(p), b_high = LoadF(p + kWidth);
      DX_EACH_ROW(DX_MULTIPLY_ROW)
    }
  for (int64_t channel = 0; !ahead && channel < channels; ++channel, b += channel_step)
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
#define DX_EACH_TILE(T) {T<1>, T<2>, T<3>, T<4>, T<5>, T<6>, T<7>, T<8>}
#elif DX_ISA == 2
#define DX_EACH_TILE(T) {T<1>, T<2>, T<3>, T<4>, T<5>, T<6>, T<7>, T<8>, T<9>, T<10>, T<11>, T<12>}
#elif DX_ISA == 1
#define DX_EACH_TILE(T) {T<1>, T<2>, T<3>, T<4>, T<5>, T<6>}
#else
#define DX_EACH_TILE(T) {T<1>, T<2>, T<3>, T<4>}
#endif
static const GemmTile kTiles[] = DX_EACH_TILE(MultiplyTile);
static const StridedTile kStridedTiles[] = DX_EACH_TILE(MultiplyStrided);
static const TapsTile kTapsTiles[] = DX_EACH_TILE(MultiplyTaps);
#undef DX_EACH_TILE

#if DX_ISA == 2
// The transpose of 16 x 16 floats in registers.
DX_INLINE void Transpose16(__m512* r) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}
DX_INLINE void TurnSquare(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows) {
  __m512 r[16];
  for (int i = 0; i < 16; ++i) r[i] = i < rows ? _mm512_loadu_ps(from + i * from_stride) : _mm512_setzero_ps();
  Transpose16(r);
  const __mmask16 mask = static_cast<__mmask16>((1u << rows) - 1);
  if (to_stride == rows && rows >= 8)  // what a store writes too much, the next one repairs
    for (int j = 0; j < 15; ++j) _mm512_storeu_ps(to + j * to_stride, r[j]);
  else
    for (int j = 0; j < 15; ++j) _mm512_mask_storeu_ps(to + j * to_stride, mask, r[j]);
  _mm512_mask_storeu_ps(to + 15 * to_stride, mask, r[15]);
}
#elif DX_ISA == 1
DX_INLINE void TurnSquare(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows) {
  __m256 r[8], t[8];
  for (int i = 0; i < 8; ++i) r[i] = i < rows ? _mm256_loadu_ps(from + i * from_stride) : _mm256_setzero_ps();
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
  alignas(32) static const int32_t kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
  const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + 8 - rows));
  for (int j = 0; j < 8; ++j) _mm256_maskstore_ps(to + j * to_stride, mask, t[j]);
}
#elif DX_ISA == 3
DX_INLINE void TurnSquare(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows) {
  float32x4_t r[4];
  for (int i = 0; i < 4; ++i) r[i] = i < rows ? vld1q_f32(from + i * from_stride) : vdupq_n_f32(0);
  const float32x4x2_t low = vtrnq_f32(r[0], r[1]), high = vtrnq_f32(r[2], r[3]);
  r[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
  r[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
  r[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
  r[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
  for (int j = 0; j < 4; ++j, to += to_stride) {
    if (rows == 4) vst1q_f32(to, r[j]);
    else __builtin_memcpy(to, &r[j], static_cast<size_t>(rows) * sizeof(float));
  }
}
#endif

// to[j * to_stride + i] = from[i * row_stride + j * column_stride] for i < height, j < n.
static void PackRows(float* to, int64_t to_stride, int64_t height, const float* from, int64_t row_stride, int64_t column_stride,
                     int64_t n) {
  if (row_stride == 1) {
    if (height == kTileColumns) {
      for (int64_t j = 0; j < n; ++j, to += to_stride, from += column_stride)
        for (int v = 0; v < kTileVectors; ++v) StoreF(to + v * kWidth, LoadF(from + v * kWidth));
      return;
    }
    for (int64_t j = 0; j < n; ++j, to += to_stride, from += column_stride)
      for (int64_t i = 0; i < height; ++i) to[i] = from[i];
    return;
  }
  int64_t j = 0;
#if DX_ISA >= 1
  if (column_stride == 1)
    for (; j + kWidth <= n; j += kWidth)
      for (int64_t i = 0; i < height; i += kWidth)
        TurnSquare(to + j * to_stride + i, to_stride, from + i * row_stride + j, row_stride, height - i < kWidth ? height - i : kWidth);
#endif
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
