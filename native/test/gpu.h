// A device of a runtime, with all that the tests need of Direct3D and DirectML: queue, list, fence, one descriptor heap and
// three buffers that every operator run uses again, since a descriptor heap and a buffer cost much on some runtimes.
//
// Owns all of it. Used by one thread. The runtime must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "../schema/schema.h"
#include "runtime.h"

namespace dxtensor::test {

using Bytes = std::vector<uint8_t>;

// By DXCore, else by DXGI.
Ref<IUnknown> FirstAdapter(const Runtime& runtime);
// Skips the test where adapters come from DXGI.
Ref<IDXCoreAdapter> FirstDxcoreAdapter(const Runtime& runtime);
Ref<IDXCoreAdapterFactory> DxcoreFactory(const Runtime& runtime);
LUID LuidOf(IUnknown* adapter);
Ref<ID3D12Device> CreateDevice(const Runtime& runtime, IUnknown* adapter);

// An event that a fence can signal: an eventfd, on Windows an event.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  HANDLE get() const { return handle_; }
  bool Wait(unsigned milliseconds) const;

 private:
  HANDLE handle_;
};

D3D12_RESOURCE_BARRIER Transition(ID3D12Resource* resource, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after);
D3D12_RESOURCE_BARRIER UavBarrier(ID3D12Resource* resource = nullptr);
D3D12_RESOURCE_DESC BufferDesc(uint64_t bytes, D3D12_RESOURCE_FLAGS flags = D3D12_RESOURCE_FLAG_NONE);

// One binding of an operator run. Bytes for inputs; size for outputs; neither: NONE.
struct Operand {
  const Bytes* bytes = nullptr;
  uint64_t size = 0;
  bool owned = false;  // bound at initialisation
};

class Gpu {
 public:
  // A device of its own for tests that remove it, else Suite shares one.
  explicit Gpu(const Runtime& runtime);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  ID3D12Device* d3d() const { return d3d_.get(); }
  IDMLDevice1* dml() const { return dml_.get(); }
  ID3D12CommandQueue* queue() const { return queue_.get(); }
  ID3D12GraphicsCommandList* list() const { return list_.get(); }
  ID3D12CommandAllocator* allocator() const { return allocator_.get(); }
  IDMLCommandRecorder* recorder() const { return recorder_.get(); }
  ID3D12DescriptorHeap* heap() const { return heap_.get(); }
  uint32_t feature_level() const { return level_; }

  Ref<ID3D12Resource> Buffer(uint64_t bytes, D3D12_HEAP_TYPE type = D3D12_HEAP_TYPE_DEFAULT) const;
  // Reopens the list, with the descriptor heap set.
  void Begin();
  // Closes the list, executes it and waits.
  void Finish();
  void Wait();
  uint64_t SignalNext();
  ID3D12Fence* fence() const { return fence_.get(); }

  DML_BINDING_TABLE_DESC TableDesc(IDMLDispatchable* dispatchable, uint32_t first, uint32_t count) const;
  Ref<IDMLBindingTable> Table(IDMLDispatchable* dispatchable, uint32_t first = 0);

  HRESULT Create(const schema::OperatorDesc& desc, Ref<IDMLOperator>& op) const;
  HRESULT Compile(const schema::OperatorDesc& desc, Ref<IDMLCompiledOperator>& compiled,
                  DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_NONE) const;
  // Initialises, executes and reads back. Throws Failure where a call fails or bytes outside an output were changed.
  std::vector<Bytes> Run(IDMLCompiledOperator* compiled, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs);
  std::vector<Bytes> Run(const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs);

 private:
  void Reserve(uint64_t bytes);

  Ref<ID3D12Device> d3d_;
  Ref<IDMLDevice1> dml_;
  Ref<ID3D12CommandQueue> queue_;
  Ref<ID3D12CommandAllocator> allocator_;
  Ref<ID3D12GraphicsCommandList> list_;
  Ref<ID3D12Fence> fence_;
  Ref<ID3D12DescriptorHeap> heap_;
  Ref<IDMLCommandRecorder> recorder_;
  Ref<IDMLOperatorInitializer> initializer_;
  Ref<ID3D12Resource> arena_, upload_, readback_, persistent_;
  uint64_t arena_size_ = 0, persistent_size_ = 0, next_value_ = 0;
  uint32_t level_ = 0;
};

// What a test is given: the runtime, and a device that it must leave usable.
class Suite {
 public:
  explicit Suite(const RuntimePaths& paths) : runtime_(paths) {}
  const Runtime& runtime() const { return runtime_; }
  Gpu& gpu() {
    if (!gpu_) gpu_ = std::make_unique<Gpu>(runtime_);
    return *gpu_;
  }
  void Drop() { gpu_.reset(); }

 private:
  Runtime runtime_;
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace dxtensor::test
