// Turns failures of native/dml into JavaScript errors with the properties of NativeFailure. The environment's thread.
#pragma once

#include <napi.h>

#include <new>

#include "../dml/failure.h"

namespace dxtensor::addon {

napi_value MakeError(napi_env env, const dml::Failure& failure);

[[noreturn]] inline void Invalid(const std::string& message) { throw dml::Failure(dml::FailureKind::Invalid, message); }

// Runs `body` and leaves a pending JavaScript exception instead of a C++ one.
template <typename F>
napi_value Guarded(napi_env env, F&& body) {
  try {
    return body();
  } catch (const dml::Failure& failure) {
    napi_throw(env, MakeError(env, failure));
  } catch (const Napi::Error& error) {
    error.ThrowAsJavaScriptException();
  } catch (const std::bad_alloc&) {
    napi_throw(env, MakeError(env, dml::Failure(dml::FailureKind::OutOfMemory, "the process has no memory left")));
  } catch (const std::exception& error) {
    napi_throw(env, MakeError(env, dml::Failure(dml::FailureKind::Internal, error.what())));
  }
  return nullptr;
}

}  // namespace dxtensor::addon
