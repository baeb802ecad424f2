// The table of AVX-512, with dot products of bytes for CPUs with AVX-512 VNNI.
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

#include "isa_table.h"

#define DX_ISA 2
#include "isa_begin.inl"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512vnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512vnni")
#endif
namespace dxtensor::software::fast {
namespace {
#include "vector.inl"
#include "packed_dot_vnni.inl"
}  // namespace
}  // namespace dxtensor::software::fast
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#include "isa_end.inl"

namespace dxtensor::software::fast {

const IsaTable& Avx512VnniTable() {
  static const IsaTable table = [] {
    IsaTable made = Avx512Table();
    made.packed_windows = true;
    made.packed_dot = MultiplyPacked;
    return made;
  }();
  return table;
}

}  // namespace dxtensor::software::fast
#endif
