// Turns failures of native/dml into JavaScript errors with the properties of NativeFailure. The environment's thread.
#pragma once

#include <new>

#include "../dml/failure.h"
#include "interrupted.h"
#include "js.h"

namespace dxtensor::addon {

// Throws js::Interrupted.
napi_value MakeError(napi_env env, const dml::Failure& failure);
// Leaves it as JavaScript's pending exception, where JavaScript still runs.
void Throw(napi_env env, const dml::Failure& failure) noexcept;

[[noreturn]] inline void Invalid(const std::string& message) { throw dml::Failure(dml::FailureKind::Invalid, message); }

// Runs `body` and leaves a pending JavaScript exception instead of a C++ one.
template <typename F>
napi_value Guarded(napi_env env, F&& body) noexcept {
  try {
    return body();
  } catch (const js::Interrupted&) {
    LeaveInterrupted(env);
  } catch (const dml::Failure& failure) {
    Throw(env, failure);
  } catch (const std::bad_alloc&) {
    Throw(env, dml::Failure(dml::FailureKind::OutOfMemory, "the process has no memory left"));
  } catch (const std::exception& error) {
    Throw(env, dml::Failure(dml::FailureKind::Internal, error.what()));
  }
  return nullptr;
}

}  // namespace dxtensor::addon
