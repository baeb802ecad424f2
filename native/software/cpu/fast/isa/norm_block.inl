// Loops of normalisations. Sums are carried in floats over short pieces that stay in the level 1 cache, over pieces in double. Included
// between isa_begin.inl and isa_end.inl, after lanes.inl and reduce_block.inl.

// Lanes below count; the others are zero.
DX_INLINE VF KeepSome(VF x, int64_t count) {
  VI lane;
  for (int i = 0; i < kWidth; ++i) lane[i] = i;
  return Select(lane < static_cast<int32_t>(count), x, VF{});
}

// Sums of (x - center) and of its square.
static void CenteredSums(const float* x, int64_t n, float center, double* sum, double* squares) {
  VF s0 = VF{}, s1 = VF{}, q0 = VF{}, q1 = VF{}, q2 = VF{}, q3 = VF{};
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    const VF a = LoadF(x + i) - center, b = LoadF(x + i + kWidth) - center;
    const VF c = LoadF(x + i + 2 * kWidth) - center, d = LoadF(x + i + 3 * kWidth) - center;
    s0 += a + c;
    s1 += b + d;
    q0 += a * a;
    q1 += b * b;
    q2 += c * c;
    q3 += d * d;
  }
  for (; i < n; i += kWidth) {
    VF a = LoadSome(x + i, n - i) - center;
    if (n - i < kWidth) a = KeepSome(a, n - i);
    s0 += a;
    q0 += a * a;
  }
  *sum = static_cast<double>(SumOf(s0 + s1));
  *squares = static_cast<double>(SumOf((q0 + q1) + (q2 + q3)));
}

// The squares of a piece are taken around its own rounded mean, and what rounding left is made good.
static void MomentsBlock(const float* x, int64_t n, Moments* m) {
  for (int64_t start = 0; start < n; start += kPiece) {
    const int64_t count = n - start < kPiece ? n - start : kPiece;
    const double share = 1 / static_cast<double>(count);
    const auto center = static_cast<float>(SumBlock(x + start, count) * share);
    double rest, squares;
    CenteredSums(x + start, count, center, &rest, &squares);
    const double distance = rest * share;
    m->Join({static_cast<double>(count), static_cast<double>(center) + distance, squares - rest * distance});
  }
}

static void NormGradientSums(const float* dy, const float* x, float mean, int64_t n, NormSums* sums) {
  for (int64_t start = 0; start < n; start += kPiece) {
    const int64_t end = n - start < kPiece ? n : start + kPiece;
    VF s0 = VF{}, s1 = VF{}, d0 = VF{}, d1 = VF{}, p0 = VF{}, p1 = VF{};
    int64_t i = start;
    for (; i + 2 * kWidth <= end; i += 2 * kWidth) {
      const VF a = LoadF(dy + i), b = LoadF(dy + i + kWidth);
      s0 += a;
      s1 += b;
      const VF u = LoadF(x + i) - mean, v = LoadF(x + i + kWidth) - mean;
      d0 += u;
      d1 += v;
      p0 += a * u;
      p1 += b * v;
    }
    for (; i < end; i += kWidth) {
      const VF a = LoadSome(dy + i, end - i);
      VF centered = LoadSome(x + i, end - i) - mean;
      if (end - i < kWidth) centered = KeepSome(centered, end - i);
      s0 += a;
      d0 += centered;
      p0 += a * centered;
    }
    sums->dy += static_cast<double>(SumOf(s0 + s1));
    sums->distance += static_cast<double>(SumOf(d0 + d1));
    sums->product += static_cast<double>(SumOf(p0 + p1));
  }
}

static void NormGradient(float* dx, const float* dy, const float* x, float mean, float dy_mean, float of_dy, float of_x, int64_t n) {
  int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) StoreF(dx + i, (LoadF(dy + i) - dy_mean) * of_dy + (LoadF(x + i) - mean) * of_x);
  if (i < n) StoreSome(dx + i, (LoadSome(dy + i, n - i) - dy_mean) * of_dy + (LoadSome(x + i, n - i) - mean) * of_x, n - i);
}

template <bool kScales, bool kAdds>
void NormalizeAs(float* y, const float* x, float mean, float factor, float offset, const float* scale, float shift, const float* bias,
                 int64_t n) {
  auto of = [&](VF value, auto load) {
    value = (value - mean) * factor + offset;
    if constexpr (kScales) value = value * load(scale) + shift;
    if constexpr (kAdds) value += load(bias);
    return value;
  };
  int64_t i = 0;
  // Two at a time: a loop of one takes longer where it lies badly in memory.
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const VF first = of(LoadF(x + i), [&](const float* p) { return LoadF(p + i); });
    const VF second = of(LoadF(x + i + kWidth), [&](const float* p) { return LoadF(p + i + kWidth); });
    StoreF(y + i, first);
    StoreF(y + i + kWidth, second);
  }
  for (; i < n; i += kWidth) {
    const int64_t count = n - i;
    StoreSome(y + i, of(LoadSome(x + i, count), [&](const float* p) { return LoadSome(p + i, count); }), count);
  }
}

static void Normalize(float* y, const float* x, float mean, float factor, float offset, const float* scale, float shift, const float* bias,
                      int64_t n) {
  if (!scale) offset += shift;
  const auto run = scale  ? bias ? NormalizeAs<true, true> : NormalizeAs<true, false>
                    : bias ? NormalizeAs<false, true>
                          : NormalizeAs<false, false>;
  run(y, x, mean, factor, offset, scale, shift, bias, n);
}

static void NormScaleShift(float* factor, float* shift, const NormChannels& of, float epsilon, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    const int64_t count = n - i;
    VF mean = LoadSome(of.mean + i, count);
    if (of.offset) mean -= LoadSome(of.offset + i, count);
    const VF rate = LoadSome(of.scale + i, count) / Sqrt(LoadSome(of.variance + i, count) + epsilon);
    StoreSome(factor + i, rate, count);
    StoreSome(shift + i, LoadSome(of.bias + i, count) - mean * rate, count);
  }
}
