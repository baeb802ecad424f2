// Closes the part of a source file that isa_begin.inl opened.
#if defined(__clang__)
#if DX_ISA == 1 || DX_ISA == 2 || (DX_ISA == 3 && defined(DX_DOT_BYTES))
#pragma clang attribute pop
#endif
#elif DX_ISA > 0
#pragma GCC pop_options
#endif
#undef DX_VECTOR_WIDTH
