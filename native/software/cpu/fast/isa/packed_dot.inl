// Dot products of rows of packed codes with vectors of 21-bit integers, whose digits of 7 bits are multiplied as bytes: exact in each
// block. With DX_DOT_BYTES by instructions for dot products of bytes: AVX-512 VNNI, and those of NEON. Included between
// isa_begin.inl and isa_end.inl.

#if DX_ISA > 0 && !defined(DX_DOT_BYTES)
// Digits of x, in units of a group's scale.
DX_INLINE void SplitDigits(const int32_t* x, int8_t* low, int8_t* middle, int8_t* high, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int32_t l = ((x[i] + 64) & 127) - 64, rest = (x[i] - l) >> 7, m = ((rest + 64) & 127) - 64;
    low[i] = static_cast<int8_t>(l);
    middle[i] = static_cast<int8_t>(m);
    high[i] = static_cast<int8_t>((rest - m) >> 7);
  }
}

// Digits by byte of the codes: of 4 bits first those of the low halves, then of the high ones.
static bool PackVector(const float* x, int64_t n, int bits, int32_t middle, PackedGroup* groups) {
  const int64_t size = kPackedBytes * (8 / bits);
  for (int64_t first = 0; first < n; first += size, ++groups) {
    const int64_t count = n - first < size ? n - first : size;
    float largest = 0;
    bool is_plain = true;
    for (int64_t i = 0; i < count; ++i) {
      const float magnitude = __builtin_fabsf(x[first + i]);
      is_plain &= magnitude <= 1e34f;  // above, sums of products by codes could overflow
      largest = magnitude > largest ? magnitude : largest;
    }
    if (!is_plain) return false;
    const float inverse = largest > 1e-30f ? 1048576.0f / largest : 0;
    groups->scale = inverse > 0 ? largest / 1048576.0f : 0;
    if (largest > 0 && inverse == 0) return false;
    alignas(64) int32_t numbers[2 * kPackedBytes] = {}, split[2 * kPackedBytes];
    for (int64_t i = 0; i < count; ++i) {
      const float value = x[first + i] * inverse;
      numbers[i] = static_cast<int32_t>(value + (value < 0 ? -0.5f : 0.5f));
    }
    if (bits == 4) {
      for (int64_t i = 0; i < kPackedBytes; ++i) {
        split[i] = numbers[2 * i];
        split[kPackedBytes + i] = numbers[2 * i + 1];
      }
      for (int half = 0; half < 2; ++half)
        SplitDigits(split + half * kPackedBytes, groups->low[half], groups->middle[half], groups->high[half], kPackedBytes);
    } else {
      SplitDigits(numbers, groups->low[0], groups->middle[0], groups->high[0], kPackedBytes);
    }
    for (int64_t lane = 0; lane < kPackedBytes / 4; ++lane) {
      int32_t sum = 0;
      for (int64_t i = 0; i < size / (kPackedBytes / 4); ++i) sum += numbers[lane * (size / (kPackedBytes / 4)) + i];
      groups->shift[lane] = -middle * sum;
      groups->sums[lane] = static_cast<float>(sum);
    }
  }
  return true;
}
#elif DX_ISA == 0
constexpr bool (*PackVector)(const float* x, int64_t n, int bits, int32_t middle, PackedGroup* groups) = nullptr;
#endif

