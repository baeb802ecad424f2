// Runs a block of threads: each instruction for all of them before the next one, under masks where they diverge. Included between
// isa_begin.inl and isa_end.inl, after vector.inl and math.inl.

using shader::Block;
using shader::Instruction;
using shader::Lanes;
using shader::MemoryRange;
using shader::Op;

DX_INLINE VI LoadLanes(const Lanes& v, int64_t i) {
  VI x;
  __builtin_memcpy(&x, v.data + (static_cast<uint64_t>(i) & v.mask), sizeof x);
  return x;
}
DX_INLINE void StoreLanes(uint32_t* to, int64_t i, VI x) { __builtin_memcpy(to + i, &x, sizeof x); }
DX_INLINE uint32_t LaneOf(const Lanes& v, int64_t i) { return v.data[static_cast<uint64_t>(i) & v.mask]; }

DX_INLINE VF Exp2(VF x) {
  VF y = Select(x > 129.0f, SplatF(129.0f), x);
  y = Select(y < -151.0f, SplatF(-151.0f), y);
  const VF magic = SplatF(12582912.0f);
  const VF shifted = y + magic;
  const VI n = BitsOf(shifted) - BitsOf(magic);
  const VF r = (y - (shifted - magic)) * 0.693147181f;
  VF p = SplatF(1.98412698e-4f);
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = (p * (r * r) + r) + 1.0f;
  return Select(x != x, x, Scale(p, n));
}

DX_INLINE VF Log2(VF x) {
  const VI tiny = x < 1.17549435e-38f;
  const VF y = Select(tiny, x * 8388608.0f, x);
  const VI bits = (BitsOf(y) & 0x7fffffff) - 0x3f3504f3;
  const VI exponent = (bits >> 23) + Select(tiny, SplatI(-23), SplatI(0));
  const VF m = FromBits((bits & 0x007fffff) + 0x3f3504f3);
  VF result = Log(m) * 1.44269504f + ToFloat(exponent);
  result = Select(x == SplatF(__builtin_inff()), x, result);
  result = Select(x == 0.0f, SplatF(-__builtin_inff()), result);
  return Select((x < 0.0f) | (x != x), SplatF(__builtin_nanf("")), result);
}

// Direct3D's conversions: towards 0, at the ends of the range where it is beyond, 0 for NaN.
DX_INLINE VI FloatToInt(VF x) {
  const VI low = x < -2147483648.0f, high = x >= 2147483648.0f, nan = x != x;
  VI result = ToInt(Select(low | high | nan, VF{}, x));
  result = Select(low, SplatI(INT32_MIN), result);
  return Select(high, SplatI(INT32_MAX), result);
}
DX_INLINE VI FloatToUInt(VF x) {
  const VI valid = x > 0.0f, high = x >= 4294967296.0f, upper = x >= 2147483648.0f;
  const VF y = Select(valid & ~high, x, VF{});
  const VI result = ToInt(Select(upper & ~high, y - 2147483648.0f, y)) ^ (upper & ~high & SplatI(INT32_MIN));
  return Select(high, SplatI(-1), result);
}
DX_INLINE VF UIntToFloat(VI x) {
  // Halved with its last bit kept, so that it is rounded once.
  const VI halved = (VI)((VU)x >> 1) | (x & 1);
  return Select(x < 0, ToFloat(halved) * 2.0f, ToFloat(x));
}

// Towards 0, as Direct3D's rules for conversions to a format of lower range ask; what is finite stays so.
DX_INLINE VI FloatToHalfWords(VF x) {
  const VI bits = BitsOf(x), magnitude = bits & 0x7fffffff;
  const VI subnormal = ToInt(Select(magnitude < 0x38800000, FromBits(magnitude) * 16777216.0f, VF{}));
  VI half = Select(magnitude < 0x38800000, subnormal, (magnitude - (112 << 23)) >> 13);
  half = Select(magnitude >= 0x47800000, SplatI(0x7bff), half);
  half = Select(magnitude >= 0x7f800000, SplatI(0x7c00), half);
  half = Select(magnitude > 0x7f800000, SplatI(0x7e00), half);
  return half | (bits >> 16 & 0x8000);
}
DX_INLINE VF HalfWordsToFloat(VI x) {
  uint16_t bits[kWidth];
  for (int i = 0; i < kWidth; ++i) bits[i] = static_cast<uint16_t>(x[i]);
  return LoadHalf(bits);
}

