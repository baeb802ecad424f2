#include "cpu.h"

#include <cstdlib>
#include <cstring>
#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
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
  features.vnni = __builtin_cpu_supports("avx512vnni");
  // __builtin_cpu_supports knows this one in later compilers only.
  unsigned a, b, c, d;
  features.f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
#elif defined(__GNUC__) && defined(__aarch64__)
  features.neon = true;
#if defined(_WIN32)
  features.dot_product = IsProcessorFeaturePresent(43) != 0;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, which older headers lack
#elif defined(__linux__)
  features.dot_product = (getauxval(AT_HWCAP) & 1 << 20) != 0;  // HWCAP_ASIMDDP
#endif
#endif
  return features;
}

constexpr Isa kWorstFirst[] = {Isa::Portable, Isa::Neon, Isa::NeonDot, Isa::Avx2, Isa::Avx512, Isa::Avx512Vnni};

bool Has(const CpuFeatures& features, Isa isa) {
  const bool has_avx2 = features.avx2 && features.fma && features.f16c;
  switch (isa) {
    case Isa::Avx512Vnni: return has_avx2 && features.avx512 && features.vnni;
    case Isa::Avx512: return has_avx2 && features.avx512;
    case Isa::Avx2: return has_avx2;
    case Isa::NeonDot: return features.neon && features.dot_product;
    case Isa::Neon: return features.neon;
    default: return true;
  }
}

Isa Choose() {
  const CpuFeatures features = TheFeatures();
  if (const char* wanted = std::getenv("DXTENSOR_SOFTWARE_ISA"))
    for (Isa isa : kWorstFirst)
      if (Has(features, isa) && std::strcmp(wanted, IsaName(isa)) == 0) return isa;
  return IsaFor(features);
}

}  // namespace

Isa IsaFor(const CpuFeatures& features) {
  Isa best = Isa::Portable;
  for (Isa isa : kWorstFirst)
    if (Has(features, isa)) best = isa;
  return best;
}

Isa ActiveIsa() {
  static const Isa isa = Choose();
  return isa;
}

const char* IsaName(Isa isa) {
  switch (isa) {
    case Isa::Avx512Vnni: return "avx512vnni";
    case Isa::Avx512: return "avx512";
    case Isa::Avx2: return "avx2";
    case Isa::NeonDot: return "neondot";
    case Isa::Neon: return "neon";
    default: return "portable";
  }
}

}  // namespace dxtensor::software::fast