#if DX_ISA == 1 || DX_ISA == 2 || defined(DX_DOT_BYTES)
#if DX_ISA == 2
using VBytes = __m512i;
using VSums = __m512i;
constexpr bool kSignedCodes = false;
DX_INLINE VBytes LoadBytes(const void* p) { return _mm512_loadu_si512(p); }
DX_INLINE VBytes LoadSomeBytes(const uint8_t* p, int64_t n) { return _mm512_maskz_loadu_epi8(~uint64_t{0} >> (64 - n), p); }
DX_INLINE VBytes SetBytes(uint8_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
DX_INLINE VBytes Xor(VBytes a, VBytes b) { return _mm512_xor_si512(a, b); }
DX_INLINE VBytes LowHalves(VBytes a) { return _mm512_and_si512(a, SetBytes(15)); }
DX_INLINE VBytes HighHalves(VBytes a) { return _mm512_and_si512(_mm512_srli_epi16(a, 4), SetBytes(15)); }
DX_INLINE VSums LoadSums(const int32_t* p) { return _mm512_loadu_si512(p); }
DX_INLINE VSums Shift7(VSums a) { return _mm512_slli_epi32(a, 7); }
DX_INLINE VSums AddSums(VSums a, VSums b) { return _mm512_add_epi32(a, b); }
DX_INLINE VF FloatOf(VSums a) { return (VF)_mm512_cvtepi32_ps(a); }
#ifdef DX_DOT_BYTES
DX_INLINE VSums DotBytes(VSums sums, VBytes codes, const int8_t* digits) { return _mm512_dpbusd_epi32(sums, codes, LoadBytes(digits)); }
#else
DX_INLINE VBytes SetShorts(int16_t x) { return _mm512_set1_epi16(x); }
DX_INLINE VBytes AddShorts(VBytes a, VBytes b) { return _mm512_add_epi16(a, b); }
DX_INLINE VBytes MultiplyBytes(VBytes codes, const int8_t* digits) { return _mm512_maddubs_epi16(codes, LoadBytes(digits)); }
DX_INLINE VSums MultiplyShorts(VBytes a, int16_t b) { return _mm512_madd_epi16(a, SetShorts(b)); }
#endif
using VLanes = __m512i;
DX_INLINE VLanes LoadLanes(const int32_t* p) { return _mm512_loadu_si512(p); }
DX_INLINE VF Permute(VF x, VLanes lanes) { return (VF)_mm512_permutexvar_ps(lanes, (__m512)x); }
#elif DX_ISA == 1
using VBytes = __m256i;
using VSums = __m256i;
constexpr bool kSignedCodes = false;
DX_INLINE VBytes LoadBytes(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
DX_INLINE VBytes SetBytes(uint8_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
DX_INLINE VBytes Xor(VBytes a, VBytes b) { return _mm256_xor_si256(a, b); }
DX_INLINE VBytes LowHalves(VBytes a) { return _mm256_and_si256(a, SetBytes(15)); }
DX_INLINE VBytes HighHalves(VBytes a) { return _mm256_and_si256(_mm256_srli_epi16(a, 4), SetBytes(15)); }
DX_INLINE VSums LoadSums(const int32_t* p) { return LoadBytes(p); }
DX_INLINE VSums Shift7(VSums a) { return _mm256_slli_epi32(a, 7); }
DX_INLINE VSums AddSums(VSums a, VSums b) { return _mm256_add_epi32(a, b); }
DX_INLINE VF FloatOf(VSums a) { return (VF)_mm256_cvtepi32_ps(a); }
DX_INLINE VBytes SetShorts(int16_t x) { return _mm256_set1_epi16(x); }
DX_INLINE VBytes AddShorts(VBytes a, VBytes b) { return _mm256_add_epi16(a, b); }
DX_INLINE VBytes MultiplyBytes(VBytes codes, const int8_t* digits) { return _mm256_maddubs_epi16(codes, LoadBytes(digits)); }
DX_INLINE VSums MultiplyShorts(VBytes a, int16_t b) { return _mm256_madd_epi16(a, SetShorts(b)); }
using VLanes = __m256i;
DX_INLINE VLanes LoadLanes(const int32_t* p) { return LoadBytes(p); }
DX_INLINE VF Permute(VF x, VLanes lanes) { return (VF)_mm256_permutevar8x32_ps((__m256)x, lanes); }
#else
using VBytes = uint8x16_t;
using VSums = int32x4_t;
constexpr bool kSignedCodes = true;
DX_INLINE VBytes LoadBytes(const void* p) { return vld1q_u8(static_cast<const uint8_t*>(p)); }
DX_INLINE VBytes SetBytes(uint8_t x) { return vdupq_n_u8(x); }
DX_INLINE VBytes Xor(VBytes a, VBytes b) { return veorq_u8(a, b); }
DX_INLINE VBytes LowHalves(VBytes a) { return vandq_u8(a, SetBytes(15)); }
DX_INLINE VBytes HighHalves(VBytes a) { return vshrq_n_u8(a, 4); }
DX_INLINE VSums LoadSums(const int32_t* p) { return vld1q_s32(p); }
DX_INLINE VSums Shift7(VSums a) { return vshlq_n_s32(a, 7); }
DX_INLINE VSums AddSums(VSums a, VSums b) { return vaddq_s32(a, b); }
DX_INLINE VF FloatOf(VSums a) { return (VF)vcvtq_f32_s32(a); }
DX_INLINE VSums DotBytes(VSums sums, VBytes codes, const int8_t* digits) {
  return vdotq_s32(sums, vreinterpretq_s8_u8(codes), vld1q_s8(digits));
}
// The bytes of each lane, for TBL.
using VLanes = uint8x16_t;
DX_INLINE VLanes LoadLanes(const int32_t* p) {
  const uint32x4_t lanes = vreinterpretq_u32_s32(vld1q_s32(p));
  return vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100), lanes, 0x04040404));
}
DX_INLINE VF Permute(VF x, VLanes lanes) { return (VF)vqtbl1q_u8((uint8x16_t)x, lanes); }
#endif

