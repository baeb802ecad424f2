// Winograd's convolution F(4 x 4, 3 x 3), for a vector of channels at a time. Included between isa_begin.inl and isa_end.inl, after
// lanes.inl.
//
// Points 0, ±1/√2, ±√2 and infinity: with them results differ from sums in order by about as much as those from exact ones, where the
// usual ±1, ±2 lose a digit.
constexpr float kRootHalf = 0.70710678f, kRootTwo = 1.41421356f;

DX_INLINE void TransformInput(const VF* d, VF* to) {  // 6 inputs to 6 positions
  const VF even = d[4] - d[2] * 2.0f, odd = (d[3] - d[1] * 2.0f) * kRootHalf;
  const VF even2 = d[4] - d[2] * 0.5f, odd2 = (d[3] - d[1] * 0.5f) * kRootTwo;
  to[0] = d[4] - d[2] * 2.5f + d[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = d[5] - d[3] * 2.5f + d[1];
}
DX_INLINE void TransformFilter(const VF* g, VF* to) {  // 3 weights to 6 positions
  const VF even = (g[0] + g[2] * 0.5f) * (-1.0f / 1.5f), odd = g[1] * (-kRootHalf / 1.5f);
  const VF even2 = (g[0] + g[2] * 2.0f) * (1.0f / 6.0f), odd2 = g[1] * (kRootTwo / 6.0f);
  to[0] = g[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = g[2];
}
DX_INLINE void TransformOutput(const VF* m, VF* to) {  // 6 positions to 4 outputs
  const VF sum = m[1] + m[2], difference = (m[1] - m[2]) * kRootHalf, sum2 = m[3] + m[4], difference2 = (m[3] - m[4]) * kRootTwo;
  to[0] = m[0] + sum + sum2;
  to[1] = difference + difference2;
  to[2] = sum * 0.5f + sum2 * 2.0f;
  to[3] = difference * 0.5f + difference2 * 2.0f + m[5];
}

// The transposed transforms, for the weight gradient: 4 gradients to 6 positions, 6 positions to 3 weights.
DX_INLINE void TransformGradient(const VF* d, VF* to) {
  const VF even = d[0] + d[2] * 0.5f, odd = (d[1] + d[3] * 0.5f) * kRootHalf;
  const VF even2 = d[0] + d[2] * 2.0f, odd2 = (d[1] + d[3] * 2.0f) * kRootTwo;
  to[0] = d[0];
  to[1] = even + odd;
  to[2] = even - odd;
  to[3] = even2 + odd2;
  to[4] = even2 - odd2;
  to[5] = d[3];
}
DX_INLINE void TransformWeightGradient(const VF* m, VF* to) {
  const VF sum = (m[1] + m[2]) * (-1.0f / 1.5f), difference = (m[1] - m[2]) * (-kRootHalf / 1.5f);
  const VF sum2 = (m[3] + m[4]) * (1.0f / 6.0f), difference2 = (m[3] - m[4]) * (kRootTwo / 6.0f);
  to[0] = m[0] + sum + sum2;
  to[1] = difference + difference2;
  to[2] = sum * 0.5f + sum2 * 2.0f + m[5];
}

static void WinogradInput(float* to, int64_t position_stride, const float* from, int64_t x_stride, int64_t y_stride, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[6][6], inputs[6], positions[6];
    for (int x = 0; x < 6; ++x) {
      for (int y = 0; y < 6; ++y) inputs[y] = LoadF(from + y * y_stride + x * x_stride + c);
      TransformInput(inputs, positions);
      for (int y = 0; y < 6; ++y) rows[y][x] = positions[y];
    }
    for (int y = 0; y < 6; ++y) {
      TransformInput(rows[y], positions);
      for (int x = 0; x < 6; ++x) StoreF(to + (y * 6 + x) * position_stride + c, positions[x]);
    }
  }
}

static void WinogradFilter(float* to, int64_t position_stride, const float* from, int64_t tap_stride, const int32_t* taps, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[6][3], weights[3], positions[6];
    for (int x = 0; x < 3; ++x) {
      for (int y = 0; y < 3; ++y) weights[y] = LoadF(from + taps[y * 3 + x] * tap_stride + c);
      TransformFilter(weights, positions);
      for (int y = 0; y < 6; ++y) rows[y][x] = positions[y];
    }
    for (int y = 0; y < 6; ++y) {
      TransformFilter(rows[y], positions);
      for (int x = 0; x < 6; ++x) StoreF(to + (y * 6 + x) * position_stride + c, positions[x]);
    }
  }
}

static void WinogradGradient(float* to, int64_t position_stride, const float* from, int64_t x_stride, int64_t y_stride, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[6][4], inputs[4], positions[6];
    for (int x = 0; x < 4; ++x) {
      for (int y = 0; y < 4; ++y) inputs[y] = LoadF(from + y * y_stride + x * x_stride + c);
      TransformGradient(inputs, positions);
      for (int y = 0; y < 6; ++y) rows[y][x] = positions[y];
    }
    for (int y = 0; y < 6; ++y) {
      TransformGradient(rows[y], positions);
      for (int x = 0; x < 6; ++x) StoreF(to + (y * 6 + x) * position_stride + c, positions[x]);
    }
  }
}

static void WinogradWeightGradient(float* to, int64_t tap_stride, const float* from, int64_t position_stride, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[3][6], positions[6], weights[3];
    for (int x = 0; x < 6; ++x) {
      for (int y = 0; y < 6; ++y) positions[y] = LoadF(from + (y * 6 + x) * position_stride + c);
      TransformWeightGradient(positions, weights);
      for (int y = 0; y < 3; ++y) rows[y][x] = weights[y];
    }
    for (int y = 0; y < 3; ++y) {
      TransformWeightGradient(rows[y], weights);
      for (int x = 0; x < 3; ++x) StoreF(to + (y * 3 + x) * tap_stride + c, weights[x]);
    }
  }
}

static void WinogradOutput(float* to, int64_t x_stride, int64_t y_stride, const float* from, int64_t position_stride,
                           const WinogradEpilogue& epilogue, int64_t n) {
  for (int64_t c = 0; c < n; c += kWidth) {
    VF rows[4][6], positions[6], outputs[4];
    for (int x = 0; x < 6; ++x) {
      for (int y = 0; y < 6; ++y) positions[y] = LoadF(from + (y * 6 + x) * position_stride + c);
      TransformOutput(positions, outputs);
      for (int y = 0; y < 4; ++y) rows[y][x] = outputs[y];
    }
    const VF factor = epilogue.factor ? LoadF(epilogue.factor + c) : SplatF(1), shift = epilogue.factor ? LoadF(epilogue.shift + c) : VF{};
    for (int y = 0; y < 4; ++y) {
      TransformOutput(rows[y], outputs);
      for (int x = 0; x < 4; ++x) StoreF(to + y * y_stride + x * x_stride + c, outputs[x] * factor + shift);
    }
  }
}
