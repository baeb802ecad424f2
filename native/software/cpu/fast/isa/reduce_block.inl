// Reductions of a contiguous range of floats, and the few loops that normalisations need. Sums are carried in several partial sums of
// floats over short pieces, and over pieces in double. Included between isa_begin.inl and isa_end.inl, after math.inl.

constexpr int64_t kPiece = 4096;

#define DX_SUM(name, parameters, term_vector, term_scalar)               \
  static double name parameters {                                        \
    double total = 0;                                                    \
    for (int64_t start = 0; start < n; start += kPiece) {                \
      const int64_t end = start + kPiece < n ? start + kPiece : n;       \
      VF s0 = VF{}, s1 = VF{}, s2 = VF{}, s3 = VF{};                     \
      int64_t i = start;                                                 \
      for (; i + 4 * kWidth <= end; i += 4 * kWidth) {                   \
        s0 += term_vector(i);                                            \
        s1 += term_vector(i + kWidth);                                   \
        s2 += term_vector(i + 2 * kWidth);                               \
        s3 += term_vector(i + 3 * kWidth);                               \
      }                                                                  \
      for (; i + kWidth <= end; i += kWidth) s0 += term_vector(i);       \
      double rest = 0;                                                   \
      for (; i < end; ++i) rest += term_scalar;                          \
      total += static_cast<double>(SumOf((s0 + s1) + (s2 + s3))) + rest; \
    }                                                                    \
    return total;                                                        \
  }
#define DX_TERM(i) LoadF(x + (i))
DX_SUM(SumBlock, (const float* x, int64_t n), DX_TERM, x[i])
#undef DX_TERM
#define DX_TERM(i) (LoadF(x + (i)) * LoadF(x + (i)))
DX_SUM(SumOfSquaresBlock, (const float* x, int64_t n), DX_TERM, static_cast<double>(x[i]) * x[i])
#undef DX_TERM
#define DX_TERM(i) Abs(LoadF(x + (i)))
DX_SUM(SumOfAbsolutesBlock, (const float* x, int64_t n), DX_TERM, __builtin_fabsf(x[i]))
#undef DX_TERM
#undef DX_SUM

// NaN is no extreme, and is left out; where it is kept, it is the result.
template <bool kLargest, bool kKeepsNan = false>
DX_INLINE float ExtremeOf(const float* x, int64_t n) {
  const float start = kLargest ? -__builtin_inff() : __builtin_inff();
  auto join = [](VF a, VF b) { return kLargest ? LargerOr(a, b) : SmallerOr(a, b); };
  VF m0 = SplatF(start), m1 = m0, m2 = m0, m3 = m0;
  VI nan = VI{};
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    const VF x0 = LoadF(x + i), x1 = LoadF(x + i + kWidth), x2 = LoadF(x + i + 2 * kWidth), x3 = LoadF(x + i + 3 * kWidth);
    m0 = join(x0, m0);
    m1 = join(x1, m1);
    m2 = join(x2, m2);
    m3 = join(x3, m3);
    if constexpr (kKeepsNan) nan |= AreUnordered(x0, x1) | AreUnordered(x2, x3);
  }
  for (; i + kWidth <= n; i += kWidth) {
    const VF x0 = LoadF(x + i);
    m0 = join(x0, m0);
    if constexpr (kKeepsNan) nan |= AreUnordered(x0, x0);
  }
  if (i < n) {
    alignas(64) float rest[kWidth];
    for (int k = 0; k < kWidth; ++k) rest[k] = i + k < n ? x[i + k] : start;
    m1 = join(LoadF(rest), m1);
    if constexpr (kKeepsNan) nan |= AreUnordered(LoadF(rest), LoadF(rest));
  }
  if (kKeepsNan && HasAny(nan)) return __builtin_nanf("");
  return ExtremeLane<kLargest>(join(join(m0, m1), join(m2, m3)));
}
static float MaxBlock(const float* x, int64_t n) { return ExtremeOf<true>(x, n); }
static float MaxOrNanBlock(const float* x, int64_t n) { return ExtremeOf<true, true>(x, n); }
static float MinBlock(const float* x, int64_t n) { return ExtremeOf<false>(x, n); }

