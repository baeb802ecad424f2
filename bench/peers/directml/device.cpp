#include "device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../../../native/abi/abi_calls.h"

namespace dxtensor::peer {

namespace {

constexpr uint32_t kDescriptors = 1 << 17;

Ref<IDXCoreAdapter> FirstAdapter(const test::Runtime& runtime) {
  Ref<IDXCoreAdapterFactory> factory;
  Ref<IDXCoreAdapterList> adapters;
  Ref<IDXCoreAdapter> adapter;
  Check(runtime.CreateAdapterFactory(__uuidof(IDXCoreAdapterFactory), factory.out_void()), "DXCoreCreateAdapterFactory");
  Check(factory->CreateAdapterList(1, &test::kCoreCompute, __uuidof(IDXCoreAdapterList), adapters.out_void()), "CreateAdapterList");
  if (adapters->GetAdapterCount() == 0) throw std::runtime_error("there is no adapter with Direct3D 12's core compute");
  Check(adapters->GetAdapter(0, __uuidof(IDXCoreAdapter), adapter.out_void()), "IDXCoreAdapterList::GetAdapter");
  return adapter;
}

D3D12_RESOURCE_DESC BufferDesc(uint64_t bytes, D3D12_RESOURCE_FLAGS flags) {
  D3D12_RESOURCE_DESC desc{};
  desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
  desc.Width = bytes;
  desc.Height = desc.DepthOrArraySize = desc.MipLevels = 1;
  desc.SampleDesc.Count = 1;
  desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
  desc.Flags = flags;
  return desc;
}

}  // namespace

void Check(HRESULT hr, const char* call) {
  if (SUCCEEDED(hr)) return;
  char number[16];
  std::snprintf(number, sizeof number, "0x%08X", static_cast<unsigned>(hr));
  throw std::runtime_error(std::string(call) + " failed with " + number);
}

void CommandList::Barrier() {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
  list_->ResourceBarrier(1, &barrier);
}

void CommandList::Transition(ID3D12Resource* buffer, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
  list_->ResourceBarrier(1, &barrier);
}

void CommandList::Close() { Check(list_->Close(), "ID3D12GraphicsCommandList::Close"); }

Device::Device(const test::RuntimePaths& paths) {
  const test::Runtime runtime(paths);
  const Ref<IDXCoreAdapter> adapter = FirstAdapter(runtime);
  HRESULT hr = runtime.CreateD3D12Device(adapter.get(), D3D_FEATURE_LEVEL_1_0_CORE, __uuidof(ID3D12Device), d3d_.out_void());
  if (FAILED(hr)) hr = runtime.CreateD3D12Device(adapter.get(), D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device), d3d_.out_void());
  Check(hr, "D3D12CreateDevice");
  Check(runtime.CreateDmlDevice(d3d_.get(), DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_1, __uuidof(IDMLDevice1), dml_.out_void()),
        "DMLCreateDevice1");
  D3D12_COMMAND_QUEUE_DESC queue{};
  queue.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
  Check(d3d_->CreateCommandQueue(&queue, __uuidof(ID3D12CommandQueue), queue_.out_void()), "CreateCommandQueue");
  Check(d3d_->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence_.out_void()), "CreateFence");
  const D3D12_DESCRIPTOR_HEAP_DESC heap{D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, kDescriptors, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0};
  Check(d3d_->CreateDescriptorHeap(&heap, __uuidof(ID3D12DescriptorHeap), heap_.out_void()), "CreateDescriptorHeap");
  Check(dml_->CreateCommandRecorder(__uuidof(IDMLCommandRecorder), recorder_.out_void()), "CreateCommandRecorder");
  const D3D12_QUERY_HEAP_DESC stamps{D3D12_QUERY_HEAP_TYPE_TIMESTAMP, 2, 0};
  Check(d3d_->CreateQueryHeap(&stamps, __uuidof(ID3D12QueryHeap), stamps_.out_void()), "CreateQueryHeap");
  stamp_results_ = Buffer(2 * sizeof(UINT64), D3D12_HEAP_TYPE_READBACK);
  Check(queue_->GetTimestampFrequency(&frequency_), "GetTimestampFrequency");
}

