// The block functions for CPUs with AVX2 and FMA.
#if defined(__GNUC__) && defined(__x86_64__)
#define DX_ISA 1
#define DX_TABLE Avx2Table
#include "isa.inl"
#endif
