// Dot products of rows of packed codes with vectors of 21-bit integers, whose digits of 7 bits are multiplied as bytes: exact in each
// block. Included between isa_begin.inl and isa_end.inl.

#if DX_ISA > 0
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
#else
constexpr bool (*PackVector)(const float* x, int64_t n, int bits, int32_t middle, PackedGroup* groups) = nullptr;
#endif

#if DX_ISA == 1 || DX_ISA == 2
#if DX_ISA == 2
using VBytes = __m512i;
constexpr int kCodeBytes = 64;
DX_INLINE VBytes LoadBytes(const void* p) { return _mm512_loadu_si512(p); }
DX_INLINE VBytes LoadSomeBytes(const uint8_t* p, int64_t n) { return _mm512_maskz_loadu_epi8(~uint64_t{0} >> (64 - n), p); }
DX_INLINE VBytes SetBytes(int8_t x) { return _mm512_set1_epi8(x); }
DX_INLINE VBytes SetShorts(int16_t x) { return _mm512_set1_epi16(x); }
DX_INLINE VBytes And(VBytes a, VBytes b) { return _mm512_and_si512(a, b); }
DX_INLINE VBytes Xor(VBytes a, VBytes b) { return _mm512_xor_si512(a, b); }
DX_INLINE VBytes HighHalves(VBytes a) { return _mm512_srli_epi16(a, 4); }
DX_INLINE VBytes MultiplyBytes(VBytes a, VBytes b) { return _mm512_maddubs_epi16(a, b); }
DX_INLINE VBytes MultiplyShorts(VBytes a, VBytes b) { return _mm512_madd_epi16(a, b); }
DX_INLINE VBytes AddShorts(VBytes a, VBytes b) { return _mm512_add_epi16(a, b); }
DX_INLINE VBytes AddInts(VBytes a, VBytes b) { return _mm512_add_epi32(a, b); }
DX_INLINE VF FloatOf(VBytes a) { return (VF)_mm512_cvtepi32_ps(a); }
// Number lanes[i] of `count` numbers to lane i.
template <bool kHalf>
DX_INLINE VF Spread(const uint8_t* p, int count, const int32_t* lanes) {
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const __m512 some = kHalf ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p)) : _mm512_maskz_loadu_ps(mask, p);
  return (VF)_mm512_permutexvar_ps(_mm512_loadu_si512(lanes), some);
}
#else
using VBytes = __m256i;
constexpr int kCodeBytes = 32;
DX_INLINE VBytes LoadBytes(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
DX_INLINE VBytes LoadSomeBytes(const uint8_t* p, int64_t n) {
  alignas(32) uint8_t bytes[32] = {};
  for (int64_t i = 0; i < n; ++i) bytes[i] = p[i];
  return LoadBytes(bytes);
}
DX_INLINE VBytes SetBytes(int8_t x) { return _mm256_set1_epi8(x); }
DX_INLINE VBytes SetShorts(int16_t x) { return _mm256_set1_epi16(x); }
DX_INLINE VBytes And(VBytes a, VBytes b) { return _mm256_and_si256(a, b); }
DX_INLINE VBytes Xor(VBytes a, VBytes b) { return _mm256_xor_si256(a, b); }
DX_INLINE VBytes HighHalves(VBytes a) { return _mm256_srli_epi16(a, 4); }
DX_INLINE VBytes MultiplyBytes(VBytes a, VBytes b) { return _mm256_maddubs_epi16(a, b); }
DX_INLINE VBytes MultiplyShorts(VBytes a, VBytes b) { return _mm256_madd_epi16(a, b); }
DX_INLINE VBytes AddShorts(VBytes a, VBytes b) { return _mm256_add_epi16(a, b); }
DX_INLINE VBytes AddInts(VBytes a, VBytes b) { return _mm256_add_epi32(a, b); }
DX_INLINE VF FloatOf(VBytes a) { return (VF)_mm256_cvtepi32_ps(a); }
// Number lanes[i] of `count` numbers to lane i.
template <bool kHalf>
DX_INLINE VF Spread(const uint8_t* p, int count, const int32_t* lanes) {
  __m256 some;
  if (kHalf) {
    // Two are the blocks of 32 elements of 4 bits.
    alignas(16) uint16_t halves[8] = {};
    if (count == 2) __builtin_memcpy(halves, p, 4);
    else
      for (int i = 0; i < count; ++i) __builtin_memcpy(halves + i, p + 2 * i, 2);
    some = _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(halves)));
  } else {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    some = _mm256_maskload_ps(reinterpret_cast<const float*>(p), _mm256_cmpgt_epi32(_mm256_set1_epi32(count), numbers));
  }
  return (VF)_mm256_permutevar8x32_ps(some, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes)));
}
#endif

