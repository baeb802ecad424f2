// Running sums and products of floats in double. Included between isa_begin.inl and isa_end.inl.

template <bool kIsProduct, bool kIsExclusive>
void RunningRow(float* y, double* totals, const float* x, int64_t n) {
  auto join = [](auto total, auto value) { return kIsProduct ? total * value : total + value; };
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const VDPair value = Widen(LoadF(x + i));
    VD before[2], after[2];
    __builtin_memcpy(before, totals + i, sizeof before);
    after[0] = join(before[0], value.low);
    after[1] = join(before[1], value.high);
    __builtin_memcpy(totals + i, after, sizeof after);
    StoreF(y + i, kIsExclusive ? Narrow(before[0], before[1]) : Narrow(after[0], after[1]));
  }
  for (; i < n; ++i) {
    const double before = totals[i];
    totals[i] = join(before, static_cast<double>(x[i]));
    y[i] = static_cast<float>(kIsExclusive ? before : totals[i]);
  }
}
static void RunningRowOf(float* y, double* totals, const float* x, bool is_product, bool is_exclusive, int64_t n) {
  if (is_product) is_exclusive ? RunningRow<true, true>(y, totals, x, n) : RunningRow<true, false>(y, totals, x, n);
  else is_exclusive ? RunningRow<false, true>(y, totals, x, n) : RunningRow<false, false>(y, totals, x, n);
}