constexpr int kCodeBytes = static_cast<int>(sizeof(VBytes));

#if DX_ISA == 2
// From number `first` of row r on, those of a window; halves or float32.
template <int kBytes>
DX_INLINE VF LoadNumbers(const uint8_t* from, int64_t row, int64_t first, int count) {
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const uint8_t* p = from + (row + first) * kBytes;
  return kBytes == 2 ? (VF)_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p)) : (VF)_mm512_maskz_loadu_ps(mask, p);
}
#else
DX_INLINE VBytes LoadSomeBytes(const uint8_t* p, int64_t n) {
  alignas(32) uint8_t bytes[kCodeBytes] = {};
  for (int64_t i = 0; i < n; ++i) bytes[i] = p[i];
  return LoadBytes(bytes);
}
// From number `first` of row r on, those of a window; halves or float32.
template <int kBytes>
DX_INLINE VF LoadNumbers(const uint8_t* from, int64_t row, int64_t first, int count) {
  const uint8_t* p = from + (row + first) * kBytes;
  alignas(32) uint8_t some[kWidth * kBytes] = {};
  if (count < kWidth) {
    for (int i = 0; i < count * kBytes; ++i) some[i] = p[i];
    p = some;
  }
  return kBytes == 2 ? LoadHalf(reinterpret_cast<const uint16_t*>(p)) : LoadF(reinterpret_cast<const float*>(p));
}
#endif

// Of codes by x in its units, by 4 bytes: exact. Codes of 8 bits are flipped first.
template <int kBits>
DX_INLINE VSums Products(VBytes codes, VBytes flip, const PackedGroup& x, int offset) {
  const VBytes a = kBits == 4 ? LowHalves(codes) : Xor(codes, flip), b = HighHalves(codes);
#ifdef DX_DOT_BYTES
  auto add = [&](VSums sum, const int8_t(&digits)[2][kPackedBytes]) __attribute__((always_inline)) {
    sum = DotBytes(sum, a, digits[0] + offset);
    return kBits == 4 ? DotBytes(sum, b, digits[1] + offset) : sum;
  };
  return add(Shift7(add(Shift7(add(VSums{}, x.high)), x.middle)), x.low);
#else
  auto sums = [&](const int8_t(&digits)[2][kPackedBytes]) __attribute__((always_inline)) {
    const VBytes of_a = MultiplyBytes(a, digits[0] + offset);
    return kBits == 4 ? AddShorts(of_a, MultiplyBytes(b, digits[1] + offset)) : of_a;
  };
  return AddSums(AddSums(MultiplyShorts(sums(x.low), 1), MultiplyShorts(sums(x.middle), 128)), MultiplyShorts(sums(x.high), 16384));
#endif
}

