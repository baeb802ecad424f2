// DXCore's factory and adapter lists, and the entry point.
#include <algorithm>
#include <cstring>

#include "../trace.h"
#include "adapter.h"

namespace dxtensor::vulkan {

namespace {

class List final : public IDXCoreAdapterList {
 public:
  explicit List(std::vector<Adapter*> adapters) : adapters_(std::move(adapters)) {}

  ULONG AddRef() override { return ++references_; }
  ULONG Release() override {
    uint32_t left = --references_;
    if (!left) delete this;
    return left;
  }
  HRESULT QueryInterface(REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    if (iid != __uuidof(IUnknown) && iid != __uuidof(IDXCoreAdapterList)) return NoInterface("IDXCoreAdapterList", iid, out);
    *out = this;
    AddRef();
    return S_OK;
  }
  HRESULT GetAdapter(uint32_t index, REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    *out = nullptr;
    return index < adapters_.size() ? adapters_[index]->QueryInterface(iid, out) : E_INVALIDARG;
  }
  uint32_t GetAdapterCount() override { return static_cast<uint32_t>(adapters_.size()); }
  bool IsStale() override { return false; }
  HRESULT GetFactory(REFIID iid, void** out) override { return FactoryInterface(iid, out); }
  HRESULT Sort(uint32_t count, const DXCoreAdapterPreference* preferences) override {
    if (count && !preferences) return E_POINTER;
    for (uint32_t i = 0; i < count; ++i) {
      if (!IsAdapterPreferenceSupported(preferences[i])) return E_INVALIDARG;
      if (preferences[i] == DXCoreAdapterPreference::Hardware)
        std::stable_partition(adapters_.begin(), adapters_.end(), [](Adapter* a) { return a->is_hardware(); });
    }
    return S_OK;
  }
  bool IsAdapterPreferenceSupported(DXCoreAdapterPreference preference) override { return static_cast<uint32_t>(preference) <= 2; }

 private:
  ~List() = default;
  std::atomic<uint32_t> references_{1};
  std::vector<Adapter*> adapters_;
};

template <typename F>
HRESULT MakeList(REFIID iid, void** out, F wanted) {
  if (!out) return E_POINTER;
  std::vector<Adapter*> chosen;
  std::copy_if(Adapters().begin(), Adapters().end(), std::back_inserter(chosen), wanted);
  auto* list = new List(std::move(chosen));
  HRESULT hr = list->QueryInterface(iid, out);
  list->Release();
  return hr;
}

class Factory final : public Immortal<IDXCoreAdapterFactory1> {
 public:
  HRESULT QueryInterface(REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    if (iid != __uuidof(IUnknown) && iid != __uuidof(IDXCoreAdapterFactory) && iid != __uuidof(IDXCoreAdapterFactory1))
      return NoInterface("IDXCoreAdapterFactory", iid, out);
    *out = this;
    AddRef();
    return S_OK;
  }
  HRESULT CreateAdapterList(uint32_t count, const GUID* attributes, REFIID iid, void** out) override {
    if (out) *out = nullptr;
    if (!count) return E_INVALIDARG;
    if (!attributes) return E_POINTER;
    return MakeList(iid, out, [=](Adapter* a) {
      return std::all_of(attributes, attributes + count, [=](const GUID& attribute) { return a->IsAttributeSupported(attribute); });
    });
  }
  HRESULT GetAdapterByLuid(const LUID& luid, REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    *out = nullptr;
    for (Adapter* adapter : Adapters())
      if (!std::memcmp(&adapter->luid(), &luid, sizeof luid)) return adapter->QueryInterface(iid, out);
    trace("GetAdapterByLuid: no adapter %x:%x", static_cast<unsigned>(luid.HighPart), static_cast<unsigned>(luid.LowPart));
    return E_INVALIDARG;
  }
  bool IsNotificationTypeSupported(DXCoreNotificationType type) override { return static_cast<uint32_t>(type) <= 3; }
  // Nothing ever happens to these adapters: what is registered is never called.
  HRESULT RegisterEventNotification(IUnknown* object, DXCoreNotificationType type, PFN_DXCORE_NOTIFICATION_CALLBACK callback, void*,
                                    uint32_t* cookie) override {
    if (!object || !callback || !cookie) return E_POINTER;
    if (!IsNotificationTypeSupported(type)) return DXGI_ERROR_INVALID_CALL;
    *cookie = ++last_cookie_;
    return S_OK;
  }
  HRESULT UnregisterEventNotification(uint32_t cookie) override { return cookie ? S_OK : E_INVALIDARG; }
  HRESULT CreateAdapterListByWorkload(DXCoreWorkload workload, DXCoreRuntimeFilterFlags, DXCoreHardwareTypeFilterFlags hardware, REFIID iid,
                                      void** out) override {
    if (out) *out = nullptr;
    if (static_cast<uint32_t>(workload) > 3) return E_INVALIDARG;
    auto wanted = static_cast<uint32_t>(hardware);
    return MakeList(iid, out, [=](Adapter*) { return !wanted || (wanted & static_cast<uint32_t>(DXCoreHardwareTypeFilterFlags::GPU)); });
  }

 private:
  std::atomic<uint32_t> last_cookie_{0};
};

}  // namespace

HRESULT FactoryInterface(REFIID iid, void** out) {
  static Factory* const factory = new Factory;
  Adapters();
  return factory->QueryInterface(iid, out);
}

}  // namespace dxtensor::vulkan

extern "C" EXPORT HRESULT DXCoreCreateAdapterFactory(REFIID iid, void** out) {
  try {
    return dxtensor::vulkan::FactoryInterface(iid, out);
  } catch (const std::exception& error) {  // no memory
    trace("DXCoreCreateAdapterFactory: %s", error.what());
    return E_OUTOFMEMORY;
  }
}
