#include "resource.h"

#include <chrono>

#include "trace.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kPlacement = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT;

HRESULT CheckProperties(const D3D12_HEAP_PROPERTIES& p) {
  if (p.CreationNodeMask > 1 || p.VisibleNodeMask > 1) return E_INVALIDARG;
  switch (p.Type) {
    case D3D12_HEAP_TYPE_DEFAULT:
    case D3D12_HEAP_TYPE_UPLOAD:
    case D3D12_HEAP_TYPE_READBACK:
      return p.CPUPageProperty == D3D12_CPU_PAGE_PROPERTY_UNKNOWN && p.MemoryPoolPreference == D3D12_MEMORY_POOL_UNKNOWN ? S_OK
                                                                                                                         : E_INVALIDARG;
    case D3D12_HEAP_TYPE_CUSTOM:
      return p.CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_UNKNOWN && p.MemoryPoolPreference != D3D12_MEMORY_POOL_UNKNOWN ? S_OK
                                                                                                                         : E_INVALIDARG;
    default: return E_INVALIDARG;
  }
}

HRESULT CheckBuffer(const D3D12_RESOURCE_DESC& d) {
  if (d.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER) return E_NOTIMPL;
  bool fits = d.Width > 0 && d.Height == 1 && d.DepthOrArraySize == 1 && d.MipLevels == 1 && d.SampleDesc.Count == 1 &&
              d.SampleDesc.Quality == 0 && d.Layout == D3D12_TEXTURE_LAYOUT_ROW_MAJOR && d.Format == DXGI_FORMAT_UNKNOWN &&
              (d.Alignment == 0 || d.Alignment == kPlacement);
  return fits ? S_OK : E_INVALIDARG;
}

HRESULT CheckState(D3D12_HEAP_TYPE type, D3D12_RESOURCE_STATES state) {
  if (type == D3D12_HEAP_TYPE_UPLOAD) return state == D3D12_RESOURCE_STATE_GENERIC_READ ? S_OK : E_INVALIDARG;
  if (type == D3D12_HEAP_TYPE_READBACK) return state == D3D12_RESOURCE_STATE_COPY_DEST ? S_OK : E_INVALIDARG;
  return S_OK;  // a buffer begins in COMMON whatever was asked for
}

}  // namespace

HRESULT Heap::Create(Device* device, const D3D12_HEAP_DESC* desc, REFIID iid, void** out) {
  if (!desc) return E_INVALIDARG;
  HRESULT checked = CheckProperties(desc->Properties);
  if (FAILED(checked)) return checked;
  if (!desc->SizeInBytes) return E_INVALIDARG;
  Held<Memory> memory = Memory::Allocate(device->profile(), desc->SizeInBytes);
  if (!memory) return E_OUTOFMEMORY;
  return Deliver(new Heap(device, *desc, std::move(memory)), iid, out);
}

HRESULT Resource::CreateCommitted(Device* device, const D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS flags,
                                  const D3D12_RESOURCE_DESC* desc, D3D12_RESOURCE_STATES state, REFIID iid, void** out) {
  if (!properties || !desc) return E_INVALIDARG;
  HRESULT checked = CheckProperties(*properties);
  if (SUCCEEDED(checked)) checked = CheckBuffer(*desc);
  if (SUCCEEDED(checked)) checked = CheckState(properties->Type, state);
  if (FAILED(checked)) return checked;
  Held<Memory> memory = Memory::Allocate(device->profile(), desc->Width);
  if (!memory) return E_OUTOFMEMORY;
  return Deliver(new Resource(device, std::move(memory), 0, *desc, *properties, flags), iid, out);
}

HRESULT Resource::CreatePlaced(Device* device, ID3D12Heap* heap, uint64_t offset, const D3D12_RESOURCE_DESC* desc,
                               D3D12_RESOURCE_STATES state, REFIID iid, void** out) {
  if (!heap || !desc) return E_INVALIDARG;
  auto* from = static_cast<Heap*>(heap);
  HRESULT checked = CheckBuffer(*desc);
  if (SUCCEEDED(checked)) checked = CheckState(from->desc().Properties.Type, state);
  if (FAILED(checked)) return checked;
  uint64_t capacity = from->desc().SizeInBytes;
  if (offset % kPlacement || offset > capacity || desc->Width > capacity - offset) return E_INVALIDARG;
  return Deliver(new Resource(device, from->memory(), offset, *desc, from->desc().Properties, from->desc().Flags), iid, out);
}

HRESULT Resource::Map(UINT subresource, const D3D12_RANGE* range, void** data) {
  if (subresource) return E_INVALIDARG;
  if (range && (range->Begin > range->End || range->End > size())) return E_INVALIDARG;
  bool visible = properties_.Type == D3D12_HEAP_TYPE_UPLOAD || properties_.Type == D3D12_HEAP_TYPE_READBACK ||
                 (properties_.Type == D3D12_HEAP_TYPE_CUSTOM && properties_.CPUPageProperty != D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE);
  if (!visible) {
    Trace("Map of a buffer that the CPU cannot see");
    return E_INVALIDARG;
  }
  if (data) *data = this->data();
  return S_OK;
}

HRESULT Resource::GetHeapProperties(D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS* flags) {
  if (properties) {
    *properties = properties_;
    properties->CreationNodeMask = properties->VisibleNodeMask = 1;
  }
  if (flags) *flags = flags_;
  return S_OK;
}

uint64_t Resource::ViewedAs() {
  uint64_t known = viewed_as_.load(std::memory_order_acquire);
  if (known) return known;
  known = device().AddViewed(this);
  viewed_as_.store(known, std::memory_order_release);
  return known;
}

