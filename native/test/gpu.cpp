#include "gpu.h"

#include <algorithm>
#include <cstring>

#ifdef _WIN32
#include <dxgi.h>
#else
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#endif

#include "../abi/abi_calls.h"
#include "check.h"

namespace dxtensor::test {

namespace {

constexpr uint32_t kDescriptors = 2048;
constexpr uint64_t kAlign = 256;
constexpr uint8_t kGuard = 0xcd;

uint64_t Up(uint64_t value) { return (value + kAlign - 1) / kAlign * kAlign; }

}  // namespace

#ifdef _WIN32
Event::Event() : handle_(CreateEventW(nullptr, FALSE, FALSE, nullptr)) {}
Event::~Event() { CloseHandle(handle_); }
bool Event::Wait(unsigned milliseconds) const { return WaitForSingleObject(handle_, milliseconds) == WAIT_OBJECT_0; }
#else
Event::Event() : handle_(reinterpret_cast<HANDLE>(static_cast<intptr_t>(eventfd(0, EFD_CLOEXEC)))) {}
Event::~Event() { close(static_cast<int>(reinterpret_cast<intptr_t>(handle_))); }
bool Event::Wait(unsigned milliseconds) const {
  pollfd wait{static_cast<int>(reinterpret_cast<intptr_t>(handle_)), POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(milliseconds)) == 1;
}
#endif

#ifdef _WIN32
namespace {

bool UsesDxgi(const Runtime& runtime) {
  Ref<IDXCoreAdapterFactory> dxcore;
  Ref<IDXGIFactory1> dxgi;
  return FAILED(runtime.CreateAdapterFactory(__uuidof(IDXCoreAdapterFactory), dxcore.out_void())) &&
         SUCCEEDED(runtime.CreateDxgiFactory(__uuidof(IDXGIFactory1), dxgi.out_void()));
}

Ref<IUnknown> FirstDxgiAdapter(const Runtime& runtime) {
  Ref<IDXGIFactory1> factory;
  Ref<IDXGIAdapter1> adapter;
  CHECK_OK(runtime.CreateDxgiFactory(__uuidof(IDXGIFactory1), factory.out_void()));
  CHECK_OK(factory->EnumAdapters1(0, adapter.out()));
  Ref<IUnknown> unknown;
  CHECK_OK(adapter->QueryInterface(__uuidof(IUnknown), unknown.out_void()));
  return unknown;
}

}  // namespace
#endif

Ref<IDXCoreAdapterFactory> DxcoreFactory(const Runtime& runtime) {
#ifdef _WIN32
  if (UsesDxgi(runtime)) throw Skip{"this Windows has no DXCore; adapters come from DXGI"};
#endif
  Ref<IDXCoreAdapterFactory> factory;
  CHECK_OK(runtime.CreateAdapterFactory(__uuidof(IDXCoreAdapterFactory), factory.out_void()));
  return factory;
}

Ref<IUnknown> FirstAdapter(const Runtime& runtime) {
#ifdef _WIN32
  if (UsesDxgi(runtime)) return FirstDxgiAdapter(runtime);
#endif
  Ref<IDXCoreAdapter> adapter = FirstDxcoreAdapter(runtime);
  Ref<IUnknown> unknown;
  CHECK_OK(adapter->QueryInterface(__uuidof(IUnknown), unknown.out_void()));
  return unknown;
}

LUID LuidOf(IUnknown* unknown) {
  LUID luid{};
  Ref<IDXCoreAdapter> adapter;
#ifdef _WIN32
  Ref<IDXGIAdapter> dxgi;
  if (SUCCEEDED(unknown->QueryInterface(__uuidof(IDXGIAdapter), dxgi.out_void()))) {
    DXGI_ADAPTER_DESC desc;
    CHECK_OK(dxgi->GetDesc(&desc));
    return desc.AdapterLuid;
  }
#endif
  CHECK_OK(unknown->QueryInterface(__uuidof(IDXCoreAdapter), adapter.out_void()));
  CHECK_OK(adapter->GetProperty(DXCoreAdapterProperty::InstanceLuid, sizeof luid, &luid));
  return luid;
}

Ref<IDXCoreAdapter> FirstDxcoreAdapter(const Runtime& runtime) {
  Ref<IDXCoreAdapterFactory> factory = DxcoreFactory(runtime);
  Ref<IDXCoreAdapterList> adapters;
  Ref<IDXCoreAdapter> adapter;
  CHECK_OK(factory->CreateAdapterList(1, &kCoreCompute, __uuidof(IDXCoreAdapterList), adapters.out_void()));
  CHECK(adapters->GetAdapterCount() > 0);
  CHECK_OK(adapters->GetAdapter(0, __uuidof(IDXCoreAdapter), adapter.out_void()));
  return adapter;
}

Ref<ID3D12Device> CreateDevice(const Runtime& runtime, IUnknown* adapter) {
  Ref<ID3D12Device> device;
  HRESULT hr = runtime.CreateD3D12Device(adapter, D3D_FEATURE_LEVEL_1_0_CORE, __uuidof(ID3D12Device), device.out_void());
  if (FAILED(hr)) hr = runtime.CreateD3D12Device(adapter, D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device), device.out_void());
  CHECK_OK(hr);
  return device;
}

