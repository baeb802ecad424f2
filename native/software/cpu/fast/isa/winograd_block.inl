// Winograd's convolution F(4 x 4, 3 x 3), for a vector of channels at a time. Included between isa_begin.inl and isa_end.inl, after
// lanes.inl.
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

// Transposed, for the gradient of the weights: four cells to six places, six places to three weights.
DX_INLINE void TurnGradient(const VF* d, VF* to) {
  const VF even = d[0] + d[2] * 0.5f, odd = (d[1] + d[3] * 0.5f) * kRootHalf;
  const VF even2 = d[0] + d[2] * 2.0f, odd2 = (d[1] + d[3] * 2.0f) * kRootTwo;
  to[0] = d[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = d[3];
}
DX_INLINE void TurnToWeights(const VF* m, VF* to) {
  const VF sum = (m[1] + m[2]) * (-1.0f / 1.5f), difference = (m[1] - m[2]) * (-kRootHalf / 1.5f);
  const VF sum2 = (m[3] + m[4]) * (1.0f / 6.0f), difference2 = (m[3] - m[4]) * (kRootTwo / 6.0f);
  to[0] = m[0] + sum + sum2;
  to[1] = difference + difference2;
  to[2] = sum * 0.5f + sum2 * 2.0f + m[5];
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

static void WinogradGradient(float* to, int64_t place_step, const float* from, int64_t x_step, int64_t y_step, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[6][4], cells[4], places[6];
    for (int x = 0; x < 4; ++x) {
      for (int y = 0; y < 4; ++y) cells[y] = LoadF(from + y * y_step + x * x_step + c);
      TurnGradient(cells, places);
      for (int y = 0; y < 6; ++y) rows[y][x] = places[y];
    }
    for (int y = 0; y < 6; ++y) {
      TurnGradient(rows[y], places);
      for (int x = 0; x < 6; ++x) StoreF(to + (y * 6 + x) * place_step + c, places[x]);
    }
  }
}

static void WinogradWeights(float* to, int64_t tap_step, const float* from, int64_t place_step, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[3][6], places[6], weights[3];
    for (int x = 0; x < 6; ++x) {
      for (int y = 0; y < 6; ++y) places[y] = LoadF(from + (y * 6 + x) * place_step + c);
      TurnToWeights(places, weights);
      for (int y = 0; y < 3; ++y) rows[y][x] = weights[y];
    }
    for (int y = 0; y < 3; ++y) {
      TurnToWeights(rows[y], weights);
      for (int x = 0; x < 3; ++x) StoreF(to + (y * 3 + x) * tap_step + c, weights[x]);
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
    const VF factor = end.factor ? LoadF(end.factor + c) : SplatF(1), shift = end.factor ? LoadF(end.shift + c) : VF{};
    for (int y = 0; y < 4; ++y) {
      TurnBack(rows[y], outputs);
      for (int x = 0; x < 4; ++x) StoreF(to + y * y_step + x * x_step + c, outputs[x] * factor + shift);
    }
  }
}
