// Opens the part of a source file that is compiled for one instruction set (DX_ISA: 0 portable, 1 AVX2, 2 AVX-512, 3 NEON; DX_DOT_BYTES:
// with dot products of bytes). Everything in it has internal linkage, so that no function compiled for one set is ever merged with its
// namesake for another. Include the standard library before this file.
#ifndef DX_ISA
#error "define DX_ISA"
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC's own intrinsics: _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#endif

#if DX_ISA == 2
#define DX_VECTOR_WIDTH 16
#elif DX_ISA == 1
#define DX_VECTOR_WIDTH 8
#else
#define DX_VECTOR_WIDTH 4
#endif

// Every 64-bit ARM CPU has NEON. Clang applies one such attribute to a function only.
#if defined(__clang__)
#if DX_ISA == 2 && defined(DX_DOT_BYTES)
#pragma clang attribute push(__attribute__((target("avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,avx,fma,f16c"))), apply_to = function)
#elif DX_ISA == 2
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,avx,fma,f16c"))), apply_to = function)
#elif DX_ISA == 1
#pragma clang attribute push(__attribute__((target("avx2,avx,fma,f16c"))), apply_to = function)
#elif DX_ISA == 3 && defined(DX_DOT_BYTES)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#endif
#elif DX_ISA > 0
#pragma GCC push_options
#if DX_ISA == 2
#if __GNUC__ >= 12  // GCC 9 refuses the last one
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,avx,fma,f16c,prefer-vector-width=512")
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,avx,fma,f16c")
#endif
#ifdef DX_DOT_BYTES
#pragma GCC target("avx512vnni")
#endif
#elif DX_ISA == 1
#pragma GCC target("avx2,avx,fma,f16c")
#elif defined(DX_DOT_BYTES)
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#endif
