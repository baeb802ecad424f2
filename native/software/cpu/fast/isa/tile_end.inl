// The end of a product's tile, in one pass over registers. Included between isa_begin.inl and isa_end.inl, after lanes.inl.

template <bool kScales, bool kAdds, bool kHolds>
void EndTileAs(float* to, int64_t to_stride, const float* sums, int64_t sums_stride, const TileEnd& end, int64_t rows, int64_t n) {
  const VF low = SplatF(end.low), high = SplatF(end.high);
  const float *factor = end.factor, *shift = end.shift, *added = end.added;
  for (int64_t r = 0; r < rows; ++r, to += to_stride, sums += sums_stride) {
    auto finish = [&](VF x, VF other) {
      if constexpr (kScales) x = x * SplatF(*factor) + SplatF(*shift);
      if constexpr (kAdds) x += other;
      if constexpr (kHolds) x = Hold(x, low, high);
      return x;
    };
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      VF other = VF{};
      if constexpr (kAdds) other = LoadF(added + i);
      StoreF(to + i, finish(LoadF(sums + i), other));
    }
    if (i < n) {
      VF other = VF{};
      if constexpr (kAdds) other = LoadSome(added + i, n - i);
      StoreSome(to + i, finish(LoadSome(sums + i, n - i), other), n - i);
    }
    if constexpr (kScales) ++factor, ++shift;
    if constexpr (kAdds) added += end.added_step;
  }
}

static void EndTile(float* to, int64_t to_stride, const float* sums, int64_t sums_stride, const TileEnd& end, int64_t rows, int64_t n) {
  constexpr float kNone = __builtin_inff();
  const bool holds = end.low != -kNone || end.high != kNone;
  const auto run = end.factor  ? end.added ? holds ? EndTileAs<true, true, true> : EndTileAs<true, true, false>
                                 : holds ? EndTileAs<true, false, true>
                                           : EndTileAs<true, false, false>
                    : end.added ? holds ? EndTileAs<false, true, true> : EndTileAs<false, true, false>
                    : holds ? EndTileAs<false, false, true>
                               : EndTileAs<false, false, false>;
  run(to, to_stride, sums, sums_stride, end, rows, n);
}
