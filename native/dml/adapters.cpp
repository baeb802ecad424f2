#include "adapters.h"

#include <cstring>
#include <mutex>

#ifdef _WIN32
#include <dxgi.h>
#endif

namespace dxtensor::dml {

namespace {

// DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE, which the headers only declare.
constexpr GUID kCoreCompute = {0x248e2800, 0xa793, 0x4724, {0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90}};

struct HardwareId {  // DXCoreHardwareID
  uint32_t vendor, device, subsystem, revision;
};

std::string VersionText(uint64_t version) {
  std::string text;
  for (int shift = 48; shift >= 0; shift -= 16) text += (text.empty() ? "" : ".") + std::to_string((version >> shift) & 0xFFFF);
  return text;
}

template <typename T>
bool Property(IDXCoreAdapter* adapter, DXCoreAdapterProperty property, T* value) {
  return adapter->IsPropertySupported(property) && SUCCEEDED(adapter->GetProperty(property, sizeof *value, value));
}

std::string Description(IDXCoreAdapter* adapter) {
  size_t size = 0;
  if (!adapter->IsPropertySupported(DXCoreAdapterProperty::DriverDescription) ||
      FAILED(adapter->GetPropertySize(DXCoreAdapterProperty::DriverDescription, &size)) || size == 0)
    return "";
  std::string text(size, '\0');
  if (FAILED(adapter->GetProperty(DXCoreAdapterProperty::DriverDescription, size, &text[0]))) return "";
  text.resize(std::strlen(text.c_str()));
  return text;
}

bool EndsWith(const std::string& text, const char* end) {
  size_t length = std::strlen(end);
  return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

Adapter Describe(ComPtr<IDXCoreAdapter> adapter, RuntimeKind kind) {
  Adapter a;
  a.name = Description(adapter.get());
  HardwareId id{};
  if (Property(adapter.get(), DXCoreAdapterProperty::HardwareID, &id)) {
    a.vendor_id = id.vendor;
    a.device_id = id.device;
  }
  Property(adapter.get(), DXCoreAdapterProperty::InstanceLuid, &a.luid);
  uint64_t version = 0;
  if (Property(adapter.get(), DXCoreAdapterProperty::DriverVersion, &version)) a.driver_version = VersionText(version);
  Property(adapter.get(), DXCoreAdapterProperty::IsHardware, &a.is_hardware);
  Property(adapter.get(), DXCoreAdapterProperty::IsIntegrated, &a.is_integrated);
  Property(adapter.get(), DXCoreAdapterProperty::DedicatedAdapterMemory, &a.dedicated_memory);
  Property(adapter.get(), DXCoreAdapterProperty::SharedSystemMemory, &a.shared_memory);
  a.is_simulated = kind == RuntimeKind::Software && EndsWith(a.name, "(simulated)");
  IUnknown* unknown = nullptr;
  if (SUCCEEDED(adapter->QueryInterface(__uuidof(IUnknown), reinterpret_cast<void**>(&unknown)))) *a.object.put() = unknown;
  return a;
}

std::vector<Adapter> ListByDxcore(const Runtime& runtime) {
  std::vector<Adapter> adapters;
  ComPtr<IDXCoreAdapterFactory> factory;
  ComPtr<IDXCoreAdapterList> list;
  if (!runtime.create_dxcore_factory || FAILED(runtime.create_dxcore_factory(__uuidof(IDXCoreAdapterFactory), factory.put_void())))
    return adapters;
  if (FAILED(factory->CreateAdapterList(1, &kCoreCompute, __uuidof(IDXCoreAdapterList), list.put_void()))) return adapters;
  for (uint32_t i = 0; i < list->GetAdapterCount(); ++i) {
    ComPtr<IDXCoreAdapter> adapter;
    if (SUCCEEDED(list->GetAdapter(i, __uuidof(IDXCoreAdapter), adapter.put_void()))) adapters.push_back(Describe(adapter, runtime.kind));
  }
  return adapters;
}

#ifdef _WIN32
std::string Narrow(const wchar_t* wide) {
  int length = WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
  std::string text(static_cast<size_t>(length > 0 ? length : 1), '\0');
  WideCharToMultiByte(CP_UTF8, 0, wide, -1, &text[0], length, nullptr, nullptr);
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::vector<Adapter> ListByDxgi(const Runtime& runtime) {
  std::vector<Adapter> adapters;
  ComPtr<IDXGIFactory1> factory;
  if (!runtime.create_dxgi_factory || FAILED(runtime.create_dxgi_factory(__uuidof(IDXGIFactory1), factory.put_void()))) return adapters;
  ComPtr<IDXGIAdapter1> adapter;
  for (UINT i = 0; SUCCEEDED(factory->EnumAdapters1(i, adapter.put())); ++i) {
    DXGI_ADAPTER_DESC1 desc;
    if (FAILED(adapter->GetDesc1(&desc))) continue;
    Adapter a;
    a.name = Narrow(desc.Description);
    a.vendor_id = desc.VendorId;
    a.device_id = desc.DeviceId;
    std::memcpy(&a.luid, &desc.AdapterLuid, sizeof a.luid);
    // A device on a bus has a vendor; Wine's adapter without a GPU has none and does not set the flag.
    a.is_hardware = !(desc.Flags & DXGI_ADAPTER_FLAG_SOFTWARE) && desc.VendorId != 0;
    a.dedicated_memory = desc.DedicatedVideoMemory;
    a.shared_memory = desc.SharedSystemMemory;
    LARGE_INTEGER version;
    if (SUCCEEDED(adapter->CheckInterfaceSupport(__uuidof(IDXGIDevice), &version)))
      a.driver_version = VersionText(static_cast<uint64_t>(version.QuadPart));
    IUnknown* unknown = nullptr;
    if (SUCCEEDED(adapter->QueryInterface(__uuidof(IUnknown), reinterpret_cast<void**>(&unknown)))) *a.object.put() = unknown;
    adapters.push_back(std::move(a));
  }
  return adapters;
}
#endif

struct Listing {
  std::once_flag once;
  std::vector<Adapter> adapters;
};

}  // namespace

const std::vector<Adapter>& Adapters(RuntimeKind kind) {
  static const std::vector<Adapter> none;
  // Never destroyed: adapters must not be released after their libraries' own clean-up at exit.
  static Listing* listings = new Listing[2];
  const Runtime* runtime = LoadedRuntime(kind);
  if (!runtime) return none;
  Listing& listing = listings[static_cast<size_t>(kind)];
  std::call_once(listing.once, [&] {
    listing.adapters = ListByDxcore(*runtime);
#ifdef _WIN32
    if (listing.adapters.empty()) listing.adapters = ListByDxgi(*runtime);
#endif
  });
  return listing.adapters;
}

}  // namespace dxtensor::dml
