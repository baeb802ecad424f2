// Rows of panels that are put together from segments of memory, and the inner loops of pooling. Included between isa_begin.inl
// and isa_end.inl, after lanes.inl.

DX_INLINE void CopyPiece(float* to, const float* from, int64_t first, int64_t last, int64_t length) {
#if DX_ISA == 2
  for (int64_t c = 0; c < length; c += 16) {
    auto below = [](int64_t n) { return static_cast<uint32_t>(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1); };
    const auto inside = static_cast<__mmask16>(below(last - c) & ~below(first - c));
    _mm512_mask_storeu_ps(to + c, static_cast<__mmask16>(below(length - c)), _mm512_maskz_loadu_ps(inside, from + c));
  }
#elif DX_ISA == 1
  for (int64_t c = 0; c < length; c += 8) {
    const __m256i inside = _mm256_andnot_si256(LanesBelow(first - c), LanesBelow(last - c));
    StoreSome(to + c, (VF)_mm256_maskload_ps(from + c, inside), length - c);
  }
#else
  int64_t i = 0;
  for (; i < first; ++i) to[i] = 0;
  for (; i < last; ++i) to[i] = from[i];
  for (; i < length; ++i) to[i] = 0;
#endif
}

static void PackSegments(float* to, int64_t width, const float* base, int64_t step, const PackSegment* pieces, int row_count, int per_row) {
  for (int l = 0; l < row_count; ++l, to += width, pieces += per_row)
    for (int p = 0; p < per_row; ++p) {
      const PackSegment& piece = pieces[p];
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

// to[r * to_stride + i] = from[r * from_stride + i * step] for r < rows, i < n.
static void CopyRows(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t step, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, to += to_stride, from += from_stride) {
    if (step == 1)
      for (int64_t i = 0; i < n; i += kWidth) StoreSome(to + i, LoadSome(from + i, n - i), n - i);
    else
      for (int64_t i = 0; i < n; i += kWidth) StoreSome(to + i, LoadEvery(from + i * step, step, n - i), n - i);
  }
}

static void SpreadRows(float* to, int64_t to_stride, int64_t step, const float* from, int64_t from_stride, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, to += to_stride, from += from_stride) {
    if (step == 1 || n == 1) CopyRows(to, 0, from, 0, 1, 1, n);
    else if (step == 2)
      for (int64_t i = 0; i < n; i += kWidth) StoreEven(to + 2 * i, LoadSome(from + i, n - i), n - i);
    else
      for (int64_t i = 0; i < n; ++i) to[i * step] = from[i];
  }
}

// One input channel, one output channel: out[i] = bias + the taps' weights times in[i + offset], for whole vectors up to n.
template <int kVectors>
DX_INLINE void AddTaps(float* out, const float* in, const int32_t* offsets, const float* weights, int64_t taps, float bias) {
  VF sums[kVectors];
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
  for (int v = 0; v < kVectors; ++v) sums[v] = SplatF(bias);
  for (int64_t t = 0; t < taps; ++t) {
    const float* p = in + offsets[t];
    const VF weight = SplatF(weights[t]);
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
    for (int v = 0; v < kVectors; ++v) sums[v] += weight * LoadF(p + v * kWidth);
  }
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
  for (int v = 0; v < kVectors; ++v) StoreF(out + v * kWidth, sums[v]);
}
static void DepthwiseRow(float* out, const float* in, const int32_t* offsets, const float* weights, int64_t taps, float bias, int64_t n) {
  int64_t i = 0;
  for (; i + 8 * kWidth <= n; i += 8 * kWidth) AddTaps<8>(out + i, in + i, offsets, weights, taps, bias);
  if (i + 4 * kWidth <= n) {
    AddTaps<4>(out + i, in + i, offsets, weights, taps, bias);
    i += 4 * kWidth;
  }
  for (; i < n; i += kWidth) AddTaps<1>(out + i, in + i, offsets, weights, taps, bias);
}

// The transposed form: sums[j] += the dot product of a with x + offsets[j], for whole vectors up to n.
template <int kCount>
DX_INLINE void AddDots(float* sums, const float* a, const float* x, const int64_t* offsets, int64_t n) {
  VF s[kCount] = {};
  const float* from[kCount];
  for (int j = 0; j < kCount; ++j) from[j] = x + offsets[j];
  for (int64_t i = 0; i < n; i += kWidth) {
    const VF value = LoadF(a + i);
#if defined(__GNUC__)
#pragma GCC unroll 9
#endif
    for (int j = 0; j < kCount; ++j) s[j] += value * LoadF(from[j] + i);
  }
  for (int j = 0; j < kCount; ++j) sums[j] += SumOf(s[j]);
}
static void Dots(float* sums, const float* a, const float* x, const int64_t* offsets, int64_t count, int64_t n) {
  int64_t j = 0;
  for (; j + 9 <= count; j += 9) AddDots<9>(sums + j, a, x, offsets + j, n);
  for (; j + 3 <= count; j += 3) AddDots<3>(sums + j, a, x, offsets + j, n);
  for (; j < count; ++j) AddDots<1>(sums + j, a, x, offsets + j, n);
}

