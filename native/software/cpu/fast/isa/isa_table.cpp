#include "isa_table.h"

namespace dxtensor::software::fast {

const IsaTable& Table() {
  static const IsaTable& table = []() -> const IsaTable& {
#if defined(__GNUC__) && defined(__x86_64__)
    if (ActiveIsa() == Isa::Avx512Vnni) return Avx512VnniTable();
    if (ActiveIsa() == Isa::Avx512) return Avx512Table();
    if (ActiveIsa() == Isa::Avx2) return Avx2Table();
#elif defined(__GNUC__) && defined(__aarch64__)
    if (ActiveIsa() == Isa::NeonDot) return NeonDotTable();
    if (ActiveIsa() == Isa::Neon) return NeonTable();
#endif
    return PortableTable();
  }();
  return table;
}

}  // namespace dxtensor::software::fast
