// Libraries with the C ABI of native/include/dxtensor_backend.h: opened and initialised once in a process, never unloaded. Any thread.
#pragma once

#include <string>

#include "../include/dxtensor_backend.h"

namespace dxtensor::addon {

struct BackendLibrary {
  dxtensor_backend_api api = {};
  const char* (*last_error)() = nullptr;
  std::string name, version;
};

// What opening a library came to.
struct BackendLoad {
  const BackendLibrary* library = nullptr;  // null: see reason
  const char* reason = "";                  // "notALibrary", "missingSymbol", "version" or "refused"
  std::string text;
  uint32_t version = 0;  // of the ABI, where that is the reason
};

// `path` is absolute; one that was loaded before gives the same library.
BackendLoad LoadBackendLibrary(const std::string& path);

// Throws dml::Failure with the library's text for a status other than DXTENSOR_OK.
void CheckStatus(const BackendLibrary& library, dxtensor_status status, const char* call);

}  // namespace dxtensor::addon
