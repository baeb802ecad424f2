// Moving elements: copies, and sums of weighted elements near each other. Included between isa_begin.inl and
// isa_end.inl, after lanes.inl.

// The library's is the fastest for many bytes that are aligned alike; for others it takes slow instructions, and for few a call.
static void CopyBytes(uint8_t* to, const uint8_t* from, int64_t n) {
  constexpr int64_t kVector = sizeof(VI), kBlock = 4 * kVector, kLong = 512;  // kLong 128 to 2048: within 5 % for the suite
  const bool is_alike = ((reinterpret_cast<uintptr_t>(to) ^ reinterpret_cast<uintptr_t>(from)) & 63) == 0;
  if (n < kVector || (is_alike && n >= kLong) || to == from) {
    if (to != from) __builtin_memcpy(to, from, static_cast<size_t>(n));
    return;
  }
  auto load = [&](int64_t at) { return LoadF(reinterpret_cast<const float*>(from + at)); };
  auto store = [&](int64_t at, VF v) { StoreF(reinterpret_cast<float*>(to + at), v); };
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    const VF v0 = load(i), v1 = load(i + kVector), v2 = load(i + 2 * kVector), v3 = load(i + 3 * kVector);
    store(i, v0);
    store(i + kVector, v1);
    store(i + 2 * kVector, v2);
    store(i + 3 * kVector, v3);
  }
  auto copy = [&](int64_t at) { store(at, load(at)); };
  for (; i + kVector <= n; i += kVector) copy(i);
  copy(n - kVector);
}

// x[i] is element lanes[i] of p, of which there are `count`.
DX_INLINE VF LoadLanes(const float* p, int64_t count, const int32_t* lanes) {
#if DX_ISA == 2
  return (VF)_mm512_permutexvar_ps((__m512i)LoadI(lanes), (__m512)LoadSome(p, count));
#elif DX_ISA == 1
  return (VF)_mm256_permutevar8x32_ps((__m256)LoadSome(p, count), (__m256i)LoadI(lanes));
#else
  (void)count;
  VF x;
  for (int i = 0; i < kWidth; ++i) x[i] = p[lanes[i]];
  return x;
#endif
}
static void ResampleRow(float* to, const float* row, int64_t length, const ResampleTaps& of, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    VF sum = {};
    for (int64_t t = 0; t < of.taps; ++t) {
      const int32_t start = of.starts[t * of.groups + i / kWidth];
      const VF weight = LoadF(of.weights + t * of.pitch + i), x = LoadLanes(row + start, length - start, of.lanes + t * of.pitch + i);
      sum = t == 0 ? weight * x : Select(weight != 0.0f, sum + weight * x, sum);
    }
    StoreSome(to + i, sum, n - i);
  }
}
static void WeightedRowSum(float* to, const float* m, int64_t row_stride, const int32_t* rows, const float* weights, int64_t count,
                           int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    VF sum = LoadSome(m + rows[0] * row_stride + i, n - i) * weights[0];
    for (int64_t r = 1; r < count; ++r) sum += LoadSome(m + rows[r] * row_stride + i, n - i) * weights[r];
    StoreSome(to + i, sum, n - i);
  }
}

// AVX-512 writes the indices of a vector at once.
static int64_t IndicesBeyond(int32_t* positions, const float* x, float bound, bool below, int64_t n) {
  int64_t count = 0, i = 0;
#if DX_ISA == 2
  const __m512 wide = _mm512_set1_ps(bound);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= n; i += 16) {
    const __m512 value = _mm512_loadu_ps(x + i);
    const __mmask16 found = below ? _mm512_cmp_ps_mask(value, wide, _CMP_LT_OQ) : _mm512_cmp_ps_mask(value, wide, _CMP_NLE_UQ);
    _mm512_storeu_si512(positions + count,
                        _mm512_maskz_compress_epi32(found, _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(i)))));
    count += __builtin_popcount(found);
  }
#endif
  for (; i < n; ++i) {
    positions[count] = static_cast<int32_t>(i);
    count += below ? x[i] < bound : !(x[i] <= bound);
  }
  return count;
}
