// Command allocators and command lists, and the recording that both share with the queue.
//
// A recording belongs to its allocator; the list writes it until Close, queues run it after that, as often as it is submitted.
// A list and its allocator are used by one thread at a time, as in Direct3D; queues only read recordings.
#pragma once

#include "hazards.h"
#include "pipeline_state.h"

namespace dxtensor::software {

struct Command {
  enum class Kind : uint8_t { Dispatch, Copy, Timestamp, Resolve };
  struct CopyBytes {
    uint8_t* to;
    const uint8_t* from;
    uint64_t size;
  };
  Kind kind;
  union {
    const BoundDispatch* dispatch;  // held by the recording
    CopyBytes copy;
    uint64_t* timestamp;
  };
};

// Descriptors that a dispatch of a recording reads, and the write that they must still be of.
struct DescriptorUse {
  DescriptorHeap* heap;  // held by the dispatch
  UINT first, count;
  uint64_t write;
};

class Recording final : public Counted {
 public:
  explicit Recording(bool checks) : hazards(checks) {}

  void Clear();
  bool Executing() const { return pending.load(std::memory_order_acquire) != 0; }

  std::vector<Command> commands;
  std::vector<DescriptorUse> descriptors;
  std::vector<Held<QueryHeap>> query_heaps;
  HazardTracker hazards;
  std::atomic<uint32_t> pending{0};  // submissions that have not finished
  uint32_t use = 0;                  // counts resets of its allocator: a list knows whether its own content is still in here

 private:
  ~Recording() override { Clear(); }
};

class CommandList;

class CommandAllocator final : public DeviceChild<ID3D12CommandAllocator, ID3D12Pageable, ID3D12CommandAllocator> {
 public:
  static HRESULT Create(Device* device, D3D12_COMMAND_LIST_TYPE type, REFIID iid, void** out);

  D3D12_COMMAND_LIST_TYPE type() const { return type_; }
  // A recording for a list that begins; null when another list records into this allocator.
  Held<Recording> Begin();
  void End() { recording_ = false; }

  HRESULT STDMETHODCALLTYPE Reset() override;

 private:
  CommandAllocator(Device* device, D3D12_COMMAND_LIST_TYPE type) : DeviceChild(device), type_(type) {}
  bool Executing() const;
  void OnReleased() override;

  const D3D12_COMMAND_LIST_TYPE type_;
  bool recording_ = false;
  std::vector<Held<Recording>> used_, free_;
};

class CommandList final : public DeviceChild<ID3D12GraphicsCommandList, ID3D12CommandList, ID3D12GraphicsCommandList> {
 public:
  // allocator null: the list begins closed.
  static HRESULT Create(Device* device, D3D12_COMMAND_LIST_TYPE type, ID3D12CommandAllocator* allocator, REFIID iid, void** out);

  bool open() const { return open_; }
  Recording* recording() const { return recording_.get(); }
  bool discarded() const { return recording_->use != use_; }  // its allocator was reset
  DescriptorHeap* descriptor_heap() const { return descriptor_heap_.get(); }
  // A dispatch of DirectML's, which leaves nothing of what was set for pipelines.
  void RecordDispatch(const BoundDispatch* dispatch);
  void DropDispatch() {
    if (recording_) recording_->hazards.Ignore();
  }
  void Report(const std::string& violation);

