// The table of an instruction set with instructions for dot products of bytes: DX_BASE's, but for products by packed weights. The including
// file defines DX_ISA, DX_BASE and DX_TABLE.
#include <cstdint>

#if DX_ISA == 3
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include "isa_table.h"

#define DX_DOT_BYTES
#include "isa_begin.inl"
namespace dxtensor::software::fast {
namespace {
#include "vector.inl"
#include "packed_dot.inl"
}  // namespace
}  // namespace dxtensor::software::fast
#include "isa_end.inl"

namespace dxtensor::software::fast {

const IsaTable& DX_TABLE() {
  static const IsaTable table = [] {
    IsaTable made = DX_BASE();
    made.packed_lanes = kPackedLanes;
    made.packed_dot = MultiplyPacked;
    return made;
  }();
  return table;
}

}  // namespace dxtensor::software::fast
