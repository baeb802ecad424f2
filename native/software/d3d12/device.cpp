#include "device.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "command_list.h"
#include "command_queue.h"
#include "dxcore.h"
#include "fence.h"
#include "pipeline_state.h"
#include "resource.h"
#include "software/cpu/prepacked_inputs.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

struct Devices {
  std::mutex mutex;
  std::map<DWORD, Device*> by_luid;  // those that somebody holds
};

Devices& TheDevices() {
  static Devices* devices = new Devices;
  return *devices;
}

class Keeper final : public ComObject<IUnknown, IUnknown> {
 public:
  explicit Keeper(Held<Memory> memory) : memory_(std::move(memory)) { memory_->AddOwner(); }

 private:
  void OnReleased() override { memory_->RemoveOwner(); }

  const Held<Memory> memory_;
};

bool ChecksWanted() {
  const char* value = std::getenv("DXTENSOR_SOFTWARE_CHECKS");
  return !value || *value != '0';
}

}  // namespace

Device::Device(std::shared_ptr<const Profile> profile) : profile_(std::move(profile)), checks_(ChecksWanted()), control_(this) {}

HRESULT Device::Create(IUnknown* adapter, D3D_FEATURE_LEVEL minimum, REFIID iid, void** out) {
  if (minimum != D3D_FEATURE_LEVEL_1_0_CORE && minimum != D3D_FEATURE_LEVEL_1_0_GENERIC && minimum != D3D_FEATURE_LEVEL_11_0)
    return minimum > D3D_FEATURE_LEVEL_11_0 ? DXGI_ERROR_UNSUPPORTED : E_INVALIDARG;
  std::shared_ptr<const Profile> profile = ProfileOf(adapter);
  if (!profile) return E_INVALIDARG;
  Devices& devices = TheDevices();
  Device* device = nullptr;
  {
    std::lock_guard<std::mutex> lock(devices.mutex);
    Device*& known = devices.by_luid[profile->luid.LowPart];
    if (!known || !known->TryAddRef()) known = new Device(profile);
    device = known;
  }
  // A removed device is given back as such until its last holder lets go of it, as in Direct3D.
  HRESULT removed = device->removed();
  if (FAILED(removed)) {
    device->Release();
    return DXGI_ERROR_DEVICE_REMOVED;
  }
  return Deliver(device, iid, out);
}

void Device::OnReleased() {
  Devices& devices = TheDevices();
  std::lock_guard<std::mutex> lock(devices.mutex);
  auto found = devices.by_luid.find(profile_->luid.LowPart);
  if (found != devices.by_luid.end() && found->second == this) devices.by_luid.erase(found);
}

HRESULT Device::QueryOther(REFIID iid, void** out) {
  if (!(iid == kIidSoftware)) return E_NOINTERFACE;
  AddRef();
  *out = static_cast<IDxtensorSoftware*>(&control_);
  return S_OK;
}

bool Device::Remove(HRESULT reason, const std::string& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (FAILED(removed())) return false;
  removed_why_ = why;
  Trace("device removed: " + why);
  removed_.store(reason, std::memory_order_release);
  for (Fence* fence : fences_) fence->Set(UINT64_MAX);
  return true;
}

HRESULT Device::GetPrivateData(REFGUID guid, UINT* size, void* data) {
  if (!(guid == kIidSoftware)) return NamedObject::GetPrivateData(guid, size, data);
  if (!size) return E_POINTER;
  std::lock_guard<std::mutex> lock(mutex_);
  auto needed = static_cast<UINT>(removed_why_.size());
  UINT capacity = std::exchange(*size, needed);
  if (!data) return S_OK;
  if (capacity < needed) return DXGI_ERROR_MORE_DATA;
  std::memcpy(data, removed_why_.data(), needed);
  return S_OK;
}

HRESULT Device::Control::InjectFault(UINT fault) {
  if (fault != kFaultRemoveDevice && fault != kFaultOutOfMemory && fault != kFaultHang) return E_INVALIDARG;
  owner_->faults_.fetch_or(1u << fault);
  return S_OK;
}

