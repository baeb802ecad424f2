#include "support.h"

#include <dlfcn.h>

#include <cstdio>
#include <stdexcept>

#include "scale_shader.h"

namespace dxtensor::test {

ULONG CountOf(IUnknown* object) {
  object->AddRef();
  return object->Release();
}

namespace {

void* Open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  return library;
}

template <typename F>
void Take(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) throw std::runtime_error(std::string("no ") + name);
}

}  // namespace

Suite::Suite(const char* dxcore_path, const char* d3d12_path) {
  void* dxcore = Open(dxcore_path);
  void* d3d12 = Open(d3d12_path);
  Take(dxcore, "DXCoreCreateAdapterFactory", create_factory);
  Take(d3d12, "D3D12CreateDevice", create_device);
  Take(d3d12, "D3D12SerializeRootSignature", serialize);
  Take(d3d12, "D3D12SerializeVersionedRootSignature", serialize_versioned);
  Take(d3d12, "D3D12CreateRootSignatureDeserializer", create_deserializer);
  Take(d3d12, "D3D12CreateVersionedRootSignatureDeserializer", create_versioned_deserializer);
  Take(d3d12, "D3D12GetDebugInterface", get_debug);
  Take(d3d12, "dxtensor_vulkan_live_objects", live_objects);
  Take(d3d12, "DxtensorRuntimeName", runtime_name);
}

IDXCoreAdapter* Suite::adapter() {
  if (adapter_) return adapter_;
  Com<IDXCoreAdapterFactory> factory;
  Com<IDXCoreAdapterList> list;
  CHECK_OK(create_factory(IID_PPV_ARGS(&factory)));
  const GUID wanted[] = {DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE};
  CHECK_OK(factory->CreateAdapterList(1, wanted, IID_PPV_ARGS(&list)));
  CHECK_OK(list->GetAdapter(0, IID_PPV_ARGS(&adapter_)));
  return adapter_;
}

ID3D12Device* Suite::device() {
  if (!device_) CHECK_OK(create_device(adapter(), D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&device_)));
  return device_;
}

void Suite::Drop() {
  device_.Reset();
  adapter_.Reset();
}

D3D12_RESOURCE_DESC BufferDesc(UINT64 size, D3D12_RESOURCE_FLAGS flags) {
  D3D12_RESOURCE_DESC d = {};
  d.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
  d.Width = size;
  d.Height = d.DepthOrArraySize = d.MipLevels = d.SampleDesc.Count = 1;
  d.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
  d.Flags = flags;
  return d;
}

void MakeBuffer(ID3D12Device* device, D3D12_HEAP_TYPE type, UINT64 size, ID3D12Resource** out, D3D12_RESOURCE_FLAGS flags) {
  D3D12_HEAP_PROPERTIES heap = {type, D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_MEMORY_POOL_UNKNOWN, 1, 1};
  D3D12_RESOURCE_DESC desc = BufferDesc(size, flags);
  D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                   : D3D12_RESOURCE_STATE_COMMON;
  CHECK_OK(device->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, IID_PPV_ARGS(out)));
}

D3D12_RESOURCE_BARRIER Transition(ID3D12Resource* resource, D3D12_RESOURCE_STATES from, D3D12_RESOURCE_STATES to) {
  D3D12_RESOURCE_BARRIER b = {};
  b.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  b.Transition = {resource, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, from, to};
  return b;
}

D3D12_RESOURCE_BARRIER UavBarrier(ID3D12Resource* resource) {
  D3D12_RESOURCE_BARRIER b = {};
  b.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
  b.UAV.pResource = resource;
  return b;
}

Recorder::Recorder(ID3D12Device* device, D3D12_COMMAND_LIST_TYPE type) {
  D3D12_COMMAND_QUEUE_DESC desc = {type, D3D12_COMMAND_QUEUE_PRIORITY_NORMAL, D3D12_COMMAND_QUEUE_FLAG_DISABLE_GPU_TIMEOUT, 0};
  CHECK_OK(device->CreateCommandQueue(&desc, IID_PPV_ARGS(&queue)));
  CHECK_OK(device->CreateCommandAllocator(type, IID_PPV_ARGS(&allocator)));
  CHECK_OK(device->CreateCommandList(0, type, allocator, nullptr, IID_PPV_ARGS(&list)));
  CHECK_OK(device->CreateFence(0, D3D12_FENCE_FLAG_NONE, IID_PPV_ARGS(&fence)));
}

void Recorder::Execute() {
  CHECK_OK(list->Close());
  ID3D12CommandList* lists[] = {list};
  queue->ExecuteCommandLists(1, lists);
  CHECK_OK(queue->Signal(fence, ++value));
}

void Recorder::Finish() {
  Event event;
  CHECK_OK(fence->SetEventOnCompletion(value, event.handle()));
  CHECK(event.Wait(20000));
  CHECK_EQ(fence->GetCompletedValue(), value);
}

void Recorder::Again() {
  CHECK_OK(allocator->Reset());
  CHECK_OK(list->Reset(allocator, nullptr));
}

D3D12_SHADER_BYTECODE ScaleShader() { return {kScaleShader, sizeof kScaleShader}; }

}  // namespace dxtensor::test