DX_INLINE VI CountBits(VI x) {
  VU v = (VU)x;
  v = v - ((v >> 1) & 0x55555555u);
  v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
  v = (v + (v >> 4)) & 0x0f0f0f0fu;
  return (VI)((v * 0x01010101u) >> 24);
}
DX_INLINE VI ReverseBits(VI x) {
  VU v = (VU)x;
  v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
  v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
  v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
  v = ((v >> 8) & 0x00ff00ffu) | ((v & 0x00ff00ffu) << 8);
  return (VI)((v >> 16) | (v << 16));
}
// From the lowest bit; -1 for none.
DX_INLINE VI FirstBitLow(VI x) { return Select(x == 0, SplatI(-1), CountBits((VI)(((VU)x & -(VU)x) - 1u))); }
// From the highest bit.
DX_INLINE VI FirstBitHigh(VI x) { return FirstBitLow(ReverseBits(x)); }

DX_INLINE VI ExtractU(VI width, VI offset, VI value) {
  width &= 31;
  offset &= 31;
  const VU v = (VU)value;
  const VI shorter = width + offset < 32;
  const VU cut = (v << (VU)(shorter ? 32 - (width + offset) : VI{})) >> (VU)(shorter ? (32 - width) & 31 : offset);
  return Select(width == 0, SplatI(0), (VI)cut);
}
DX_INLINE VI ExtractI(VI width, VI offset, VI value) {
  width &= 31;
  offset &= 31;
  const VI shorter = width + offset < 32;
  const VI cut = (VI)((VU)value << (VU)(shorter ? 32 - (width + offset) : VI{})) >> (shorter ? (32 - width) & 31 : offset);
  return Select(width == 0, SplatI(0), cut);
}
DX_INLINE VI Insert(VI width, VI offset, VI from, VI base) {
  const VU mask = (((VU)SplatI(1) << (VU)(width & 31)) - 1u) << (VU)(offset & 31);
  return (VI)((((VU)from << (VU)(offset & 31)) & mask) | ((VU)base & ~mask));
}

template <typename F>
DX_INLINE void Map1(uint32_t* to, Lanes a, int64_t n, F f) {
  for (int64_t i = 0; i < n; i += kWidth) StoreLanes(to, i, f(LoadLanes(a, i)));
}
template <typename F>
DX_INLINE void Map2(uint32_t* to, Lanes a, Lanes b, int64_t n, F f) {
  if (!b.mask) {
    const VI y = LoadLanes(b, 0);
    for (int64_t i = 0; i < n; i += kWidth) StoreLanes(to, i, f(LoadLanes(a, i), y));
    return;
  }
  for (int64_t i = 0; i < n; i += kWidth) StoreLanes(to, i, f(LoadLanes(a, i), LoadLanes(b, i)));
}
template <typename F>
DX_INLINE void Map3(uint32_t* to, Lanes a, Lanes b, Lanes c, int64_t n, F f) {
  for (int64_t i = 0; i < n; i += kWidth) StoreLanes(to, i, f(LoadLanes(a, i), LoadLanes(b, i), LoadLanes(c, i)));
}
template <typename F>
DX_INLINE void MapWords(uint32_t* to, Lanes a, Lanes b, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) to[i] = f(LaneOf(a, i), LaneOf(b, i));
}

