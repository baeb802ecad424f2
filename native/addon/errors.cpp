#include "errors.h"

namespace dxtensor::addon {

namespace {

Napi::Value TextOrNull(Napi::Env env, const std::string& text) {
  return text.empty() ? env.Null() : Napi::Value(Napi::String::New(env, text));
}

}  // namespace

napi_value MakeError(napi_env raw, const dml::Failure& failure) {
  Napi::Env env(raw);
  Napi::Object error = Napi::Error::New(env, failure.what()).Value();
  error.Set("kind", dml::KindName(failure.kind()));
  error.Set("hresult", failure.has_hresult() ? Napi::Value(Napi::String::New(env, dml::HresultText(failure.hresult()))) : env.Null());
  error.Set("hresultName", TextOrNull(env, failure.has_hresult() ? dml::HresultName(failure.hresult()) : ""));
  error.Set("call", TextOrNull(env, failure.call()));
  error.Set("operator", TextOrNull(env, failure.op()));
  return error;
}

}  // namespace dxtensor::addon
