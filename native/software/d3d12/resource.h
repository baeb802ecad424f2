// Heaps, buffers, descriptor heaps and query heaps of the software adapter.
//
// A buffer keeps its memory alive, and so do command lists that name it: the checks report a buffer that is released too early; it never
// crashes. A descriptor records its last writer and the submission that uses it, so that overwriting one in use is detected, and the view
// if it is an unordered access view of a buffer. A view does not keep its buffer alive. Any thread may call.
#pragma once

#include "device.h"
#include "memory.h"

namespace dxtensor::software {

class Heap final : public DeviceChild<ID3D12Heap, ID3D12Pageable, ID3D12Heap> {
 public:
  static HRESULT Create(Device* device, const D3D12_HEAP_DESC* desc, REFIID iid, void** out);

  const D3D12_HEAP_DESC& desc() const { return desc_; }
  const Held<Memory>& memory() const { return memory_; }

  DXT_STRUCT_METHOD(D3D12_HEAP_DESC, GetDesc) override { DXT_RETURN_STRUCT(desc_); }

 private:
  Heap(Device* device, const D3D12_HEAP_DESC& desc, Held<Memory> memory) : DeviceChild(device), desc_(desc), memory_(std::move(memory)) {
    memory_->AddOwner();
  }
  void OnReleased() override { memory_->RemoveOwner(); }

  const D3D12_HEAP_DESC desc_;
  const Held<Memory> memory_;
};

class Resource final : public DeviceChild<ID3D12Resource, ID3D12Pageable, ID3D12Resource> {
 public:
  static HRESULT CreateCommitted(Device* device, const D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS flags,
                                 const D3D12_RESOURCE_DESC* desc, D3D12_RESOURCE_STATES state, REFIID iid, void** out);
  static HRESULT CreatePlaced(Device* device, ID3D12Heap* heap, uint64_t offset, const D3D12_RESOURCE_DESC* desc,
                              D3D12_RESOURCE_STATES state, REFIID iid, void** out);

  uint8_t* data() const { return memory_->data() + offset_; }
  const Held<Memory>& memory() const { return memory_; }
  uint64_t size() const { return desc_.Width; }
  D3D12_HEAP_TYPE heap_type() const { return properties_.Type; }
  bool allows_unordered_access() const { return (desc_.Flags & D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS) != 0; }
  bool released() const { return released_.load(std::memory_order_acquire); }
  void SetStamp(uint64_t stamp) { stamp_.store(stamp, std::memory_order_relaxed); }
  // A number that no other buffer of the device ever has; Device::FindViewed knows it from then on.
  uint64_t ViewedAs();

  HRESULT STDMETHODCALLTYPE Map(UINT subresource, const D3D12_RANGE* range, void** data) override;
  void STDMETHODCALLTYPE Unmap(UINT, const D3D12_RANGE*) override {}
  DXT_STRUCT_METHOD(D3D12_RESOURCE_DESC, GetDesc) override { DXT_RETURN_STRUCT(desc_); }
  D3D12_GPU_VIRTUAL_ADDRESS STDMETHODCALLTYPE GetGPUVirtualAddress() override { return memory_->gpu_address() + offset_; }
  HRESULT STDMETHODCALLTYPE WriteToSubresource(UINT, const D3D12_BOX*, const void*, UINT, UINT) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE ReadFromSubresource(void*, UINT, UINT, UINT, const D3D12_BOX*) override { return E_NOTIMPL; }
  HRESULT STDMETHODCALLTYPE GetHeapProperties(D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS* flags) override;

 private:
  Resource(Device* device, Held<Memory> memory, uint64_t offset, const D3D12_RESOURCE_DESC& desc, const D3D12_HEAP_PROPERTIES& properties,
           D3D12_HEAP_FLAGS flags)
      : DeviceChild(device), memory_(std::move(memory)), offset_(offset), desc_(desc), properties_(properties), flags_(flags) {
    memory_->AddOwner();
  }
  void OnReleased() override;