void* Device::Control::HostMemory(ID3D12Resource* buffer, UINT64 offset, UINT64 size, IUnknown** keeper) {
  if (!buffer || !keeper) return nullptr;
  const auto* resource = static_cast<Resource*>(buffer);
  if (offset > resource->size() || size > resource->size() - offset) return nullptr;
  uint8_t* bytes = resource->data() + offset;
  PrepackedInputs::Get().Written(bytes, bytes + size);
  *keeper = new Keeper(resource->memory());
  return bytes;
}

bool Device::TakeFault(UINT fault) {
  if (!(faults_.load(std::memory_order_relaxed) & (1u << fault))) return false;
  if (!(faults_.fetch_and(~(1u << fault)) & (1u << fault))) return false;
  if (fault == kFaultRemoveDevice) Remove(DXGI_ERROR_DEVICE_HUNG, "a fault was injected");
  return true;
}

void Device::Register(Fence* fence) {
  std::lock_guard<std::mutex> lock(mutex_);
  fences_.insert(fence);
  if (FAILED(removed())) fence->Set(UINT64_MAX);
}

void Device::Unregister(Fence* fence) {
  std::lock_guard<std::mutex> lock(mutex_);
  fences_.erase(fence);
}

void Device::Register(DescriptorHeap* heap) {
  std::lock_guard<std::mutex> lock(mutex_);
  descriptor_heaps_.push_back(heap);
}

void Device::Unregister(DescriptorHeap* heap) {
  std::lock_guard<std::mutex> lock(mutex_);
  descriptor_heaps_.erase(std::remove(descriptor_heaps_.begin(), descriptor_heaps_.end(), heap), descriptor_heaps_.end());
}

DescriptorHeap* Device::FindDescriptor(D3D12_CPU_DESCRIPTOR_HANDLE handle, UINT* index) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (DescriptorHeap* heap : descriptor_heaps_)
    if (heap->Contains(handle, index)) return heap;
  return nullptr;
}

uint64_t Device::AddViewed(Resource* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  viewed_.emplace(++last_viewed_, buffer);
  return last_viewed_;
}

void Device::RemoveViewed(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  viewed_.erase(number);
}

Held<Resource> Device::FindViewed(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = viewed_.find(number);
  return Held<Resource>(found == viewed_.end() ? nullptr : found->second);
}

QueueProgress* Device::AcquireProgress(UINT* index) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (UINT i = 0; i < kMaxQueues; ++i) {
    if (progress_[i].in_use) continue;
    progress_[i].in_use = true;
    *index = i;
    return &progress_[i];
  }
  return nullptr;
}

void Device::ReleaseProgress(UINT index) {
  std::lock_guard<std::mutex> lock(mutex_);
  progress_[index].in_use = false;
}

namespace {

// Every creating method: removed devices make nothing, out is cleared, exceptions become HRESULTs.
template <class Function>
HRESULT Make(const Device& device, void** out, Function function) {
  if (out) *out = nullptr;
  if (FAILED(device.removed())) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard(function);
}

}  // namespace

HRESULT Device::CreateCommandQueue(const D3D12_COMMAND_QUEUE_DESC* desc, REFIID iid, void** out) {
  return Make(*this, out, [&] { return CommandQueue::Create(this, desc, iid, out); });
}

HRESULT Device::CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE type, REFIID iid, void** out) {
  return Make(*this, out, [&] { return CommandAllocator::Create(this, type, iid, out); });
}

HRESULT Device::CreateCommandList(UINT node, D3D12_COMMAND_LIST_TYPE type, ID3D12CommandAllocator* allocator, ID3D12PipelineState*,
                                  REFIID iid, void** out) {
  if (node > 1 || !allocator) return E_INVALIDARG;
  return Make(*this, out, [&] { return CommandList::Create(this, type, allocator, iid, out); });
}

HRESULT Device::CreateCommandList1(UINT node, D3D12_COMMAND_LIST_TYPE type, D3D12_COMMAND_LIST_FLAGS, REFIID iid, void** out) {
  if (node > 1) return E_INVALIDARG;
  return Make(*this, out, [&] { return CommandList::Create(this, type, nullptr, iid, out); });
}

