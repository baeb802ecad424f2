#include "cpu.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dxtensor::software::fast {

namespace {

CpuFeatures TheFeatures() {
  CpuFeatures features;
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_cpu_init();
  features.avx2 = __builtin_cpu_supports("avx2");
  features.fma = __builtin_cpu_supports("fma");
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  // __builtin_cpu_supports knows this one in later compilers only.
  unsigned a, b, c, d;
  features.f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
#endif
  return features;
}

Isa Choose() {
  const Isa best = IsaFor(TheFeatures());
  const char* wanted = std::getenv("DXTENSOR_SOFTWARE_ISA");
  if (!wanted) return best;
  for (Isa isa : {Isa::Portable, Isa::Avx2, Isa::Avx512})
    if (isa <= best && std::strcmp(wanted, IsaName(isa)) == 0) return isa;
  return best;
}

}  // namespace

Isa IsaFor(const CpuFeatures& features) {
  if (!features.avx2 || !features.fma || !features.f16c) return Isa::Portable;
  return features.avx512 ? Isa::Avx512 : Isa::Avx2;
}

Isa ActiveIsa() {
  static const Isa isa = Choose();
  return isa;
}

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::Avx512: return "avx512";
    case Isa::Avx2: return "avx2";
    default: return "portable";
  }
}

}  // namespace dxtensor::software::fast