// The words of one instruction's result, for all lanes, whatever the mask.
static void RunWords(const Instruction& in, const Lanes* v, uint32_t* to, int64_t n) {
  const Lanes a = v[in.s[0]], b = v[in.s[1]], c = v[in.s[2]];
#define DX_UNARY_F(name, expression) \
  case Op::name: return Map1(to, a, n, [](VI p) { [[maybe_unused]] const VF x = FromBits(p); return expression; });
#define DX_UNARY_I(name, expression) \
  case Op::name: return Map1(to, a, n, [](VI x) { return expression; });
#define DX_BINARY_F(name, expression)                \
  case Op::name:                                     \
    return Map2(to, a, b, n, [](VI p, VI q) {        \
      const VF x = FromBits(p), y = FromBits(q);     \
      return expression;                             \
    });
#define DX_BINARY_I(name, expression) \
  case Op::name: return Map2(to, a, b, n, [](VI x, VI y) { return expression; });
  switch (in.op) {
    DX_UNARY_I(Mov, x)
    DX_UNARY_I(NegF, x ^ SplatI(INT32_MIN))
    DX_UNARY_I(AbsF, x & 0x7fffffff)
    DX_UNARY_I(NegI, (VI)(-(VU)x))
    DX_UNARY_F(Saturate, BitsOf(Select(x > 0.0f, Select(x < 1.0f, x, SplatF(1.0f)), VF{})))
    DX_UNARY_F(Rcp, BitsOf(1.0f / x))
    DX_UNARY_F(Rsq, BitsOf(1.0f / Sqrt(x)))
    DX_UNARY_F(Sqrt, BitsOf(Sqrt(x)))
    DX_UNARY_F(Exp2, BitsOf(Exp2(x)))
    DX_UNARY_F(Log2, BitsOf(Log2(x)))
    DX_UNARY_F(Sin, BitsOf(Sin(x)))
    DX_UNARY_F(Cos, BitsOf(Cos(x)))
    DX_UNARY_F(Frac, BitsOf(x - Floor(x)))
    DX_UNARY_F(RoundEven, BitsOf(RoundEven(x)))
    DX_UNARY_F(Floor, BitsOf(Floor(x)))
    DX_UNARY_F(Ceil, BitsOf(Ceil(x)))
    DX_UNARY_F(Truncate, BitsOf(Truncate(x)))
    DX_UNARY_F(FloatToInt, FloatToInt(x))
    DX_UNARY_F(FloatToUInt, FloatToUInt(x))
    DX_UNARY_F(FloatToHalf, FloatToHalfWords(x))
    DX_UNARY_I(HalfToFloat, BitsOf(HalfWordsToFloat(x)))
    DX_UNARY_I(IntToFloat, BitsOf(ToFloat(x)))
    DX_UNARY_I(UIntToFloat, BitsOf(UIntToFloat(x)))
    DX_UNARY_I(Not, ~x)
    DX_UNARY_I(CountBits, CountBits(x))
    DX_UNARY_I(FirstBitLow, FirstBitLow(x))
    DX_UNARY_I(FirstBitHigh, FirstBitHigh(x))
    DX_UNARY_I(FirstBitHighI, FirstBitHigh(x ^ (x >> 31)))
    DX_UNARY_I(ReverseBits, ReverseBits(x))
    DX_BINARY_F(AddF, BitsOf(x + y))
    DX_BINARY_F(MulF, BitsOf(x * y))
    DX_BINARY_F(DivF, BitsOf(x / y))
    DX_BINARY_F(MinF, BitsOf(Min(x, y)))
    DX_BINARY_F(MaxF, BitsOf(Max(x, y)))
    DX_BINARY_F(EqF, (VI)(x == y))
    DX_BINARY_F(NeF, (VI)(x != y))
    DX_BINARY_F(LtF, (VI)(x < y))
    DX_BINARY_F(GeF, (VI)(x >= y))
    DX_BINARY_I(AddI, (VI)((VU)x + (VU)y))
    DX_BINARY_I(MulI, (VI)((VU)x * (VU)y))
    DX_BINARY_I(MinI, Select(x < y, x, y))
    DX_BINARY_I(MaxI, Select(x > y, x, y))
    DX_BINARY_I(MinU, Select((VI)((VU)x < (VU)y), x, y))
    DX_BINARY_I(MaxU, Select((VI)((VU)x > (VU)y), x, y))
    DX_BINARY_I(EqI, (VI)(x == y))
    DX_BINARY_I(NeI, (VI)(x != y))
    DX_BINARY_I(LtI, (VI)(x < y))
    DX_BINARY_I(GeI, (VI)(x >= y))
    DX_BINARY_I(LtU, (VI)((VU)x < (VU)y))
    DX_BINARY_I(GeU, (VI)((VU)x >= (VU)y))
    DX_BINARY_I(And, x & y)
    DX_BINARY_I(Or, x | y)
    DX_BINARY_I(Xor, x ^ y)
    DX_BINARY_I(ShiftLeft, (VI)((VU)x << (VU)(y & 31)))
    DX_BINARY_I(ShiftRightI, x >> (y & 31))
    DX_BINARY_I(ShiftRightU, (VI)((VU)x >> (VU)(y & 31)))
    case Op::MulHighI:
      return MapWords(to, a, b, n, [](uint32_t x, uint32_t y) {
        return static_cast<uint32_t>(static_cast<uint64_t>(int64_t{static_cast<int32_t>(x)} * static_cast<int32_t>(y)) >> 32);
      });
    case Op::MulHighU:
      return MapWords(to, a, b, n, [](uint32_t x, uint32_t y) { return static_cast<uint32_t>(uint64_t{x} * y >> 32); });
    case Op::QuotientU: return MapWords(to, a, b, n, [](uint32_t x, uint32_t y) { return y ? x / y : UINT32_MAX; });
    case Op::RemainderU: return MapWords(to, a, b, n, [](uint32_t x, uint32_t y) { return y ? x % y : UINT32_MAX; });
    case Op::MadF:
      return Map3(to, a, b, c, n, [](VI x, VI y, VI z) { return BitsOf(FromBits(x) * FromBits(y) + FromBits(z)); });
    case Op::MadI: return Map3(to, a, b, c, n, [](VI x, VI y, VI z) { return (VI)((VU)x * (VU)y + (VU)z); });
    case Op::Select: return Map3(to, a, b, c, n, [](VI x, VI y, VI z) { return Select(x != 0, y, z); });
    case Op::ExtractU: return Map3(to, a, b, c, n, [](VI x, VI y, VI z) { return ExtractU(x, y, z); });
    case Op::ExtractI: return Map3(to, a, b, c, n, [](VI x, VI y, VI z) { return ExtractI(x, y, z); });
    case Op::Insert: {
      const Lanes d = v[in.s[3]];
      for (int64_t i = 0; i < n; i += kWidth)
        StoreLanes(to, i, Insert(LoadLanes(a, i), LoadLanes(b, i), LoadLanes(c, i), LoadLanes(d, i)));
      return;
    }
    case Op::ElementAddress: {
      const Lanes count = v[in.s[3]];
      for (int64_t i = 0; i < n; i += kWidth) {
        const VU element = (VU)LoadLanes(a, i), offset = (VU)LoadLanes(b, i), stride = (VU)LoadLanes(c, i), element_count = (VU)LoadLanes(count, i);
        const VI inside = (VI)(element < element_count) & (VI)(offset < stride);
        StoreLanes(to, i, Select(inside, (VI)(element * stride + offset), SplatI(-4)));
      }
      return;
    }
    default: return;
  }
#undef DX_UNARY_F
#undef DX_UNARY_I
#undef DX_BINARY_F
#undef DX_BINARY_I
}

