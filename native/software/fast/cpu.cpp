#include "cpu.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace dxtensor::software::fast {

namespace {

Isa BestIsa() {
#if defined(__GNUC__) && defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return Isa::Avx512;
  if (avx2) return Isa::Avx2;
#endif
  return Isa::Portable;
}

Isa Choose() {
  const Isa best = BestIsa();
  const char* wanted = std::getenv("DXTENSOR_SOFTWARE_ISA");
  if (!wanted) return best;
  for (Isa isa : {Isa::Portable, Isa::Avx2, Isa::Avx512})
    if (isa <= best && std::strcmp(wanted, IsaName(isa)) == 0) return isa;
  return best;
}

}  // namespace

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
