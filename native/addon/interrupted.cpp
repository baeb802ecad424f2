#include "interrupted.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace dxtensor::addon {

namespace {

// N-API has no function that ends a thread; V8's is found by name in the program that has loaded the addon. Where it is not there, a
// loop of JavaScript that swallows every error continues.
struct Ender {
  void* (*isolate)() = nullptr;
  void (*terminate)(void* isolate) = nullptr;  // a method: the first argument is `this`

  Ender() {
#ifdef _WIN32
    auto find = [](const char* name) { return reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(nullptr), name)); };
    void *get = find("?GetCurrent@Isolate@v8@@SAPEAV12@XZ"), *end = find("?TerminateExecution@Isolate@v8@@QEAAXXZ");
#else
    auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
    void *get = find("_ZN2v87Isolate10GetCurrentEv"), *end = find("_ZN2v87Isolate18TerminateExecutionEv");
#endif
    if (!get || !end) return;
    isolate = reinterpret_cast<void* (*)()>(get);
    terminate = reinterpret_cast<void (*)(void*)>(end);
  }
};

}  // namespace

void LeaveInterrupted(napi_env env) noexcept {
  // Only an environment that may still run JavaScript takes an exception.
  napi_value error = nullptr;
  bool pending = false;
  if (napi_is_exception_pending(env, &pending) != napi_ok) return;
  if (pending) napi_get_and_clear_last_exception(env, &error);
  else napi_get_null(env, &error);
  if (napi_throw(env, error) == napi_ok) {
    // Nothing was pending, and the environment stays: there is nothing to leave.
    if (!pending) napi_get_and_clear_last_exception(env, &error);
    return;
  }
  static const Ender ender;
  if (ender.terminate) ender.terminate(ender.isolate());
}

}  // namespace dxtensor::addon