void Resource::OnReleased() {
  released_.store(true, std::memory_order_release);
  if (uint64_t known = viewed_as_.load(std::memory_order_acquire)) device().RemoveViewed(known);
  if (device().checks() && device().Pending(stamp_.load(std::memory_order_relaxed)))
    device().Remove(DXGI_ERROR_INVALID_CALL, "a buffer was released while submitted work uses it");
  memory_->RemoveOwner();
}

DescriptorHeap::DescriptorHeap(Device* device, const D3D12_DESCRIPTOR_HEAP_DESC& desc)
    : DeviceChild(device), desc_(desc), slots_(new Slot[desc.NumDescriptors]) {
  static std::atomic<uint64_t> next{uint64_t{1} << 48};
  if (shader_visible()) gpu_start_ = next.fetch_add((uint64_t{desc.NumDescriptors} + 1) * kIncrement);
  device->Register(this);
}

DescriptorHeap::~DescriptorHeap() = default;

HRESULT DescriptorHeap::Create(Device* device, const D3D12_DESCRIPTOR_HEAP_DESC* desc, REFIID iid, void** out) {
  if (!desc || !desc->NumDescriptors || static_cast<UINT>(desc->Type) >= D3D12_DESCRIPTOR_HEAP_TYPE_NUM_TYPES || desc->NodeMask > 1)
    return E_INVALIDARG;
  bool visible = (desc->Flags & D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE) != 0;
  if (visible && desc->Type != D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV && desc->Type != D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER)
    return E_INVALIDARG;
  if (visible && desc->NumDescriptors > 1000000) return E_INVALIDARG;  // Direct3D's limit for tiers 1 and 2
  return Deliver(new DescriptorHeap(device, *desc), iid, out);
}

bool DescriptorHeap::Contains(D3D12_CPU_DESCRIPTOR_HANDLE handle, UINT* index) const {
  auto start = reinterpret_cast<uintptr_t>(slots_.get());
  if (handle.ptr < start || handle.ptr >= start + uintptr_t{desc_.NumDescriptors} * kIncrement) return false;
  if ((handle.ptr - start) % kIncrement) return false;
  *index = static_cast<UINT>((handle.ptr - start) / kIncrement);
  return true;
}

uint64_t DescriptorHeap::Write(UINT first, UINT count, bool* in_use) {
  uint64_t write = writes_.fetch_add(1, std::memory_order_relaxed) + 1;
  for (UINT i = first; i < first + count; ++i) {
    if (device().Pending(slots_[i].stamp.load(std::memory_order_relaxed))) *in_use = true;
    slots_[i].write.store(write, std::memory_order_relaxed);
  }
  return write;
}

bool DescriptorHeap::Use(UINT first, UINT count, uint64_t write, uint64_t stamp) {
  bool same = true;
  for (UINT i = first; i < first + count; ++i) {
    same &= slots_[i].write.load(std::memory_order_relaxed) == write;
    slots_[i].stamp.store(stamp, std::memory_order_relaxed);
  }
  last_stamp_.store(stamp, std::memory_order_relaxed);
  return same;
}

void DescriptorHeap::WriteView(UINT index, View view, bool* in_use) {
  std::call_once(views_made_, [&] {
    views_.reset(new View[desc_.NumDescriptors]);
    has_views_.store(true, std::memory_order_release);
  });
  view.write = Write(index, 1, in_use);
  views_[index] = view;
}

bool DescriptorHeap::ReadView(UINT index, View* view) const {
  if (index >= desc_.NumDescriptors || !has_views_.load(std::memory_order_acquire)) return false;
  *view = views_[index];
  return view->write && view->write == slots_[index].write.load(std::memory_order_relaxed);
}

bool DescriptorHeap::Contains(D3D12_GPU_DESCRIPTOR_HANDLE handle, UINT* index) const {
  if (!gpu_start_ || handle.ptr < gpu_start_ || handle.ptr - gpu_start_ >= uint64_t{desc_.NumDescriptors} * kIncrement) return false;
  *index = static_cast<UINT>((handle.ptr - gpu_start_) / kIncrement);
  return (handle.ptr - gpu_start_) % kIncrement == 0;
}

void DescriptorHeap::OnReleased() {
  released_.store(true, std::memory_order_release);
  device().Unregister(this);
  if (device().checks() && device().Pending(last_stamp_.load(std::memory_order_relaxed)))
    device().Remove(DXGI_ERROR_INVALID_CALL, "a descriptor heap was released while submitted work uses it");
}

DXT_STRUCT_METHOD(D3D12_CPU_DESCRIPTOR_HANDLE, DescriptorHeap::GetCPUDescriptorHandleForHeapStart) {
  D3D12_CPU_DESCRIPTOR_HANDLE handle;
  handle.ptr = reinterpret_cast<uintptr_t>(slots_.get());
  DXT_RETURN_STRUCT(handle);
}

DXT_STRUCT_METHOD(D3D12_GPU_DESCRIPTOR_HANDLE, DescriptorHeap::GetGPUDescriptorHandleForHeapStart) {
  D3D12_GPU_DESCRIPTOR_HANDLE handle;
  handle.ptr = gpu_start_;
  DXT_RETURN_STRUCT(handle);
}

HRESULT QueryHeap::Create(Device* device, const D3D12_QUERY_HEAP_DESC* desc, REFIID iid, void** out) {
  if (!desc || !desc->Count) return E_INVALIDARG;
  if (desc->Type != D3D12_QUERY_HEAP_TYPE_TIMESTAMP && desc->Type != D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP) return E_NOTIMPL;
  return Deliver(new QueryHeap(device, desc->Count), iid, out);
}

uint64_t TimestampNow() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace dxtensor::software
