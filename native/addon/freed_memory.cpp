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

bool CollectGarbage() {
#ifdef __linux__
  // Node-API has no such call. These two of V8's public functions are the same in every Node since version 4.
  static const auto current = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "_ZN2v87Isolate10GetCurrentEv"));
  static const auto collect = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "_ZN2v87Isolate21LowMemoryNotificationEv"));
  if (current && collect) {
    collect(current());
    return true;
  }
#endif
  return false;
}

}  // namespace dxtensor::addon