D3D12_RESOURCE_BARRIER Transition(ID3D12Resource* resource, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition.pResource = resource;
  barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
  barrier.Transition.StateBefore = before;
  barrier.Transition.StateAfter = after;
  return barrier;
}

D3D12_RESOURCE_BARRIER UavBarrier(ID3D12Resource* resource) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
  barrier.UAV.pResource = resource;
  return barrier;
}

D3D12_RESOURCE_DESC BufferDesc(uint64_t bytes, D3D12_RESOURCE_FLAGS flags) {
  D3D12_RESOURCE_DESC desc{};
  desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
  desc.Width = bytes;
  desc.Height = 1;
  desc.DepthOrArraySize = 1;
  desc.MipLevels = 1;
  desc.SampleDesc.Count = 1;
  desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
  desc.Flags = flags;
  return desc;
}

Gpu::Gpu(const Runtime& runtime) {
  Ref<IUnknown> adapter = FirstAdapter(runtime);
  d3d_ = CreateDevice(runtime, adapter.get());
  CHECK_OK(runtime.CreateDmlDevice(d3d_.get(), DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, __uuidof(IDMLDevice1), dml_.out_void()));
  D3D12_COMMAND_QUEUE_DESC queue{};
  queue.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
  CHECK_OK(d3d_->CreateCommandQueue(&queue, __uuidof(ID3D12CommandQueue), queue_.out_void()));
  CHECK_OK(d3d_->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), allocator_.out_void()));
  CHECK_OK(d3d_->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator_.get(), nullptr, __uuidof(ID3D12GraphicsCommandList),
                                   list_.out_void()));
  CHECK_OK(list_->Close());
  CHECK_OK(d3d_->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence_.out_void()));
  D3D12_DESCRIPTOR_HEAP_DESC heap{};
  heap.Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
  heap.NumDescriptors = kDescriptors;
  heap.Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
  CHECK_OK(d3d_->CreateDescriptorHeap(&heap, __uuidof(ID3D12DescriptorHeap), heap_.out_void()));
  CHECK_OK(dml_->CreateCommandRecorder(__uuidof(IDMLCommandRecorder), recorder_.out_void()));
  CHECK_OK(dml_->CreateOperatorInitializer(0, nullptr, __uuidof(IDMLOperatorInitializer), initializer_.out_void()));
  const DML_FEATURE_LEVEL levels[] = {DML_FEATURE_LEVEL_5_0, DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2, DML_FEATURE_LEVEL_6_0,
                                      DML_FEATURE_LEVEL_6_1, DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4};
  DML_FEATURE_QUERY_FEATURE_LEVELS query{static_cast<UINT>(std::size(levels)), levels};
  DML_FEATURE_DATA_FEATURE_LEVELS data{};
  CHECK_OK(dml_->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, sizeof query, &query, sizeof data, &data));
  level_ = static_cast<uint32_t>(data.MaxSupportedFeatureLevel);
}

