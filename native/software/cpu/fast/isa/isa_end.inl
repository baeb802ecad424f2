// Closes the part of a source file that isa_begin.inl opened.
#if DX_ISA == 1 || DX_ISA == 2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#undef DX_VECTOR_WIDTH
