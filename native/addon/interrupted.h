// Cleans up after a call that the end of JavaScript interrupted. The environment's thread.
#pragma once

#include <node_api.h>

namespace dxtensor::addon {

// An exception that is pending stays so. But where the thread is being ended (worker.terminate(), process.exit()) it is the end that is
// pending: N-API takes what stops its own functions for an exception, so that JavaScript could catch it and continue forever. The end is
// asked for again then.
void LeaveInterrupted(napi_env env) noexcept;

}  // namespace dxtensor::addon
