// The table of kernels that recurrent layers and attention are composed of: a GEMM, a parallel loop, activations; plain loops, or the fast
// kernels and the thread pool.
//
// Immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "activation.h"

namespace dxtensor::software {

// out[m, n] = a[m, k] * b[n, k] transposed, all packed float32, of sizes that are fixed when it is made.
class FloatGemm {
 public:
  virtual ~FloatGemm() = default;
  virtual size_t ScratchBytes() const { return 0; }
  // `prepacked`: what Prepack made of b, where PrepackedBytes is not 0.
  virtual void Run(const float* a, const float* b, const uint8_t* prepacked, float* out, uint8_t* scratch) const = 0;
  virtual size_t PrepackedBytes() const { return 0; }
  virtual void Prepack(const float* /*b*/, uint8_t* /*to*/) const {}
};

struct MatrixKernels {
  // `prepacks_b`: one b for many runs, which is worth packing once.
  std::unique_ptr<FloatGemm> (*gemm)(uint64_t m, uint64_t n, uint64_t k, bool prepacks_b);
  // slots: how many parts may run at once. for_each: runs work(part, slot) for each part; slot is below slots().
  uint64_t (*slots)();
  void (*for_each)(uint64_t pieces, const std::function<void(uint64_t piece, uint64_t slot)>& work);
  // x = f(x) for each of n floats.
  void (*activate)(const ActivationFunction& f, float* x, uint64_t n);
};

extern const MatrixKernels kPlainMatrixKernels;

}  // namespace dxtensor::software