// The index of the first element that equals `value`; n where none does.
static int64_t FirstEqual(const float* x, float value, int64_t n) {
  constexpr int64_t kPart = 4 * kWidth;
  const VF wide = SplatF(value);
  int64_t i = 0;
  for (; i + kPart <= n; i += kPart) {
    VI found = (LoadF(x + i) == wide) | (LoadF(x + i + kWidth) == wide) | (LoadF(x + i + 2 * kWidth) == wide) |
               (LoadF(x + i + 3 * kWidth) == wide);
    if (HasAny(found)) break;
  }
  while (i + kWidth <= n && !HasAny(LoadF(x + i) == wide)) i += kWidth;
  while (i < n && x[i] != value) ++i;
  return i;
}

template <bool kLargest>
DX_INLINE void FirstOfRow(float* value, uint32_t* at, const float* row, int64_t n) {
  const float extreme = ExtremeOf<kLargest, kLargest>(row, n);
  int64_t position = 0;
  if (extreme == extreme) position = FirstEqual(row, extreme, n);
  else
    while (row[position] == row[position]) ++position;
  if (position == n) position = 0;  // nothing but NaN
  *value = row[position];
  *at = static_cast<uint32_t>(position);
}
// As many rows as a vector has lanes: the lanes' extremes and their indices are transposed, and compared in one vector.
template <bool kLargest>
DX_INLINE void FirstRowsOf(float* values, uint32_t* positions, const float* x, int64_t row_stride, int64_t rows, int64_t n) {
  const VF start = SplatF(kLargest ? -__builtin_inff() : __builtin_inff());
  VI lanes, has;
  for (int k = 0; k < kWidth; ++k) {
    lanes[k] = k;
    has[k] = k < n % kWidth ? -1 : 0;
  }
  auto is_better = [](VF a, VF b) { return kLargest ? (VI)(a > b) : (VI)(a < b); };
  for (int64_t first = 0; first < rows; first += kWidth) {
    const int count = rows - first < kWidth ? static_cast<int>(rows - first) : kWidth;
    VF best[kWidth], spots[kWidth];
    bool has_nan[kWidth];
    for (int r = 0; r < count; ++r) {
      const float* row = x + (first + r) * row_stride;
      VF m = start;
      VI spot = lanes, at = lanes, nan = VI{};
      auto take = [&](VF v) {
        const VI better = is_better(v, m);
        m = Select(better, v, m);
        spot = Select(better, at, spot);
        nan |= AreUnordered(v, v);
        at += kWidth;
      };
      int64_t i = 0;
      for (; i + kWidth <= n; i += kWidth) take(LoadF(row + i));
      if (i < n) take(Select(has, LoadSome(row + i, n - i), start));
      best[r] = m;
      spots[r] = FromBits(spot);
      has_nan[r] = HasAny(nan);
    }
    for (int r = count; r < kWidth; ++r) best[r] = spots[r] = VF{};
    TransposeVectors(best);
    TransposeVectors(spots);
    for (int half = kWidth / 2; half; half /= 2)
      for (int k = 0; k < half; ++k) {
        const VI other =
            is_better(best[k + half], best[k]) | ((VI)(best[k + half] == best[k]) & (VI)(BitsOf(spots[k + half]) < BitsOf(spots[k])));
        best[k] = Select(other, best[k + half], best[k]);
        spots[k] = Select(other, spots[k + half], spots[k]);
      }
    StoreSome(values + first, best[0], count);
    __builtin_memcpy(positions + first, spots, static_cast<size_t>(count) * sizeof(uint32_t));
    for (int r = 0; r < count; ++r)
      if (has_nan[r]) FirstOfRow<kLargest>(values + first + r, positions + first + r, x + (first + r) * row_stride, n);
  }
}
static void ArgExtremeRows(bool largest, float* values, uint32_t* positions, const float* x, int64_t row_stride, int64_t rows, int64_t n) {
  constexpr int64_t kShort = 16 * kWidth;  // of longer rows it is faster to search the index afterwards
  if (n > kShort || rows < 4) {
    for (int64_t r = 0; r < rows; ++r) {
      if (largest) FirstOfRow<true>(values + r, positions + r, x + r * row_stride, n);
      else FirstOfRow<false>(values + r, positions + r, x + r * row_stride, n);
    }
  } else if (largest) {
    FirstRowsOf<true>(values, positions, x, row_stride, rows, n);
  } else {
    FirstRowsOf<false>(values, positions, x, row_stride, rows, n);
  }
}

