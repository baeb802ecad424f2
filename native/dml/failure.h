// The one exception of native/dml: what failed, in words and in numbers. Plain data; any thread.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "../abi/abi.h"

namespace dxtensor::dml {

enum class FailureKind : uint8_t { Load, Device, Removed, OutOfMemory, Unsupported, Invalid, Internal };

class Failure : public std::exception {
 public:
  Failure(FailureKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  // A failed HRESULT: the kind follows from it.
  Failure(HRESULT hr, std::string call, std::string op = "", const std::string& detail = "");

  // The device's own reason for its removal, and what noticed it.
  static Failure Removal(HRESULT reason, const std::string& noticed_by);

  const char* what() const noexcept override { return message_.c_str(); }
  FailureKind kind() const { return kind_; }
  bool has_hresult() const { return has_hresult_; }
  HRESULT hresult() const { return hresult_; }
  const std::string& call() const { return call_; }
  const std::string& op() const { return op_; }

 private:
  FailureKind kind_;
  bool has_hresult_ = false;
  HRESULT hresult_ = 0;
  std::string call_, op_, message_;
};

const char* KindName(FailureKind kind);  // "outOfMemory"
std::string HresultName(HRESULT hr);     // "E_INVALIDARG", "" for an unknown one
std::string HresultText(HRESULT hr);     // "0x80070057"
bool IsRemoval(HRESULT hr);

inline void Check(HRESULT hr, const char* call, const char* op = "") {
  if (FAILED(hr)) throw Failure(hr, call, op);
}

}  // namespace dxtensor::dml