  const Held<Memory> memory_;
  const uint64_t offset_;
  const D3D12_RESOURCE_DESC desc_;
  const D3D12_HEAP_PROPERTIES properties_;
  const D3D12_HEAP_FLAGS flags_;
  std::atomic<uint64_t> stamp_{0}, viewed_as_{0};
  std::atomic<bool> released_{false};
};

// An unordered access view.
struct View {
  uint64_t write = 0;   // the write of its descriptor that made it
  uint64_t buffer = 0;  // Resource::ViewedAs; 0: of nothing
  uint64_t offset = 0, size = 0;
  uint32_t stride = 0;  // 0: raw
  bool texels = false;
};

class DescriptorHeap final : public DeviceChild<ID3D12DescriptorHeap, ID3D12Pageable, ID3D12DescriptorHeap> {
 public:
  static constexpr UINT kIncrement = 32;

  static HRESULT Create(Device* device, const D3D12_DESCRIPTOR_HEAP_DESC* desc, REFIID iid, void** out);

  UINT count() const { return desc_.NumDescriptors; }
  bool shader_visible() const { return (desc_.Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE) != 0; }
  D3D12_DESCRIPTOR_HEAP_TYPE type() const { return desc_.Type; }
  // Index of a CPU handle of this heap; false when it is none.
  bool Contains(D3D12_CPU_DESCRIPTOR_HANDLE handle, UINT* index) const;
  uint64_t gpu_start() const { return gpu_start_; }

  // Marks a range as written; the number of this write. *in_use: work that has not finished uses one of them.
  uint64_t Write(UINT first, UINT count, bool* in_use);
  // Whether the range still is what that write made it; marks it as used by a submission.
  bool Use(UINT first, UINT count, uint64_t write, uint64_t stamp);
  // Writes a descriptor that is a view, `view.write` aside.
  void WriteView(UINT index, View view, bool* in_use);
  // False when the descriptor is none, or was overwritten.
  bool ReadView(UINT index, View* view) const;
  // Index of a GPU handle of this heap; false when it is none.
  bool Contains(D3D12_GPU_DESCRIPTOR_HANDLE handle, UINT* index) const;
  bool released() const { return released_.load(std::memory_order_acquire); }

  DXT_STRUCT_METHOD(D3D12_DESCRIPTOR_HEAP_DESC, GetDesc) override { DXT_RETURN_STRUCT(desc_); }
  DXT_STRUCT_METHOD(D3D12_CPU_DESCRIPTOR_HANDLE, GetCPUDescriptorHandleForHeapStart) override;
  DXT_STRUCT_METHOD(D3D12_GPU_DESCRIPTOR_HANDLE, GetGPUDescriptorHandleForHeapStart) override;

 private:
  struct Slot {
    std::atomic<uint64_t> write{0}, stamp{0};
    uint64_t padding[2]{};
  };
  static_assert(sizeof(Slot) == kIncrement, "a handle is the address of a slot");

  DescriptorHeap(Device* device, const D3D12_DESCRIPTOR_HEAP_DESC& desc);
  ~DescriptorHeap() override;
  void OnReleased() override;

  const D3D12_DESCRIPTOR_HEAP_DESC desc_;
  std::unique_ptr<Slot[]> slots_;
  std::once_flag views_made_;
  std::unique_ptr<View[]> views_;  // made for the first one
  std::atomic<bool> has_views_{false};
  uint64_t gpu_start_ = 0;
  std::atomic<uint64_t> writes_{0}, last_stamp_{0};
  std::atomic<bool> released_{false};
};

// Timestamps only.
class QueryHeap final : public DeviceChild<ID3D12QueryHeap, ID3D12Pageable, ID3D12QueryHeap> {
 public:
  static HRESULT Create(Device* device, const D3D12_QUERY_HEAP_DESC* desc, REFIID iid, void** out);

  uint32_t count() const { return static_cast<uint32_t>(values_.size()); }
  uint64_t* values() { return values_.data(); }

 private:
  QueryHeap(Device* device, UINT count) : DeviceChild(device), values_(count) {}

  std::vector<uint64_t> values_;
};

// Nanoseconds, the unit of timestamps.
uint64_t TimestampNow();

}  // namespace dxtensor::software
