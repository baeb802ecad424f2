// Tiles of convolutions whose channels lie side by side: some pixels by some vectors of channels, sums in registers. Included between
// isa_begin.inl and isa_end.inl, after lanes.inl.

#if DX_ISA == 2  // no more vectors: they would come from the second cache level too fast
constexpr int kTileSums = 28, kMostPixelVectors = 2, kMostTilePixels = 14;
#elif DX_ISA == 3
constexpr int kTileSums = 24, kMostPixelVectors = 4, kMostTilePixels = 12;
#else
constexpr int kTileSums = 12, kMostPixelVectors = 3, kMostTilePixels = 12;
#endif
constexpr int64_t kStepsInSums = 768;  // sums are rounded less when they are not too long

template <int... kIndices>
using Sequence = std::integer_sequence<int, kIndices...>;

template <int kPixel, int kVectors, int... v>
DX_INLINE void MultiplyPixel(VF* sums, float value, const VF* weights, Sequence<v...>) {
  const VF wide = SplatF(value);
  ((sums[kPixel * kVectors + v] += wide * weights[v]), ...);
}
// Three pixels by one pointer.
template <int kVectors, int... p>
DX_INLINE void MultiplyStep(VF* sums, const float* const* in, int64_t step, const float* filter, Sequence<p...>) {
  VF weights[kVectors];
  for (int v = 0; v < kVectors; ++v) weights[v] = LoadF(filter + v * kWidth);
  (MultiplyPixel<p, kVectors>(sums, in[p / 3][(p % 3) * step], weights, std::make_integer_sequence<int, kVectors>()), ...);
}

// Sums that are added to what is in memory, or begin it, and then begin anew.
template <int... i>
DX_INLINE void FlushTile(VF* sums, float* totals, bool goes_on, Sequence<i...>) {
  (StoreF(totals + i * kWidth, goes_on ? LoadF(totals + i * kWidth) + sums[i] : sums[i]), ...);
  ((sums[i] = VF{}), ...);
}
template <int... i>
DX_INLINE void AddTotals(VF* sums, const float* totals, Sequence<i...>) {
  ((sums[i] += LoadF(totals + i * kWidth)), ...);
}
// What becomes of the sums of a vector of channels: see PixelTile.
struct PixelEnd {
  VF factor, shift, low, high;
  bool scales, holds;

  __attribute__((always_inline)) PixelEnd(const PixelTile& t, int64_t channel) {
    scales = t.factor != nullptr;
    factor = scales ? LoadF(t.factor + channel) : VF{};
    shift = scales ? LoadF(t.shift + channel) : VF{};
    holds = t.holds;
    low = SplatF(t.low);
    high = SplatF(t.high);
  }
  __attribute__((always_inline)) VF operator()(VF x, const float* added) const {
    if (scales) x = x * factor + shift;
    if (added) x += LoadF(added);
    return holds ? Hold(x, low, high) : x;
  }
};

// The end of all sums of a tile, while they are in registers: `first` is its first pixel.
template <int kVectors, int... i>
DX_INLINE void EndTileSums(VF* sums, const PixelTile& t, int64_t first, Sequence<i...>) {
  if (t.factor) {
    VF factor[kVectors], shift[kVectors];
    for (int v = 0; v < kVectors; ++v) factor[v] = LoadF(t.factor + v * kWidth);
    for (int v = 0; v < kVectors; ++v) shift[v] = LoadF(t.shift + v * kWidth);
    ((sums[i] = sums[i] * factor[i % kVectors] + shift[i % kVectors]), ...);
  }
  if (t.added) {
    const float* added = t.added + first * t.added_step;
    ((sums[i] += LoadF(added + i / kVectors * t.added_step + i % kVectors * kWidth)), ...);
  }
  if (t.holds) {
    const VF low = SplatF(t.low), high = SplatF(t.high);
    ((sums[i] = Hold(sums[i], low, high)), ...);
  }
  const int64_t step = t.out_step;
  float* out = t.out + first * step;
  (StoreF(out + i / kVectors * step + i % kVectors * kWidth, sums[i]), ...);
}

template <int kPixels, int kVectors>
DX_INLINE void MultiplyTile(const PixelTile& t, int64_t first) {
  constexpr int kSums = kPixels * kVectors;
  constexpr auto each = std::make_integer_sequence<int, kSums>();
  VF sums[kSums] = {};
  alignas(64) float room[kSums * kWidth];
  float* totals = room;
  __asm__("" : "+r"(totals));  // which are rarely used: known to be an array of its own, they would be carried along in every tile
  bool has_totals = false;
  int64_t steps = 0;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const float* from = t.in + first * t.in_step + t.offsets[tap];
    const float* in[(kMostTilePixels + 2) / 3];
    for (int i = 0; i < (kPixels + 2) / 3; ++i) in[i] = from + 3 * i * t.in_step;
    const float* filter = t.filter + t.cells[tap];
    for (int64_t left = t.length; left > 0;) {
      if (steps == kStepsInSums) {
        FlushTile(sums, totals, has_totals, each);
        has_totals = true;
        steps = 0;
      }
      const int64_t n = left < kStepsInSums - steps ? left : kStepsInSums - steps;
      for (int64_t k = 0; k < n; ++k, filter += kVectors * kWidth) {
        MultiplyStep<kVectors>(sums, in, t.in_step, filter, std::make_integer_sequence<int, kPixels>());
        for (int i = 0; i < (kPixels + 2) / 3; ++i) ++in[i];
      }
      left -= n;
      steps += n;
    }
  }
  if (has_totals) AddTotals(sums, totals, each);
  EndTileSums<kVectors>(sums, t, first, each);
}
template <int kPixels, int kVectors>
void MultiplyPixels(const PixelTile& t) {
  for (int64_t first = 0; first < t.tiles * kPixels; first += kPixels) MultiplyTile<kPixels, kVectors>(t, first);
}