HRESULT Device::CreateDescriptorHeap(const D3D12_DESCRIPTOR_HEAP_DESC* desc, REFIID iid, void** out) {
  return Make(*this, out, [&] { return DescriptorHeap::Create(this, desc, iid, out); });
}

HRESULT Device::CreateCommittedResource(const D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC* desc,
                                        D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE*, REFIID iid, void** out) {
  if (TakeFault(kFaultOutOfMemory)) return E_OUTOFMEMORY;
  return Make(*this, out, [&] { return Resource::CreateCommitted(this, properties, flags, desc, state, iid, out); });
}

HRESULT Device::CreateHeap(const D3D12_HEAP_DESC* desc, REFIID iid, void** out) {
  if (TakeFault(kFaultOutOfMemory)) return E_OUTOFMEMORY;
  return Make(*this, out, [&] { return Heap::Create(this, desc, iid, out); });
}

HRESULT Device::CreatePlacedResource(ID3D12Heap* heap, UINT64 offset, const D3D12_RESOURCE_DESC* desc, D3D12_RESOURCE_STATES state,
                                     const D3D12_CLEAR_VALUE*, REFIID iid, void** out) {
  return Make(*this, out, [&] { return Resource::CreatePlaced(this, heap, offset, desc, state, iid, out); });
}

HRESULT Device::CreateFence(UINT64 value, D3D12_FENCE_FLAGS flags, REFIID iid, void** out) {
  return Make(*this, out, [&] { return Fence::Create(this, value, flags, iid, out); });
}

HRESULT Device::CreateQueryHeap(const D3D12_QUERY_HEAP_DESC* desc, REFIID iid, void** out) {
  return Make(*this, out, [&] { return QueryHeap::Create(this, desc, iid, out); });
}

HRESULT Device::CreateRootSignature(UINT node, const void* container, SIZE_T size, REFIID iid, void** out) {
  if (node > 1) return E_INVALIDARG;
  return Make(*this, out, [&] { return RootSignature::Create(this, container, size, iid, out); });
}

HRESULT Device::CreateComputePipelineState(const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, REFIID iid, void** out) {
  return Make(*this, out, [&] { return PipelineState::Create(this, desc, iid, out); });
}

HRESULT Device::CreateCommittedResource1(const D3D12_HEAP_PROPERTIES* properties, D3D12_HEAP_FLAGS flags, const D3D12_RESOURCE_DESC* desc,
                                         D3D12_RESOURCE_STATES state, const D3D12_CLEAR_VALUE* clear,
                                         ID3D12ProtectedResourceSession* session, REFIID iid, void** out) {
  return session ? E_NOTIMPL : CreateCommittedResource(properties, flags, desc, state, clear, iid, out);
}

HRESULT Device::CreateHeap1(const D3D12_HEAP_DESC* desc, ID3D12ProtectedResourceSession* session, REFIID iid, void** out) {
  return session ? E_NOTIMPL : CreateHeap(desc, iid, out);
}

DXT_STRUCT_METHOD(LUID, Device::GetAdapterLuid) { DXT_RETURN_STRUCT(profile_->luid); }

UINT Device::GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE) { return DescriptorHeap::kIncrement; }

HRESULT Device::SetEventOnMultipleFenceCompletion(ID3D12Fence* const* fences, const UINT64* values, UINT count,
                                                  D3D12_MULTIPLE_FENCE_WAIT_FLAGS flags, HANDLE event) {
  if (!count || !fences || !values) return E_INVALIDARG;
  if (count == 1) return fences[0]->SetEventOnCompletion(values[0], event);
  if (event || (flags & D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY)) return E_NOTIMPL;
  for (UINT i = 0; i < count; ++i) {
    HRESULT waited = fences[i]->SetEventOnCompletion(values[i], nullptr);
    if (FAILED(waited)) return waited;
  }
  return S_OK;
}

HRESULT Device::EnqueueMakeResident(D3D12_RESIDENCY_FLAGS, UINT, ID3D12Pageable* const*, ID3D12Fence* fence, UINT64 value) {
  return fence ? fence->Signal(value) : E_INVALIDARG;
}

void Device::RemoveDevice() { Remove(DXGI_ERROR_DEVICE_REMOVED, "RemoveDevice was called"); }

}  // namespace dxtensor::software
