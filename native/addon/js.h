// JavaScript values over N-API, with every call checked. A thread that is being ended (worker.terminate()) refuses each call that
// could run JavaScript, anywhere: that must unwind to Guarded and never end the process, as helpers that abort on an
// unexpected status would. Plain handles, valid until the callback returns; the environment's thread.
#pragma once

#include <node_api.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace dxtensor::addon::js {

// JavaScript has an exception pending, or runs no more: the only thing to do is to return to it.
struct Interrupted {};

// Throws Interrupted where the environment is being ended. For threads that wait: no JavaScript runs, so nothing else tells them.
void CheckRunning(napi_env env);
// Throws Interrupted, or dml::Failure for a status that means a mistake of ours.
[[noreturn]] void ThrowStatus(napi_env env, napi_status status);
inline void Check(napi_env env, napi_status status) {
  if (status != napi_ok) ThrowStatus(env, status);
}

// Values made during its life end with it.
class HandleScope {
 public:
  explicit HandleScope(napi_env env) : env_(env) { Check(env, napi_open_handle_scope(env, &scope_)); }
  ~HandleScope() { napi_close_handle_scope(env_, scope_); }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;

 private:
  napi_env env_;
  napi_handle_scope scope_ = nullptr;
};

class Value {
 public:
  Value(napi_env env, napi_value value) : env_(env), value_(value) {}
  operator napi_value() const { return value_; }
  napi_env env() const { return env_; }

  napi_valuetype Type() const;
  bool IsAbsent() const;  // undefined or null
  bool IsNumber() const { return Type() == napi_number; }
  bool IsString() const { return Type() == napi_string; }
  bool IsBoolean() const { return Type() == napi_boolean; }
  // Functions are objects.
  bool IsObject() const;
  bool IsArray() const;

  // Of what has been found to be one.
  double Number() const;
  bool Boolean() const;
  std::string Text() const;
  // As `!!value` does.
  bool Truth() const;

  // Of an object; a getter may run.
  Value Get(const char* name) const;
  // Of an array.
  Value At(uint32_t index) const;
  uint32_t Length() const;

 private:
  napi_env env_;
  napi_value value_;
};

Value Undefined(napi_env env);
Value Null(napi_env env);
Value New(napi_env env, double number);
Value New(napi_env env, bool truth);
Value New(napi_env env, const std::string& text);

class Object : public Value {
 public:
  explicit Object(napi_env env);
  // Of a value, a number, a boolean or text. No setter runs.
  template <typename T>
  void Set(const char* name, const T& value) {
    if constexpr (std::is_convertible_v<const T&, napi_value>) SetValue(name, value);
    else if constexpr (std::is_same_v<T, bool>) SetValue(name, New(env(), value));
    else if constexpr (std::is_arithmetic_v<T>) SetValue(name, New(env(), static_cast<double>(value)));
    else SetValue(name, New(env(), std::string(value)));
  }

 private:
  void SetValue(const char* name, napi_value value);
};

class Array : public Value {
 public:
  explicit Array(napi_env env);
  void Add(napi_value value) { Check(env(), napi_set_element(env(), *this, length_++, value)); }

 private:
  uint32_t length_ = 0;
};

struct Bytes {
  uint8_t* data = nullptr;
  size_t size = 0;
};
// The bytes that a typed array or a DataView shows, over a SharedArrayBuffer too. False for anything else.
bool ViewOf(const Value& value, Bytes* bytes);
// A new Float64Array, and its numbers.
Value NewFloats(napi_env env, size_t length, double** numbers);

// What a callback was given; undefined where it was given less.
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info);
  Value operator[](size_t index) const { return Value(env_, values_[index]); }
  napi_env env() const { return env_; }
  void* data() const { return data_; }

 private:
  static constexpr size_t kMaxArguments = 6;
  napi_env env_;
  napi_value values_[kMaxArguments];
  void* data_ = nullptr;
};

}  // namespace dxtensor::addon::js
