// Skinny GEMM with K-contiguous operands: dot products, summed across lanes. Included between isa_begin.inl and isa_end.inl, after
// lanes.inl.

#if DX_ISA == 1  // whose registers hold no more
constexpr int kDotSums = 8, kMaxDotVectors = 2;
#else
constexpr int kDotSums = 16, kMaxDotVectors = 4;
#endif

// sums[r] = the dot product of row r of the matrix with v.
template <int kRows>
DX_INLINE void DotRowsOf(float* sums, const float* m, int64_t row_stride, const float* v, int64_t n, bool adds) {
  VF low[kRows] = {}, high[kRows] = {};
  int64_t i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const VF a = LoadF(v + i), b = LoadF(v + i + kWidth);
#if defined(__GNUC__)
#pragma GCC unroll 4
#endif
    for (int r = 0; r < kRows; ++r) {
      low[r] += a * LoadF(m + r * row_stride + i);
      high[r] += b * LoadF(m + r * row_stride + i + kWidth);
    }
  }
  for (; i < n; i += kWidth) {
    const VF a = LoadSome(v + i, n - i);
#if defined(__GNUC__)
#pragma GCC unroll 4
#endif
    for (int r = 0; r < kRows; ++r) low[r] += a * LoadSome(m + r * row_stride + i, n - i);
  }
#if defined(__GNUC__)
#pragma GCC unroll 4
#endif
  for (int r = 0; r < kRows; ++r) sums[r] = SumOf(low[r] + high[r]) + (adds ? sums[r] : 0.0f);
}
static void DotRows(float* sums, const float* m, int64_t row_stride, const float* v, int rows, int64_t n, bool adds) {
  switch (rows) {
    case 4: return DotRowsOf<4>(sums, m, row_stride, v, n, adds);
    case 3: return DotRowsOf<3>(sums, m, row_stride, v, n, adds);
    case 2: return DotRowsOf<2>(sums, m, row_stride, v, n, adds);
    default: return DotRowsOf<1>(sums, m, row_stride, v, n, adds);
  }
}

// sums[v * sums_stride + r] = row r times vector v. Missing rows and vectors are read as the last ones, and not stored.
template <int kRows, int kVectors>
DX_INLINE void DotTileOf(const DotTile& t) {
  constexpr int kSums = kRows * kVectors;
  const float *rows[kRows], *vectors[kVectors];
  for (int r = 0; r < kRows; ++r) rows[r] = t.matrix + (r < t.rows ? r : t.rows - 1) * t.row_stride;
  for (int v = 0; v < kVectors; ++v) vectors[v] = t.vectors + (v < t.count ? v : t.count - 1) * t.vector_stride;
  VF sums[kSums] = {};
  auto add = [&](auto load, int64_t i) __attribute__((always_inline)) {
    VF x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = load(vectors[v] + i);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const VF row = load(rows[r] + i);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[v * kRows + r] += row * x[v];
    }
  };
  int64_t i = 0;
  for (; i + kWidth <= t.length; i += kWidth)
    add(
        [](const float* p) __attribute__((always_inline)) { return LoadF(p); }, i);
  if (i < t.length)
    add(
        [&](const float* p) __attribute__((always_inline)) { return LoadSome(p, t.length - i); }, i);

  float totals[kSums];
#pragma GCC unroll 4
  for (int first = 0; first < kSums; first += kWidth) {
    TransposeVectors(sums + first);
#pragma GCC unroll 4
    for (int half = kWidth / 2; half; half /= 2)
#pragma GCC unroll 8
      for (int k = 0; k < half; ++k) sums[first + k] += sums[first + k + half];
    StoreF(totals + first, sums[first]);
  }
  for (int v = 0; v < t.count; ++v) {
    float* to = t.sums + v * t.sums_stride;
    for (int r = 0; r < t.rows; ++r) to[r] = totals[v * kRows + r] + (t.adds ? to[r] : 0.0f);
  }
}
static void MultiplyDotTile(const DotTile& t) {
  if (t.count <= 2) DotTileOf<kDotSums / 2, 2>(t);
  else DotTileOf<kDotSums / kMaxDotVectors, kMaxDotVectors>(t);
}