  D3D12_COMMAND_LIST_TYPE STDMETHODCALLTYPE GetType() override { return type_; }
  HRESULT STDMETHODCALLTYPE Close() override;
  HRESULT STDMETHODCALLTYPE Reset(ID3D12CommandAllocator* allocator, ID3D12PipelineState* pipeline) override;
  void STDMETHODCALLTYPE ClearState(ID3D12PipelineState* pipeline) override;
  void STDMETHODCALLTYPE CopyBufferRegion(ID3D12Resource* to, UINT64 to_offset, ID3D12Resource* from, UINT64 from_offset,
                                          UINT64 size) override;
  void STDMETHODCALLTYPE CopyResource(ID3D12Resource* to, ID3D12Resource* from) override;
  void STDMETHODCALLTYPE ResourceBarrier(UINT count, const D3D12_RESOURCE_BARRIER* barriers) override;
  void STDMETHODCALLTYPE SetDescriptorHeaps(UINT count, ID3D12DescriptorHeap* const* heaps) override;
  void STDMETHODCALLTYPE EndQuery(ID3D12QueryHeap* heap, D3D12_QUERY_TYPE type, UINT index) override;
  void STDMETHODCALLTYPE ResolveQueryData(ID3D12QueryHeap* heap, D3D12_QUERY_TYPE type, UINT first, UINT count, ID3D12Resource* to,
                                          UINT64 offset) override;
  void STDMETHODCALLTYPE SetMarker(UINT, const void*, UINT) override {}
  void STDMETHODCALLTYPE BeginEvent(UINT, const void*, UINT) override {}
  void STDMETHODCALLTYPE EndEvent() override {}

  // Compute, in command_list_compute.cpp.
  void STDMETHODCALLTYPE Dispatch(UINT x, UINT y, UINT z) override;
  void STDMETHODCALLTYPE SetPipelineState(ID3D12PipelineState* pipeline) override;
  void STDMETHODCALLTYPE SetComputeRootSignature(ID3D12RootSignature* signature) override;
  void STDMETHODCALLTYPE SetComputeRootDescriptorTable(UINT parameter, D3D12_GPU_DESCRIPTOR_HANDLE start) override;
  void STDMETHODCALLTYPE SetComputeRoot32BitConstant(UINT parameter, UINT word, UINT offset) override;
  void STDMETHODCALLTYPE SetComputeRoot32BitConstants(UINT parameter, UINT count, const void* words, UINT offset) override;

