#include "dxcore.h"

#include <algorithm>
#include <deque>

#include "software/cpu/host/host_memory.h"
#include "memory.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

// Pages are taken when they are first written: those that are promised but not written are no longer available to others.
uint64_t HostBudget(uint64_t allocated) {
  HostMemory host = QueryHostMemory();
  uint64_t promised = allocated - std::min(allocated, host.resident);
  return allocated + host.available - std::min(host.available, promised);
}

class Adapter final : public ComObject<IDXCoreAdapter1, IDXCoreAdapter, IDXCoreAdapter1> {
 public:
  explicit Adapter(std::shared_ptr<const Profile> profile) : profile_(std::move(profile)) {}

  const std::shared_ptr<const Profile>& profile() const { return profile_; }

  bool STDMETHODCALLTYPE IsValid() override { return true; }
  bool STDMETHODCALLTYPE IsAttributeSupported(REFGUID attribute) override {
    if (attribute == DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE) return true;
    if (attribute == DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS) return true;  // what programs for GPUs list by
    if (attribute == DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS || attribute == DXCORE_HARDWARE_TYPE_ATTRIBUTE_GPU) return profile_->hardware;
    return false;
  }
  bool STDMETHODCALLTYPE IsPropertySupported(DXCoreAdapterProperty property) override { return Find(property).size() != 0; }
  HRESULT STDMETHODCALLTYPE GetPropertySize(DXCoreAdapterProperty property, size_t* size) override {
    if (!size) return E_POINTER;
    *size = Find(property).size();
    return *size ? S_OK : Missing(property);
  }
  HRESULT STDMETHODCALLTYPE GetProperty(DXCoreAdapterProperty property, size_t size, void* data) override {
    std::string value = Find(property);
    if (value.empty()) return Missing(property);
    if (!data) return E_POINTER;
    if (size < value.size()) return E_INVALIDARG;
    std::memset(data, 0, size);
    std::memcpy(data, value.data(), value.size());
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE GetPropertyWithInput(DXCoreAdapterProperty property, size_t, const void*, size_t size, void* data) override {
    return GetProperty(property, size, data);
  }
  bool STDMETHODCALLTYPE IsQueryStateSupported(DXCoreAdapterState state) override {
    return state == DXCoreAdapterState::IsDriverUpdateInProgress || state == DXCoreAdapterState::AdapterMemoryBudget;
  }
  HRESULT STDMETHODCALLTYPE QueryState(DXCoreAdapterState state, size_t in_size, const void* in, size_t out_size, void* out) override {
    if (!IsQueryStateSupported(state)) return DXGI_ERROR_INVALID_CALL;
    if (!out) return E_POINTER;
    if (state == DXCoreAdapterState::IsDriverUpdateInProgress) {
      if (out_size < 1) return E_INVALIDARG;
      std::memset(out, 0, out_size);
      return S_OK;
    }
    if (!in) return E_POINTER;
    DXCoreAdapterMemoryBudget result{};
    if (in_size < sizeof(DXCoreAdapterMemoryBudgetNodeSegmentGroup) || out_size < sizeof result) return E_INVALIDARG;
    DXCoreAdapterMemoryBudgetNodeSegmentGroup group;
    std::memcpy(&group, in, sizeof group);
    if (group.nodeIndex) return E_INVALIDARG;
    bool local = group.segmentGroup == DXCoreSegmentGroup::Local;
    uint64_t dedicated = profile_->dedicated_bytes, shared = profile_->shared_bytes;
    result.budget = profile_->unified == local ? shared : dedicated;
    result.currentUsage = local ? AllocatedBytes(profile_->luid) : 0;
    // What others have taken of the machine's memory is not there for this adapter.
    if (local && !profile_->hardware) result.budget = std::min(result.budget, HostBudget(result.currentUsage));
    result.availableForReservation = result.budget / 2;
    std::memset(out, 0, out_size);
    std::memcpy(out, &result, sizeof result);
    return S_OK;
  }
  bool STDMETHODCALLTYPE IsSetStateSupported(DXCoreAdapterState state) override { return state == DXCoreAdapterState::AdapterMemoryBudget; }
  HRESULT STDMETHODCALLTYPE SetState(DXCoreAdapterState state, size_t, const void*, size_t, const void*) override {
    return IsSetStateSupported(state) ? S_OK : DXGI_ERROR_INVALID_CALL;
  }
  HRESULT STDMETHODCALLTYPE GetFactory(REFIID iid, void** out) override { return CreateFactory(iid, out); }

 private:
  // The bytes of a property; empty when there is none.
  std::string Find(DXCoreAdapterProperty property) const {
    auto bytes = [](auto value) {
      std::string text(sizeof value, '\0');
      std::memcpy(&text[0], &value, sizeof value);
      return text;
    };
    const Profile& p = *profile_;
    switch (property) {
      case DXCoreAdapterProperty::InstanceLuid: return bytes(p.luid);
      case DXCoreAdapterProperty::DriverVersion: return bytes(uint64_t{1} << 48);  // 1.0.0.0
      case DXCoreAdapterProperty::DriverDescription: return p.name + '\0';
      case DXCoreAdapterProperty::HardwareID: return bytes(DXCoreHardwareID{p.vendor_id, p.device_id, 0, 0});
      case DXCoreAdapterProperty::HardwareIDParts: return bytes(DXCoreHardwareIDParts{p.vendor_id, p.device_id, 0, 0, 0});
      case DXCoreAdapterProperty::KmdModelVersion: return bytes(uint32_t{3000});
      case DXCoreAdapterProperty::ComputePreemptionGranularity:
      case DXCoreAdapterProperty::GraphicsPreemptionGranularity: return bytes(uint16_t{200});  // between command buffers
      case DXCoreAdapterProperty::DedicatedAdapterMemory: return bytes(p.dedicated_bytes);
      case DXCoreAdapterProperty::DedicatedSystemMemory: return bytes(uint64_t{0});
      case DXCoreAdapterProperty::SharedSystemMemory: return bytes(p.shared_bytes);
      case DXCoreAdapterProperty::AcgCompatible: return bytes(true);
      case DXCoreAdapterProperty::IsHardware: return bytes(p.hardware);
      case DXCoreAdapterProperty::IsIntegrated: return bytes(p.unified);
      case DXCoreAdapterProperty::IsDetachable: return bytes(false);
      case DXCoreAdapterProperty::PhysicalAdapterCount: return bytes(uint32_t{1});
      default: return {};
    }
  }
  static HRESULT Missing(DXCoreAdapterProperty property) {
    return static_cast<uint32_t>(property) <= 17 ? DXGI_ERROR_UNSUPPORTED : DXGI_ERROR_INVALID_CALL;
  }

  std::shared_ptr<const Profile> profile_;
};

class AdapterList final : public ComObject<IDXCoreAdapterList, IDXCoreAdapterList> {
 public:
  explicit AdapterList(std::vector<Adapter*> items) : items_(std::move(items)) {}

