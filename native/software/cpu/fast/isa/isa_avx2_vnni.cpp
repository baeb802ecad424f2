// The table of AVX2, with dot products of bytes for CPUs with AVX-VNNI. Compilers without it: the table of AVX2.
#if defined(__GNUC__) && defined(__x86_64__)
#if defined(__clang__) || __GNUC__ >= 11
#define DX_ISA 1
#define DX_BASE Avx2Table
#define DX_TABLE AvxVnniTable
#include "isa_dot_bytes.inl"
#else
#include "isa_table.h"

namespace dxtensor::software::fast {

const IsaTable& AvxVnniTable() { return Avx2Table(); }

}  // namespace dxtensor::software::fast
#endif
#endif
