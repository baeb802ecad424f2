// Small-N GEMM: no more columns than a vector has; tiles of several vectors would be mostly empty. Included between isa_begin.inl and
// isa_end.inl, after vector.inl.

template <int kRows>
DX_INLINE void NarrowGemmRows(int64_t k, const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride) {
  VF sums[kRows] = {};
  for (int64_t step = 0; step < k; ++step, ++a, b += kWidth) {
    const VF row = LoadF(b);
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
    for (int r = 0; r < kRows; ++r) sums[r] += (a[r * a_stride] - VF{}) * row;
  }
#if defined(__GNUC__)
#pragma GCC unroll 8
#endif
  for (int r = 0; r < kRows; ++r) StoreF(c + r * c_stride, sums[r]);
}
static void NarrowGemm(int64_t k, const float* a, int64_t a_stride, const float* b, float* c, int64_t c_stride, int64_t rows) {
  constexpr int kAtOnce = 8;  // 4: 0.64, 16: 0.69 for linear 64 x 512 to 10
  for (; rows >= kAtOnce; rows -= kAtOnce, a += kAtOnce * a_stride, c += kAtOnce * c_stride)
    NarrowGemmRows<kAtOnce>(k, a, a_stride, b, c, c_stride);
  for (; rows > 0; --rows, a += a_stride, c += c_stride) NarrowGemmRows<1>(k, a, a_stride, b, c, c_stride);
}
