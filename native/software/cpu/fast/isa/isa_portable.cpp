// The block functions for any CPU.
#define DX_ISA 0
#define DX_TABLE PortableTable
#include "isa.inl"
