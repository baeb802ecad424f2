// Vectors of the instruction set's width: GCC's and Clang's vector types, with intrinsics only where these lack an instruction.
// Included between isa_begin.inl and isa_end.inl.

#define DX_INLINE static inline __attribute__((always_inline))

constexpr int kWidth = DX_VECTOR_WIDTH;
typedef float VF __attribute__((vector_size(4 * DX_VECTOR_WIDTH)));
typedef int32_t VI __attribute__((vector_size(4 * DX_VECTOR_WIDTH)));
typedef uint32_t VU __attribute__((vector_size(4 * DX_VECTOR_WIDTH)));
typedef double VD __attribute__((vector_size(4 * DX_VECTOR_WIDTH)));   // half as many elements
typedef int64_t VL __attribute__((vector_size(4 * DX_VECTOR_WIDTH)));  // half as many elements
typedef float VFHalf __attribute__((vector_size(2 * DX_VECTOR_WIDTH)));

// For loops that read large matrices once, row after row: 16 rows of 576 elements of 4 bits ahead.
DX_INLINE void PrefetchAhead(const uint8_t* p) { __builtin_prefetch(p + 4608); }

struct VDPair {
  VD low, high;
};

DX_INLINE VF LoadF(const float* p) {
  VF v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
DX_INLINE void StoreF(float* p, VF v) { __builtin_memcpy(p, &v, sizeof v); }
DX_INLINE VI LoadI(const int32_t* p) {
  VI v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
DX_INLINE void StoreI(int32_t* p, VI v) { __builtin_memcpy(p, &v, sizeof v); }
DX_INLINE VL LoadL(const int64_t* p) {
  VL v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
DX_INLINE void StoreL(int64_t* p, VL v) { __builtin_memcpy(p, &v, sizeof v); }

DX_INLINE VF SplatF(float x) { return x - VF{}; }
DX_INLINE VI SplatI(int32_t x) { return x - VI{}; }
DX_INLINE VI BitsOf(VF x) { return (VI)x; }
DX_INLINE VF FromBits(VI x) { return (VF)x; }
DX_INLINE VF Select(VI mask, VF a, VF b) { return mask ? a : b; }
DX_INLINE VI Select(VI mask, VI a, VI b) { return mask ? a : b; }
DX_INLINE VI ToInt(VF x) { return __builtin_convertvector(x, VI); }
DX_INLINE VF ToFloat(VI x) { return __builtin_convertvector(x, VF); }
DX_INLINE VF Abs(VF x) { return FromBits(BitsOf(x) & 0x7fffffff); }
DX_INLINE VF CopySign(VF magnitude, VF sign) {
  return FromBits((BitsOf(magnitude) & 0x7fffffff) | (BitsOf(sign) & static_cast<int32_t>(0x80000000u)));
}
// The other operand where one is NaN, as fmax and fmin have it. The CPU's own instructions give the second one then.
DX_INLINE VF Max(VF a, VF b) {
#if DX_ISA == 2
  return (VF)_mm512_mask_max_ps((__m512)a, _mm512_cmp_ps_mask((__m512)b, (__m512)b, _CMP_ORD_Q), (__m512)a, (__m512)b);
#elif DX_ISA == 1
  return (VF)_mm256_blendv_ps(_mm256_max_ps((__m256)a, (__m256)b), (__m256)a, _mm256_cmp_ps((__m256)b, (__m256)b, _CMP_UNORD_Q));
#else
  return Select((a > b) | (b != b), a, b);
#endif
}
DX_INLINE VF Min(VF a, VF b) {
#if DX_ISA == 2
  return (VF)_mm512_mask_min_ps((__m512)a, _mm512_cmp_ps_mask((__m512)b, (__m512)b, _CMP_ORD_Q), (__m512)a, (__m512)b);
#elif DX_ISA == 1
  return (VF)_mm256_blendv_ps(_mm256_min_ps((__m256)a, (__m256)b), (__m256)a, _mm256_cmp_ps((__m256)b, (__m256)b, _CMP_UNORD_Q));
#else
  return Select((a < b) | (b != b), a, b);
#endif
}
// The larger and the smaller of x and y; y where one is NaN.
DX_INLINE VF LargerOr(VF x, VF y) {
#if DX_ISA == 2
  return (VF)_mm512_max_ps((__m512)x, (__m512)y);
#elif DX_ISA == 1
  return (VF)_mm256_max_ps((__m256)x, (__m256)y);
#else
  return Select(x > y, x, y);
#endif
}
DX_INLINE VF SmallerOr(VF x, VF y) {
#if DX_ISA == 2
  return (VF)_mm512_min_ps((__m512)x, (__m512)y);
#elif DX_ISA == 1
  return (VF)_mm256_min_ps((__m256)x, (__m256)y);
#else
  return Select(x < y, x, y);
#endif
}
// Where one of the two is NaN.
DX_INLINE VI AreUnordered(VF x, VF y) {
#if DX_ISA == 2
  return (VI)_mm512_movm_epi32(_mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_UNORD_Q));
#elif DX_ISA == 1
  return (VI)_mm256_cmp_ps((__m256)x, (__m256)y, _CMP_UNORD_Q);
#else
  return (x != x) | (y != y);
#endif
}
// Clamps x to [low, high], which are not NaN; a NaN of x stays.
DX_INLINE VF Clamp(VF x, VF low, VF high) { return SmallerOr(high, LargerOr(low, x)); }

DX_INLINE VF Sqrt(VF x) {
#if DX_ISA == 2
  return (VF)_mm512_sqrt_ps((__m512)x);
#elif DX_ISA == 1
  return (VF)_mm256_sqrt_ps((__m256)x);
#elif DX_ISA == 3
  return (VF)vsqrtq_f32((float32x4_t)x);
#else
  for (int i = 0; i < kWidth; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

// Nearest, halves to even; -0 and NaN stay.
DX_INLINE VF RoundEven(VF x) {
#if DX_ISA == 2
  return (VF)_mm512_roundscale_ps((__m512)x, 8);
#elif DX_ISA == 1
  return (VF)_mm256_round_ps((__m256)x, 8);
#elif DX_ISA == 3
  return (VF)vrndnq_f32((float32x4_t)x);
#else
  const VF magic = SplatF(8388608.0f);
  VF magnitude = Abs(x);
  VF rounded = (magnitude + magic) - magic;
  return Select(magnitude < magic, CopySign(rounded, x), x);
#endif
}
DX_INLINE VF Floor(VF x) {
#if DX_ISA == 2
  return (VF)_mm512_roundscale_ps((__m512)x, 9);
#elif DX_ISA == 1
  return (VF)_mm256_round_ps((__m256)x, 9);
#elif DX_ISA == 3
  return (VF)vrndmq_f32((float32x4_t)x);
#else
  VF r = RoundEven(x);
  return Select(r > x, CopySign(r - 1.0f, x), r);
#endif
}
DX_INLINE VF Ceil(VF x) { return -Floor(-x); }
DX_INLINE VF Truncate(VF x) { return CopySign(Floor(Abs(x)), x); }

// Sixteen bits: half precision to single and back, kWidth at a time.
#if DX_ISA == 2
DX_INLINE VF LoadHalf(const uint16_t* p) { return (VF)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
DX_INLINE void StoreHalf(uint16_t* p, VF x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph((__m512)x, 0)); }
DX_INLINE VF RoundToHalf(VF x) { return (VF)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)x, 0)); }
#elif DX_ISA == 1
DX_INLINE VF LoadHalf(const uint16_t* p) { return (VF)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
DX_INLINE void StoreHalf(uint16_t* p, VF x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph((__m256)x, 0)); }
DX_INLINE VF RoundToHalf(VF x) { return (VF)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)x, 0)); }
#elif DX_ISA == 3
DX_INLINE VF LoadHalf(const uint16_t* p) { return (VF)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
DX_INLINE void StoreHalf(uint16_t* p, VF x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)x))); }
DX_INLINE VF RoundToHalf(VF x) { return (VF)vcvt_f32_f16(vcvt_f16_f32((float32x4_t)x)); }
#else
DX_INLINE VF HalfBitsToFloat(VI h) {
  VI sign = (h & 0x8000) << 16;
  VI bits = (h & 0x7fff) << 13;
  VI special = bits >= 0x0f800000;
  VI small = bits < 0x00800000;
  VF subnormal = FromBits(bits + (113 << 23)) - 6.103515625e-05f;
  VI normal = bits + Select(special, SplatI((255 - 31) << 23), SplatI((127 - 15) << 23));
  return FromBits(Select(small, BitsOf(subnormal), normal) | sign);
}
DX_INLINE VI FloatToHalfBits(VF x) {
  VI bits = BitsOf(x);
  VI sign = (bits >> 16) & 0x8000;
  bits &= 0x7fffffff;
  VI nan = (bits >> 13 & 0x3ff) | 0x7e00;
  VI subnormal = BitsOf(FromBits(bits) + 0.5f) - 0x3f000000;
  VI normal = (VI)((VU)bits + 0xfffu + (VU)((bits >> 13) & 1) - (112u << 23)) >> 13;
  VI result = Select(bits < 0x38800000, subnormal, normal);
  result = Select(bits >= 0x477ff000, SplatI(0x7c00), result);
  result = Select(bits > 0x7f800000, nan, result);
  return result | sign;
}
DX_INLINE VF LoadHalf(const uint16_t* p) {
  VI h;
  for (int i = 0; i < kWidth; ++i) h[i] = p[i];
  return HalfBitsToFloat(h);
}
DX_INLINE void StoreHalf(uint16_t* p, VF x) {
  VI h = FloatToHalfBits(x);
  for (int i = 0; i < kWidth; ++i) p[i] = static_cast<uint16_t>(h[i]);
}
DX_INLINE VF RoundToHalf(VF x) { return HalfBitsToFloat(FloatToHalfBits(x)); }
#endif

