// Parts of vectors, every second element, and transposed squares. Included between isa_begin.inl and isa_end.inl, after vector.inl.

#if DX_ISA == 1
// All bits of the lanes below n.
DX_INLINE __m256i LanesBelow(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

DX_INLINE bool HasAny(VI mask) {
#if DX_ISA == 2
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif DX_ISA == 1
  return _mm256_testz_si256((__m256i)mask, (__m256i)mask) == 0;
#elif DX_ISA == 3
  return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
  int32_t any = 0;
  for (int i = 0; i < kWidth; ++i) any |= mask[i];
  return any != 0;
#endif
}

// Up to kWidth elements; the others are zero.
DX_INLINE VF LoadSome(const float* p, int64_t count) {
  if (count >= kWidth) return LoadF(p);
#if DX_ISA == 2
  return (VF)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p);
#elif DX_ISA == 1
  return (VF)_mm256_maskload_ps(p, LanesBelow(count));
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
#elif DX_ISA == 1  // in halves: a masked store takes forty cycles on AMD's CPUs
  __m128 half = _mm256_castps256_ps128((__m256)v);
  if (count & 4) {
    _mm_storeu_ps(p, half);
    half = _mm256_extractf128_ps((__m256)v, 1);
    p += 4;
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), half);
    half = _mm_movehl_ps(half, half);
    p += 2;
  }
  if (count & 1) _mm_store_ss(p, half);
#else
  float values[kWidth];
  StoreF(values, v);
  for (int64_t i = 0; i < count; ++i) p[i] = values[i];
#endif
}

// The first element of each pair of 2 * kWidth floats, which lie in two vectors.
DX_INLINE VF EvenOf(VF low, VF high) {
#if DX_ISA == 2
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return (VF)_mm512_permutex2var_ps((__m512)low, even, (__m512)high);
#elif DX_ISA == 1
  const __m256 pairs = _mm256_shuffle_ps((__m256)low, (__m256)high, 0x88);
  return (VF)_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), 0xd8));
#elif DX_ISA == 3
  return (VF)vuzp1q_f32((float32x4_t)low, (float32x4_t)high);
#else
  VF v;
  for (int i = 0; i < kWidth / 2; ++i) {
    v[i] = low[2 * i];
    v[i + kWidth / 2] = high[2 * i];
  }
  return v;
#endif
}
DX_INLINE VF LoadEven(const float* p) { return EvenOf(LoadF(p), LoadF(p + kWidth)); }
// The first `count` lanes to every second element; touches no other.
DX_INLINE void StoreEven(float* p, VF x, int64_t count) {
  if (count > kWidth) count = kWidth;
#if DX_ISA == 2
  const __m512i low = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  const __m512i high = _mm512_setr_epi32(8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15);
  const uint32_t positions = 0x55555555u & static_cast<uint32_t>((uint64_t{1} << (2 * count)) - 1);
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>(positions), _mm512_permutexvar_ps(low, (__m512)x));
  if (count > 8) _mm512_mask_storeu_ps(p + kWidth, static_cast<__mmask16>(positions >> 16), _mm512_permutexvar_ps(high, (__m512)x));
