#include "failure.h"

#include <cstdio>

namespace dxtensor::dml {

namespace {

struct Name {
  uint32_t code;
  const char* name;
};

constexpr Name kNames[] = {
    {0x80004001, "E_NOTIMPL"},
    {0x80004002, "E_NOINTERFACE"},
    {0x80004003, "E_POINTER"},
    {0x80004004, "E_ABORT"},
    {0x80004005, "E_FAIL"},
    {0x8000FFFF, "E_UNEXPECTED"},
    {0x80070005, "E_ACCESSDENIED"},
    {0x8007000E, "E_OUTOFMEMORY"},
    {0x80070057, "E_INVALIDARG"},
    {0x80040111, "CLASS_E_CLASSNOTAVAILABLE"},
    {0x887A0001, "DXGI_ERROR_INVALID_CALL"},
    {0x887A0002, "DXGI_ERROR_NOT_FOUND"},
    {0x887A0004, "DXGI_ERROR_UNSUPPORTED"},
    {0x887A0005, "DXGI_ERROR_DEVICE_REMOVED"},
    {0x887A0006, "DXGI_ERROR_DEVICE_HUNG"},
    {0x887A0007, "DXGI_ERROR_DEVICE_RESET"},
    {0x887A0020, "DXGI_ERROR_DRIVER_INTERNAL_ERROR"},
    {0x887A002D, "DXGI_ERROR_SDK_COMPONENT_MISSING"},
    {0x887E0001, "D3D12_ERROR_ADAPTER_NOT_FOUND"},
    {0x887E0002, "D3D12_ERROR_DRIVER_VERSION_MISMATCH"},
};

FailureKind KindOf(HRESULT hr) {
  if (IsRemoval(hr)) return FailureKind::Removed;
  switch (static_cast<uint32_t>(hr)) {
    case 0x8007000E: return FailureKind::OutOfMemory;
    case 0x80004001:
    case 0x887A0004: return FailureKind::Unsupported;
    case 0x80070057: return FailureKind::Invalid;
    default: return FailureKind::Device;
  }
}

}  // namespace

bool IsRemoval(HRESULT hr) {
  switch (static_cast<uint32_t>(hr)) {
    case 0x887A0005:
    case 0x887A0006:
    case 0x887A0007:
    case 0x887A0020: return true;
    default: return false;
  }
}

const char* KindName(FailureKind kind) {
  switch (kind) {
    case FailureKind::Load: return "load";
    case FailureKind::Device: return "device";
    case FailureKind::Removed: return "removed";
    case FailureKind::Timeout: return "timeout";
    case FailureKind::OutOfMemory: return "outOfMemory";
    case FailureKind::Unsupported: return "unsupported";
    case FailureKind::Invalid: return "invalid";
    case FailureKind::Internal: return "internal";
  }
  return "internal";
}

std::string HresultName(HRESULT hr) {
  for (const Name& n : kNames)
    if (n.code == static_cast<uint32_t>(hr)) return n.name;
  return "";
}

std::string HresultText(HRESULT hr) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08X", static_cast<unsigned>(hr));
  return text;
}

Failure::Failure(HRESULT hr, std::string call, std::string op, const std::string& detail)
    : kind_(KindOf(hr)), has_hresult_(true), hresult_(hr), call_(std::move(call)), op_(std::move(op)) {
  std::string name = HresultName(hr);
  message_ = (op_.empty() ? "" : op_ + ": ") + call_ + " failed: " + (name.empty() ? "" : name + " ") + "(" + HresultText(hr) + ")";
  if (!detail.empty()) message_ += "; " + detail;
}

Failure::Failure(const Removed& removed)
    : kind_(FailureKind::Removed),
      has_hresult_(true),
      hresult_(removed.code),
      is_elsewhere_(removed.is_elsewhere),
      call_("ID3D12Device::GetDeviceRemovedReason"),
      op_(removed.work),
      reason_(removed.reason) {
  message_ = std::string("the device was removed") + (is_elsewhere_ ? " by the work of another thread" : "") + ": " +
             HresultName(removed.code) + " (" + HresultText(removed.code) + ")";
  if (!reason_.empty()) message_ += ", " + reason_;
  if (!op_.empty()) message_ += "; it was noticed while running " + op_;
}

}  // namespace dxtensor::dml