Gpu::~Gpu() = default;

Ref<ID3D12Resource> Gpu::Buffer(uint64_t bytes, D3D12_HEAP_TYPE type) const {
  D3D12_HEAP_PROPERTIES properties{};
  properties.Type = type;
  D3D12_RESOURCE_DESC desc =
      BufferDesc(bytes, type == D3D12_HEAP_TYPE_DEFAULT ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE);
  D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                   : D3D12_RESOURCE_STATE_COMMON;
  Ref<ID3D12Resource> buffer;
  CHECK_OK(
      d3d_->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, __uuidof(ID3D12Resource), buffer.out_void()));
  return buffer;
}

void Gpu::Begin() {
  CHECK_OK(allocator_->Reset());
  CHECK_OK(list_->Reset(allocator_.get(), nullptr));
  ID3D12DescriptorHeap* heap = heap_.get();
  list_->SetDescriptorHeaps(1, &heap);
}

uint64_t Gpu::SignalNext() {
  CHECK_OK(queue_->Signal(fence_.get(), ++next_value_));
  return next_value_;
}

void Gpu::Wait() { CHECK_OK(fence_->SetEventOnCompletion(SignalNext(), nullptr)); }

void Gpu::Finish() {
  CHECK_OK(list_->Close());
  ID3D12CommandList* lists[] = {list_.get()};
  queue_->ExecuteCommandLists(1, lists);
  Wait();
}

DML_BINDING_TABLE_DESC Gpu::TableDesc(IDMLDispatchable* dispatchable, uint32_t first, uint32_t count) const {
  const uint64_t step = d3d_->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
  DML_BINDING_TABLE_DESC desc{};
  desc.Dispatchable = dispatchable;
  desc.CPUDescriptorHandle = CpuStart(heap_.get());
  desc.CPUDescriptorHandle.ptr += static_cast<SIZE_T>(first * step);
  desc.GPUDescriptorHandle = GpuStart(heap_.get());
  desc.GPUDescriptorHandle.ptr += first * step;
  desc.SizeInDescriptors = count;
  return desc;
}

Ref<IDMLBindingTable> Gpu::Table(IDMLDispatchable* dispatchable, uint32_t first) {
  uint32_t count = BindingProperties(dispatchable).RequiredDescriptorCount;
  CHECK(first + count <= kDescriptors);
  DML_BINDING_TABLE_DESC desc = TableDesc(dispatchable, first, count);
  Ref<IDMLBindingTable> table;
  CHECK_OK(dml_->CreateBindingTable(&desc, __uuidof(IDMLBindingTable), table.out_void()));
  return table;
}

HRESULT Gpu::Create(const schema::OperatorDesc& desc, Ref<IDMLOperator>& op) const {
  schema::DmlDesc raw(desc);
  return dml_->CreateOperator(raw.get(), __uuidof(IDMLOperator), op.out_void());
}

HRESULT Gpu::Compile(const schema::OperatorDesc& desc, Ref<IDMLCompiledOperator>& compiled, DML_EXECUTION_FLAGS flags) const {
  Ref<IDMLOperator> op;
  HRESULT hr = Create(desc, op);
  if (FAILED(hr)) return hr;
  return dml_->CompileOperator(op.get(), flags, __uuidof(IDMLCompiledOperator), compiled.out_void());
}

