// Functions of vectors of floats, each within about two ULP, with the edges of C's functions (NaN, infinities,
// signed zeros, subnormals). Included between isa_begin.inl and isa_end.inl, after vector.inl.

struct Reduced {
  VF r;  // x - n ln 2, at most ln 2 / 2 in size
  VI n;
};
DX_INLINE VF LessTimesLn2(VF x, VF n) { return (x - n * 0.693145751953125f) - n * 1.42860682030941723e-6f; }
DX_INLINE Reduced ReduceByLn2(VF x) {
  const VF magic = SplatF(12582912.0f);
  VF shifted = x * 1.44269504088896341f + magic;
  VI n = BitsOf(shifted) - BitsOf(magic);
  return {LessTimesLn2(x, shifted - magic), n};
}
// p * 2^n for n in [-252, 254], also where the result is subnormal.
DX_INLINE VF Scale(VF p, VI n) {
  VI half = n >> 1;
  return p * FromBits((half + 127) << 23) * FromBits((n - half + 127) << 23);
}

// e^r for |r| up to ln 2 / 2
DX_INLINE VF ExpOfReduced(VF r) {
  VF p = SplatF(1.395060202e-03f);
  p = p * r + 8.368953455e-03f;
  p = p * r + 4.166620414e-02f;
  p = p * r + 1.666651831e-01f;
  p = p * r + 5.000000096e-01f;
  return (p * (r * r) + r) + 1.0f;
}

DX_INLINE VF Exp(VF x) {
  VF y = Clamp(x, SplatF(-104.0f), SplatF(89.0f));
#if DX_ISA == 2
  VF n = RoundEven(y * 1.44269504088896341f);
  return (VF)_mm512_scalef_ps((__m512)ExpOfReduced(LessTimesLn2(y, n)), (__m512)n);
#else
  Reduced e = ReduceByLn2(y);
  return Scale(ExpOfReduced(e.r), e.n);
#endif
}

// e^x - 1
DX_INLINE VF ExpMinusOne(VF x) {
  Reduced e = ReduceByLn2(Clamp(x, SplatF(-30.0f), SplatF(89.0f)));
  VF r = e.r;
  VF p = SplatF(1.98412698e-4f);
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  VF half = FromBits((e.n + 126) << 23);  // 2^n / 2: n may be 128
  VF result = (p * half + (half - 0.5f)) * 2.0f;
  return Select(x == 0.0f, x, result);  // -0
}

DX_INLINE VF Log(VF x) {
  VI tiny = x < 1.17549435e-38f;
  VF y = Select(tiny, x * 8388608.0f, x);
  VI bits = (BitsOf(y) & 0x7fffffff) - 0x3f3504f3;  // the mantissa in [sqrt(1/2), sqrt(2)); no sign, which could overflow
  VI exponent = (bits >> 23) + Select(tiny, SplatI(-23), SplatI(0));
  VF m = FromBits((bits & 0x007fffff) + 0x3f3504f3);
  VF k = ToFloat(exponent);
  VF f = m - 1.0f;
  VF s = f / (2.0f + f);
  VF z = s * s;
  VF t = SplatF(2.22222222e-1f);
  t = t * z + 2.85714286e-1f;
  t = t * z + 0.4f;
  t = (t * z + 6.66666667e-1f) * z;
  VF h = 0.5f * f * f;
  VF result = k * 0.693145751953125f - ((h - (s * (h + t) + k * 1.42860682030941723e-6f)) - f);
  result = Select(x == SplatF(__builtin_inff()), x, result);
  result = Select(x == 0.0f, SplatF(-__builtin_inff()), result);
  return Select((x < 0.0f) | (x != x), SplatF(__builtin_nanf("")), result);
}

// ln(1 + x) for x in [0, 1], as 2 atanh(x / (2 + x))
DX_INLINE VF LogOnePlusPart(VF x) {
  VF s = x / (2.0f + x);
  VF z = s * s;
  VF p = SplatF(2.802408993e-01f);
  p = p * z + 2.799922565e-01f;
  p = p * z + 4.002169302e-01f;
  p = p * z + 6.666641326e-01f;
  return s * (p * z) + 2.0f * s;
}
// ln(1 + e^x)
DX_INLINE VF SoftPlus(VF x) { return LargerOr(x, VF{}) + LogOnePlusPart(Exp(-Abs(x))); }