template <Fold kFold>
DX_INLINE VF FoldTerm(VF x) {
  return kFold == Fold::SumOfAbsolutes ? Abs(x) : kFold == Fold::SumOfSquares ? x * x : x;
}
template <Fold kFold>
DX_INLINE VF FoldJoin(VF total, VF term) {
  return kFold == Fold::Max ? LargerOr(term, total) : kFold == Fold::Min ? SmallerOr(term, total) : total + term;
}
// As many rows as a vector has lanes: their partial results are transposed, and folded in one vector.
template <Fold kFold>
DX_INLINE void FoldRowsOf(float* to, const float* x, int64_t row_stride, int64_t rows, int64_t n) {
  const VF start = SplatF(kFold == Fold::Max ? -__builtin_inff() : kFold == Fold::Min ? __builtin_inff() : 0.0f);
  VI has;
  for (int k = 0; k < kWidth; ++k) has[k] = k < n % kWidth ? -1 : 0;
  for (int64_t first = 0; first < rows; first += kWidth) {
    const int count = rows - first < kWidth ? static_cast<int>(rows - first) : kWidth;
    VF totals[kWidth];
    for (int r = 0; r < count; ++r) {
      const float* row = x + (first + r) * row_stride;
      VF s0 = start, s1 = start, s2 = start, s3 = start;
      int64_t i = 0;
      for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
        s0 = FoldJoin<kFold>(s0, FoldTerm<kFold>(LoadF(row + i)));
        s1 = FoldJoin<kFold>(s1, FoldTerm<kFold>(LoadF(row + i + kWidth)));
        s2 = FoldJoin<kFold>(s2, FoldTerm<kFold>(LoadF(row + i + 2 * kWidth)));
        s3 = FoldJoin<kFold>(s3, FoldTerm<kFold>(LoadF(row + i + 3 * kWidth)));
      }
      for (; i + kWidth <= n; i += kWidth) s0 = FoldJoin<kFold>(s0, FoldTerm<kFold>(LoadF(row + i)));
      if (i < n) s1 = FoldJoin<kFold>(s1, Select(has, FoldTerm<kFold>(LoadSome(row + i, n - i)), start));
      totals[r] = FoldJoin<kFold>(FoldJoin<kFold>(s0, s1), FoldJoin<kFold>(s2, s3));
    }
    for (int r = count; r < kWidth; ++r) totals[r] = start;
    TransposeVectors(totals);
    for (int half = kWidth / 2; half; half /= 2)
      for (int k = 0; k < half; ++k) totals[k] = FoldJoin<kFold>(totals[k], totals[k + half]);
    StoreSome(to + first, totals[0], count);
  }
}
static void FoldRows(Fold fold, float* to, const float* x, int64_t row_stride, int64_t rows, int64_t n) {
  switch (fold) {
    case Fold::SumOfAbsolutes: return FoldRowsOf<Fold::SumOfAbsolutes>(to, x, row_stride, rows, n);
    case Fold::SumOfSquares: return FoldRowsOf<Fold::SumOfSquares>(to, x, row_stride, rows, n);
    case Fold::Max: return FoldRowsOf<Fold::Max>(to, x, row_stride, rows, n);
    case Fold::Min: return FoldRowsOf<Fold::Min>(to, x, row_stride, rows, n);
    default: return FoldRowsOf<Fold::Sum>(to, x, row_stride, rows, n);
  }
}