void Gpu::Reserve(uint64_t bytes) {
  if (bytes <= arena_size_) return;
  arena_size_ = std::max<uint64_t>(bytes, 8u << 20);
  arena_ = Buffer(arena_size_);
  upload_ = Buffer(arena_size_, D3D12_HEAP_TYPE_UPLOAD);
  readback_ = Buffer(arena_size_, D3D12_HEAP_TYPE_READBACK);
}

std::vector<Bytes> Gpu::Run(IDMLCompiledOperator* compiled, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs) {
  IDMLCompiledOperator* targets[] = {compiled};
  CHECK_OK(initializer_->Reset(1, targets));
  const DML_BINDING_PROPERTIES prepare = BindingProperties(initializer_.get()), run = BindingProperties(compiled);
  // Inputs, outputs each with a guard behind, persistent and temporary memory.
  uint64_t at = 0, reads_to = 0;
  std::vector<DML_BUFFER_BINDING> input_ranges, output_ranges;
  auto range_of = [&](uint64_t size) {
    DML_BUFFER_BINDING range{nullptr, at, size};
    at = Up(at + size) + kAlign;
    return range;
  };
  for (const Operand& input : inputs)
    input_ranges.push_back(input.bytes ? range_of((input.bytes->size() + 3) & ~uint64_t{3}) : DML_BUFFER_BINDING{});
  for (const Operand& output : outputs)
    output_ranges.push_back(output.size ? range_of((output.size + 3) & ~uint64_t{3}) : DML_BUFFER_BINDING{});
  reads_to = std::max<uint64_t>(at, kAlign);
  DML_BUFFER_BINDING temporary = range_of(std::max(run.TemporaryResourceSize, prepare.TemporaryResourceSize));
  Reserve(at);
  // A buffer of its own: an initialiser's input and output never share one.
  DML_BUFFER_BINDING persistent{nullptr, 0, run.PersistentResourceSize};
  if (run.PersistentResourceSize > persistent_size_) {
    persistent_size_ = std::max<uint64_t>(Up(run.PersistentResourceSize), 1u << 20);
    persistent_ = Buffer(persistent_size_);
  }
  for (auto* list : {&input_ranges, &output_ranges})
    for (DML_BUFFER_BINDING& range : *list)
      if (range.SizeInBytes) range.Buffer = arena_.get();
  persistent.Buffer = persistent_.get();
  temporary.Buffer = arena_.get();

  uint8_t* mapped = nullptr;
  CHECK_OK(upload_->Map(0, nullptr, reinterpret_cast<void**>(&mapped)));
  std::memset(mapped, kGuard, reads_to);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].bytes && !inputs[i].bytes->empty())
      std::memcpy(mapped + input_ranges[i].Offset, inputs[i].bytes->data(), inputs[i].bytes->size());
  upload_->Unmap(0, nullptr);

  Begin();
  D3D12_RESOURCE_BARRIER barrier = Transition(arena_.get(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
  list_->ResourceBarrier(1, &barrier);
  list_->CopyBufferRegion(arena_.get(), 0, upload_.get(), 0, reads_to);
  barrier = Transition(arena_.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
  list_->ResourceBarrier(1, &barrier);

  DML_BINDING_DESC none{DML_BINDING_TYPE_NONE, nullptr};
  const bool owned = std::any_of(inputs.begin(), inputs.end(), [](const Operand& input) { return input.owned; });
  Ref<IDMLBindingTable> prepare_table = Table(initializer_.get(), 0);
  std::vector<DML_BUFFER_BINDING> owned_ranges(input_ranges.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].owned) owned_ranges[i] = input_ranges[i];
  DML_BUFFER_ARRAY_BINDING array{static_cast<UINT>(owned_ranges.size()), owned_ranges.data()};
  DML_BINDING_DESC owned_binding{DML_BINDING_TYPE_BUFFER_ARRAY, &array};
  if (owned) prepare_table->BindInputs(1, &owned_binding);
  DML_BINDING_DESC persistent_binding{DML_BINDING_TYPE_BUFFER, &persistent}, temporary_binding{DML_BINDING_TYPE_BUFFER, &temporary};
  if (run.PersistentResourceSize) prepare_table->BindOutputs(1, &persistent_binding);
  DML_BUFFER_BINDING prepare_temporary = temporary;
  prepare_temporary.SizeInBytes = prepare.TemporaryResourceSize;
  DML_BINDING_DESC prepare_temporary_binding{DML_BINDING_TYPE_BUFFER, &prepare_temporary};
  if (prepare.TemporaryResourceSize) prepare_table->BindTemporaryResource(&prepare_temporary_binding);
  recorder_->RecordDispatch(list_.get(), initializer_.get(), prepare_table.get());
  barrier = UavBarrier();
  list_->ResourceBarrier(1, &barrier);

  Ref<IDMLBindingTable> table = Table(compiled, prepare.RequiredDescriptorCount);
  std::vector<DML_BINDING_DESC> input_bindings, output_bindings;
  for (size_t i = 0; i < inputs.size(); ++i)
    input_bindings.push_back(inputs[i].bytes && !inputs[i].owned ? DML_BINDING_DESC{DML_BINDING_TYPE_BUFFER, &input_ranges[i]} : none);
  for (size_t i = 0; i < outputs.size(); ++i)
    output_bindings.push_back(outputs[i].size ? DML_BINDING_DESC{DML_BINDING_TYPE_BUFFER, &output_ranges[i]} : none);
  table->BindInputs(static_cast<UINT>(input_bindings.size()), input_bindings.data());
  table->BindOutputs(static_cast<UINT>(output_bindings.size()), output_bindings.data());
  DML_BUFFER_BINDING run_temporary = temporary;
  run_temporary.SizeInBytes = run.TemporaryResourceSize;
  temporary_binding.Desc = &run_temporary;
  if (run.TemporaryResourceSize) table->BindTemporaryResource(&temporary_binding);
  if (run.PersistentResourceSize) table->BindPersistentResource(&persistent_binding);
  recorder_->RecordDispatch(list_.get(), compiled, table.get());

  barrier = Transition(arena_.get(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
  list_->ResourceBarrier(1, &barrier);
  list_->CopyBufferRegion(readback_.get(), 0, arena_.get(), 0, reads_to);
  barrier = Transition(arena_.get(), D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
  list_->ResourceBarrier(1, &barrier);
  Finish();
  CHECK_OK(dml_->GetDeviceRemovedReason());

  D3D12_RANGE range{0, static_cast<SIZE_T>(reads_to)};
  CHECK_OK(readback_->Map(0, &range, reinterpret_cast<void**>(&mapped)));
  std::vector<Bytes> results;
  bool intact = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint8_t* first = mapped + output_ranges[i].Offset;
    results.emplace_back(first, first + outputs[i].size);
    if (outputs[i].size)
      for (uint64_t k = Up(output_ranges[i].SizeInBytes); k < Up(output_ranges[i].SizeInBytes) + kAlign; ++k)
        intact = intact && first[k] == kGuard;
  }
  D3D12_RANGE nothing{0, 0};
  readback_->Unmap(0, &nothing);
  CHECK(intact);
  return results;
}

std::vector<Bytes> Gpu::Run(const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs) {
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(Compile(desc, compiled));
  std::vector<Operand> in, out;
  std::vector<const schema::TensorDesc*> slots = desc.Inputs();
  for (size_t i = 0; i < slots.size(); ++i)
    in.push_back(slots[i] ? Operand{&inputs.at(i), 0, (slots[i]->flags & DML_TENSOR_FLAG_OWNED_BY_DML) != 0} : Operand{});
  for (const schema::TensorDesc* t : desc.Outputs()) out.push_back(t ? Operand{nullptr, t->size_in_bytes, false} : Operand{});
  return Run(compiled.get(), in, out);
}

}  // namespace dxtensor::test