static void Blend(uint32_t* to, const uint32_t* from, const int32_t* mask, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) {
    VI x, y, m;
    __builtin_memcpy(&x, to + i, sizeof x);
    __builtin_memcpy(&y, from + i, sizeof y);
    __builtin_memcpy(&m, mask + i, sizeof m);
    StoreLanes(to, i, Select(m, y, x));
  }
}

// Whether lane i's byte is lane 0's and i * step, at a whole word.
static bool IsContiguous(const Lanes& address, int64_t n, uint32_t step) {
  const uint32_t first = LaneOf(address, 0);
  if (first % 4 || !address.mask) return false;
  VI ramp;
  for (int i = 0; i < kWidth; ++i) ramp[i] = static_cast<int32_t>(first + static_cast<uint32_t>(i) * step);
  VI wrong = {};
  for (int64_t i = 0; i < n; i += kWidth, ramp = (VI)((VU)ramp + step * static_cast<uint32_t>(kWidth))) wrong |= LoadLanes(address, i) ^ ramp;
  for (int i = 0; i < kWidth; ++i)
    if (wrong[i]) return false;
  return true;
}

// What was found out of the address that was looked at last.
struct LastAddress {
  int value = -1;
  uint32_t step = 0;
  bool contiguous = false;

  void Written(const uint16_t* values, int count) {
    for (int i = 0; i < count; ++i)
      if (values[i] == value) value = -1;
  }
  // The byte of lane 0 where the others follow it and all of them are inside; else -1.
  int64_t Begin(const Lanes& address, int of, int words, uint64_t size, int64_t n) {
    if (value != of || step != 4u * static_cast<uint32_t>(words)) {
      value = of;
      step = 4u * static_cast<uint32_t>(words);
      contiguous = IsContiguous(address, n, step);
    }
    const uint32_t first = LaneOf(address, 0);
    return contiguous && first + uint64_t{step} * static_cast<uint64_t>(n) <= size ? int64_t{first} : -1;
  }
};