// A group has kPackedBytes bytes of codes: one vector of AVX-512, two of AVX2. kScale, kMinimum: bytes of one; without minima 0.
template <int kBits, int kRows, int kScale, int kMinimum>
DX_INLINE void PackedDotOf(const PackedDot& t) {
  const VBytes mask = SetBytes(15), flip = SetBytes(static_cast<int8_t>(t.flips ? 0x80 : 0)), one = SetShorts(1),
               low_digit = SetShorts(128), high_digit = SetShorts(16384);
  VF sums[kRows] = {};
  for (int64_t g = 0; g * kPackedBytes < t.row_bytes; ++g) {
    const PackedGroup& x = t.groups[g];
    for (int part = 0; part < kPackedBytes / kCodeBytes; ++part) {
      const int64_t at = g * kPackedBytes + part * kCodeBytes, left = t.row_bytes - at;
      if (left <= 0) break;
      const int offset = part * kCodeBytes, lanes = offset / 4;
      const PackedScales& s = t.scales_of[g * (kPackedBytes / kCodeBytes) + part];
      const VBytes shift = LoadBytes(x.shift + lanes);
      const VF unit = VF{} + x.scale, x_sums = LoadF(x.sums + lanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const uint8_t* from = t.codes + r * t.row_bytes + at;
        PrefetchAhead(from);
        const VBytes codes = left >= kCodeBytes ? LoadBytes(from) : LoadSomeBytes(from, left);
        VBytes l, m, h;
        if (kBits == 4) {
          const VBytes a = And(codes, mask), b = And(HighHalves(codes), mask);
          l = AddShorts(MultiplyBytes(a, LoadBytes(x.low[0] + offset)), MultiplyBytes(b, LoadBytes(x.low[1] + offset)));
          m = AddShorts(MultiplyBytes(a, LoadBytes(x.middle[0] + offset)), MultiplyBytes(b, LoadBytes(x.middle[1] + offset)));
          h = AddShorts(MultiplyBytes(a, LoadBytes(x.high[0] + offset)), MultiplyBytes(b, LoadBytes(x.high[1] + offset)));
        } else {
          const VBytes a = Xor(codes, flip);
          l = MultiplyBytes(a, LoadBytes(x.low[0] + offset));
          m = MultiplyBytes(a, LoadBytes(x.middle[0] + offset));
          h = MultiplyBytes(a, LoadBytes(x.high[0] + offset));
        }
        const VBytes sum =
            AddInts(AddInts(MultiplyShorts(l, one), MultiplyShorts(m, low_digit)), AddInts(MultiplyShorts(h, high_digit), shift));
        const int64_t first = r * t.blocks + s.first;
        VF product = FloatOf(sum) * Spread<kScale == 2>(t.scales + first * kScale, s.count, s.lanes);
        if (kMinimum) product += x_sums * Spread<kMinimum == 2>(t.minima + first * kMinimum, s.count, s.lanes);
        sums[r] += product * unit;
      }
    }
  }
  for (int r = 0; r < kRows; ++r) t.sums[r] = SumOf(sums[r]);
}
#include "packed_rows.inl"
constexpr int kPackedLanes = kCodeBytes / 4;
#else  // rows are unpacked to floats instead
constexpr int kPackedLanes = 0;
constexpr void (*MultiplyPacked)(const PackedDot& dot) = nullptr;
#endif
