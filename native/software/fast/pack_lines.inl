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
// Lanes [low, high) of every step-th element; p is lane 0's. The others are zero.
DX_INLINE VF LoadLanes(const float* p, int64_t step, int64_t low, int64_t high) {
#if DX_ISA == 2
  auto bits = [](int64_t first, int64_t last) {  // of 32
    return static_cast<uint32_t>((last >= 32 ? 0xffffffffull : (1ull << last) - 1) & ~((1ull << first) - 1));
  };
  if (step == 1) return (VF)_mm512_maskz_loadu_ps(static_cast<__mmask16>(bits(low, high)), p);
  if (step == 2) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const uint32_t used = bits(2 * low, 2 * high - 1);
    const __m512 first = _mm512_maskz_loadu_ps(static_cast<__mmask16>(used), p);
    const __m512 second = _mm512_maskz_loadu_ps(static_cast<__mmask16>(used >> 16), p + 16);
    return (VF)_mm512_permutex2var_ps(first, even, second);
  }
#endif
  float values[kWidth] = {};
  for (int64_t i = low; i < high; ++i) values[i] = p[i * step];
  return LoadF(values);
}

static void MaxCells(float* best, int32_t* position, const float* x, const PoolCell* cells, int count, int64_t step, float lowest,
                     bool goes_on, int64_t n) {
  VI lane;
  for (int i = 0; i < kWidth; ++i) lane[i] = i;
  for (int64_t i = 0; i < n; i += kWidth) {
    float* positions = reinterpret_cast<float*>(position + i);  // moved as bits
    VF top = goes_on ? LoadSome(best + i, n - i) : SplatF(lowest);
    VI at = goes_on && position ? BitsOf(LoadSome(positions, n - i)) : SplatI(-1);
    for (int c = 0; c < count; ++c) {
      const int64_t first = cells[c].first - i, last = cells[c].last - i;
      const int64_t low = first > 0 ? first : 0, high = last < kWidth ? last : kWidth;
      if (low >= high) continue;
      const int64_t start = cells[c].start + i * step;
      const VF value = LoadLanes(x + start, step, low, high);
      const VI inside = (lane >= static_cast<int32_t>(low)) & (lane < static_cast<int32_t>(high)), wins = (value > top) & inside;
      if (position) at = Select(wins | ((at < 0) & inside), lane * static_cast<int32_t>(step) + static_cast<int32_t>(start), at);
      top = Select(wins, value, top);
    }
    StoreSome(best + i, top, n - i);
    if (position) StoreSome(positions, FromBits(at), n - i);
  }
}
