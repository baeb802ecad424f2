// DXCore's adapters over Vulkan's devices.
//
// They are found once and live as long as the process; reference counts are only for show. Any thread may call.
#pragma once

#include <wsl/winadapter.h>
#include <directx/dxcore.h>
#include <dxguids/dxguids.h>

#include <atomic>
#include <vector>

#include "vulkan.h"

namespace dxtensor::vulkan {

// An interface whose objects are never destroyed.
template <typename I>
class Immortal : public I {
 public:
  ULONG STDMETHODCALLTYPE AddRef() override { return ++references_; }
  ULONG STDMETHODCALLTYPE Release() override { return --references_; }

 private:
  std::atomic<uint32_t> references_{0};
};

class Adapter final : public Immortal<IDXCoreAdapter1> {
 public:
  Adapter(Device device, LUID luid) : device_(std::move(device)), luid_(luid) {}

  const Device& device() const { return device_; }
  const LUID& luid() const { return luid_; }
  // A Vulkan driver that runs on the CPU is no hardware.
  bool is_hardware() const { return !device_.is_cpu(); }

  HRESULT QueryInterface(REFIID iid, void** out) override;
  bool IsValid() override { return true; }
  bool IsAttributeSupported(REFGUID attribute) override;
  bool IsPropertySupported(DXCoreAdapterProperty property) override;
  HRESULT GetProperty(DXCoreAdapterProperty property, size_t size, void* out) override;
  HRESULT GetPropertySize(DXCoreAdapterProperty property, size_t* size) override;
  HRESULT GetPropertyWithInput(DXCoreAdapterProperty property, size_t input_size, const void* input, size_t size, void* out) override;
  bool IsQueryStateSupported(DXCoreAdapterState state) override;
  HRESULT QueryState(DXCoreAdapterState state, size_t input_size, const void* input, size_t size, void* out) override;
  bool IsSetStateSupported(DXCoreAdapterState state) override;
  HRESULT SetState(DXCoreAdapterState state, size_t input_size, const void* input, size_t size, const void* data) override;
  HRESULT GetFactory(REFIID iid, void** out) override;

 private:
  const Device device_;
  const LUID luid_;
};

// In the order of DXTENSOR_VULKAN_ADAPTERS, else in Vulkan's.
const std::vector<Adapter*>& Adapters();

// The one factory.
HRESULT FactoryInterface(REFIID iid, void** out);
HRESULT NoInterface(const char* what, REFIID iid, void** out);

}  // namespace dxtensor::vulkan
