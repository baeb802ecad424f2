// The table of NEON, with dot products of bytes for CPUs that have SDOT (Armv8.2's dotprod).
#if defined(__GNUC__) && defined(__aarch64__)
#define DX_ISA 3
#define DX_BASE NeonTable
#define DX_TABLE NeonDotTable
#include "isa_dot_bytes.inl"
#endif
