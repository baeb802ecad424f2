// Moving elements: copies, and copies backwards. Included between isa_begin.inl and isa_end.inl.

// The library's takes instructions that are slow for many bytes where source and target are not aligned alike, and a call for few.
static void CopyBytes(uint8_t* to, const uint8_t* from, int64_t n) {
  constexpr int64_t kVector = sizeof(VI), kBlock = 4 * kVector;
  if (n < kVector || to == from) {
    if (to != from) __builtin_memcpy(to, from, static_cast<size_t>(n));
    return;
  }
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    VI v[4];
    __builtin_memcpy(v, from + i, sizeof v);
    __builtin_memcpy(to + i, v, sizeof v);
  }
  auto copy = [&](int64_t at) {
    VI v;
    __builtin_memcpy(&v, from + at, sizeof v);
    __builtin_memcpy(to + at, &v, sizeof v);
  };
  for (; i + kVector <= n; i += kVector) copy(i);
  copy(n - kVector);
}

template <typename T>
void CopyBackwards(T* __restrict to, const T* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[-i];
}
static void CopyReversed(uint8_t* to, const uint8_t* from, int64_t bytes, int64_t n) {
  switch (bytes) {
    case 1: return CopyBackwards(to, from, n);
    case 2: return CopyBackwards(reinterpret_cast<uint16_t*>(to), reinterpret_cast<const uint16_t*>(from), n);
    case 4: return CopyBackwards(reinterpret_cast<uint32_t*>(to), reinterpret_cast<const uint32_t*>(from), n);
    default: return CopyBackwards(reinterpret_cast<uint64_t*>(to), reinterpret_cast<const uint64_t*>(from), n);
  }
}
