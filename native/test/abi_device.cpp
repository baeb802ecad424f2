// Devices, feature queries, fences and queues.
#include <chrono>
#include <cstring>
#include <thread>

#include "../abi/abi_calls.h"
#include "check.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

constexpr GUID kNobody = {0x12345678, 1, 2, {3, 4, 5, 6, 7, 8, 9, 11}};

Ref<ID3D12Fence> NewFence(Gpu& gpu, uint64_t value = 0) {
  Ref<ID3D12Fence> fence;
  CHECK_OK(gpu.d3d()->CreateFence(value, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.out_void()));
  return fence;
}

}  // namespace

TEST(device_creation) {
  Ref<IUnknown> adapter = FirstAdapter(suite.runtime());
  Ref<ID3D12Device> device = CreateDevice(suite.runtime(), adapter.get());
  Ref<IUnknown> unknown;
  CHECK_HR(suite.runtime().CreateD3D12Device(adapter.get(), D3D_FEATURE_LEVEL_11_0, kNobody, unknown.out_void()), E_NOINTERFACE);
  CHECK_OK(device->QueryInterface(__uuidof(IUnknown), unknown.out_void()));
  CHECK_HR(device->QueryInterface(kNobody, unknown.out_void()), E_NOINTERFACE);
  const LUID luid = LuidOf(adapter.get()), of_device = AdapterLuid(device.get());
  CHECK(luid.LowPart == of_device.LowPart && luid.HighPart == of_device.HighPart);
  CHECK_EQ(device->GetNodeCount(), 1u);
  CHECK_OK(device->GetDeviceRemovedReason());
}

TEST(d3d_features) {
  ID3D12Device* device = suite.gpu().d3d();
  D3D12_FEATURE_DATA_D3D12_OPTIONS options{};
  CHECK_OK(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options));
  CHECK_FAILS(device->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, 3));
  CHECK_FAILS(device->CheckFeatureSupport(static_cast<D3D12_FEATURE>(9999), &options, sizeof options));
  D3D12_FEATURE_DATA_ARCHITECTURE architecture{};
  CHECK_OK(device->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof architecture));
  if (suite.runtime().software()) CHECK(architecture.UMA);
  CHECK(device->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV) > 0);
}

TEST(dml_features) {
  Gpu& gpu = suite.gpu();
  IDMLDevice1* dml = gpu.dml();
  CHECK(gpu.feature_level() >= 0x5000);
  // The highest of those asked for.
  const DML_FEATURE_LEVEL some[] = {DML_FEATURE_LEVEL_2_0, DML_FEATURE_LEVEL_1_0};
  DML_FEATURE_QUERY_FEATURE_LEVELS query{2, some};
  DML_FEATURE_DATA_FEATURE_LEVELS data{};
  CHECK_OK(dml->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, sizeof query, &query, sizeof data, &data));
  CHECK_EQ(static_cast<uint32_t>(data.MaxSupportedFeatureLevel), 0x2000u);
  CHECK_HR(dml->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, 3, &query, sizeof data, &data), E_INVALIDARG);
  CHECK_HR(dml->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, sizeof query, &query, 3, &data), E_INVALIDARG);
  CHECK_HR(dml->CheckFeatureSupport(static_cast<DML_FEATURE>(99), sizeof query, &query, sizeof data, &data), DXGI_ERROR_UNSUPPORTED);
  for (DML_TENSOR_DATA_TYPE type :
       {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_INT64, DML_TENSOR_DATA_TYPE_UINT8}) {
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT asked{type};
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT answer{};
    CHECK_OK(dml->CheckFeatureSupport(DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof asked, &asked, sizeof answer, &answer));
    CHECK(answer.IsSupported);
  }
}

