// The table of AVX-512, with dot products of bytes for CPUs with AVX-512 VNNI.
#if defined(__GNUC__) && defined(__x86_64__)
#define DX_ISA 2
#define DX_BASE Avx512Table
#define DX_TABLE Avx512VnniTable
#include "isa_dot_bytes.inl"
#endif