static double ExpSumBlock(float* y, const float* x, float shift, int64_t n) {
  VF sum = VF{};
  double total = 0;
  int64_t i = 0;
  while (i + kWidth <= n) {
    const int64_t end = n - i < kPiece ? n : i + kPiece;
    for (; i + kWidth <= end; i += kWidth) {
      VF e = Exp(LoadF(x + i) - shift);
      if (y) StoreF(y + i, e);
      sum += e;
    }
    total += SumOf(sum);
    sum = VF{};
  }
  if (i < n) {
    float rest[kWidth];
    for (int k = 0; k < kWidth; ++k) rest[k] = i + k < n ? x[i + k] - shift : -1000.0f;
    VF e = Exp(LoadF(rest));
    total += SumOf(e);
    StoreF(rest, e);
    if (y)
      for (int k = 0; i + k < n; ++k) y[i + k] = rest[k];
  }
  return total;
}

static void ScaleShiftBlock(float* y, const float* x, float scale, float shift, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) StoreF(y + i, LoadF(x + i) * scale + shift);
  for (; i < n; ++i) y[i] = x[i] * scale + shift;
}
static void AxpyBlock(float* y, const float* x, float scale, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) StoreF(y + i, LoadF(y + i) + LoadF(x + i) * scale);
  for (; i < n; ++i) y[i] += x[i] * scale;
}

template <int kRows>
DX_INLINE void AddRowsOf(float* sums, const float* m, int64_t row_stride, const float* weights, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    VF sum = LoadSome(sums + i, n - i), other = VF{};
#if defined(__GNUC__)
#pragma GCC unroll 4
#endif
    for (int r = 0; r < kRows; r += 2) {
      sum += LoadSome(m + r * row_stride + i, n - i) * weights[r];
      if (r + 1 < kRows) other += LoadSome(m + (r + 1) * row_stride + i, n - i) * weights[r + 1];
    }
    StoreSome(sums + i, sum + other, n - i);
  }
}
static void AddRows(float* sums, const float* m, int64_t row_stride, const float* weights, int rows, int64_t n) {
  switch (rows) {
    case 4: return AddRowsOf<4>(sums, m, row_stride, weights, n);
    case 3: return AddRowsOf<3>(sums, m, row_stride, weights, n);
    case 2: return AddRowsOf<2>(sums, m, row_stride, weights, n);
    default: return AddRowsOf<1>(sums, m, row_stride, weights, n);
  }
}

// Empties floats into doubles.
static void FlushSums(double* totals, float* sums, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const VDPair pair = Widen(LoadF(sums + i));
    VD low, high;
    __builtin_memcpy(&low, totals + i, sizeof low);
    __builtin_memcpy(&high, totals + i + kWidth / 2, sizeof high);
    low += pair.low;
    high += pair.high;
    __builtin_memcpy(totals + i, &low, sizeof low);
    __builtin_memcpy(totals + i + kWidth / 2, &high, sizeof high);
    StoreF(sums + i, VF{});
  }
  for (; i < n; ++i) {
    totals[i] += static_cast<double>(sums[i]);
    sums[i] = 0;
  }
}

// Whether one of kVectors vectors is beyond the bound: below it, or not at most it, as NaN is.
template <int kVectors>
DX_INLINE bool HasBeyond(const float* x, VF bound, bool below) {
  const VF one = SplatF(1);
  VF found = VF{};
  for (int v = 0; v < kVectors; ++v) {
    const VF y = LoadF(x + v * kWidth);
    found += below ? Select(y < bound, one, VF{}) : Select(y <= bound, VF{}, one);
  }
  return SumOf(found) != 0;
}
static int64_t FirstBeyond(const float* x, float bound, bool below, int64_t n) {
  constexpr int kCacheLine = 64 / kWidth, kPart = kMaxWidth / kWidth;
  const VF wide = SplatF(bound);
  int64_t i = 0;
  while (i + 64 <= n && !HasBeyond<kCacheLine>(x + i, wide, below)) i += 64;
  while (i + kMaxWidth <= n && !HasBeyond<kPart>(x + i, wide, below)) i += kMaxWidth;
  return i;
}
