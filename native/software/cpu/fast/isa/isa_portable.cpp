// The block functions for any processor.
#define DX_ISA 0
#define DX_TABLE PortableTable
#include "isa.inl"