DX_INLINE uint32_t ReadWordAt(const uint8_t* data) {
  uint32_t word;
  __builtin_memcpy(&word, data, 4);
  return word;
}

typedef uint32_t AnyWord __attribute__((may_alias, aligned(4)));

// Registers of words that are contiguous, `Count` for each lane.
template <int Count>
DX_INLINE void Split(const uint8_t* bytes, uint32_t* const* to, int64_t n) {
  const AnyWord* from = reinterpret_cast<const AnyWord*>(bytes);
  uint32_t* __restrict to0 = to[0];
  uint32_t* __restrict to1 = to[1];
  uint32_t* __restrict to2 = Count > 2 ? to[2] : nullptr;
  uint32_t* __restrict to3 = Count > 3 ? to[3] : nullptr;
  for (int64_t i = 0; i < n; ++i) {
    to0[i] = from[Count * i];
    to1[i] = from[Count * i + 1];
    if (Count > 2) to2[i] = from[Count * i + 2];
    if (Count > 3) to3[i] = from[Count * i + 3];
  }
}
template <int Count>
DX_INLINE void Join(uint8_t* bytes, const Lanes* from, int64_t n) {
  AnyWord* __restrict to = reinterpret_cast<AnyWord*>(bytes);
  const uint32_t *from0 = from[0].data, *from1 = from[1].data, *from2 = from[Count > 2 ? 2 : 0].data, *from3 = from[Count > 3 ? 3 : 0].data;
  for (int64_t i = 0; i < n; ++i) {
    to[Count * i] = from0[i];
    to[Count * i + 1] = from1[i];
    if (Count > 2) to[Count * i + 2] = from2[i];
    if (Count > 3) to[Count * i + 3] = from3[i];
  }
}

// The next block usually begins where this one ends.
template <int Write>
DX_INLINE void FetchAhead(const MemoryRange& memory, int64_t begin, int64_t bytes) {
  constexpr int64_t kCacheLine = 64;
  const int64_t end = static_cast<int64_t>(memory.size) < begin + 2 * bytes ? static_cast<int64_t>(memory.size) : begin + 2 * bytes;
  for (int64_t at = begin + bytes; at < end; at += kCacheLine) __builtin_prefetch(memory.data + at, Write, 3);
}

// Into one register for each word, for the lanes of the mask; the others get anything.
static void LoadWords(const MemoryRange& memory, const Lanes& address, int64_t begin, uint32_t* const* to, int count, const int32_t* active,
                      bool full, int64_t n) {
  if (full) {
    if (begin >= 0) {
      const uint8_t* from = memory.data + begin;
      FetchAhead<0>(memory, begin, 4 * n * count);
      switch (count) {
        case 1: __builtin_memcpy(to[0], from, static_cast<size_t>(n) * 4); return;
        case 2: return Split<2>(from, to, n);
        case 3: return Split<3>(from, to, n);
        default: return Split<4>(from, to, n);
      }
    }
    if (!address.mask) {
      const uint64_t at = LaneOf(address, 0) & ~3u;
      for (int w = 0; w < count; ++w) {
        const uint64_t byte = at + 4 * static_cast<uint64_t>(w);
        const VI word = SplatI(byte + 4 <= memory.size ? static_cast<int32_t>(ReadWordAt(memory.data + byte)) : 0);
        for (int64_t i = 0; i < n; i += kWidth) StoreLanes(to[w], i, word);
      }
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!active[i]) continue;
    const uint64_t at = LaneOf(address, i) & ~3u;
    for (int w = 0; w < count; ++w) {
      const uint64_t byte = at + 4 * static_cast<uint64_t>(w);
      to[w][i] = byte + 4 <= memory.size ? ReadWordAt(memory.data + byte) : 0;
    }
  }
}