// Separable pooling: first along the columns of a window, then along a row that is padded on both sides.
struct LargerOf {
  static VF Join(VF value, VF top) {  // the other operand where one is NaN, as `value > top ? value : top`
#if DX_ISA == 2
    return (VF)_mm512_max_ps((__m512)value, (__m512)top);
#elif DX_ISA == 1
    return (VF)_mm256_max_ps((__m256)value, (__m256)top);
#else
    return Select(value > top, value, top);
#endif
  }
};
struct SumOfTwo {
  static VF Join(VF value, VF sum) { return value + sum; }
};
// row[i] = the fold of x[rows[r] + i] for all rows.
template <typename Fold>
void FoldRows(float* row, const float* x, const int64_t* rows, int count, float start, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    VF value = SplatF(start);
    for (int r = 0; r < count; ++r) value = Fold::Join(LoadSome(x + rows[r] + i, n - i), value);
    StoreSome(row + i, value, n - i);
  }
}
// Output i: the fold of row[i * stride + tap * dilation] over all taps. Reads whole vectors of outputs.
template <typename Fold>
DX_INLINE VF FoldTaps(const float* row, int64_t step, int64_t dilation, int64_t tap_count, float start) {
  VF value = SplatF(start);
  if (step == 1) {
    for (int64_t c = 0; c < tap_count; ++c) value = Fold::Join(LoadF(row + c * dilation), value);
  } else if (step == 2) {
    for (int64_t c = 0; c < tap_count; ++c) value = Fold::Join(LoadEven(row + c * dilation), value);
  } else {
    for (int64_t c = 0; c < tap_count; ++c) {
      VF some;
      for (int i = 0; i < kWidth; ++i) some[i] = row[i * step + c * dilation];
      value = Fold::Join(some, value);
    }
  }
  return value;
}
static void PoolMaxRow(float* out, const float* row, int64_t step, int64_t dilation, int64_t tap_count, float lowest, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) StoreSome(out + i, FoldTaps<LargerOf>(row + i * step, step, dilation, tap_count, lowest), n - i);
}
static void PoolMeanRow(float* out, const float* row, int64_t step, int64_t dilation, int64_t tap_count, const float* counts, float rows,
                        int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth)
    StoreSome(out + i, FoldTaps<SumOfTwo>(row + i * step, step, dilation, tap_count, 0) / (LoadSome(counts + i, n - i) * rows), n - i);
}
static void MaxRows(float* row, const float* x, const int64_t* rows, int count, float lowest, int64_t n) {
  FoldRows<LargerOf>(row, x, rows, count, lowest, n);
}
static void SumRows(float* row, const float* x, const int64_t* rows, int count, float start, int64_t n) {
  FoldRows<SumOfTwo>(row, x, rows, count, start, n);
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
#if DX_ISA == 1
  auto load = [&](const float* from, int64_t first, int64_t last) {
    return (VF)_mm256_maskload_ps(from, _mm256_andnot_si256(LanesBelow(first), LanesBelow(last)));
  };
  if (step == 1) return load(p, low, high);
  if (step == 2) return EvenOf(load(p, 2 * low, 2 * high - 1), load(p + 8, 2 * low - 8, 2 * high - 9));
#endif
  float values[kWidth] = {};
  for (int64_t i = low; i < high; ++i) values[i] = p[i * step];
  return LoadF(values);
}

static void PoolMaxTaps(float* best, int32_t* position, const float* x, const PoolTap* tap_count, int count, int64_t step, float lowest,
                        bool continues, int64_t n) {
  VI lane;
  for (int i = 0; i < kWidth; ++i) lane[i] = i;
  for (int64_t i = 0; i < n; i += kWidth) {
    float* positions = reinterpret_cast<float*>(position + i);  // moved as bits
    VF top = continues ? LoadSome(best + i, n - i) : SplatF(lowest);
    VI at = continues && position ? BitsOf(LoadSome(positions, n - i)) : SplatI(-1);
    for (int c = 0; c < count; ++c) {
      const int64_t first = tap_count[c].first - i, last = tap_count[c].last - i;
      const int64_t low = first > 0 ? first : 0, high = last < kWidth ? last : kWidth;
      if (low >= high) continue;
      const int64_t start = tap_count[c].start + i * step;
      const VF value = LoadLanes(x + start, step, low, high);
      const VI inside = (lane >= static_cast<int32_t>(low)) & (lane < static_cast<int32_t>(high)), wins = (value > top) & inside;
      if (position) at = Select(wins | ((at < 0) & inside), lane * static_cast<int32_t>(step) + static_cast<int32_t>(start), at);
      top = Select(wins, value, top);
    }
    StoreSome(best + i, top, n - i);
    if (position) StoreSome(positions, FromBits(at), n - i);
  }
}
