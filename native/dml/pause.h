// One step of busy-waiting, which lasts some microseconds in all: the thread keeps its CPU, since yielding repeatedly takes the CPU
// from the threads that it waits for.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace dxtensor::dml {

// About half a microsecond.
inline void PausePoll() {
#if defined(__x86_64__) || defined(_M_X64)
  for (int i = 0; i < 32; ++i) _mm_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
  for (int i = 0; i < 32; ++i) __asm__ __volatile__("isb" ::: "memory");
#endif
}

}  // namespace dxtensor::dml
