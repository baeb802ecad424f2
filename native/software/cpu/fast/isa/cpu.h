// Which instruction set the fast kernels use: chosen once, at first use. Any thread.
#pragma once

namespace dxtensor::software::fast {

enum class Isa { Portable, Neon, NeonDot, Avx2, Avx512, Avx512Vnni };

// The best one that the CPU and the operating system offer, or another one of its own that DXTENSOR_SOFTWARE_ISA names (portable,
// neon, neondot, avx2, avx512, avx512vnni).
Isa ActiveIsa();
const char* IsaName(Isa isa);

// What a CPU has and its operating system lets programs use; some virtual machines report AVX2 without the others.
struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false, avx512 = false, vnni = false;  // avx512: F, BW, DQ and VL; vnni: AVX-512's
  bool neon = false, dot_product = false;                                      // of Armv8.2
};
Isa IsaFor(const CpuFeatures& features);

}  // namespace dxtensor::software::fast
