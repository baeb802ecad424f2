// What kernels made of matrix products and independent pieces compute with: plain loops, or the fast kernels and the thread pool.
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
class FloatProduct {
 public:
  virtual ~FloatProduct() = default;
  virtual size_t ScratchBytes() const { return 0; }
  // `kept`: what Keep made of b, where KeptBytes is not 0.
  virtual void Run(const float* a, const float* b, const uint8_t* kept, float* out, uint8_t* scratch) const = 0;
  virtual size_t KeptBytes() const { return 0; }
  virtual void Keep(const float* /*b*/, uint8_t* /*to*/) const {}
};

struct Means {
  // `keeps_b`: one b for many runs, whose form is worth keeping.
  std::unique_ptr<FloatProduct> (*product)(uint64_t m, uint64_t n, uint64_t k, bool keeps_b);
  // How many pieces may run at once, and runs work(piece, slot) for each piece; slot is below slots().
  uint64_t (*slots)();
  void (*for_each)(uint64_t pieces, const std::function<void(uint64_t piece, uint64_t slot)>& work);
  // x = f(x) for each of n floats.
  void (*activate)(const ActivationFunction& f, float* x, uint64_t n);
};

extern const Means kPlainMeans;

}  // namespace dxtensor::software
