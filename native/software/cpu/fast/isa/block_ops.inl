// The block engine's instructions, and loads and stores between memory and registers. Included between isa_begin.inl and
// isa_end.inl, after math.inl.

template <typename T>
struct VectorOf;
template <>
struct VectorOf<int32_t> {
  typedef VI Type;
};
template <>
struct VectorOf<uint32_t> {
  typedef VU Type;
};
template <>
struct VectorOf<int64_t> {
  typedef VL Type;
};
template <>
struct VectorOf<uint64_t> {
  typedef uint64_t Type __attribute__((vector_size(4 * DX_VECTOR_WIDTH)));
};

#define DX_UNARY(name, expression)            \
  case Code::name:                            \
    for (int64_t i = 0; i < n; i += kWidth) { \
      VF x = LoadF(a + i);                    \
      StoreF(d + i, expression);              \
    }                                         \
    return;
#define DX_BINARY(name, expression)           \
  case Code::name:                            \
    for (int64_t i = 0; i < n; i += kWidth) { \
      VF x = LoadF(a + i), y = LoadF(b + i);  \
      StoreF(d + i, expression);              \
    }                                         \
    return;
#define DX_TEST(name, expression)             \
  case Code::name:                            \
    for (int64_t i = 0; i < n; i += kWidth) { \
      VF x = LoadF(a + i), y = LoadF(b + i);  \
      StoreI(truth + i, (expression)&1);      \
    }                                         \
    return;

// NaN is "true": not equal to zero.
DX_INLINE VI True(VF x) { return ~(x == 0.0f); }
DX_INLINE VF SignOf(VF x) { return Select(x > 0.0f, SplatF(1.0f), Select(x < 0.0f, SplatF(-1.0f), SplatF(0.0f))); }
DX_INLINE VF HardSigmoid(VF x, VF p, VF q) { return Min(SplatF(1.0f), Max(SplatF(0.0f), p * x + q)); }

