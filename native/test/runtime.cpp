#include "runtime.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace dxtensor::test {

namespace {

#ifdef _WIN32
void* Open(const std::string& path, bool) {
  HMODULE library = LoadLibraryExA(path.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (!library) throw std::runtime_error("cannot load " + path + ": error " + std::to_string(GetLastError()));
  return library;
}
void* Find(void* library, const char* name) { return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name)); }
#else
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kDeepBind = 0;  // their runtimes abort on the flag
#else
constexpr int kDeepBind = RTLD_DEEPBIND;
#endif
void* Open(const std::string& path, bool deep) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (deep ? kDeepBind : 0));
  if (!library) throw std::runtime_error("cannot load " + path + ": " + dlerror());
  return library;
}
void* Find(void* library, const char* name) { return dlsym(library, name); }
#endif

template <typename F>
void Bind(void* library, const char* name, const std::string& path, F& function) {
  void* found = Find(library, name);
  if (!found) throw std::runtime_error(path + " has no " + name);
  std::memcpy(&function, &found, sizeof function);
}

}  // namespace

RuntimePaths PathsFrom(int argc, char** argv) {
  RuntimePaths paths;
  for (int i = 1; i + 1 < argc; ++i) {
    std::string option = argv[i];
    if (option == "--dxcore") paths.dxcore = argv[++i];
    else if (option == "--d3d12") paths.d3d12 = argv[++i];
    else if (option == "--directml") paths.directml = argv[++i];
    else if (option == "--dxgi") paths.dxgi = argv[++i];
    else if (option == "--software") {
      paths.dxcore = paths.d3d12 = paths.directml = argv[++i];
      paths.software = true;
    }
  }
  return paths;
}

Runtime::Runtime(const RuntimePaths& paths) : software_(paths.software) {
  // libdirectml.so names the other two: they come first.
  void* dxcore = Open(paths.dxcore, false);
  void* d3d12 = Open(paths.d3d12, false);
  void* directml = Open(paths.directml, !software_);
  Bind(dxcore, "DXCoreCreateAdapterFactory", paths.dxcore, create_factory_);
  if (!paths.dxgi.empty()) Bind(Open(paths.dxgi, false), "CreateDXGIFactory1", paths.dxgi, create_dxgi_);
  Bind(d3d12, "D3D12CreateDevice", paths.d3d12, create_d3d12_);
  Bind(directml, "DMLCreateDevice1", paths.directml, create_dml_);
}

}  // namespace dxtensor::test