#elif DX_ISA == 1
  const __m256i even = _mm256_setr_epi32(-1, 0, -1, 0, -1, 0, -1, 0);
  const __m256 low = _mm256_permutevar8x32_ps((__m256)x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  const __m256 high = _mm256_permutevar8x32_ps((__m256)x, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
  _mm256_maskstore_ps(p, _mm256_and_si256(even, LanesBelow(2 * count)), low);
  if (count > 4) _mm256_maskstore_ps(p + kWidth, _mm256_and_si256(even, LanesBelow(2 * count - kWidth)), high);
#else
  for (int64_t i = 0; i < count; ++i) p[2 * i] = x[i];
#endif
}
DX_INLINE VF LoadEvery(const float* p, int64_t step, int64_t count) {
  if (step == 1) return LoadSome(p, count);
  if (count > kWidth) count = kWidth;
  if (step == 2) {
    const int64_t span = 2 * count - 1;
    return EvenOf(LoadSome(p, span), span > kWidth ? LoadSome(p + kWidth, span - kWidth) : VF{});
  }
  float values[kWidth] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = p[i * step];
  return LoadF(values);
}

// r[j][i] becomes r[i][j].
#if DX_ISA == 2
DX_INLINE void TransposeVectors(VF* rows) {
  __m512 t[16], r[16];
  for (int i = 0; i < 16; ++i) r[i] = (__m512)rows[i];
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
    rows[i] = (VF)_mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = (VF)_mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = (VF)_mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = (VF)_mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}
#elif DX_ISA == 1
DX_INLINE void TransposeVectors(VF* rows) {
  __m256 t[8], r[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps((__m256)rows[i], (__m256)rows[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps((__m256)rows[i], (__m256)rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = (VF)_mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    rows[i + 4] = (VF)_mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
}
#elif DX_ISA == 3
DX_INLINE void TransposeVectors(VF* r) {
  const float32x4x2_t low = vtrnq_f32((float32x4_t)r[0], (float32x4_t)r[1]), high = vtrnq_f32((float32x4_t)r[2], (float32x4_t)r[3]);
  r[0] = (VF)vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
  r[1] = (VF)vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
  r[2] = (VF)vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
  r[3] = (VF)vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
}
#else
DX_INLINE void TransposeVectors(VF* r) {
  for (int i = 0; i < kWidth; ++i)
    for (int j = 0; j < i; ++j) {
      const float value = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = value;
    }
}
#endif

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns, both up to kWidth; touches nothing else. Of consecutive
// rows, the next one overwrites what a store writes too much.
DX_INLINE void TransposeSquare(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns) {
  VF r[kWidth];
#if DX_ISA == 2
  const auto read = static_cast<__mmask16>((1u << columns) - 1), written = static_cast<__mmask16>((1u << rows) - 1);
  auto load = [&](const float* p) { return (VF)_mm512_maskz_loadu_ps(read, p); };
  auto store = [&](float* p, VF v) { _mm512_mask_storeu_ps(p, written, (__m512)v); };
#else
  auto load = [&](const float* p) { return LoadSome(p, columns); };
  auto store = [&](float* p, VF v) { StoreSome(p, v, rows); };
#endif
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) r[i] = i < rows ? load(from + i * from_stride) : VF{};
  TransposeVectors(r);
  if (to_stride == rows && rows * 2 >= kWidth && columns == kWidth) {
#pragma GCC unroll 16
    for (int j = 0; j < kWidth - 1; ++j) StoreF(to + j * to_stride, r[j]);
    store(to + (kWidth - 1) * to_stride, r[kWidth - 1]);
    return;
  }
#pragma GCC unroll 16
  for (int j = 0; j < kWidth; ++j)
    if (j < columns) store(to + j * to_stride, r[j]);
}
// Interleaves the elements of three rows, such as the channels of an RGB image.
#if defined(__clang__)
static void InterleaveThreeRows(float* to, const float* from, int64_t from_stride, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < 3; ++i) to[3 * j + i] = from[i * from_stride + j];
}
#else
template <int kPart>
DX_INLINE VF JoinThree(VF a, VF b, VF c) {
  VI of_two, of_three;
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) {
    const int at = kPart * kWidth + i, row = at % 3;
    of_two[i] = row == 1 ? kWidth + at / 3 : at / 3;
    of_three[i] = row == 2 ? kWidth + at / 3 : i;
  }
  return __builtin_shuffle(__builtin_shuffle(a, b, of_two), c, of_three);
}
static void InterleaveThreeRows(float* to, const float* from, int64_t from_stride, int64_t columns) {
  int64_t j = 0;
  for (; j + kWidth <= columns; j += kWidth, to += 3 * kWidth) {
    const VF a = LoadF(from + j), b = LoadF(from + from_stride + j), c = LoadF(from + 2 * from_stride + j);
    StoreF(to, JoinThree<0>(a, b, c));
    StoreF(to + kWidth, JoinThree<1>(a, b, c));
    StoreF(to + 2 * kWidth, JoinThree<2>(a, b, c));
  }
  for (; j < columns; ++j)
    for (int64_t i = 0; i < 3; ++i) *to++ = from[i * from_stride + j];
}
#endif
// The same of any size.
static void Transpose(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t columns) {
  if (to_stride == rows && rows == 3) return InterleaveThreeRows(to, from, from_stride, columns);
  for (int64_t j = 0; j < columns; j += kWidth)
    for (int64_t i = 0; i < rows; i += kWidth)
      TransposeSquare(to + j * to_stride + i, to_stride, from + i * from_stride + j, from_stride, rows - i < kWidth ? rows - i : kWidth,
                      columns - j < kWidth ? columns - j : kWidth);
}