static void ExecuteFloat(const MicroOp& op, uint8_t* const* r, int64_t n) {
  float* d = reinterpret_cast<float*>(r[op.d]);
  int32_t* truth = reinterpret_cast<int32_t*>(r[op.d]);
  const float* a = reinterpret_cast<const float*>(r[op.a]);
  const float* b = reinterpret_cast<const float*>(r[op.b]);
  const VF p = SplatF(op.p), q = SplatF(op.q), zero = VF{};
  switch (op.code) {
    DX_UNARY(FCopy, x)
    DX_UNARY(FAbs, Abs(x))
    DX_UNARY(FNegate, -x)
    DX_UNARY(FSign, SignOf(x))
    DX_UNARY(FExp, Exp(x))
    DX_UNARY(FLog, Log(x))
    DX_UNARY(FSqrt, Sqrt(x))
    DX_UNARY(FRecip, 1.0f / x)
    DX_UNARY(FSin, Sin(x))
    DX_UNARY(FCos, Cos(x))
    DX_UNARY(FTanh, Tanh(x))
    DX_UNARY(FErf, Erf(x))
    DX_UNARY(FFloor, Floor(x))
    DX_UNARY(FCeil, Ceil(x))
    DX_UNARY(FRoundEven, RoundEven(x))
    DX_UNARY(FTruncate, Truncate(x))
    DX_UNARY(FRoundAway, CopySign(Truncate(Abs(x)) + Select(Abs(x) - Truncate(Abs(x)) >= 0.5f, SplatF(1.0f), zero), x))
    DX_UNARY(FSigmoid, Sigmoid(x))
    DX_UNARY(FRelu, Select(x > 0.0f, x, zero))
    DX_UNARY(FReluFused, Select(x > 0.0f, x, 0.0f * x))
    DX_UNARY(FGelu, Gelu(x))
    DX_UNARY(FSoftSign, x / (1.0f + Abs(x)))
    DX_UNARY(FRoundHalf, RoundToHalf(x))
    DX_UNARY(FLinear, p * x + q)
    DX_UNARY(FClip, Min(q, Max(p, x)))
    DX_UNARY(FClip1, Max(p, Min(x, q)))
    DX_UNARY(FClamp, Clamp(x, p, q))
    DX_UNARY(FPowConstant, Pow(x, p))
    DX_UNARY(FSquare, x * x)
    DX_UNARY(FElu, Select(x >= 0.0f, x, p * ExpMinusOne(x)))
    DX_UNARY(FCelu, Max(x, zero) + Min(p * ExpMinusOne(x / p), zero))
    DX_UNARY(FLeakyRelu, Select(x >= 0.0f, x, p * x))
    DX_UNARY(FThresholdedRelu, Select(x <= p, zero, x))
    DX_UNARY(FScaledElu, Select(x > 0.0f, q * x, q * p * ExpMinusOne(x)))
    DX_UNARY(FShrink, Select(x > q, x - p, Select(x < -q, x + p, zero)))
    DX_UNARY(FSoftPlus, SoftPlus(p * x) / p)
    DX_UNARY(FParametricSoftPlus, p * SoftPlus(q * x))
    DX_UNARY(FScaledTanh, p * Tanh(q * x))
    DX_UNARY(FSwish, x * Sigmoid(p * x))
    DX_UNARY(FHardSwish, x * HardSigmoid(x, p, q))
    DX_BINARY(FAdd, x + y)
    DX_BINARY(FSubtract, x - y)
    DX_BINARY(FMultiply, x * y)
    DX_BINARY(FDivide, x / y)
    DX_BINARY(FMax, Max(x, y))
    DX_BINARY(FMin, Min(x, y))
    DX_BINARY(FMean, (x + y) * 0.5f)
    DX_BINARY(FDifferenceSquare, (x - y) * (x - y))
    DX_BINARY(FPow, Pow(x, y))
    DX_BINARY(FReluGrad, Select(x > 0.0f, y, zero))
    DX_BINARY(FParameterizedRelu, Select(x >= 0.0f, x, x * y))
    DX_BINARY(FClipGrad, Select((x > p) & (x < q), y, zero))
    DX_BINARY(FLargerOr, LargerOr(x, y))
    DX_BINARY(FSmallerOr, SmallerOr(x, y))
    DX_BINARY(FLargest, Select(x != x, x, LargerOr(x, y)))
    DX_BINARY(FSmallest, Select(x != x, x, SmallerOr(x, y)))
    DX_TEST(FEqual, x == y)
    DX_TEST(FGreater, x > y)
    DX_TEST(FLess, x < y)
    DX_TEST(FGreaterEqual, x >= y)
    DX_TEST(FLessEqual, x <= y)
    DX_TEST(FAnd, True(x) & True(y))
    DX_TEST(FOr, True(x) | True(y))
    DX_TEST(FXor, True(x) ^ True(y))
    DX_TEST(FIsNan, (x != x) | (y != y))
    case Code::FCall:
      for (int64_t i = 0; i < n; ++i) d[i] = op.call(a[i]);
      return;
    case Code::FCall2:
      for (int64_t i = 0; i < n; ++i) d[i] = op.call2(a[i], b[i]);
      return;
    case Code::FHold: {
      const float* c = reinterpret_cast<const float*>(r[op.c]);
      for (int64_t i = 0; i < n; i += kWidth) StoreF(d + i, Clamp(LoadF(a + i), LoadF(b + i), LoadF(c + i)));
      return;
    }
    case Code::FIsInfinity:
      for (int64_t i = 0; i < n; i += kWidth) {
        VF x = LoadF(a + i);
        VI positive = x == SplatF(__builtin_inff()), negative = x == SplatF(-__builtin_inff());
        StoreI(truth + i, (op.i > 0 ? positive : op.i < 0 ? negative : positive | negative) & 1);
      }
      return;
    default: return;
  }
}
#undef DX_UNARY
#undef DX_BINARY
#undef DX_TEST

