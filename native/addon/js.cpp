#include "js.h"

#include "../dml/failure.h"

namespace dxtensor::addon::js {

namespace {

Value Made(napi_env env, napi_status status, napi_value value) {
  Check(env, status);
  return Value(env, value);
}

}  // namespace

void ThrowStatus(napi_env env, napi_status status) {
  bool pending = false;
  const bool answers = napi_is_exception_pending(env, &pending) == napi_ok;
  if (pending || !answers || status == napi_pending_exception || status == napi_closing) throw Interrupted();
  throw dml::Failure(dml::FailureKind::Internal, "N-API answered with status " + std::to_string(static_cast<int>(status)));
}

// Node forbids calls that could run JavaScript as soon as a worker is told to end: this one runs none, and is refused all the same.
void CheckRunning(napi_env env) {
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env, &scope) != napi_ok) throw Interrupted();
  napi_value truth = nullptr;
  const bool runs = napi_get_boolean(env, true, &truth) == napi_ok && napi_coerce_to_bool(env, truth, &truth) == napi_ok;
  napi_close_handle_scope(env, scope);
  if (!runs) throw Interrupted();
}

napi_valuetype Value::Type() const {
  napi_valuetype type = napi_undefined;
  Check(env_, napi_typeof(env_, value_, &type));
  return type;
}

bool Value::IsAbsent() const {
  napi_valuetype type = Type();
  return type == napi_undefined || type == napi_null;
}

bool Value::IsObject() const {
  napi_valuetype type = Type();
  return type == napi_object || type == napi_function;
}

bool Value::IsArray() const {
  bool answer = false;
  Check(env_, napi_is_array(env_, value_, &answer));
  return answer;
}

double Value::Number() const {
  double number = 0;
  Check(env_, napi_get_value_double(env_, value_, &number));
  return number;
}

bool Value::Boolean() const {
  bool truth = false;
  Check(env_, napi_get_value_bool(env_, value_, &truth));
  return truth;
}

std::string Value::Text() const {
  size_t length = 0;
  Check(env_, napi_get_value_string_utf8(env_, value_, nullptr, 0, &length));
  std::string text(length, '\0');
  Check(env_, napi_get_value_string_utf8(env_, value_, text.data(), length + 1, &length));
  return text;
}

bool Value::Truth() const {
  napi_value truth = nullptr;
  Check(env_, napi_coerce_to_bool(env_, value_, &truth));
  return Value(env_, truth).Boolean();
}

Value Value::Get(const char* name) const {
  napi_value value = nullptr;
  napi_status status = napi_get_named_property(env_, value_, name, &value);
  return Made(env_, status, value);
}

Value Value::At(uint32_t index) const {
  napi_value value = nullptr;
  napi_status status = napi_get_element(env_, value_, index, &value);
  return Made(env_, status, value);
}

uint32_t Value::Length() const {
  uint32_t length = 0;
  Check(env_, napi_get_array_length(env_, value_, &length));
  return length;
}

Value Undefined(napi_env env) {
  napi_value value = nullptr;
  napi_status status = napi_get_undefined(env, &value);
  return Made(env, status, value);
}

Value Null(napi_env env) {
  napi_value value = nullptr;
  napi_status status = napi_get_null(env, &value);
  return Made(env, status, value);
}

Value New(napi_env env, double number) {
  napi_value value = nullptr;
  napi_status status = napi_create_double(env, number, &value);
  return Made(env, status, value);
}

Value New(napi_env env, bool truth) {
  napi_value value = nullptr;
  napi_status status = napi_get_boolean(env, truth, &value);
  return Made(env, status, value);
}

Value New(napi_env env, const std::string& text) {
  napi_value value = nullptr;
  napi_status status = napi_create_string_utf8(env, text.data(), text.size(), &value);
  return Made(env, status, value);
}

Object::Object(napi_env env) : Value(env, nullptr) {
  napi_value value = nullptr;
  Check(env, napi_create_object(env, &value));
  static_cast<Value&>(*this) = Value(env, value);
}

void Object::SetValue(const char* name, napi_value value) {
  napi_property_descriptor property{};
  property.utf8name = name;
  property.value = value;
  property.attributes = napi_default_jsproperty;
  Check(env(), napi_define_properties(env(), *this, 1, &property));
}

Array::Array(napi_env env) : Value(env, nullptr) {
  napi_value value = nullptr;
  Check(env, napi_create_array(env, &value));
  static_cast<Value&>(*this) = Value(env, value);
}

bool ViewOf(const Value& value, Bytes* bytes) {
  void* data = nullptr;
  size_t length = 0;
  napi_typedarray_type type = napi_uint8_array;
  if (napi_get_typedarray_info(value.env(), value, &type, &length, &data, nullptr, nullptr) == napi_ok) {
    size_t element = 1;
    switch (type) {
      case napi_int16_array:
      case napi_uint16_array:
      case napi_float16_array: element = 2; break;
      case napi_int32_array:
      case napi_uint32_array:
      case napi_float32_array: element = 4; break;
      case napi_float64_array:
      case napi_bigint64_array:
      case napi_biguint64_array: element = 8; break;
      default: break;
    }
    *bytes = {static_cast<uint8_t*>(data), length * element};
    return true;
  }
  if (napi_get_dataview_info(value.env(), value, &length, &data, nullptr, nullptr) != napi_ok) return false;
  *bytes = {static_cast<uint8_t*>(data), length};
  return true;
}

Value NewFloats(napi_env env, size_t length, double** numbers) {
  void* data = nullptr;
  napi_value buffer = nullptr, array = nullptr;
  Check(env, napi_create_arraybuffer(env, length * sizeof(double), &data, &buffer));
  Check(env, napi_create_typedarray(env, napi_float64_array, length, buffer, 0, &array));
  *numbers = static_cast<double*>(data);
  return Value(env, array);
}

Arguments::Arguments(napi_env env, napi_callback_info info) : env_(env) {
  size_t count = kMaxArguments;
  Check(env, napi_get_cb_info(env, info, &count, values_, nullptr, &data_));
}

}  // namespace dxtensor::addon::js
