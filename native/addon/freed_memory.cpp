#include "freed_memory.h"

#include <cstddef>

#ifdef __linux__
#include <dlfcn.h>
#endif

namespace dxtensor::addon {

void ReturnFreedMemory() {
#ifdef __linux__
  // glibc has it; other C libraries have not.
  static const auto trim = reinterpret_cast<int (*)(size_t)>(dlsym(RTLD_DEFAULT, "malloc_trim"));
  if (trim) trim(0);
#endif
}

}  // namespace dxtensor::addon
