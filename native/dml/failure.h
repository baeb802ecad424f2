// The only exception class of native/dml: kind, message and HRESULT of a failure. Plain data; any thread.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

#include "../abi/abi.h"

namespace dxtensor::dml {

enum class FailureKind : uint8_t { Load, Device, Removed, Timeout, OutOfMemory, Unsupported, Invalid, Internal };

class Failure : public std::exception {
 public:
  Failure(FailureKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  // A failed HRESULT: the kind follows from it.
  Failure(HRESULT hr, std::string call, std::string op = "", const std::string& detail = "");

  // What is known of a device's removal.
  struct Removed {
    HRESULT code = 0;
    std::string reason;         // the adapter's words; empty: none
    std::string work;           // programs that ran when it was noticed; empty: unknown
    bool is_elsewhere = false;  // another thread's work did it
  };
  explicit Failure(const Removed& removed);

  const char* what() const noexcept override { return message_.c_str(); }
  FailureKind kind() const { return kind_; }
  bool has_hresult() const { return has_hresult_; }
  HRESULT hresult() const { return hresult_; }
  const std::string& call() const { return call_; }
  const std::string& op() const { return op_; }
  // Of a removal.
  const std::string& reason() const { return reason_; }
  bool is_elsewhere() const { return is_elsewhere_; }

 private:
  FailureKind kind_;
  bool has_hresult_ = false;
  HRESULT hresult_ = 0;
  bool is_elsewhere_ = false;
  std::string call_, op_, reason_, message_;
};

const char* KindName(FailureKind kind);  // "outOfMemory"
std::string HresultName(HRESULT hr);     // "E_INVALIDARG", "" for an unknown one
std::string HresultText(HRESULT hr);     // "0x80070057"
bool IsRemoval(HRESULT hr);

inline void Check(HRESULT hr, const char* call, const char* op = "") {
  if (FAILED(hr)) throw Failure(hr, call, op);
}

}  // namespace dxtensor::dml
