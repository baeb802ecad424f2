// Micro-kernels of the matrix product, and the packing of panels. Included between isa_begin.inl and isa_end.inl.

#if DX_ISA == 2
constexpr int kTileRows = 12, kTileVectors = 2;
#elif DX_ISA == 1
constexpr int kTileRows = 6, kTileVectors = 2;
#else
constexpr int kTileRows = 4, kTileVectors = 2;
#endif
constexpr int kTileColumns = kTileVectors * kWidth;

template <int kRows>
void MultiplyTile(int64_t k, const float* a, const float* b, int64_t b_stride, float* c, int64_t c_stride, bool add) {
  VF sum[kRows][kTileVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kTileVectors; ++v) sum[r][v] = VF{};
  for (int64_t step = 0; step < k; ++step, a += kRows, b += b_stride) {
#if defined(__GNUC__)
    __builtin_prefetch(b + 8 * b_stride);
    if (kTileColumns * sizeof(float) > 64) __builtin_prefetch(b + 8 * b_stride + 16);
#endif
    VF bv[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) bv[v] = LoadF(b + v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const VF value = a[r] - VF{};  // a broadcast; adding zero would keep an addition because of -0
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] += value * bv[v];
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kTileVectors; ++v) {
      float* to = c + r * c_stride + v * kWidth;
      StoreF(to, add ? LoadF(to) + sum[r][v] : sum[r][v]);
    }
}

static const GemmTile kTiles[] = {
    MultiplyTile<1>,  MultiplyTile<2>,  MultiplyTile<3>,  MultiplyTile<4>,
#if DX_ISA >= 1
    MultiplyTile<5>,  MultiplyTile<6>,
#endif
#if DX_ISA == 2
    MultiplyTile<7>,  MultiplyTile<8>,  MultiplyTile<9>,  MultiplyTile<10>, MultiplyTile<11>, MultiplyTile<12>,
#endif
};


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
  for (int j = 0; j < 16; ++j) _mm512_mask_storeu_ps(to + j * to_stride, mask, r[j]);
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
        TurnSquare(to + j * to_stride + i, to_stride, from + i * row_stride + j, row_stride,
                   height - i < kWidth ? height - i : kWidth);
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
