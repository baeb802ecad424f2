// A DirectML device with a queue: buffers, descriptors, closed lists, timestamps.
//
// Owns all of it but the loaded libraries. Used by one thread. Lists, tables and buffers made by it end before it.
#pragma once

#include <cstdint>
#include <vector>

#include "../../../native/test/runtime.h"

namespace dxtensor::peer {

template <typename T>
using Ref = test::Ref<T>;

// Throws std::runtime_error with the call's name and the result's number.
void Check(HRESULT hr, const char* call);

// Bytes of a buffer; without a buffer: nothing is bound.
struct Range {
  ID3D12Resource* buffer = nullptr;
  uint64_t offset = 0, bytes = 0;
};

class CommandList {
 public:
  ID3D12GraphicsCommandList* get() const { return list_.get(); }
  // What was written so far is seen by what follows.
  void Barrier();
  void Transition(ID3D12Resource* buffer, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after);
  void Close();

 private:
  friend class Device;
  Ref<ID3D12CommandAllocator> allocator_;
  Ref<ID3D12GraphicsCommandList> list_;
};

class Device {
 public:
  explicit Device(const test::RuntimePaths& paths);
  ID3D12Device* d3d() const { return d3d_.get(); }
  IDMLDevice1* dml() const { return dml_.get(); }
  IDMLCommandRecorder* recorder() const { return recorder_.get(); }

  Ref<ID3D12Resource> Buffer(uint64_t bytes, D3D12_HEAP_TYPE type = D3D12_HEAP_TYPE_DEFAULT) const;
  void Upload(ID3D12Resource* to, const std::vector<float>& values);
  std::vector<float> Download(ID3D12Resource* from, size_t count);

  // In descriptors that no other table has.
  Ref<IDMLBindingTable> Table(IDMLDispatchable* dispatchable);
  // Writes what initialisers write: persistent[i] for operators[i].
  void Initialize(const std::vector<IDMLCompiledOperator*>& operators, const std::vector<Range>& persistent);

  // Open, with the heap of descriptors set.
  CommandList Open() const;
  uint64_t Submit(const CommandList& list);
  void Wait(uint64_t value) const;
  void Run(CommandList& list);

  // Seconds of the device between two timestamps of a list, known when it is done.
  void StampStart(CommandList& list) const;
  void StampEnd(CommandList& list) const;
  double StampedSeconds() const;
  // Throws when the device was removed.
  void CheckAlive() const;

 private:
  DML_BINDING_TABLE_DESC TableDesc(IDMLDispatchable* dispatchable);

  Ref<ID3D12Device> d3d_;
  Ref<IDMLDevice1> dml_;
  Ref<ID3D12CommandQueue> queue_;
  Ref<ID3D12Fence> fence_;
  Ref<ID3D12DescriptorHeap> heap_;
  Ref<IDMLCommandRecorder> recorder_;
  Ref<ID3D12QueryHeap> stamps_;
  Ref<ID3D12Resource> stamp_results_;
  uint64_t fence_value_ = 0, frequency_ = 1;
  uint32_t descriptors_used_ = 0;
};

// One DirectML buffer binding list.
class Bindings {
 public:
  explicit Bindings(const std::vector<Range>& ranges);
  UINT size() const { return static_cast<UINT>(descs_.size()); }
  const DML_BINDING_DESC* data() const { return descs_.data(); }

 private:
  std::vector<DML_BUFFER_BINDING> buffers_;
  std::vector<DML_BINDING_DESC> descs_;
};

void BindTable(IDMLBindingTable* table, const std::vector<Range>& inputs, const std::vector<Range>& outputs, const Range& temporary,
               const Range& persistent);

}  // namespace dxtensor::peer
