// All rows of a PackedDot by PackedDotOf<bits, rows, bytes of a scale, bytes of a minimum>, four at a time. Included after that.

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
