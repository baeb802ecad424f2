// The largest and smallest of integers: loops over single elements that the compiler makes vectors of. Included between isa_begin.inl and
// isa_end.inl.

template <typename T, bool kLargest>
DX_INLINE T Further(T a, T b) {
  return (kLargest ? b > a : b < a) ? b : a;
}
template <typename T, bool kLargest>
void ExtremeOfIntegers(const T* x, int64_t n, T* to) {
  T best = *to;
  for (int64_t i = 0; i < n; ++i) best = Further<T, kLargest>(best, x[i]);
  *to = best;
}
template <typename T, bool kLargest>
void JoinIntegers(T* __restrict to, const T* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = Further<T, kLargest>(to[i], x[i]);
}

template <typename Call>
DX_INLINE void WithIntegerType(DML_TENSOR_DATA_TYPE type, const Call& call) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8: return call(int8_t{});
    case DML_TENSOR_DATA_TYPE_UINT8: return call(uint8_t{});
    case DML_TENSOR_DATA_TYPE_INT16: return call(int16_t{});
    case DML_TENSOR_DATA_TYPE_UINT16: return call(uint16_t{});
    case DML_TENSOR_DATA_TYPE_INT32: return call(int32_t{});
    case DML_TENSOR_DATA_TYPE_UINT32: return call(uint32_t{});
    case DML_TENSOR_DATA_TYPE_INT64: return call(int64_t{});
    default: return call(uint64_t{});
  }
}
static void IntegerExtreme(DML_TENSOR_DATA_TYPE type, bool largest, const uint8_t* x, int64_t n, uint8_t* to) {
  WithIntegerType(type, [&](auto zero) {
    using T = decltype(zero);
    (largest ? ExtremeOfIntegers<T, true> : ExtremeOfIntegers<T, false>)(reinterpret_cast<const T*>(x), n, reinterpret_cast<T*>(to));
  });
}
static void JoinExtremes(DML_TENSOR_DATA_TYPE type, bool largest, uint8_t* to, const uint8_t* x, int64_t n) {
  WithIntegerType(type, [&](auto zero) {
    using T = decltype(zero);
    (largest ? JoinIntegers<T, true> : JoinIntegers<T, false>)(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(x), n);
  });
}