static void StoreWords(const MemoryRange& memory, const Lanes& address, int64_t begin, const Lanes* from, int count, const int32_t* active,
                       bool full, int64_t n) {
  bool each = true;  // of the words has a register
  for (int w = 0; w < count; ++w) each = each && from[w].mask;
  if (full && begin >= 0 && (each || count == 1)) {
    uint8_t* to = memory.data + begin;
    FetchAhead<1>(memory, begin, 4 * n * count);
    switch (count) {
      case 1:
        for (int64_t i = 0; i < n; i += kWidth) {
          const VI x = LoadLanes(from[0], i);
          __builtin_memcpy(to + 4 * i, &x, sizeof x);
        }
        return;
      case 2: return Join<2>(to, from, n);
      case 3: return Join<3>(to, from, n);
      default: return Join<4>(to, from, n);
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!active[i]) continue;
    const uint64_t at = LaneOf(address, i) & ~3u;
    for (int w = 0; w < count; ++w) {
      const uint64_t byte = at + 4 * static_cast<uint64_t>(w);
      const uint32_t word = LaneOf(from[w], i);
      if (byte + 4 <= memory.size) __builtin_memcpy(memory.data + byte, &word, 4);
    }
  }
}

DX_INLINE uint32_t AtomicWord(Op op, uint32_t* at, uint32_t x, uint32_t y) {
  uint32_t before = __atomic_load_n(at, __ATOMIC_RELAXED);
  switch (op) {
    case Op::AtomicAdd: return __atomic_fetch_add(at, x, __ATOMIC_RELAXED);
    case Op::AtomicAnd: return __atomic_fetch_and(at, x, __ATOMIC_RELAXED);
    case Op::AtomicOr: return __atomic_fetch_or(at, x, __ATOMIC_RELAXED);
    case Op::AtomicXor: return __atomic_fetch_xor(at, x, __ATOMIC_RELAXED);
    case Op::AtomicExchange: return __atomic_exchange_n(at, x, __ATOMIC_RELAXED);
    case Op::AtomicCompareExchange:
      before = x;
      __atomic_compare_exchange_n(at, &before, y, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
      return before;
    default: break;
  }
  const auto less = [&](uint32_t a, uint32_t b) {
    return op == Op::AtomicMinI || op == Op::AtomicMaxI ? static_cast<int32_t>(a) < static_cast<int32_t>(b) : a < b;
  };
  const bool is_min = op == Op::AtomicMinI || op == Op::AtomicMinU;
  while (is_min ? less(x, before) : less(before, x))
    if (__atomic_compare_exchange_n(at, &before, x, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
  return before;
}

static void RunAtomic(const Instruction& in, const Block& block) {
  const Lanes address = block.values[in.s[0]], x = block.values[in.s[1]], y = block.values[in.s[2]];
  const MemoryRange& memory = block.memories[in.slot];
  uint32_t* result = in.count ? block.values[in.d[0]].data : nullptr;
  for (int64_t i = 0; i < block.lanes; ++i) {
    if (!block.active[i]) continue;
    const uint64_t at = LaneOf(address, i) & ~3u;
    uint32_t before = 0;
    if (at + 4 <= memory.size) before = AtomicWord(in.op, reinterpret_cast<uint32_t*>(memory.data + at), LaneOf(x, i), LaneOf(y, i));
    if (result) result[i] = before;
  }
}

struct MaskState {
  bool any, full;
};
DX_INLINE MaskState StateOf(const int32_t* mask, int64_t n) {
  VI all = SplatI(-1), any = {};
  for (int64_t i = 0; i < n; i += kWidth) {
    const VI m = LoadI(mask + i);
    all &= m;
    any |= m;
  }
  MaskState state = {false, true};
  for (int i = 0; i < kWidth; ++i) {
    state.any |= any[i] != 0;
    state.full &= all[i] != 0;
  }
  return state;
}
DX_INLINE void CopyMask(int32_t* to, const int32_t* from, int64_t n) { __builtin_memcpy(to, from, static_cast<size_t>(n) * 4); }
DX_INLINE void AndMask(int32_t* to, const int32_t* a, const int32_t* b, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) StoreI(to + i, LoadI(a + i) & LoadI(b + i));
}
DX_INLINE void ClearMask(int32_t* from, const int32_t* what, int64_t n) {
  for (int64_t i = 0; i < n; i += kWidth) StoreI(from + i, LoadI(from + i) & ~LoadI(what + i));
}

// Whether every group's threads are all active, or none of them.
static bool WholeGroups(const Block& block) {
  for (int64_t first = 0; first + block.group_threads <= block.lanes; first += block.group_threads)
    for (int64_t i = 0; i < block.group_threads; ++i)
      if (block.active[first + i] != block.active[first]) return false;
  return true;
}

// Where the active threads go at a condition.
enum class Way : uint8_t { Then, Else, Both };
static Way WayOf(const Lanes& condition, bool non_zero, const int32_t* active, bool full, int64_t n) {
  if (!condition.mask) return (condition.data[0] != 0) == non_zero ? Way::Then : Way::Else;
  VI some = {}, every = SplatI(-1);
  if (full) {
    for (int64_t i = 0; i < n; i += kWidth) {
      const VI holds = (VI)(LoadLanes(condition, i) != 0);
      some |= holds;
      every &= holds;
    }
  } else {
    for (int64_t i = 0; i < n; i += kWidth) {
      const VI holds = (VI)(LoadLanes(condition, i) != 0), who = LoadI(active + i);
      some |= holds & who;
      every &= holds | ~who;
    }
  }
  bool any = false, all = true;
  for (int i = 0; i < kWidth; ++i) {
    any |= some[i] != 0;
    all &= every[i] != 0;
  }
  if (all) return non_zero ? Way::Then : Way::Else;
  if (!any) return non_zero ? Way::Else : Way::Then;
  return Way::Both;
}

// Null, or what the shader did wrong.
static const char* RunShaderBlock(const Block& block) {
  const int64_t n = block.lanes;
  const Instruction* code = block.program->instructions.data();
  const size_t length = block.program->instructions.size();
  int32_t* const active = block.active;
  // Most blocks leave the masks as they were.
  if (!*block.untouched) {
    CopyMask(active, block.start, n);
    CopyMask(block.live, block.start, n);
    *block.untouched = true;
  }
  MaskState state = {true, block.whole};
  uint64_t rounds = 0;
  int loops = 0;
  LastAddress last;
  Way way[shader::kMaxLevels];
  auto level = [&](int32_t* masks, int at) { return masks + at * n; };
  // Threads that still run in the innermost loop, or at all.
  auto around = [&] { return loops ? level(block.loop_round, loops - 1) : block.live; };
  // spare: the active threads for which it holds.
  auto decide = [&](const Instruction& in) {
    *block.untouched = false;
    if (in.count == shader::kAlways) return CopyMask(block.spare, active, n);
    const Lanes condition = block.values[in.s[0]];
    const VI holds_for_zero = SplatI(in.count ? 0 : -1);
    for (int64_t i = 0; i < n; i += kWidth)
      StoreI(block.spare + i, ((VI)(LoadLanes(condition, i) != 0) ^ holds_for_zero) & LoadI(active + i));
  };
  for (size_t at = 0; at < length; ++at) {
    const Instruction& in = code[at];
    if (in.op < Op::Load) {
      if (!state.any) continue;
      uint32_t* const to = block.values[in.d[0]].data;
      RunWords(in, block.values, state.full ? to : block.scratch[0], n);
      if (!state.full) Blend(to, block.scratch[0], active, n);
      last.Written(in.d, 1);
      continue;
    }
    switch (in.op) {
      case Op::Load: {
        if (!state.any) break;
        uint32_t* to[4];
        for (int w = 0; w < in.count; ++w) to[w] = state.full ? block.values[in.d[w]].data : block.scratch[w];
        const Lanes& address = block.values[in.s[0]];
        const MemoryRange& memory = block.memories[in.slot];
        const int64_t begin = state.full ? last.Begin(address, in.s[0], in.count, memory.size, n) : -1;
        LoadWords(memory, address, begin, to, in.count, active, state.full, n);
        last.Written(in.d, in.count);
        if (!state.full)
          for (int w = 0; w < in.count; ++w) Blend(block.values[in.d[w]].data, to[w], active, n);
        break;
      }
      case Op::Store: {
        if (!state.any) break;
        Lanes from[4];
        for (int w = 0; w < in.count; ++w) from[w] = block.values[in.s[1 + w]];
        const Lanes& address = block.values[in.s[0]];
        const MemoryRange& memory = block.memories[in.slot];
        const int64_t begin = state.full ? last.Begin(address, in.s[0], in.count, memory.size, n) : -1;
        StoreWords(memory, address, begin, from, in.count, active, state.full, n);
        break;
      }
      case Op::If: {
        // Where all go the same way, no mask changes: threads that are lost inside stay lost until the loop's next round.
        way[in.level] = WayOf(block.values[in.s[0]], in.count, active, state.full, n);
        if (way[in.level] == Way::Both) {
          decide(in);
          CopyMask(level(block.if_saved, in.level), active, n);
          CopyMask(level(block.if_taken, in.level), block.spare, n);
          CopyMask(active, block.spare, n);
          state = StateOf(active, n);
        } else if (way[in.level] == Way::Else) {
          at = code[in.target].op == Op::Else ? in.target : in.target - 1;
        }
        break;
      }
      case Op::Else: {
        if (way[in.level] != Way::Both) {
          at = in.target - 1;
          break;
        }
        AndMask(active, level(block.if_saved, in.level), around(), n);
        ClearMask(active, level(block.if_taken, in.level), n);
        state = StateOf(active, n);
        if (!state.any) at = in.target - 1;
        break;
      }
      case Op::EndIf: {
        if (way[in.level] != Way::Both) break;
        AndMask(active, level(block.if_saved, in.level), around(), n);
        state = StateOf(active, n);
        break;
      }
      case Op::Loop: {
        *block.untouched = false;
        CopyMask(level(block.loop_entered, in.level), active, n);
        CopyMask(level(block.loop_running, in.level), active, n);
        CopyMask(level(block.loop_round, in.level), active, n);
        loops = in.level + 1;
        if (!state.any) at = in.target - 1;
        break;
      }
      case Op::EndLoop: {
        CopyMask(active, level(block.loop_running, in.level), n);
        state = StateOf(active, n);
        if (state.any) {
          if (++rounds > shader::kMaxRounds) return "a shader's loop does not end";
          if (block.abandoned && block.abandoned->load(std::memory_order_relaxed)) return "a shader's loop was left";
          CopyMask(level(block.loop_round, in.level), active, n);
          at = in.target - 1;
          break;
        }
        loops = in.level;
        AndMask(active, level(block.loop_entered, in.level), around(), n);
        state = StateOf(active, n);
        break;
      }
      case Op::Break:
      case Op::Continue:
      case Op::Return: {
        if (!state.any) break;
        if (in.count != shader::kAlways && WayOf(block.values[in.s[0]], in.count, active, state.full, n) == Way::Else) break;
        decide(in);
        if (in.op == Op::Return) {
          ClearMask(block.live, block.spare, n);
          for (int i = 0; i < loops; ++i) {
            ClearMask(level(block.loop_running, i), block.spare, n);
            ClearMask(level(block.loop_round, i), block.spare, n);
          }
        } else {
          ClearMask(level(block.loop_round, loops - 1), block.spare, n);
          if (in.op == Op::Break) ClearMask(level(block.loop_running, loops - 1), block.spare, n);
        }
        ClearMask(active, block.spare, n);
        state = StateOf(active, n);
        break;
      }
      case Op::Sync:
        if (in.count && state.any && !state.full && !WholeGroups(block))
          return "a shader's sync was not reached by all threads of a group";
        break;
      default:
        if (state.any) RunAtomic(in, block);
        last.Written(in.d, in.count);
        break;
    }
  }
  return nullptr;
}
