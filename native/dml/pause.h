// What a thread that looks for a change does between two looks, for some microseconds in all: it gives its processor to no one, since
// yielding again and again takes the processor from the threads that bring the change about.
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
