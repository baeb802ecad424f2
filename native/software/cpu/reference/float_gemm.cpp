#include "float_gemm.h"

namespace dxtensor::software {

namespace {

// Sums in double, rounded once.
class PlainFloatGemm final : public FloatGemm {
 public:
  PlainFloatGemm(uint64_t m, uint64_t n, uint64_t k) : m_(m), n_(n), k_(k) {}
  void Run(const float* a, const float* b, const uint8_t*, float* out, uint8_t*) const override {
    for (uint64_t i = 0; i < m_; ++i)
      for (uint64_t j = 0; j < n_; ++j) {
        double sum = 0;
        for (uint64_t l = 0; l < k_; ++l) sum += static_cast<double>(a[i * k_ + l]) * b[j * k_ + l];
        out[i * n_ + j] = static_cast<float>(sum);
      }
  }

 private:
  uint64_t m_, n_, k_;
};

}  // namespace

const MatrixKernels kPlainMatrixKernels{
    [](uint64_t m, uint64_t n, uint64_t k, bool) -> std::unique_ptr<FloatGemm> { return std::make_unique<PlainFloatGemm>(m, n, k); },
    [] { return uint64_t{1}; },
    [](uint64_t pieces, const std::function<void(uint64_t, uint64_t)>& work) {
      for (uint64_t i = 0; i < pieces; ++i) work(i, 0);
    },
    [](const ActivationFunction& f, float* x, uint64_t n) {
      for (uint64_t i = 0; i < n; ++i) x[i] = f(x[i]);
    },
};

}  // namespace dxtensor::software