TEST(dml_device_creation) {
  Gpu& gpu = suite.gpu();
  Ref<IDMLDevice> device;
  Ref<IUnknown> unknown;
  CHECK_HR(suite.runtime().CreateDmlDevice(gpu.d3d(), DML_CREATE_DEVICE_FLAG_NONE, static_cast<DML_FEATURE_LEVEL>(0x7000),
                                           __uuidof(IDMLDevice), device.out_void()),
           DXGI_ERROR_UNSUPPORTED);
  CHECK_HR(suite.runtime().CreateDmlDevice(gpu.d3d(), DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_1_0, kNobody, unknown.out_void()),
           E_NOINTERFACE);
  CHECK_OK(suite.runtime().CreateDmlDevice(gpu.d3d(), DML_CREATE_DEVICE_FLAG_NONE, static_cast<DML_FEATURE_LEVEL>(gpu.feature_level()),
                                           __uuidof(IDMLDevice), device.out_void()));
  Ref<ID3D12Device> parent;
  CHECK_OK(device->GetParentDevice(__uuidof(ID3D12Device), parent.out_void()));
  CHECK(parent.get() == gpu.d3d());
  CHECK_OK(device->GetDeviceRemovedReason());
}

TEST(private_data) {
  Ref<ID3D12Resource> buffer = suite.gpu().Buffer(256);
  const uint32_t value = 0x01020304;
  uint32_t read = 0;
  UINT size = sizeof read;
  CHECK_OK(buffer->SetPrivateData(kNobody, sizeof value, &value));
  CHECK_OK(buffer->GetPrivateData(kNobody, &size, &read));
  CHECK_EQ(read, value);
  CHECK_EQ(size, 4u);
  CHECK_OK(buffer->SetPrivateData(kNobody, 0, nullptr));
  size = sizeof read;
  CHECK_HR(buffer->GetPrivateData(kNobody, &size, &read), DXGI_ERROR_NOT_FOUND);
}

TEST(fence_from_the_cpu) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Fence> fence = NewFence(gpu, 5);
  CHECK_EQ(fence->GetCompletedValue(), 5u);
  Event event;
  CHECK_OK(fence->SetEventOnCompletion(7, event.get()));
  CHECK(!event.Wait(0));
  CHECK_OK(fence->Signal(6));
  CHECK(!event.Wait(20));
  CHECK_OK(fence->Signal(7));
  CHECK(event.Wait(5000));
  CHECK_EQ(fence->GetCompletedValue(), 7u);
  // A value that was reached already signals at once.
  Event second;
  CHECK_OK(fence->SetEventOnCompletion(3, second.get()));
  CHECK(second.Wait(5000));
  // NULL waits.
  CHECK_OK(fence->SetEventOnCompletion(7, nullptr));
}

TEST(fence_completes_later) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Fence> gate = NewFence(gpu), done = NewFence(gpu);
  CHECK_OK(gpu.queue()->Wait(gate.get(), 1));
  CHECK_OK(gpu.queue()->Signal(done.get(), 1));
  Event event;
  CHECK_OK(done->SetEventOnCompletion(1, event.get()));
  CHECK(!event.Wait(30));
  CHECK_EQ(done->GetCompletedValue(), 0u);
  CHECK_OK(gate->Signal(1));
  CHECK(event.Wait(5000));
  CHECK_EQ(done->GetCompletedValue(), 1u);
}

TEST(fence_null_event_blocks) {
  Gpu& gpu = suite.gpu();
  Ref<ID3D12Fence> fence = NewFence(gpu);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    fence->Signal(1);
  });
  auto start = std::chrono::steady_clock::now();
  HRESULT hr = fence->SetEventOnCompletion(1, nullptr);
  auto waited = std::chrono::steady_clock::now() - start;
  later.join();
  CHECK_OK(hr);
  CHECK(waited >= std::chrono::milliseconds(20));
}

TEST(two_queues_in_order) {
  Gpu& gpu = suite.gpu();
  D3D12_COMMAND_QUEUE_DESC desc{};
  desc.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
  Ref<ID3D12CommandQueue> other;
  CHECK_OK(gpu.d3d()->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), other.out_void()));
  Ref<ID3D12Fence> gate = NewFence(gpu), done = NewFence(gpu);
  CHECK_OK(other->Wait(gate.get(), 1));
  CHECK_OK(other->Signal(done.get(), 1));
  CHECK_OK(gpu.queue()->Signal(gate.get(), 1));
  CHECK_OK(done->SetEventOnCompletion(1, nullptr));
  CHECK_EQ(done->GetCompletedValue(), 1u);
}

}  // namespace dxtensor::test
