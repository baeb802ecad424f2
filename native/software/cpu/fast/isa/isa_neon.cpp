// The block functions for 64-bit ARM CPUs.
#if defined(__GNUC__) && defined(__aarch64__)
#define DX_ISA 3
#define DX_TABLE NeonTable
#include "isa.inl"
#endif
