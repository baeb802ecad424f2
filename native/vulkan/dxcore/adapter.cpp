#include "adapter.h"

#include <cstring>

#include "../trace.h"

namespace dxtensor::vulkan {

namespace {

// A property's value as bytes; empty when there is none.
using Bytes = std::vector<char>;

template <typename T>
Bytes BytesOf(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

Bytes PropertyOf(const Adapter& adapter, DXCoreAdapterProperty property) {
  const Device& d = adapter.device();
  if (traces_calls()) trace("IDXCoreAdapter: property %u", static_cast<uint32_t>(property));
  switch (property) {
    case DXCoreAdapterProperty::InstanceLuid: return BytesOf(adapter.luid());
    // 31.0.15.N, as a driver for Windows might have it: programs compare versions in this form.
    case DXCoreAdapterProperty::DriverVersion:
      return BytesOf((uint64_t{31} << 48) | (uint64_t{15} << 16) | (d.driver_version >> 22 ? d.driver_version >> 22 : 1000));
    case DXCoreAdapterProperty::DriverDescription: return Bytes(d.name.c_str(), d.name.c_str() + d.name.size() + 1);
    case DXCoreAdapterProperty::HardwareID: return BytesOf(DXCoreHardwareID{d.vendor, d.device, 0, 0});
    case DXCoreAdapterProperty::HardwareIDParts: return BytesOf(DXCoreHardwareIDParts{d.vendor, d.device, 0, 0, 0});
    case DXCoreAdapterProperty::KmdModelVersion: return BytesOf(uint32_t{3000});  // WDDM 3.0
    case DXCoreAdapterProperty::ComputePreemptionGranularity:
    case DXCoreAdapterProperty::GraphicsPreemptionGranularity: return BytesOf(uint16_t{200});  // by DMA buffer
    case DXCoreAdapterProperty::DedicatedAdapterMemory: return BytesOf(d.dedicated_in_bytes);
    case DXCoreAdapterProperty::DedicatedSystemMemory: return BytesOf(uint64_t{0});
    case DXCoreAdapterProperty::SharedSystemMemory: return BytesOf(d.shared_in_bytes);
    case DXCoreAdapterProperty::AcgCompatible: return BytesOf(true);
    case DXCoreAdapterProperty::IsHardware: return BytesOf(adapter.is_hardware());
    case DXCoreAdapterProperty::IsIntegrated: return BytesOf(d.type != VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
    case DXCoreAdapterProperty::IsDetachable: return BytesOf(false);
    case DXCoreAdapterProperty::PhysicalAdapterCount: return BytesOf(uint32_t{1});
    default: return {};
  }
}

HRESULT Missing(uint32_t which) {
  trace("IDXCoreAdapter: no property or state %u", which);
  return which <= 17 ? DXGI_ERROR_UNSUPPORTED : DXGI_ERROR_INVALID_CALL;
}

}  // namespace

HRESULT NoInterface(const char* what, REFIID iid, void** out) {
  *out = nullptr;
  trace("%s: no interface " GUID_FORMAT, what, GUID_ARGUMENTS(&iid));
  return E_NOINTERFACE;
}

HRESULT Adapter::QueryInterface(REFIID iid, void** out) {
  if (!out) return E_POINTER;
  if (iid != __uuidof(IUnknown) && iid != __uuidof(IDXCoreAdapter) && iid != __uuidof(IDXCoreAdapter1))
    return NoInterface("IDXCoreAdapter", iid, out);
  *out = this;
  AddRef();
  return S_OK;
}

bool Adapter::IsAttributeSupported(REFGUID attribute) {
  bool yes = attribute == DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS || attribute == DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS ||
             attribute == DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE || (attribute == DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU && is_hardware());
  if (!yes) trace("IDXCoreAdapter: no attribute " GUID_FORMAT, GUID_ARGUMENTS(&attribute));
  return yes;
}

bool Adapter::IsPropertySupported(DXCoreAdapterProperty property) { return !PropertyOf(*this, property).empty(); }

HRESULT Adapter::GetPropertySize(DXCoreAdapterProperty property, size_t* size) {
  if (!size) return E_POINTER;
  *size = PropertyOf(*this, property).size();
  return *size ? S_OK : Missing(static_cast<uint32_t>(property));
}

HRESULT Adapter::GetProperty(DXCoreAdapterProperty property, size_t size, void* out) {
  Bytes bytes = PropertyOf(*this, property);
  if (bytes.empty()) return Missing(static_cast<uint32_t>(property));
  if (!out) return E_POINTER;
  if (size < bytes.size()) return E_INVALIDARG;
  std::memset(out, 0, size);
  std::memcpy(out, bytes.data(), bytes.size());
  return S_OK;
}

HRESULT Adapter::GetPropertyWithInput(DXCoreAdapterProperty property, size_t, const void*, size_t size, void* out) {
  return GetProperty(property, size, out);
}

bool Adapter::IsQueryStateSupported(DXCoreAdapterState state) {
  return state == DXCoreAdapterState::IsDriverUpdateInProgress || state == DXCoreAdapterState::AdapterMemoryBudget;
}

HRESULT Adapter::QueryState(DXCoreAdapterState state, size_t input_size, const void* input, size_t size, void* out) {
  if (state == DXCoreAdapterState::IsDriverUpdateInProgress) {
    if (!out) return E_POINTER;
    if (size < 1) return E_INVALIDARG;
    std::memset(out, 0, size);
    return S_OK;
  }
  if (state != DXCoreAdapterState::AdapterMemoryBudget) return Missing(static_cast<uint32_t>(state));
  if (!input || !out) return E_POINTER;
  DXCoreAdapterMemoryBudgetNodeSegmentGroup group;
  DXCoreAdapterMemoryBudget result{};
  if (input_size < sizeof group || size < sizeof result) return E_INVALIDARG;
  std::memcpy(&group, input, sizeof group);
  if (group.nodeIndex) return E_INVALIDARG;
  if (group.segmentGroup == DXCoreSegmentGroup::Local) {
    Budget budget = MemoryBudget(device_);
    result.budget = budget.budget_in_bytes;
    result.currentUsage = budget.usage_in_bytes;
    result.availableForReservation = result.budget / 2;
  } else {
    result.budget = device_.shared_in_bytes;
  }
  std::memset(out, 0, size);
  std::memcpy(out, &result, sizeof result);
  return S_OK;
}

bool Adapter::IsSetStateSupported(DXCoreAdapterState state) { return state == DXCoreAdapterState::AdapterMemoryBudget; }

// A reservation is a wish; Vulkan has none.
HRESULT Adapter::SetState(DXCoreAdapterState state, size_t, const void*, size_t, const void*) {
  return IsSetStateSupported(state) ? S_OK : Missing(static_cast<uint32_t>(state));
}

HRESULT Adapter::GetFactory(REFIID iid, void** out) { return FactoryInterface(iid, out); }

}  // namespace dxtensor::vulkan