// Each channel by itself, for kPixels pixels of t.length channels.
template <int kPixels>
void FilterPixels(const PixelTile& t) {
  for (int64_t c = 0; c < t.length; c += kWidth) {
    VF sums[kPixels] = {};
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const VF weight = LoadF(t.filter + t.cells[tap] + c);
      const float* in = t.in + t.offsets[tap] + c;
      for (int p = 0; p < kPixels; ++p) sums[p] += LoadF(in + p * t.in_step) * weight;
    }
    const PixelEnd end(t, c);
    for (int p = 0; p < kPixels; ++p) StoreF(t.out + p * t.out_step + c, end(sums[p], t.added ? t.added + p * t.added_step + c : nullptr));
  }
}

// The same by lines of kTaps taps side by side, kStep inputs from one pixel to the next: each input is read once for all pixels.
template <int kPixel, int kTap, int kTaps>
DX_INLINE void AddTap(VF* sums, VF input, const VF* weights) {
  if constexpr (kTap >= 0 && kTap < kTaps) sums[kPixel] += input * weights[kTap];
}
template <int kInput, int kTaps, int kStep, int... p>
DX_INLINE void AddInput(VF* sums, const float* in, const VF* weights, Sequence<p...>) {
  const VF input = LoadF(in);
  (AddTap<p, kInput - p * kStep, kTaps>(sums, input, weights), ...);
}
template <int kTaps, int kStep, int kPixels, int... i>
DX_INLINE void AddLine(VF* sums, const float* in, const PixelTile& t, const VF* weights, Sequence<i...>) {
  constexpr int kInputs = sizeof...(i), kOutside = kTaps / 2;
  // What lies outside of the input is not read.
  (((i < kOutside && i < t.skips_first) || (i >= kInputs - kOutside && i >= kInputs - t.skips_last)
        ? void()
        : AddInput<i, kTaps, kStep>(sums, in + i * t.place_step, weights, std::make_integer_sequence<int, kPixels>())),
   ...);
}
template <int kTaps, int kStep, int kPixels>
void FilterLines(const PixelTile& t) {
  constexpr auto inputs = std::make_integer_sequence<int, (kPixels - 1) * kStep + kTaps>();
  for (int64_t c = 0; c < t.length; c += kWidth) {
    VF sums[kPixels] = {};
    for (int64_t line = 0; line < t.taps; ++line) {
      VF weights[kTaps];
      for (int i = 0; i < kTaps; ++i) weights[i] = LoadF(t.filter + t.cells[line] + i * t.cell_step + c);
      AddLine<kTaps, kStep, kPixels>(sums, t.in + t.offsets[line] + c, t, weights, inputs);
    }
    const PixelEnd end(t, c);
    for (int p = 0; p < kPixels; ++p) StoreF(t.out + p * t.out_step + c, end(sums[p], t.added ? t.added + p * t.added_step + c : nullptr));
  }
}

// For a number of vectors the tiles of one pixel to as many as its sums leave room for.
template <int kVectors, int... p>
void AddPixelTiles(PixelTileKernel* to, Sequence<p...>) {
  ((to[p] = MultiplyPixels<p + 1, kVectors>), ...);
}
template <int kVectors>
constexpr int MostPixels() {
  return kTileSums / kVectors < kMostTilePixels ? kTileSums / kVectors : kMostTilePixels;
}
template <int... p>
void AddFilters(PixelTiles* to, Sequence<p...>) {
  ((to->filters[p] = FilterPixels<p + 1>), ...);
  ((to->lines[0][0][p] = FilterLines<3, 1, p + 1>, to->lines[0][1][p] = FilterLines<3, 2, p + 1>), ...);
  ((to->lines[1][0][p] = FilterLines<5, 1, p + 1>, to->lines[1][1][p] = FilterLines<5, 2, p + 1>), ...);
}
template <int... v>
PixelTiles AllPixelTiles(Sequence<v...>) {
  PixelTiles all{};
  all.vectors = static_cast<int>(sizeof...(v));
  ((all.pixels[v] = MostPixels<v + 1>(), AddPixelTiles<v + 1>(all.tiles[v], std::make_integer_sequence<int, MostPixels<v + 1>()>())), ...);
  AddFilters(&all, std::make_integer_sequence<int, PixelTiles::kFilterPixels>());
  return all;
}
