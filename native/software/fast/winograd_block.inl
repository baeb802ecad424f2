// Winograd's convolution F(4 x 4, 3 x 3), for a vector of channels at a time. Included between isa_begin.inl and isa_end.inl, after
// gemm_tile.inl.
//
// Points 0, ±1/√2, ±√2 and infinity: with them results differ from sums in order by about as much as those from exact ones, where the
// usual ±1, ±2 lose a digit.
constexpr float kRootHalf = 0.70710678f, kRootTwo = 1.41421356f;

DX_INLINE void TurnPlaces(const VF* d, VF* to) {  // six cells to six places
  const VF even = d[4] - d[2] * 2.0f, odd = (d[3] - d[1] * 2.0f) * kRootHalf;
  const VF even2 = d[4] - d[2] * 0.5f, odd2 = (d[3] - d[1] * 0.5f) * kRootTwo;
  to[0] = d[4] - d[2] * 2.5f + d[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = d[5] - d[3] * 2.5f + d[1];
}
DX_INLINE void TurnWeights(const VF* g, VF* to) {  // three weights to six places
  const VF even = (g[0] + g[2] * 0.5f) * (-1.0f / 1.5f), odd = g[1] * (-kRootHalf / 1.5f);
  const VF even2 = (g[0] + g[2] * 2.0f) * (1.0f / 6.0f), odd2 = g[1] * (kRootTwo / 6.0f);
  to[0] = g[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = g[2];
}
DX_INLINE void TurnBack(const VF* m, VF* to) {  // six places to four outputs
  const VF sum = m[1] + m[2], difference = (m[1] - m[2]) * kRootHalf, sum2 = m[3] + m[4], difference2 = (m[3] - m[4]) * kRootTwo;
  to[0] = m[0] + sum + sum2;
  to[1] = difference + difference2;
  to[2] = sum * 0.5f + sum2 * 2.0f;
  to[3] = difference * 0.5f + difference2 * 2.0f + m[5];
}

static void WinogradInput(float* to, int64_t place_step, const float* from, int64_t x_step, int64_t y_step, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[6][6], cells[6], places[6];
    for (int x = 0; x < 6; ++x) {
      for (int y = 0; y < 6; ++y) cells[y] = LoadF(from + y * y_step + x * x_step + c);
      TurnPlaces(cells, places);
      for (int y = 0; y < 6; ++y) rows[y][x] = places[y];
    }
    for (int y = 0; y < 6; ++y) {
      TurnPlaces(rows[y], places);
      for (int x = 0; x < 6; ++x) StoreF(to + (y * 6 + x) * place_step + c, places[x]);
    }
  }
}

static void WinogradFilter(float* to, int64_t place_step, const float* from, int64_t tap_step, const int32_t* taps, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[6][3], weights[3], places[6];
    for (int x = 0; x < 3; ++x) {
      for (int y = 0; y < 3; ++y) weights[y] = LoadF(from + taps[y * 3 + x] * tap_step + c);
      TurnWeights(weights, places);
      for (int y = 0; y < 6; ++y) rows[y][x] = places[y];
    }
    for (int y = 0; y < 6; ++y) {
      TurnWeights(rows[y], places);
      for (int x = 0; x < 6; ++x) StoreF(to + (y * 6 + x) * place_step + c, places[x]);
    }
  }
}

static void WinogradOutput(float* to, int64_t x_step, int64_t y_step, const float* from, int64_t place_step, const WinogradEnd& end,
                           int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[4][6], places[6], outputs[4];
    for (int x = 0; x < 6; ++x) {
      for (int y = 0; y < 6; ++y) places[y] = LoadF(from + (y * 6 + x) * place_step + c);
      TurnBack(places, outputs);
      for (int y = 0; y < 4; ++y) rows[y][x] = outputs[y];
    }
    const VF center = LoadF(end.center + c), factor = LoadF(end.factor + c), shift = LoadF(end.shift + c);
    for (int y = 0; y < 4; ++y) {
      TurnBack(rows[y], outputs);
      for (int x = 0; x < 4; ++x) StoreF(to + y * y_step + x * x_step + c, (outputs[x] - center) * factor + shift);
    }
  }
}

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns; touches nothing else.
static void Turn(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns) {
#if DX_ISA == 2
  auto mask = [](int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << n) - 1); };
  for (int64_t j = 0; j < columns; j += 16)
    for (int64_t i = 0; i < rows; i += 16) {
      const __mmask16 read = mask(columns - j), written = mask(rows - i);
      const float* p = from + i * from_stride + j;
      float* q = to + j * to_stride + i;
      __m512 r[16];
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) r[k] = k < rows - i ? _mm512_maskz_loadu_ps(read, p + k * from_stride) : _mm512_setzero_ps();
      Transpose16(r);
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k)
        if (k < columns - j) _mm512_mask_storeu_ps(q + k * to_stride, written, r[k]);
    }
#else
  int64_t i = 0;
#if DX_ISA == 1
  for (; i + 8 <= rows; i += 8) {
    int64_t j = 0;
    for (; j + 8 <= columns; j += 8) TurnSquare(to + j * to_stride + i, to_stride, from + i * from_stride + j, from_stride, 8);
    for (; j < columns; ++j)
      for (int k = 0; k < 8; ++k) to[j * to_stride + i + k] = from[(i + k) * from_stride + j];
  }
#endif
  for (; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * from_stride + j];
#endif
}