Ref<ID3D12Resource> Device::Buffer(uint64_t bytes, D3D12_HEAP_TYPE type) const {
  D3D12_HEAP_PROPERTIES properties{};
  properties.Type = type;
  const bool is_default = type == D3D12_HEAP_TYPE_DEFAULT;
  const D3D12_RESOURCE_DESC desc =
      BufferDesc((bytes + 255) / 256 * 256, is_default ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE);
  const D3D12_RESOURCE_STATES state = is_default                       ? D3D12_RESOURCE_STATE_COMMON
                                      : type == D3D12_HEAP_TYPE_UPLOAD ? D3D12_RESOURCE_STATE_GENERIC_READ
                                                                       : D3D12_RESOURCE_STATE_COPY_DEST;
  Ref<ID3D12Resource> buffer;
  Check(
      d3d_->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, __uuidof(ID3D12Resource), buffer.out_void()),
      "CreateCommittedResource");
  return buffer;
}

void Device::Upload(ID3D12Resource* to, const std::vector<float>& values) {
  const uint64_t bytes = values.size() * sizeof(float);
  const Ref<ID3D12Resource> staging = Buffer(bytes, D3D12_HEAP_TYPE_UPLOAD);
  void* memory = nullptr;
  Check(staging->Map(0, nullptr, &memory), "ID3D12Resource::Map");
  std::memcpy(memory, values.data(), bytes);
  staging->Unmap(0, nullptr);
  CommandList list = Open();
  list.Transition(to, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
  list.get()->CopyBufferRegion(to, 0, staging.get(), 0, bytes);
  list.Transition(to, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_COMMON);
  Run(list);
}

std::vector<float> Device::Download(ID3D12Resource* from, size_t count) {
  const uint64_t bytes = count * sizeof(float);
  const Ref<ID3D12Resource> staging = Buffer(bytes, D3D12_HEAP_TYPE_READBACK);
  CommandList list = Open();
  list.Transition(from, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_SOURCE);
  list.get()->CopyBufferRegion(staging.get(), 0, from, 0, bytes);
  list.Transition(from, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
  Run(list);
  void* memory = nullptr;
  Check(staging->Map(0, nullptr, &memory), "ID3D12Resource::Map");
  std::vector<float> values(count);
  std::memcpy(values.data(), memory, bytes);
  staging->Unmap(0, nullptr);
  return values;
}

DML_BINDING_TABLE_DESC Device::TableDesc(IDMLDispatchable* dispatchable) {
  const UINT count = BindingProperties(dispatchable).RequiredDescriptorCount;
  if (descriptors_used_ + count > kDescriptors) throw std::runtime_error("the heap of descriptors is full");
  const uint64_t offset = uint64_t{descriptors_used_} * d3d_->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
  descriptors_used_ += std::max(count, 1u);
  DML_BINDING_TABLE_DESC desc{dispatchable, CpuStart(heap_.get()), GpuStart(heap_.get()), count};
  desc.CPUDescriptorHandle.ptr += static_cast<SIZE_T>(offset);
  desc.GPUDescriptorHandle.ptr += offset;
  return desc;
}

Ref<IDMLBindingTable> Device::Table(IDMLDispatchable* dispatchable) {
  const DML_BINDING_TABLE_DESC desc = TableDesc(dispatchable);
  Ref<IDMLBindingTable> table;
  Check(dml_->CreateBindingTable(&desc, __uuidof(IDMLBindingTable), table.out_void()), "IDMLDevice::CreateBindingTable");
  return table;
}

void Device::Initialize(const std::vector<IDMLCompiledOperator*>& operators, const std::vector<Range>& persistent) {
  Ref<IDMLOperatorInitializer> initializer;
  Check(dml_->CreateOperatorInitializer(static_cast<UINT>(operators.size()), operators.data(), __uuidof(IDMLOperatorInitializer),
                                        initializer.out_void()),
        "CreateOperatorInitializer");
  const uint64_t bytes = BindingProperties(initializer.get()).TemporaryResourceSize;
  const Ref<ID3D12Resource> temporary = bytes ? Buffer(bytes) : Ref<ID3D12Resource>();
  const Ref<IDMLBindingTable> table = Table(initializer.get());
  const bool is_bound = std::any_of(persistent.begin(), persistent.end(), [](const Range& range) { return range.buffer != nullptr; });
  BindTable(table.get(), {}, is_bound ? persistent : std::vector<Range>(), {temporary.get(), 0, bytes}, {});
  CommandList list = Open();
  recorder_->RecordDispatch(list.get(), initializer.get(), table.get());
  list.Barrier();
  Run(list);
  CheckAlive();
}

CommandList Device::Open() const {
  CommandList list;
  Check(d3d_->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), list.allocator_.out_void()),
        "CreateCommandAllocator");
  Check(d3d_->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, list.allocator_.get(), nullptr, __uuidof(ID3D12GraphicsCommandList),
                                list.list_.out_void()),
        "CreateCommandList");
  ID3D12DescriptorHeap* heap = heap_.get();
  list.get()->SetDescriptorHeaps(1, &heap);
  return list;
}

