// The calls of src/native/binding.ts for libraries with the C ABI of native/include/dxtensor_backend.h.
#pragma once

#include <node_api.h>

#include <vector>

namespace dxtensor::addon {

struct NamedCallback {
  const char* name;
  napi_callback callback;
};
const std::vector<NamedCallback>& BackendCalls();

}  // namespace dxtensor::addon
