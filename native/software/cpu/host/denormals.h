// Float32 denormals count as zeros of their sign in this thread's arithmetic from now on, read and written, as Direct3D lets devices do:
// CPUs take up to a hundred times as long for them. Only for the threads of queues and of the pool, never for a thread of the host.
//
// Operations that move bits keep denormals. Halves are computed in float32, where their denormals are normal numbers.
#pragma once

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#endif
#include <cstdint>

namespace dxtensor::software {

inline void FlushDenormals() {
#if defined(__SSE__) || defined(_M_X64)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;  // of MXCSR
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  constexpr uint64_t kFlushToZero = uint64_t{1} << 24;  // of FPCR: FZ; FZ16 stays 0
  uint64_t control = 0;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
  __asm__ __volatile__("msr fpcr, %0" : : "r"(control | kFlushToZero));
#endif
}

}  // namespace dxtensor::software
