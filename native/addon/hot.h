// The entries that run for every operation, in raw N-API: run, execute, replay, release. `data` of each is the Environment.
#pragma once

#include <node_api.h>

namespace dxtensor::addon {

napi_value RunProgram(napi_env env, napi_callback_info info);
napi_value ExecuteProgram(napi_env env, napi_callback_info info);
napi_value ReplayRecording(napi_env env, napi_callback_info info);
napi_value Exchange(napi_env env, napi_callback_info info);
napi_value ReleaseBuffer(napi_env env, napi_callback_info info);
napi_value RecordProgram(napi_env env, napi_callback_info info);

}  // namespace dxtensor::addon