// The part of a group from byte `offset` on, of kRows rows. `left`: bytes of codes from there on, at least kCodeBytes where it is whole.
template <int kBits, int kRows, bool kIsWhole>
DX_INLINE void AddPart(const PackedDot& t, const PackedGroup& x, const uint8_t* from, int offset, int64_t left, VLanes lanes,
                       const VF* scales, VF* sums) {
  const VBytes flip = SetBytes(t.flips != kSignedCodes ? 0x80 : 0);
  const VSums shift = LoadSums(x.shift + offset / 4);
  const VF unit = VF{} + x.scale;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r, from += t.row_bytes) {
    if (offset == 0) PrefetchAhead(from);
    const VBytes codes = kIsWhole ? LoadBytes(from) : LoadSomeBytes(from, left);
    VSums sum = Products<kBits>(codes, flip, x, offset);
    // Signed codes of 8 bits have their middle at 0.
    if (kBits == 4 || !kSignedCodes) sum = AddSums(sum, shift);
    sums[r] += FloatOf(sum) * unit * Permute(scales[r], lanes);
  }
}

// A group has kPackedBytes bytes of codes, in parts of one vector. kScale, kMinimum: bytes of one; without minima 0.
template <int kBits, int kRows, int kScale, int kMinimum>
DX_INLINE void PackedDotOf(const PackedDot& t) {
  constexpr int kParts = kPackedBytes / kCodeBytes;
  VF sums[kRows] = {}, scales[kRows] = {};
  for (int64_t g = 0; g * kPackedBytes < t.row_bytes; ++g) {
#pragma GCC unroll 4
    for (int part = 0; part < kParts; ++part) {
      const int offset = part * kCodeBytes;
      const int64_t at = g * kPackedBytes + offset, left = t.row_bytes - at;
      if (left <= 0) break;
      const PackedScales& s = t.scales_of[g * kParts + part];
      if (s.count > 0) {
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) scales[r] = LoadNumbers<kScale>(t.scales, r * t.blocks, s.first, s.count);
      }
      const VLanes lanes = LoadLanes(s.lanes);
      if (left >= kCodeBytes) AddPart<kBits, kRows, true>(t, t.groups[g], t.codes + at, offset, left, lanes, scales, sums);
      else AddPart<kBits, kRows, false>(t, t.groups[g], t.codes + at, offset, left, lanes, scales, sums);
    }
  }
  for (int64_t b = 0; kMinimum > 0 && b < t.blocks; b += kWidth) {
    const int count = static_cast<int>(t.blocks - b < kWidth ? t.blocks - b : kWidth);
    const VF of_x = LoadF(t.block_sums + b);
    for (int r = 0; r < kRows; ++r) sums[r] += LoadNumbers < kMinimum == 2 ? 2 : 4 > (t.minima, r * t.blocks, b, count) * of_x;
  }
  for (int r = 0; r < kRows; ++r) t.sums[r] = SumOf(sums[r]);
}
template <int kBits, int kScale, int kMinimum>
DX_INLINE void PackedDotRows(const PackedDot& t) {
  PackedDot some = t;
  for (int r = 0; r < t.rows;) {
    const int rows = r + 4 <= t.rows ? 4 : 1;
    if (rows == 4) PackedDotOf<kBits, 4, kScale, kMinimum>(some);
    else PackedDotOf<kBits, 1, kScale, kMinimum>(some);
    r += rows;
    some.codes += rows * t.row_bytes;
    some.scales += rows * t.blocks * kScale;
    some.minima += rows * t.blocks * kMinimum;
    some.sums += rows;
  }
}
template <int kBits, int kScale>
static void MultiplyPackedBy(const PackedDot& t) {
  if (!t.minima) PackedDotRows<kBits, kScale, 0>(t);
  else if (t.half_minima) PackedDotRows<kBits, kScale, 2>(t);
  else PackedDotRows<kBits, kScale, 4>(t);
}
static void MultiplyPacked(const PackedDot& t) {
  if (t.bits == 4) t.half_scales ? MultiplyPackedBy<4, 2>(t) : MultiplyPackedBy<4, 4>(t);
  else t.half_scales ? MultiplyPackedBy<8, 2>(t) : MultiplyPackedBy<8, 4>(t);
}
constexpr int kPackedLanes = kCodeBytes / 4;
#else  // rows are unpacked to floats instead
constexpr int kPackedLanes = 0;
constexpr void (*MultiplyPacked)(const PackedDot& dot) = nullptr;
#endif