  // Not part of the software adapter: the list cannot be closed after any of these. In command_list_missing.cpp.
  void STDMETHODCALLTYPE DrawInstanced(UINT, UINT, UINT, UINT) override;
  void STDMETHODCALLTYPE DrawIndexedInstanced(UINT, UINT, UINT, INT, UINT) override;
  void STDMETHODCALLTYPE CopyTextureRegion(const D3D12_TEXTURE_COPY_LOCATION*, UINT, UINT, UINT, const D3D12_TEXTURE_COPY_LOCATION*,
                                           const D3D12_BOX*) override;
  void STDMETHODCALLTYPE CopyTiles(ID3D12Resource*, const D3D12_TILED_RESOURCE_COORDINATE*, const D3D12_TILE_REGION_SIZE*, ID3D12Resource*,
                                   UINT64, D3D12_TILE_COPY_FLAGS) override;
  void STDMETHODCALLTYPE ResolveSubresource(ID3D12Resource*, UINT, ID3D12Resource*, UINT, DXGI_FORMAT) override;
  void STDMETHODCALLTYPE IASetPrimitiveTopology(D3D12_PRIMITIVE_TOPOLOGY) override;
  void STDMETHODCALLTYPE RSSetViewports(UINT, const D3D12_VIEWPORT*) override;
  void STDMETHODCALLTYPE RSSetScissorRects(UINT, const D3D12_RECT*) override;
  void STDMETHODCALLTYPE OMSetBlendFactor(const FLOAT[4]) override;
  void STDMETHODCALLTYPE OMSetStencilRef(UINT) override;
  void STDMETHODCALLTYPE ExecuteBundle(ID3D12GraphicsCommandList*) override;
  void STDMETHODCALLTYPE SetGraphicsRootSignature(ID3D12RootSignature*) override;
  void STDMETHODCALLTYPE SetGraphicsRootDescriptorTable(UINT, D3D12_GPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE SetGraphicsRoot32BitConstant(UINT, UINT, UINT) override;
  void STDMETHODCALLTYPE SetGraphicsRoot32BitConstants(UINT, UINT, const void*, UINT) override;
  void STDMETHODCALLTYPE SetComputeRootConstantBufferView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) override;
  void STDMETHODCALLTYPE SetGraphicsRootConstantBufferView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) override;
  void STDMETHODCALLTYPE SetComputeRootShaderResourceView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) override;
  void STDMETHODCALLTYPE SetGraphicsRootShaderResourceView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) override;
  void STDMETHODCALLTYPE SetComputeRootUnorderedAccessView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) override;
  void STDMETHODCALLTYPE SetGraphicsRootUnorderedAccessView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) override;
  void STDMETHODCALLTYPE IASetIndexBuffer(const D3D12_INDEX_BUFFER_VIEW*) override;
  void STDMETHODCALLTYPE IASetVertexBuffers(UINT, UINT, const D3D12_VERTEX_BUFFER_VIEW*) override;
  void STDMETHODCALLTYPE SOSetTargets(UINT, UINT, const D3D12_STREAM_OUTPUT_BUFFER_VIEW*) override;
  void STDMETHODCALLTYPE OMSetRenderTargets(UINT, const D3D12_CPU_DESCRIPTOR_HANDLE*, BOOL, const D3D12_CPU_DESCRIPTOR_HANDLE*) override;
  void STDMETHODCALLTYPE ClearDepthStencilView(D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_CLEAR_FLAGS, FLOAT, UINT8, UINT,
                                               const D3D12_RECT*) override;
  void STDMETHODCALLTYPE ClearRenderTargetView(D3D12_CPU_DESCRIPTOR_HANDLE, const FLOAT[4], UINT, const D3D12_RECT*) override;
  void STDMETHODCALLTYPE ClearUnorderedAccessViewUint(D3D12_GPU_DESCRIPTOR_HANDLE, D3D12_CPU_DESCRIPTOR_HANDLE, ID3D12Resource*,
                                                      const UINT[4], UINT, const D3D12_RECT*) override;
  void STDMETHODCALLTYPE ClearUnorderedAccessViewFloat(D3D12_GPU_DESCRIPTOR_HANDLE, D3D12_CPU_DESCRIPTOR_HANDLE, ID3D12Resource*,
                                                       const FLOAT[4], UINT, const D3D12_RECT*) override;
  void STDMETHODCALLTYPE DiscardResource(ID3D12Resource*, const D3D12_DISCARD_REGION*) override;
  void STDMETHODCALLTYPE BeginQuery(ID3D12QueryHeap*, D3D12_QUERY_TYPE, UINT) override;
  void STDMETHODCALLTYPE SetPredication(ID3D12Resource*, UINT64, D3D12_PREDICATION_OP) override;
  void STDMETHODCALLTYPE ExecuteIndirect(ID3D12CommandSignature*, UINT, ID3D12Resource*, UINT64, ID3D12Resource*, UINT64) override;

 private:
  CommandList(Device* device, D3D12_COMMAND_LIST_TYPE type) : DeviceChild(device), type_(type) {}
  ~CommandList() override;
  void Missing(const char* method);
  bool Recordable(const char* method);
  void AddDispatch(const BoundDispatch* dispatch);
  void RecordCopy(Resource* to, uint64_t to_offset, Resource* from, uint64_t from_offset, uint64_t size);
  template <class Function>
  void Record(Function function) {
    HRESULT done = Guard([&]() -> HRESULT {
      function();
      return S_OK;
    });
    if (FAILED(done)) failed_ = done;
  }

  const D3D12_COMMAND_LIST_TYPE type_;
  bool open_ = false;
  HRESULT failed_ = S_OK;  // what Close will say
  Held<CommandAllocator> allocator_;
  Held<Recording> recording_;
  uint32_t use_ = 0;
  Held<DescriptorHeap> descriptor_heap_;
  ComputeState compute_;
};

}  // namespace dxtensor::software
