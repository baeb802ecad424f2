// Micro-kernels of NHWC convolutions: some pixels by some vectors of channels, sums in registers. Included between isa_begin.inl and
// isa_end.inl, after lanes.inl.

#if DX_ISA == 2  // no more vectors: they would come from the second cache level too fast
constexpr int kTileSums = 28, kMaxPixelVectors = 2, kMaxTilePixels = 14;
#elif DX_ISA == 3
constexpr int kTileSums = 24, kMaxPixelVectors = 4, kMaxTilePixels = 12;
#else
constexpr int kTileSums = 12, kMaxPixelVectors = 3, kMaxTilePixels = 12;
#endif
constexpr int64_t kStepsInSums = 768;  // sums are rounded less when they are not too long; 192 to 3072: within 5 % for LSTM, batch 16

template <int... kIndices>
using Sequence = std::integer_sequence<int, kIndices...>;

template <int kPixel, int kVectors, int... v>
DX_INLINE void MultiplyPixel(VF* sums, float value, const VF* weights, Sequence<v...>) {
  const VF wide = SplatF(value);
  ((sums[kPixel * kVectors + v] += wide * weights[v]), ...);
}
// Three pixels by one pointer.
template <int kVectors, int... p>
DX_INLINE void MultiplyStep(VF* sums, const float* const* in, int64_t stride, const float* filter, Sequence<p...>) {
  VF weights[kVectors];
  for (int v = 0; v < kVectors; ++v) weights[v] = LoadF(filter + v * kWidth);
  (MultiplyPixel<p, kVectors>(sums, in[p / 3][(p % 3) * stride], weights, std::make_integer_sequence<int, kVectors>()), ...);
}

// Stores the sums, added to those in memory if `accumulate`, and sets them to zero.
template <int... i>
DX_INLINE void FlushTile(VF* sums, float* totals, bool accumulate, Sequence<i...>) {
  (StoreF(totals + i * kWidth, accumulate ? LoadF(totals + i * kWidth) + sums[i] : sums[i]), ...);
  ((sums[i] = VF{}), ...);
}
template <int... i>
DX_INLINE void AddTotals(VF* sums, const float* totals, Sequence<i...>) {
  ((sums[i] += LoadF(totals + i * kWidth)), ...);
}
// The epilogue of a vector of channels: see PixelTile.
struct PixelEpilogue {
  VF factor, shift, low, high;
  bool scales, clamps;

  __attribute__((always_inline)) PixelEpilogue(const PixelTile& t, int64_t channel) {
    scales = t.factor != nullptr;
    factor = scales ? LoadF(t.factor + channel) : VF{};
    shift = scales ? LoadF(t.shift + channel) : VF{};
    clamps = t.clamps;
    low = SplatF(t.low);
    high = SplatF(t.high);
  }
  __attribute__((always_inline)) VF operator()(VF x, const float* residual) const {
    if (scales) x = x * factor + shift;
    if (residual) x += LoadF(residual);
    return clamps ? Clamp(x, low, high) : x;
  }
};

// Applies the epilogue to a tile in registers and stores it; `first` is its first pixel.
template <int kVectors, int... i>
DX_INLINE void ApplyEpilogueToSums(VF* sums, const PixelTile& t, int64_t first, Sequence<i...>) {
  if (t.factor) {
    VF factor[kVectors], shift[kVectors];
    for (int v = 0; v < kVectors; ++v) factor[v] = LoadF(t.factor + v * kWidth);
    for (int v = 0; v < kVectors; ++v) shift[v] = LoadF(t.shift + v * kWidth);
    ((sums[i] = sums[i] * factor[i % kVectors] + shift[i % kVectors]), ...);
  }
  if (t.residual) {
    const float* residual = t.residual + first * t.residual_stride;
    ((sums[i] += LoadF(residual + i / kVectors * t.residual_stride + i % kVectors * kWidth)), ...);
  }
  if (t.clamps) {
    const VF low = SplatF(t.low), high = SplatF(t.high);
    ((sums[i] = Clamp(sums[i], low, high)), ...);
  }
  const int64_t stride = t.out_stride;
  float* out = t.out + first * stride;
  (StoreF(out + i / kVectors * stride + i % kVectors * kWidth, sums[i]), ...);
}

