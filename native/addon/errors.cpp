#include "errors.h"

#include "js.h"

namespace dxtensor::addon {

namespace {

js::Value TextOrNull(napi_env env, const std::string& text) { return text.empty() ? js::Null(env) : js::New(env, text); }

}  // namespace

napi_value MakeError(napi_env env, const dml::Failure& failure) {
  napi_value made = nullptr;
  js::Check(env, napi_create_error(env, nullptr, js::New(env, std::string(failure.what())), &made));
  js::Value error(env, made);
  auto set = [&](const char* name, const js::Value& value) { js::Check(env, napi_set_named_property(env, error, name, value)); };
  set("kind", js::New(env, std::string(dml::KindName(failure.kind()))));
  set("hresult", failure.has_hresult() ? js::New(env, dml::HresultText(failure.hresult())) : js::Null(env));
  set("hresultName", TextOrNull(env, failure.has_hresult() ? dml::HresultName(failure.hresult()) : ""));
  set("call", TextOrNull(env, failure.call()));
  set("operator", TextOrNull(env, failure.op()));
  set("reason", TextOrNull(env, failure.reason()));
  set("isElsewhere", js::New(env, failure.is_elsewhere()));
  return error;
}

void Throw(napi_env env, const dml::Failure& failure) noexcept {
  try {
    js::Check(env, napi_throw(env, MakeError(env, failure)));
  } catch (const js::Interrupted&) {
    LeaveInterrupted(env);
  } catch (const std::exception&) {
    napi_throw_error(env, nullptr, "dxtensor: a native call failed, and there is no memory to say how");
  }
}

}  // namespace dxtensor::addon