template <typename T>
T Divide(T x, T y) {
  // What Microsoft's library gives for a division by 0.
  if (y == 0) return T(-1) > T(0) ? T(-1) : sizeof(T) == 8 ? T(0) : x < T(0) ? T(1) : T(-1);
  if constexpr (T(-1) < T(0)) {
    if (y == T(-1)) return static_cast<T>(0 - static_cast<uint64_t>(x));
  }
  return x / y;
}

template <typename T, bool kIsFloored>
T RemainderByZero(T x) {
  if (T(-1) > T(0) || sizeof(T) == 8) return T(-1);
  return !kIsFloored ? x : x < T(0) ? T(1) : T(-1);
}
template <typename T, bool kIsFloored>
T Remainder(T x, T y) {
  if (y == 0) return RemainderByZero<T, kIsFloored>(x);
  if (y == T(-1) && T(-1) < T(0)) return 0;
  const T r = x % y;
  return kIsFloored && r != 0 && (r < T(0)) != (y < T(0)) ? r + y : r;
}

template <typename T>
void DivideBlock(T* d, const T* a, const T* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = Divide(a[i], b[i]);
}
template <bool kIsFloored, typename T>
void RemainderBlock(T* d, const T* a, const T* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = Remainder<T, kIsFloored>(a[i], b[i]);
}

// Loops over single elements that the compiler makes vectors of.
#define DX_INTEGER(name, expression)                          \
  case Code::name:                                            \
    for (int64_t i = 0; i < n; ++i) {                         \
      const T x = a[i], y = b[i];                             \
      const U ux = static_cast<U>(x), uy = static_cast<U>(y); \
      (void)y, (void)ux, (void)uy;                            \
      d[i] = static_cast<T>(expression);                      \
    }                                                         \
    return;
#define DX_INTEGER_BLOCK(name, function) \
  case Code::name:                       \
    function(d, a, b, n);                \
    return;
#define DX_INTEGER_TEST(name, expression) \
  case Code::name:                        \
    for (int64_t i = 0; i < n; ++i) {     \
      const T x = a[i], y = b[i];         \
      (void)y;                            \
      truth[i] = (expression) ? 1 : 0;    \
    }                                     \
    return;

