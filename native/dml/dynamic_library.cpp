#include "dynamic_library.h"

#include "library_file.h"

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <algorithm>
#else
#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#endif

// The runtimes of these two sanitizers abort on RTLD_DEEPBIND.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DXTENSOR_NO_DEEPBIND
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DXTENSOR_NO_DEEPBIND
#endif
#endif

namespace dxtensor::dml {

#ifdef _WIN32

std::wstring Widen(const std::string& text) {
  int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0);
  std::wstring wide(static_cast<size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), &wide[0], length);
  std::replace(wide.begin(), wide.end(), L'/', L'\\');  // LoadLibraryExW finds the DLL's own folder by backslashes
  return wide;
}

void* OpenLibrary(const std::string& path, bool, std::string* error) {
  *error = WhyNotWhole(path);
  if (!error->empty()) return nullptr;
  HMODULE library = LoadLibraryExW(Widen(path).c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (!library) {
    DWORD code = GetLastError();
    if (code != ERROR_MOD_NOT_FOUND) *error = "LoadLibrary failed with error " + std::to_string(code);
    else *error = FileExists(path) ? "a library that it needs was not found" : "no such file";
  }
  return library;
}

bool FileExists(const std::string& path) { return GetFileAttributesW(Widen(path).c_str()) != INVALID_FILE_ATTRIBUTES; }

void* FindSymbol(void* library, const char* name) { return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name)); }

void CloseLibrary(void* library) { FreeLibrary(static_cast<HMODULE>(library)); }

#else

void* OpenLibrary(const std::string& path, bool own_symbols_first, std::string* error) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    *error = errno == ENOENT ? "no such file" : std::strerror(errno);
    return nullptr;
  }
  if (!S_ISREG(status.st_mode)) {
    *error = "it is no file";
    return nullptr;
  }
  *error = WhyNotWhole(path);
  if (!error->empty()) return nullptr;
  int flags = RTLD_NOW | RTLD_LOCAL;
#if defined(RTLD_DEEPBIND) && !defined(DXTENSOR_NO_DEEPBIND)
  if (own_symbols_first) flags |= RTLD_DEEPBIND;
#else
  static_cast<void>(own_symbols_first);
#endif
  void* library = dlopen(path.c_str(), flags);
  if (!library) {
    const char* text = dlerror();
    *error = text ? text : "dlopen failed";
  }
  return library;
}

bool FileExists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

void* FindSymbol(void* library, const char* name) { return dlsym(library, name); }

void CloseLibrary(void* library) { dlclose(library); }

#endif

}  // namespace dxtensor::dml
