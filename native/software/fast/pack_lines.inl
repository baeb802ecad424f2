// Lines of panels that are pieced together from stretches of memory, and the inner loops of pooling. Included between isa_begin.inl
// and isa_end.inl, after vector.inl.

DX_INLINE void CopyPiece(float* to, const float* from, int64_t first, int64_t last, int64_t length) {
#if DX_ISA == 2
  for (int64_t c = 0; c < length; c += 16) {
    auto below = [](int64_t n) { return static_cast<uint32_t>(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1); };
    const auto inside = static_cast<__mmask16>(below(last - c) & ~below(first - c));
    _mm512_mask_storeu_ps(to + c, static_cast<__mmask16>(below(length - c)), _mm512_maskz_loadu_ps(inside, from + c));
  }
#elif DX_ISA == 1
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (int64_t c = 0; c < length; c += 8) {
    auto below = [&](int64_t n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane); };
    const __m256i inside = _mm256_andnot_si256(below(first - c), below(last - c));
    _mm256_maskstore_ps(to + c, below(length - c), _mm256_maskload_ps(from + c, inside));
  }
#else
  int64_t i = 0;
  for (; i < first; ++i) to[i] = 0;
  for (; i < last; ++i) to[i] = from[i];
  for (; i < length; ++i) to[i] = 0;
#endif
}

static void PackLines(float* to, int64_t width, const float* base, int64_t step, const PackPiece* pieces, int lines, int per_line) {
  for (int l = 0; l < lines; ++l, to += width, pieces += per_line)
    for (int p = 0; p < per_line; ++p) {
      const PackPiece& piece = pieces[p];
      float* part = to + piece.column;
      const float* from = base + piece.offset;
      if (step == 1) {
        CopyPiece(part, from, piece.first, piece.last, piece.length);
        continue;
      }
      int i = 0;
      for (; i < piece.first; ++i) part[i] = 0;
      for (; i < piece.last; ++i) part[i] = from[i * step];
      for (; i < piece.length; ++i) part[i] = 0;
    }
}

// Up to kWidth elements; the others are zero.
DX_INLINE VF LoadSome(const float* p, int64_t count) {
  if (count >= kWidth) return LoadF(p);
#if DX_ISA == 2
  return (VF)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
#else
  float values[kWidth] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = p[i];
  return LoadF(values);
#endif
}
DX_INLINE void StoreSome(float* p, VF v, int64_t count) {
  if (count >= kWidth) {
    StoreF(p, v);
    return;
  }
#if DX_ISA == 2
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1), (__m512)v);
#else
  float values[kWidth];
  StoreF(values, v);
  for (int64_t i = 0; i < count; ++i) p[i] = values[i];
#endif
}
DX_INLINE VF LoadEvery(const float* p, int64_t step, int64_t count) {
  if (step == 1) return LoadSome(p, count);
  if (count > kWidth) count = kWidth;
#if DX_ISA == 2
  if (step == 2) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const int64_t span = 2 * count - 1;
    const VF low = LoadSome(p, span), high = span > 16 ? LoadSome(p + 16, span - 16) : VF{};
    return (VF)_mm512_permutex2var_ps((__m512)low, even, (__m512)high);
  }
#endif
  float values[kWidth] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = p[i * step];
  return LoadF(values);
}

static void AddEvery(float* sums, const float* x, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) StoreSome(sums + i, LoadSome(sums + i, n - i) + LoadEvery(x + i * step, step, n - i), n - i);
}
static void MaxEvery(float* best, const float* x, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    const VF value = LoadEvery(x + i * step, step, n - i), old = LoadSome(best + i, n - i);
    StoreSome(best + i, Select(value > old, value, old), n - i);
  }
}
static void MaxPositionEvery(float* best, int32_t* position, const float* x, int32_t start, int64_t step, int64_t n) {
  VI lane;
  for (int i = 0; i < kWidth; ++i) lane[i] = i;
  for (int64_t i = 0; i < n; i += kWidth) {
    float* positions = reinterpret_cast<float*>(position + i);  // moved as bits
    const VF value = LoadEvery(x + i * step, step, n - i), old = LoadSome(best + i, n - i);
    const VI at = (lane + static_cast<int32_t>(i)) * static_cast<int32_t>(step) + start, was = BitsOf(LoadSome(positions, n - i));
    const VI wins = value > old;
    StoreSome(best + i, Select(wins, value, old), n - i);
    StoreSome(positions, FromBits(Select(wins | (was < 0), at, was)), n - i);
  }
}