template <int kPixels, int kVectors>
DX_INLINE void MultiplyTile(const PixelTile& t, int64_t first) {
  constexpr int kSums = kPixels * kVectors;
  constexpr auto each = std::make_integer_sequence<int, kSums>();
  VF sums[kSums] = {};
  alignas(64) float buffer[kSums * kWidth];
  float* totals = buffer;
  __asm__("" : "+r"(totals));  // which are rarely used: known to be an array of its own, they would be carried along in every tile
  bool has_totals = false;
  int64_t steps = 0;
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    const float* from = t.in + first * t.in_stride + t.offsets[tap];
    const float* in[(kMaxTilePixels + 2) / 3];
    for (int i = 0; i < (kPixels + 2) / 3; ++i) in[i] = from + 3 * i * t.in_stride;
    const float* filter = t.filter + t.filter_offsets[tap];
    for (int64_t left = t.length; left > 0;) {
      if (steps == kStepsInSums) {
        FlushTile(sums, totals, has_totals, each);
        has_totals = true;
        steps = 0;
      }
      const int64_t n = left < kStepsInSums - steps ? left : kStepsInSums - steps;
      for (int64_t k = 0; k < n; ++k, filter += kVectors * kWidth) {
        MultiplyStep<kVectors>(sums, in, t.in_stride, filter, std::make_integer_sequence<int, kPixels>());
        for (int i = 0; i < (kPixels + 2) / 3; ++i) ++in[i];
      }
      left -= n;
      steps += n;
    }
  }
  if (has_totals) AddTotals(sums, totals, each);
  ApplyEpilogueToSums<kVectors>(sums, t, first, each);
}
template <int kPixels, int kVectors>
void MultiplyPixels(const PixelTile& t) {
  for (int64_t first = 0; first < t.tiles * kPixels; first += kPixels) MultiplyTile<kPixels, kVectors>(t, first);
}

// Depthwise: kPixels pixels of t.length channels.
template <int kPixels>
void DepthwisePixels(const PixelTile& t) {
  for (int64_t c = 0; c < t.length; c += kWidth) {
    VF sums[kPixels] = {};
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      const VF weight = LoadF(t.filter + t.filter_offsets[tap] + c);
      const float* in = t.in + t.offsets[tap] + c;
      for (int p = 0; p < kPixels; ++p) sums[p] += LoadF(in + p * t.in_stride) * weight;
    }
    const PixelEpilogue end(t, c);
    for (int p = 0; p < kPixels; ++p)
      StoreF(t.out + p * t.out_stride + c, end(sums[p], t.residual ? t.residual + p * t.residual_stride + c : nullptr));
  }
}

// For a number of vectors: tiles of 1 pixel up to as many as registers allow.
template <int kVectors, int... p>
void AddPixelTiles(PixelTileKernel* to, Sequence<p...>) {
  ((to[p] = MultiplyPixels<p + 1, kVectors>), ...);
}
template <int kVectors>
constexpr int MaxPixels() {
  return kTileSums / kVectors < kMaxTilePixels ? kTileSums / kVectors : kMaxTilePixels;
}
template <int... p>
void AddDepthwise(PixelTiles* to, Sequence<p...>) {
  ((to->depthwise[p] = DepthwisePixels<p + 1>), ...);
}
template <int... v>
PixelTiles AllPixelTiles(Sequence<v...>) {
  PixelTiles all{};
  all.vectors = static_cast<int>(sizeof...(v));
  ((all.pixels[v] = MaxPixels<v + 1>(), AddPixelTiles<v + 1>(all.tiles[v], std::make_integer_sequence<int, MaxPixels<v + 1>()>())), ...);
  AddDepthwise(&all, std::make_integer_sequence<int, PixelTiles::kDepthwisePixels>());
  return all;
}