  HRESULT STDMETHODCALLTYPE GetAdapter(uint32_t index, REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    *out = nullptr;
    return index < items_.size() ? items_[index]->QueryInterface(iid, out) : E_INVALIDARG;
  }
  uint32_t STDMETHODCALLTYPE GetAdapterCount() override { return static_cast<uint32_t>(items_.size()); }
  bool STDMETHODCALLTYPE IsStale() override { return false; }
  HRESULT STDMETHODCALLTYPE GetFactory(REFIID iid, void** out) override { return CreateFactory(iid, out); }
  HRESULT STDMETHODCALLTYPE Sort(uint32_t count, const DXCoreAdapterPreference* preferences) override {
    if (count && !preferences) return E_POINTER;
    for (uint32_t i = 0; i < count; ++i)
      if (!IsAdapterPreferenceSupported(preferences[i])) return E_INVALIDARG;
    for (uint32_t i = 0; i < count; ++i)
      if (preferences[i] == DXCoreAdapterPreference::Hardware)
        std::stable_partition(items_.begin(), items_.end(), [](Adapter* a) { return a->profile()->hardware; });
    return S_OK;
  }
  bool STDMETHODCALLTYPE IsAdapterPreferenceSupported(DXCoreAdapterPreference preference) override {
    return static_cast<uint32_t>(preference) <= 2;
  }

 private:
  std::vector<Adapter*> items_;
};

// Every adapter that was ever listed, and those that are listed now.
struct Registry {
  std::mutex mutex;
  std::vector<Adapter*> all, listed;
  uint32_t next = 1;

  Registry() { Replace(SoftwareProfile(), {}); }

  Adapter* Add(Profile profile) {
    profile.luid.LowPart = next++ << 16;
    profile.luid.HighPart = 0x6478;  // "dx": no driver's LUID looks like this
    all.push_back(new Adapter(std::make_shared<const Profile>(std::move(profile))));
    return all.back();
  }
  void Replace(Profile software, std::vector<Profile> simulated) {
    std::vector<Adapter*> now;
    const Profile* old = listed.empty() ? nullptr : listed[0]->profile().get();
    bool same = old && old->feature_level == software.feature_level && old->refused == software.refused;
    now.push_back(same ? listed[0] : Add(std::move(software)));
    for (Profile& profile : simulated) now.push_back(Add(std::move(profile)));
    listed = std::move(now);
  }
};

// Never destroyed: threads may outlive the destructors of static objects at exit.
Registry& TheRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}

