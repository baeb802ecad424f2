// The epilogue of a GEMM tile, in one pass over registers. Included between isa_begin.inl and isa_end.inl, after lanes.inl.

template <bool kScales, bool kAdds, bool kClamps>
void ApplyEpilogueAs(float* to, int64_t to_stride, const float* sums, int64_t sums_stride, const TileEpilogue& end, int64_t rows,
                     int64_t n) {
  const VF low = SplatF(end.low), high = SplatF(end.high);
  const float *factor = end.factor, *shift = end.shift, *residual = end.residual;
  for (int64_t r = 0; r < rows; ++r, to += to_stride, sums += sums_stride) {
    auto finish = [&](VF x, VF other) {
      if constexpr (kScales) x = x * SplatF(*factor) + SplatF(*shift);
      if constexpr (kAdds) x += other;
      if constexpr (kClamps) x = Clamp(x, low, high);
      return x;
    };
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      VF other = VF{};
      if constexpr (kAdds) other = LoadF(residual + i);
      StoreF(to + i, finish(LoadF(sums + i), other));
    }
    if (i < n) {
      VF other = VF{};
      if constexpr (kAdds) other = LoadSome(residual + i, n - i);
      StoreSome(to + i, finish(LoadSome(sums + i, n - i), other), n - i);
    }
    if constexpr (kScales) ++factor, ++shift;
    if constexpr (kAdds) residual += end.residual_stride;
  }
}

static void ApplyEpilogue(float* to, int64_t to_stride, const float* sums, int64_t sums_stride, const TileEpilogue& end, int64_t rows,
                          int64_t n) {
  constexpr float kNone = __builtin_inff();
  const bool clamps = end.low != -kNone || end.high != kNone;
  const auto run = end.factor     ? end.residual ? clamps ? ApplyEpilogueAs<true, true, true> : ApplyEpilogueAs<true, true, false>
                                    : clamps ? ApplyEpilogueAs<true, false, true>
                                                 : ApplyEpilogueAs<true, false, false>
                       : end.residual ? clamps ? ApplyEpilogueAs<false, true, true> : ApplyEpilogueAs<false, true, false>
                       : clamps ? ApplyEpilogueAs<false, false, true>
                                  : ApplyEpilogueAs<false, false, false>;
  run(to, to_stride, sums, sums_stride, end, rows, n);
}
