// The block functions for CPUs with AVX-512 F, BW, DQ and VL.
#if defined(__GNUC__) && defined(__x86_64__)
#define DX_ISA 2
#define DX_TABLE Avx512Table
#include "isa.inl"
#endif