uint64_t Device::Submit(const CommandList& list) {
  ID3D12CommandList* lists[] = {list.get()};
  queue_->ExecuteCommandLists(1, lists);
  Check(queue_->Signal(fence_.get(), ++fence_value_), "ID3D12CommandQueue::Signal");
  return fence_value_;
}

void Device::Wait(uint64_t value) const {
  if (fence_->GetCompletedValue() < value) Check(fence_->SetEventOnCompletion(value, nullptr), "ID3D12Fence::SetEventOnCompletion");
}

void Device::Run(CommandList& list) {
  list.Close();
  Wait(Submit(list));
}

void Device::StampStart(CommandList& list) const { list.get()->EndQuery(stamps_.get(), D3D12_QUERY_TYPE_TIMESTAMP, 0); }

void Device::StampEnd(CommandList& list) const {
  list.get()->EndQuery(stamps_.get(), D3D12_QUERY_TYPE_TIMESTAMP, 1);
  list.get()->ResolveQueryData(stamps_.get(), D3D12_QUERY_TYPE_TIMESTAMP, 0, 2, stamp_results_.get(), 0);
}

double Device::StampedSeconds() const {
  void* memory = nullptr;
  Check(stamp_results_->Map(0, nullptr, &memory), "ID3D12Resource::Map");
  UINT64 ticks[2];
  std::memcpy(ticks, memory, sizeof ticks);
  stamp_results_->Unmap(0, nullptr);
  return static_cast<double>(ticks[1] - ticks[0]) / static_cast<double>(frequency_);
}

void Device::CheckAlive() const {
  Check(d3d_->GetDeviceRemovedReason(), "the device was removed: ID3D12Device");
  Check(dml_->GetDeviceRemovedReason(), "the device was removed: IDMLDevice");
}

Bindings::Bindings(const std::vector<Range>& ranges) {
  buffers_.reserve(ranges.size());
  for (const Range& range : ranges) {
    buffers_.push_back({range.buffer, range.offset, range.bytes});
    if (range.buffer) descs_.push_back({DML_BINDING_TYPE_BUFFER, &buffers_.back()});
    else descs_.push_back({DML_BINDING_TYPE_NONE, nullptr});
  }
}

void BindTable(IDMLBindingTable* table, const std::vector<Range>& inputs, const std::vector<Range>& outputs, const Range& temporary,
               const Range& persistent) {
  const Bindings in(inputs), out(outputs), scratch({temporary}), kept({persistent});
  if (in.size()) table->BindInputs(in.size(), in.data());
  if (out.size()) table->BindOutputs(out.size(), out.data());
  if (temporary.buffer) table->BindTemporaryResource(scratch.data());
  if (persistent.buffer) table->BindPersistentResource(kept.data());
}

}  // namespace dxtensor::peer