template <typename T, typename U>
void ExecuteInteger(const MicroOp& op, uint8_t* const* r, int64_t n) {
  T* d = reinterpret_cast<T*>(r[op.d]);
  int32_t* truth = reinterpret_cast<int32_t*>(r[op.d]);
  const T* a = reinterpret_cast<const T*>(r[op.a]);
  const T* b = reinterpret_cast<const T*>(r[op.b]);
  constexpr bool kWide = sizeof(T) == 8;
  const T low = static_cast<T>(op.i), high = static_cast<T>(op.j);
  switch (op.code) {
    DX_INTEGER(IAdd, ux + uy)
    DX_INTEGER(ISubtract, ux - uy)
    DX_INTEGER(IMultiply, ux * uy)
    DX_INTEGER_BLOCK(IDivide, DivideBlock)
    DX_INTEGER_BLOCK(IRemainderTruncated, RemainderBlock<false>)
    DX_INTEGER_BLOCK(IRemainderFloored, RemainderBlock<true>)
    DX_INTEGER(IMax, x > y ? x : y)
    DX_INTEGER(IMin, x < y ? x : y)
    DX_INTEGER(IAnd, ux & uy)
    DX_INTEGER(IOr, ux | uy)
    DX_INTEGER(IXor, ux ^ uy)
    DX_INTEGER(INot, ~ux)
    DX_INTEGER(IShiftLeft, ux << ((uy & 31) | (kWide && uy >= 32 ? 32 : 0)))
    DX_INTEGER(IShiftRight, ux >> ((uy & 31) | (kWide && uy >= 32 ? 32 : 0)))
    DX_INTEGER(IAbs, x < T(0) ? U(0) - ux : ux)
    DX_INTEGER(INegate, U(0) - ux)
    DX_INTEGER(ISign, (x > T(0)) - (x < T(0)))
    DX_INTEGER(IRelu, x > T(0) ? x : T(0))
    DX_INTEGER(IReluGrad, x > T(0) ? y : T(0))
    DX_INTEGER(IDifferenceSquare, (ux - uy) * (ux - uy))
    DX_INTEGER(IClip, (x > low ? x : low) < high ? (x > low ? x : low) : high)
    DX_INTEGER(IClip1, (x < high ? x : high) > low ? (x < high ? x : high) : low)
    DX_INTEGER_TEST(IEqual, x == y)
    DX_INTEGER_TEST(IGreater, x > y)
    DX_INTEGER_TEST(ILess, x < y)
    DX_INTEGER_TEST(IGreaterEqual, x >= y)
    DX_INTEGER_TEST(ILessEqual, x <= y)
    DX_INTEGER_TEST(ITruthAnd, (x != 0) & (y != 0))
    DX_INTEGER_TEST(ITruthOr, (x != 0) | (y != 0))
    DX_INTEGER_TEST(ITruthXor, (x != 0) != (y != 0))
    DX_INTEGER_TEST(IsZero, x == 0)
    case Code::IWrap: {
      const int shift = static_cast<int>(sizeof(T) * 8 - op.i);
      if (op.j)
        for (int64_t i = 0; i < n; ++i) {
          using S = std::make_signed_t<T>;
          d[i] = static_cast<T>(static_cast<S>(static_cast<U>(a[i]) << shift) >> shift);
        }
      else
        for (int64_t i = 0; i < n; ++i) d[i] = static_cast<T>((static_cast<U>(a[i]) << shift) >> shift);
      return;
    }
    case Code::Select: {
      const int32_t* condition = reinterpret_cast<const int32_t*>(r[op.a]);
      const T* c = reinterpret_cast<const T*>(r[op.c]);
      for (int64_t i = 0; i < n; ++i) {
        const T x = b[i], y = c[i];
        d[i] = (condition[i] & 0xff) != 0 ? x : y;
      }
      return;
    }
    case Code::FloatToInteger: {
      const float* from = reinterpret_cast<const float*>(r[op.a]);
      const float min = op.p, max = op.q;
      for (int64_t i = 0; i < n; ++i) {
        const float x = from[i];
        const bool inside = x > min && x < max;
        const T value = static_cast<T>(inside ? x : 0.0f);
        d[i] = x <= min ? low : x >= max ? high : value;
      }
      return;
    }
    case Code::IntegerToFloat: {
      float* to = reinterpret_cast<float*>(r[op.d]);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(a[i]);
      return;
    }
    case Code::Extend: {
      if constexpr (!kWide) {
        int64_t* to = reinterpret_cast<int64_t*>(r[op.d]);
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int64_t>(a[i]);
      }
      return;
    }
    case Code::Constant:
      for (int64_t i = 0; i < n; ++i) d[i] = low;
      return;
    case Code::Truncate: {
      int32_t* to = reinterpret_cast<int32_t*>(r[op.d]);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int32_t>(a[i]);
      return;
    }
    default: return;
  }
}
#undef DX_INTEGER
#undef DX_INTEGER_BLOCK
#undef DX_INTEGER_TEST

static void Execute(const MicroOp* ops, int count, uint8_t* const* registers, int64_t n) {
  for (int k = 0; k < count; ++k) {
    const MicroOp& op = ops[k];
    if (op.code < Code::IAdd) {
      ExecuteFloat(op, registers, n);
      continue;
    }
    switch (op.type) {
      case RegisterType::I64: ExecuteInteger<int64_t, uint64_t>(op, registers, n); break;
      case RegisterType::U64: ExecuteInteger<uint64_t, uint64_t>(op, registers, n); break;
      case RegisterType::U32: ExecuteInteger<uint32_t, uint32_t>(op, registers, n); break;
      default: ExecuteInteger<int32_t, uint32_t>(op, registers, n); break;
    }
  }
}

