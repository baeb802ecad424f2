// Devices: levels, one for each adapter, features, the order of releases.
#include "support.h"

namespace dxtensor::test {

TEST(device_without_a_result_only_asks) {
  CHECK_HR(suite.create_device(suite.adapter(), D3D_FEATURE_LEVEL_1_0_CORE, __uuidof(ID3D12Device), nullptr), S_FALSE);
  CHECK_EQ(suite.live_objects(), 0u);
}

TEST(one_device_for_each_adapter) {
  Com<ID3D12Device> device, same, first;
  CHECK_OK(suite.create_device(suite.adapter(), D3D_FEATURE_LEVEL_1_0_CORE, IID_PPV_ARGS(&device)));
  CHECK_OK(suite.create_device(suite.adapter(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&same)));
  CHECK_OK(suite.create_device(nullptr, D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&first)));
  CHECK(same.get() == device.get() && first.get() == device.get());
  same.Reset();
  first.Reset();
  CHECK_EQ(device.Reset(), 0u);
}

// 12_0 is more than some Vulkan devices can: unsupported then, whether or not there is a device already.
TEST(device_levels) {
  for (D3D_FEATURE_LEVEL level : {D3D_FEATURE_LEVEL_1_0_CORE, D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_0, D3D_FEATURE_LEVEL_12_1}) {
    Com<ID3D12Device> alone, held, second;
    HRESULT hr = suite.create_device(suite.adapter(), level, IID_PPV_ARGS(&alone));
    CHECK(hr == S_OK || (level > D3D_FEATURE_LEVEL_11_1 && hr == DXGI_ERROR_UNSUPPORTED));
    alone.Reset();
    CHECK_OK(suite.create_device(suite.adapter(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&held)));
    CHECK_HR(suite.create_device(suite.adapter(), level, IID_PPV_ARGS(&second)), hr);
  }
}

TEST(device_refusals) {
  Com<IUnknown> none;
  CHECK_HR(suite.create_device(suite.device(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&none)), E_INVALIDARG);
  CHECK(!none);
  CHECK_HR(suite.get_debug(IID_PPV_ARGS(&none)), static_cast<HRESULT>(0x887a002d));  // no debug layer
  Com<ID3D12Device10> newer;                                                         // more than vkd3d has
  CHECK_HR(suite.device()->QueryInterface(IID_PPV_ARGS(&newer)), E_NOINTERFACE);
  CHECK(!newer);
}

TEST(features_for_directml) {
  ID3D12Device* device = suite.device();
  D3D12_FEATURE_DATA_SHADER_MODEL model = {D3D_SHADER_MODEL_6_0};
  D3D_FEATURE_LEVEL asked[] = {D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1};
  D3D12_FEATURE_DATA_FEATURE_LEVELS levels = {2, asked};
  D3D12_FEATURE_DATA_ARCHITECTURE1 architecture = {};
  D3D12_FEATURE_DATA_D3D12_OPTIONS options = {};
  CHECK_OK(device->CheckFeatureSupport(D3D12_FEATURE_SHADER_MODEL, &model, sizeof model));
  CHECK_EQ(model.HighestShaderModel, D3D_SHADER_MODEL_6_0);
  CHECK_OK(device->CheckFeatureSupport(D3D12_FEATURE_FEATURE_LEVELS, &levels, sizeof levels));
  CHECK(levels.MaxSupportedFeatureLevel >= D3D_FEATURE_LEVEL_11_0);
  CHECK_OK(device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE1, &architecture, sizeof architecture));
  CHECK_OK(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options));
  CHECK(options.ResourceHeapTier >= D3D12_RESOURCE_HEAP_TIER_1);
  CHECK_FAILS(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, 1));
  // DirectML takes an error for a broken device.
  Com<ID3D12Device5> device5;
  UINT count = 5;
  CHECK_OK(device->QueryInterface(IID_PPV_ARGS(&device5)));
  CHECK_OK(device5->EnumerateMetaCommands(&count, nullptr));
  CHECK_EQ(count, 0u);
  CHECK_OK(device->GetDeviceRemovedReason());
  CHECK_EQ(device->GetNodeCount(), 1u);
}

// Work is dropped, fences end, and the device says why, until it is released.
TEST(device_removed) {
  {
    Recorder before(suite.device(), D3D12_COMMAND_LIST_TYPE_COMPUTE);
    Com<ID3D12Device5> device5;
    CHECK_OK(suite.device()->QueryInterface(IID_PPV_ARGS(&device5)));
    before.Execute();
    before.Finish();
    device5->RemoveDevice();
    CHECK_HR(suite.device()->GetDeviceRemovedReason(), DXGI_ERROR_DEVICE_REMOVED);
    before.Again();
    before.Execute();
    Event event;
    CHECK_OK(before.fence->SetEventOnCompletion(1000, event.handle()));
    CHECK(event.Wait(10000));
    CHECK_EQ(before.fence->GetCompletedValue(), UINT64_MAX);
  }
  suite.Drop();
  CHECK_OK(suite.device()->GetDeviceRemovedReason());
}

// Direct3D allows it: what depends on the device keeps it alive.
TEST(device_released_before_its_objects) {
  Com<ID3D12Device> device, again;
  Com<ID3D12Fence> fence;
  Com<ID3D12Resource> r;
  CHECK_OK(suite.create_device(suite.adapter(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&device)));
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence)));
  MakeBuffer(device, D3D12_HEAP_TYPE_UPLOAD, 4096, &r);
  CHECK(device.Reset() > 0);
  CHECK_OK(r->GetDevice(IID_PPV_ARGS(&again)));
  CHECK_EQ(again->GetNodeCount(), 1u);
  CHECK_EQ(r.Reset(), 0u);
  again.Reset();
  CHECK_OK(fence->Signal(3));
  CHECK_EQ(fence->GetCompletedValue(), 3u);
  CHECK_EQ(fence.Reset(), 0u);
}

}  // namespace dxtensor::test
