// Dot products of rows of packed codes with vectors of 21-bit integers, by the dot products of bytes of AVX-512 VNNI: exact in each block.
// Included between isa_begin.inl and isa_end.inl.

DX_INLINE __m512i DotBytes(__m512i sums, __m512i codes, const int8_t* digits) {
  return _mm512_dpbusd_epi32(sums, codes, _mm512_load_si512(digits));
}

// From number `first` of row r on, those of a window; halves or float32.
template <int kBytes>
DX_INLINE VF LoadNumbers(const uint8_t* from, int64_t row, int64_t first, int count) {
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const uint8_t* p = from + (row + first) * kBytes;
  return kBytes == 2 ? (VF)_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p)) : (VF)_mm512_maskz_loadu_ps(mask, p);
}

// kScale, kMinimum: bytes of one; without minima 0.
template <int kBits, int kRows, int kScale, int kMinimum>
DX_INLINE void PackedDotOf(const PackedDot& t) {
  const __m512i mask = _mm512_set1_epi8(15), flip = _mm512_set1_epi8(static_cast<char>(t.flips ? 0x80 : 0));
  VF sums[kRows] = {}, scales[kRows] = {};
  for (int64_t g = 0; g * kPackedBytes < t.row_bytes; ++g) {
    const PackedGroup& x = t.groups[g];
    const PackedScales& s = t.scales_of[g];
    const int64_t at = g * kPackedBytes, left = t.row_bytes - at;
    if (s.count > 0) {
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) scales[r] = LoadNumbers<kScale>(t.scales, r * t.blocks, s.first, s.count);
    }
    const __m512i shift = _mm512_load_si512(x.shift), lanes = _mm512_load_si512(s.lanes);
    const __mmask64 some = ~uint64_t{0} >> (left < kPackedBytes ? kPackedBytes - left : 0);
    const VF unit = VF{} + x.scale;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const uint8_t* from = t.codes + r * t.row_bytes + at;
      PrefetchAhead(from);
      const __m512i codes = _mm512_maskz_loadu_epi8(some, from);
      __m512i sum = _mm512_setzero_si512();
      if (kBits == 4) {
        const __m512i a = _mm512_and_si512(codes, mask), b = _mm512_and_si512(_mm512_srli_epi16(codes, 4), mask);
        sum = _mm512_slli_epi32(DotBytes(DotBytes(sum, a, x.high[0]), b, x.high[1]), 7);
        sum = _mm512_slli_epi32(DotBytes(DotBytes(sum, a, x.middle[0]), b, x.middle[1]), 7);
        sum = DotBytes(DotBytes(sum, a, x.low[0]), b, x.low[1]);
      } else {
        const __m512i a = _mm512_xor_si512(codes, flip);
        sum = _mm512_slli_epi32(DotBytes(sum, a, x.high[0]), 7);
        sum = _mm512_slli_epi32(DotBytes(sum, a, x.middle[0]), 7);
        sum = DotBytes(sum, a, x.low[0]);
      }
      const VF scale = (VF)_mm512_permutexvar_ps(lanes, (__m512)scales[r]);
      sums[r] += (VF)_mm512_cvtepi32_ps(_mm512_add_epi32(sum, shift)) * unit * scale;
    }
  }
  for (int64_t b = 0; kMinimum > 0 && b < t.blocks; b += kWidth) {
    const int count = static_cast<int>(t.blocks - b < kWidth ? t.blocks - b : kWidth);
    const VF of_x = LoadF(t.block_sums + b);
    for (int r = 0; r < kRows; ++r) sums[r] += LoadNumbers<kMinimum == 2 ? 2 : 4>(t.minima, r * t.blocks, b, count) * of_x;
  }
  for (int r = 0; r < kRows; ++r) t.sums[r] = SumOf(sums[r]);
}
template <int kBits, int kScale, int kMinimum>
static void MultiplyPackedRows(const PackedDot& t) {
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
  if (!t.minima) MultiplyPackedRows<kBits, kScale, 0>(t);
  else if (t.half_minima) MultiplyPackedRows<kBits, kScale, 2>(t);
  else MultiplyPackedRows<kBits, kScale, 4>(t);
}
static void MultiplyPacked(const PackedDot& t) {
  if (t.bits == 4) t.half_scales ? MultiplyPackedBy<4, 2>(t) : MultiplyPackedBy<4, 4>(t);
  else t.half_scales ? MultiplyPackedBy<8, 2>(t) : MultiplyPackedBy<8, 4>(t);
}