DX_INLINE VF Tanh(VF x) {
  VF a = Abs(x);
  VF t = ExpMinusOne(2.0f * SmallerOr(SplatF(10.0f), a));
  VF result = t / (t + 2.0f);
  return CopySign(result, x);
}

DX_INLINE VF Sigmoid(VF x) { return 1.0f / (1.0f + Exp(-x)); }

// From here on 1 - erf(x) is negligible next to 1.
constexpr float kMaxComplement = 4.2f;
// (1 - erf(a)) / 2 for a in [0, 4.2]: a power of 2, whose exponent is a polynomial.
DX_INLINE VF HalfComplement(VF a) {
  VF y = SplatF(1.160478500e-05f);
  y = y * a + -1.529641397e-04f;
  y = y * a + 8.482335943e-04f;
  y = y * a + -2.274784114e-03f;
  y = y * a + 8.480388865e-05f;
  y = y * a + 2.772447686e-02f;
  y = y * a + -1.483079112e-01f;
  y = y * a + -9.184429005e-01f;
  y = y * a + -1.627907267e+00f;
  y = y * a - 1.0f;
  VF n = RoundEven(y);
  VF f = y - n;
  VF p = SplatF(1.547644376e-04f);
  p = p * f + 1.340039987e-03f;
  p = p * f + 9.618003397e-03f;
  p = p * f + 5.550327470e-02f;
  p = p * f + 2.402265135e-01f;
  p = p * f + 6.931472064e-01f;
  p = p * f + 1.0f;
#if DX_ISA == 2
  return (VF)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
  return p * FromBits((ToInt(n) + 127) << 23);
#endif
}

DX_INLINE VF Erf(VF x) {
  VF a = Abs(x);
  VF z = x * x;
  VF small = SplatF(-1.636584469e-07f);
  small = small * z + 1.646211437e-06f;
  small = small * z + -1.492565036e-05f;
  small = small * z + 1.205533298e-04f;
  small = small * z + -8.548327023e-04f;
  small = small * z + 5.223977625e-03f;
  small = small * z + -2.686617065e-02f;
  small = small * z + 1.128379167e-01f;
  small = small * z + -3.761263890e-01f;
  small = x + x * (small * z + 1.28379167e-01f);
  VF large = CopySign(1.0f - 2.0f * HalfComplement(SmallerOr(SplatF(kMaxComplement), a)), x);
  return Select((a < 1.0f) | (x != x), small, large);
}

// x * (1 + erf(x / sqrt(2))) / 2, by the complement, so that no digits of 1 + erf are lost.
DX_INLINE VF Gelu(VF x) {
  VF size = Abs(x);
  VF a = size * 0.70710678118654752f;
  VI below = x < 0.0f;
  VF tail = size * HalfComplement(SmallerOr(SplatF(kMaxComplement), a));
  // -infinity times 0 is NaN.
  return Select(below, VF{}, x) - Select(a >= kMaxComplement, Select(below, x, VF{}) * 0.0f, tail);
}