DX_INLINE VDPair Widen(VF x) {
  VFHalf half[2];
  __builtin_memcpy(half, &x, sizeof half);
  return {__builtin_convertvector(half[0], VD), __builtin_convertvector(half[1], VD)};
}
DX_INLINE VF Narrow(VD low, VD high) {
  VFHalf half[2] = {__builtin_convertvector(low, VFHalf), __builtin_convertvector(high, VFHalf)};
  VF x;
  __builtin_memcpy(&x, half, sizeof x);
  return x;
}

DX_INLINE float SumOf(VF x) {
#if DX_ISA == 2
  return _mm512_reduce_add_ps((__m512)x);
#elif DX_ISA == 3
  return vaddvq_f32((float32x4_t)x);
#else
  float lanes[kWidth];
  StoreF(lanes, x);
  for (int half = kWidth / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
#endif
}
// The largest or the smallest of elements of which none is NaN.
template <bool kLargest>
DX_INLINE float ExtremeLane(VF x) {
#if DX_ISA == 2
  return kLargest ? _mm512_reduce_max_ps((__m512)x) : _mm512_reduce_min_ps((__m512)x);
#elif DX_ISA == 3
  return kLargest ? vmaxvq_f32((float32x4_t)x) : vminvq_f32((float32x4_t)x);
#elif DX_ISA == 1
  auto join = [](__m128 a, __m128 b) { return kLargest ? _mm_max_ps(a, b) : _mm_min_ps(a, b); };
  __m128 half = join(_mm256_castps256_ps128((__m256)x), _mm256_extractf128_ps((__m256)x, 1));
  half = join(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(join(half, _mm_shuffle_ps(half, half, 1)));
#else
  alignas(64) float lanes[kWidth];
  StoreF(lanes, x);
  for (int half = kWidth / 2; half; half /= 2)
    for (int k = 0; k < half; ++k)
      if (kLargest ? lanes[k + half] > lanes[k] : lanes[k + half] < lanes[k]) lanes[k] = lanes[k + half];
  return lanes[0];
#endif
}