template <typename R>
void Fill(R* d, R value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = value;
}
template <typename M, typename R>
void LoadAs(uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) {
  R* d = reinterpret_cast<R*>(to);
  const M* s = reinterpret_cast<const M*>(from);
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<R>(s[i]);
  else if (stride == 0) Fill(d, static_cast<R>(s[0]), n);
  else
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<R>(s[i * stride]);
}
template <typename M, typename R>
void StoreAs(uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) {
  M* d = reinterpret_cast<M*>(to);
  const R* s = reinterpret_cast<const R*>(from);
  if (stride == 1)
    for (int64_t i = 0; i < n; ++i) d[i] = static_cast<M>(s[i]);
  else
    for (int64_t i = 0; i < n; ++i) d[i * stride] = static_cast<M>(s[i]);
}

static void LoadHalves(uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) {
  float* d = reinterpret_cast<float*>(to);
  const uint16_t* s = reinterpret_cast<const uint16_t*>(from);
  int64_t i = 0;
  if (stride == 1)
    for (; i + kWidth <= n; i += kWidth) StoreF(d + i, LoadHalf(s + i));
  for (; i < n; i += kWidth) {
    uint16_t bits[kWidth] = {};
    const int64_t rest = n - i < kWidth ? n - i : kWidth;
    for (int64_t k = 0; k < rest; ++k) bits[k] = s[(i + k) * stride];
    alignas(64) float values[kWidth];
    StoreF(values, LoadHalf(bits));
    for (int64_t k = 0; k < rest; ++k) d[i + k] = values[k];
  }
}
static void StoreHalves(uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) {
  uint16_t* d = reinterpret_cast<uint16_t*>(to);
  const float* s = reinterpret_cast<const float*>(from);
  int64_t i = 0;
  if (stride == 1)
    for (; i + kWidth <= n; i += kWidth) StoreHalf(d + i, LoadF(s + i));
  for (; i < n; i += kWidth) {
    alignas(64) float values[kWidth] = {};
    const int64_t rest = n - i < kWidth ? n - i : kWidth;
    for (int64_t k = 0; k < rest; ++k) values[k] = s[i + k];
    uint16_t bits[kWidth];
    StoreHalf(bits, LoadF(values));
    for (int64_t k = 0; k < rest; ++k) d[(i + k) * stride] = bits[k];
  }
}

static void LoadBlock(DML_TENSOR_DATA_TYPE type, uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT16: return LoadHalves(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_FLOAT32:
    case DML_TENSOR_DATA_TYPE_INT32:
    case DML_TENSOR_DATA_TYPE_UINT32:
      if (stride == 1) {
        __builtin_memcpy(to, from, static_cast<size_t>(n) * 4);
        return;
      }
      return LoadAs<int32_t, int32_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64: return LoadAs<int64_t, int64_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_INT16: return LoadAs<int16_t, int32_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_UINT16: return LoadAs<uint16_t, int32_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_INT8: return LoadAs<int8_t, int32_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_UINT8: return LoadAs<uint8_t, int32_t>(to, from, stride, n);
    default: return;
  }
}

static void StoreBlock(DML_TENSOR_DATA_TYPE type, uint8_t* to, const uint8_t* from, int64_t stride, int64_t n) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT16: return StoreHalves(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_FLOAT32:
    case DML_TENSOR_DATA_TYPE_INT32:
    case DML_TENSOR_DATA_TYPE_UINT32:
      if (stride == 1) {
        __builtin_memcpy(to, from, static_cast<size_t>(n) * 4);
        return;
      }
      return StoreAs<int32_t, int32_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_INT64:
    case DML_TENSOR_DATA_TYPE_UINT64: return StoreAs<int64_t, int64_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_INT16:
    case DML_TENSOR_DATA_TYPE_UINT16: return StoreAs<int16_t, int32_t>(to, from, stride, n);
    case DML_TENSOR_DATA_TYPE_INT8:
    case DML_TENSOR_DATA_TYPE_UINT8: return StoreAs<int8_t, int32_t>(to, from, stride, n);
    default: return;
  }
}
