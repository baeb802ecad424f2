// Callbacks that run rarely: each converts its arguments, and turns a C++ exception into JavaScript's. The environment's thread.
#pragma once

#include "environment.h"
#include "errors.h"
#include "js.h"

namespace dxtensor::addon {

template <napi_value (*F)(Environment&, const js::Arguments&)>
napi_value Cold(napi_env env, napi_callback_info info) {
  return Guarded(env, [&]() -> napi_value {
    js::Arguments arguments(env, info);
    return F(*static_cast<Environment*>(arguments.data()), arguments);
  });
}

struct NewArrayBuffer {
  napi_value value;
  void* data;
};
// New memory for bytes that are read.
NewArrayBuffer NewBytes(Environment& environment, napi_env env, uint64_t size);

}  // namespace dxtensor::addon