template <class Wanted>
HRESULT MakeList(REFIID iid, void** out, Wanted wanted) {
  if (!out) return E_POINTER;
  *out = nullptr;
  return Guard([&]() -> HRESULT {
    std::vector<Adapter*> items;
    Registry& registry = TheRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    for (Adapter* adapter : registry.listed)
      if (wanted(adapter)) items.push_back(adapter);
    return Deliver(new AdapterList(std::move(items)), iid, out);
  });
}

class Factory final : public ComObject<IDXCoreAdapterFactory1, IDXCoreAdapterFactory, IDXCoreAdapterFactory1> {
 public:
  HRESULT STDMETHODCALLTYPE CreateAdapterList(uint32_t count, const GUID* attributes, REFIID iid, void** out) override {
    if (out) *out = nullptr;
    if (!count) return E_INVALIDARG;
    if (!attributes) return E_POINTER;
    return MakeList(iid, out, [=](Adapter* adapter) {
      for (uint32_t i = 0; i < count; ++i)
        if (!adapter->IsAttributeSupported(attributes[i])) return false;
      return true;
    });
  }
  HRESULT STDMETHODCALLTYPE GetAdapterByLuid(const LUID& luid, REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    *out = nullptr;
    Registry& registry = TheRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    for (Adapter* adapter : registry.all)
      if (!std::memcmp(&adapter->profile()->luid, &luid, sizeof luid)) return adapter->QueryInterface(iid, out);
    return E_INVALIDARG;
  }
  bool STDMETHODCALLTYPE IsNotificationTypeSupported(DXCoreNotificationType type) override { return static_cast<uint32_t>(type) <= 3; }
  // Nothing ever happens to these adapters.
  HRESULT STDMETHODCALLTYPE RegisterEventNotification(IUnknown* object, DXCoreNotificationType type,
                                                      PFN_DXCORE_NOTIFICATION_CALLBACK callback, void*, uint32_t* cookie) override {
    static std::atomic<uint32_t> last{0};
    if (!object || !callback || !cookie) return E_POINTER;
    if (!IsNotificationTypeSupported(type)) return DXGI_ERROR_INVALID_CALL;
    *cookie = ++last;
    return S_OK;
  }
  HRESULT STDMETHODCALLTYPE UnregisterEventNotification(uint32_t cookie) override { return cookie ? S_OK : E_INVALIDARG; }
  HRESULT STDMETHODCALLTYPE CreateAdapterListByWorkload(DXCoreWorkload workload, DXCoreRuntimeFilterFlags,
                                                        DXCoreHardwareTypeFilterFlags hardware, REFIID iid, void** out) override {
    if (out) *out = nullptr;
    if (static_cast<uint32_t>(workload) > 3) return E_INVALIDARG;
    auto bits = static_cast<uint32_t>(hardware);
    return MakeList(iid, out, [=](Adapter*) { return !bits || (bits & static_cast<uint32_t>(DXCoreHardwareTypeFilterFlags::GPU)); });
  }
};

}  // namespace

HRESULT CreateFactory(REFIID iid, void** out) {
  static Factory* factory = new Factory;
  return factory->QueryInterface(iid, out);
}

HRESULT Simulate(const char* profiles) {
  return Guard([&]() -> HRESULT {
    Profile software = SoftwareProfile();
    std::vector<Profile> simulated;
    std::string why;
    if (!ParseProfiles(profiles ? profiles : "", &software, &simulated, &why)) {
      Trace("DxtensorSimulate: " + why);
      return E_INVALIDARG;
    }
    Registry& registry = TheRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    registry.Replace(std::move(software), std::move(simulated));
    return S_OK;
  });
}

std::shared_ptr<const Profile> ProfileOf(const LUID& luid) {
  Registry& registry = TheRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  for (Adapter* adapter : registry.all)
    if (!std::memcmp(&adapter->profile()->luid, &luid, sizeof luid)) return adapter->profile();
  return nullptr;
}

std::shared_ptr<const Profile> ProfileOf(IUnknown* adapter) {
  if (!adapter) {
    Registry& registry = TheRegistry();
    std::lock_guard<std::mutex> lock(registry.mutex);
    return registry.listed[0]->profile();
  }
  IDXCoreAdapter* known = nullptr;
  if (FAILED(adapter->QueryInterface(__uuidof(IDXCoreAdapter), reinterpret_cast<void**>(&known)))) return nullptr;
  LUID luid{};
  HRESULT asked = known->GetProperty(DXCoreAdapterProperty::InstanceLuid, sizeof luid, &luid);
  known->Release();
  return SUCCEEDED(asked) ? ProfileOf(luid) : nullptr;
}

}  // namespace dxtensor::software