// x - n pi/2 in double precision; right for |x| up to 2^20.
struct Quadrant {
  VF r;
  VI n;
};
DX_INLINE VD QuarterTurns(VD x) {
  const VD magic = 6755399441055744.0 - VD{};
  return (x * 0.63661977236758134308 + magic) - magic;
}
DX_INLINE Quadrant ReduceByHalfPi(VF x) {
  VDPair wide = Widen(x);
  VD k0 = QuarterTurns(wide.low), k1 = QuarterTurns(wide.high);
  VD r0 = (wide.low - k0 * 1.57079632679489655800e+00) - k0 * 6.12323399573676603587e-17;
  VD r1 = (wide.high - k1 * 1.57079632679489655800e+00) - k1 * 6.12323399573676603587e-17;
  return {Narrow(r0, r1), ToInt(Narrow(k0, k1))};
}
DX_INLINE VF SinOrCos(VF x, int32_t quarter_turns) {
  Quadrant q = ReduceByHalfPi(x);
  VF z = q.r * q.r;
  VF s = SplatF(2.7557319e-6f);
  s = s * z + -1.98412698e-4f;
  s = s * z + 8.33333333e-3f;
  s = s * z + -1.66666667e-1f;
  s = q.r + q.r * (z * s);
  VF c = SplatF(2.48015873e-5f);
  c = c * z + -1.38888889e-3f;
  c = c * z + 4.16666667e-2f;
  c = 1.0f + (z * z * c - 0.5f * z);
  VI n = q.n + quarter_turns;
  VF result = Select((n & 1) != 0, c, s);
  result = FromBits(BitsOf(result) ^ ((n & 2) << 30));
  VI large = (Abs(x) > 1048576.0f) | (x != x);
  if (HasAny(large))
    for (int i = 0; i < kWidth; ++i)
      if (large[i]) result[i] = quarter_turns ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
  return result;
}
DX_INLINE VF Sin(VF x) { return Select(x == 0.0f, x, SinOrCos(x, 0)); }
DX_INLINE VF Cos(VF x) { return SinOrCos(x, 1); }

// e^(y ln a) for a > 0 in double precision.
DX_INLINE VD PowOfHalf(VD a, VD y) {
  VL bits = (VL)a - 0x3fe6a09e667f3bcd;  // the mantissa in [sqrt(1/2), sqrt(2))
  VD k = (VD)((bits >> 52) + 0x4338000000000000) - 6755399441055744.0;
  VD m = (VD)((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
  VD s = (m - 1.0) / (m + 1.0);
  VD z = s * s;
  VD t = 2.0 / 17.0 - VD{};
  t = t * z + 2.0 / 15.0;
  t = t * z + 2.0 / 13.0;
  t = t * z + 2.0 / 11.0;
  t = t * z + 2.0 / 9.0;
  t = t * z + 2.0 / 7.0;
  t = t * z + 2.0 / 5.0;
  t = t * z + 2.0 / 3.0;
  VD log = k * 0.693147180559945309417 + (s * 2.0 + s * z * t);
  VD x = y * log;
  x = x > 200.0 ? 200.0 - VD{} : x;
  x = x < -200.0 ? -200.0 - VD{} : x;
  const VD magic = 6755399441055744.0 - VD{};
  VD shifted = x * 1.44269504088896340736 + magic;
  VL n = (VL)shifted - (VL)magic;
  VD r = x - (shifted - magic) * 0.693147180559945309417;
  VD p = 1.0 / 39916800.0 - VD{};
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return p * (VD)((n + 1023) << 52);
}
// DirectML's power: 0 to any power is 0; infinity to the power of 0, 1 or a negative number to the power of infinity, and a negative
// number to the power of no integer are NaN.
DX_INLINE VF Pow(VF x, VF y) {
  const VF infinity = SplatF(__builtin_inff()), nan = SplatF(__builtin_nanf(""));
  VF a = Abs(x);
  VDPair wa = Widen(a), wy = Widen(y);
  VF result = Narrow(PowOfHalf(wa.low, wy.low), PowOfHalf(wa.high, wy.high));
  VI huge = a == infinity;
  result = Select(huge & (y < 0.0f), VF{}, result);
  result = Select(huge & (y > 0.0f), infinity, result);
  VF whole = Truncate(y), halved = y * 0.5f;
  VI is_whole = whole == y;
  VI odd = is_whole & (Truncate(halved) != halved);
  VI negative = x < 0.0f;
  result = FromBits(BitsOf(result) ^ (negative & odd & static_cast<int32_t>(0x80000000u)));
  VI none = (negative & ~is_whole) | ((Abs(y) == infinity) & (negative | (x == 1.0f))) | (huge & (y == 0.0f));
  result = Select(none, nan, result);
  result = Select(x == 0.0f, VF{}, result);
  return Select((x != x) | (y != y), nan, result);
}
