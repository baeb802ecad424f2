// ID3D12Device of the software adapter: creates objects, answers feature queries, and keeps the removal's reason.
//
// One device for each adapter while somebody holds it, as in Direct3D. Every object holds its device. Any thread may call.
// The hazard checks or an injected fault remove the device. All fences then jump to their last value, queues drop their work, and
// calls answer DXGI_ERROR_DEVICE_REMOVED.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "abi/software_control.h"
#include "com.h"
#include "profile.h"

namespace dxtensor::software {

class DescriptorHeap;
class Fence;
class Resource;

// How far a queue has come; serial numbers of submissions count up for as long as the device lives.
struct QueueProgress {
  std::atomic<uint64_t> submitted{0}, completed{0};
  bool in_use = false;
};

class Device final : public NamedObject<ID3D12Device5, const IUnknown, ID3D12Object, ID3D12Device, ID3D12Device1, ID3D12Device2,
                                        ID3D12Device3, ID3D12Device4, ID3D12Device5> {
 public:
  static HRESULT Create(IUnknown* adapter, D3D_FEATURE_LEVEL minimum, REFIID iid, void** out);

  const Profile& profile() const { return *profile_; }
  bool checks() const { return checks_; }
  HRESULT removed() const { return removed_.load(std::memory_order_acquire); }
  // The first reason counts. GetPrivateData(kIidSoftware) gives the text.
  // False when it was removed before.
  bool Remove(HRESULT reason, const std::string& why);
  // True once after the fault was injected; removes the device if it is kFaultRemoveDevice.
  bool TakeFault(UINT fault);

  void Register(Fence* fence);
  void Unregister(Fence* fence);
  void Register(DescriptorHeap* heap);
  void Unregister(DescriptorHeap* heap);
  // The heap that a CPU handle lies in, and its index there; null when there is none.
  DescriptorHeap* FindDescriptor(D3D12_CPU_DESCRIPTOR_HANDLE handle, UINT* index);

  // Buffers that views name by number; null for one that was released.
  uint64_t AddViewed(Resource* buffer);
  void RemoveViewed(uint64_t number);
  Held<Resource> FindViewed(uint64_t number);

  // A stamp says which submission used something last: queue and serial number; 0: none.
  static constexpr uint64_t kSerialMask = (uint64_t{1} << 48) - 1;
  bool Pending(uint64_t stamp) const {
    return stamp && progress_[stamp >> 48].completed.load(std::memory_order_acquire) < (stamp & kSerialMask);
  }
  // Null when too many queues are alive.
  QueueProgress* AcquireProgress(UINT* index);
  void ReleaseProgress(UINT index);

  HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID guid, UINT* size, void* data) override;

  UINT STDMETHODCALLTYPE GetNodeCount() override { return 1; }
  HRESULT STDMETHODCALLTYPE CreateCommandQueue(const D3D12_COMMAND_QUEUE_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateGraphicsPipelineState(const D3D12_GRAPHICS_PIPELINE_STATE_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateComputePipelineState(const D3D12_COMPUTE_PIPELINE_STATE_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateCommandList(UINT, D3D12_COMMAND_LIST_TYPE, ID3D12CommandAllocator*, ID3D12PipelineState*, REFIID,
                                              void**) override;
  HRESULT STDMETHODCALLTYPE CheckFeatureSupport(D3D12_FEATURE, void*, UINT) override;
  HRESULT STDMETHODCALLTYPE CreateDescriptorHeap(const D3D12_DESCRIPTOR_HEAP_DESC*, REFIID, void**) override;
  UINT STDMETHODCALLTYPE GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE) override;
  HRESULT STDMETHODCALLTYPE CreateRootSignature(UINT, const void*, SIZE_T, REFIID, void**) override;
  void STDMETHODCALLTYPE CreateConstantBufferView(const D3D12_CONSTANT_BUFFER_VIEW_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE CreateShaderResourceView(ID3D12Resource*, const D3D12_SHADER_RESOURCE_VIEW_DESC*,
                                                  D3D12_CPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE CreateUnorderedAccessView(ID3D12Resource*, ID3D12Resource*, const D3D12_UNORDERED_ACCESS_VIEW_DESC*,
                                                   D3D12_CPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE CreateRenderTargetView(ID3D12Resource*, const D3D12_RENDER_TARGET_VIEW_DESC*,
                                                D3D12_CPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE CreateDepthStencilView(ID3D12Resource*, const D3D12_DEPTH_STENCIL_VIEW_DESC*,
                                                D3D12_CPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE CreateSampler(const D3D12_SAMPLER_DESC*, D3D12_CPU_DESCRIPTOR_HANDLE) override;
  void STDMETHODCALLTYPE CopyDescriptors(UINT, const D3D12_CPU_DESCRIPTOR_HANDLE*, const UINT*, UINT, const D3D12_CPU_DESCRIPTOR_HANDLE*,
                                         const UINT*, D3D12_DESCRIPTOR_HEAP_TYPE) override;
  void STDMETHODCALLTYPE CopyDescriptorsSimple(UINT, D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_CPU_DESCRIPTOR_HANDLE,
                                               D3D12_DESCRIPTOR_HEAP_TYPE) override;
  DXT_STRUCT_METHOD(D3D12_RESOURCE_ALLOCATION_INFO, GetResourceAllocationInfo, UINT, UINT, const D3D12_RESOURCE_DESC*) override;
  DXT_STRUCT_METHOD(D3D12_HEAP_PROPERTIES, GetCustomHeapProperties, UINT, D3D12_HEAP_TYPE) override;
  HRESULT STDMETHODCALLTYPE CreateCommittedResource(const D3D12_HEAP_PROPERTIES*, D3D12_HEAP_FLAGS, const D3D12_RESOURCE_DESC*,
                                                    D3D12_RESOURCE_STATES, const D3D12_CLEAR_VALUE*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateHeap(const D3D12_HEAP_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreatePlacedResource(ID3D12Heap*, UINT64, const D3D12_RESOURCE_DESC*, D3D12_RESOURCE_STATES,
                                                 const D3D12_CLEAR_VALUE*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateReservedResource(const D3D12_RESOURCE_DESC*, D3D12_RESOURCE_STATES, const D3D12_CLEAR_VALUE*, REFIID,
                                                   void**) override;
  HRESULT STDMETHODCALLTYPE CreateSharedHandle(ID3D12DeviceChild*, const SECURITY_ATTRIBUTES*, DWORD, LPCWSTR, HANDLE*) override;
  HRESULT STDMETHODCALLTYPE OpenSharedHandle(HANDLE, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE OpenSharedHandleByName(LPCWSTR, DWORD, HANDLE*) override;
  HRESULT STDMETHODCALLTYPE MakeResident(UINT, ID3D12Pageable* const*) override;
  HRESULT STDMETHODCALLTYPE Evict(UINT, ID3D12Pageable* const*) override;
  HRESULT STDMETHODCALLTYPE CreateFence(UINT64, D3D12_FENCE_FLAGS, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() override { return removed(); }
  void STDMETHODCALLTYPE GetCopyableFootprints(const D3D12_RESOURCE_DESC*, UINT, UINT, UINT64, D3D12_PLACED_SUBRESOURCE_FOOTPRINT*, UINT*,
                                               UINT64*, UINT64*) override;
  HRESULT STDMETHODCALLTYPE CreateQueryHeap(const D3D12_QUERY_HEAP_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE SetStablePowerState(BOOL) override { return S_OK; }
  HRESULT STDMETHODCALLTYPE CreateCommandSignature(const D3D12_COMMAND_SIGNATURE_DESC*, ID3D12RootSignature*, REFIID, void**) override;
  void STDMETHODCALLTYPE GetResourceTiling(ID3D12Resource*, UINT*, D3D12_PACKED_MIP_INFO*, D3D12_TILE_SHAPE*, UINT*, UINT,
                                           D3D12_SUBRESOURCE_TILING*) override;
  DXT_STRUCT_METHOD(LUID, GetAdapterLuid) override;
  HRESULT STDMETHODCALLTYPE CreatePipelineLibrary(const void*, SIZE_T, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE SetEventOnMultipleFenceCompletion(ID3D12Fence* const*, const UINT64*, UINT, D3D12_MULTIPLE_FENCE_WAIT_FLAGS,
                                                              HANDLE) override;
  HRESULT STDMETHODCALLTYPE SetResidencyPriority(UINT, ID3D12Pageable* const*, const D3D12_RESIDENCY_PRIORITY*) override;
  HRESULT STDMETHODCALLTYPE CreatePipelineState(const D3D12_PIPELINE_STATE_STREAM_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE OpenExistingHeapFromAddress(const void*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE OpenExistingHeapFromFileMapping(HANDLE, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE EnqueueMakeResident(D3D12_RESIDENCY_FLAGS, UINT, ID3D12Pageable* const*, ID3D12Fence*, UINT64) override;
  HRESULT STDMETHODCALLTYPE CreateCommandList1(UINT, D3D12_COMMAND_LIST_TYPE, D3D12_COMMAND_LIST_FLAGS, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateProtectedResourceSession(const D3D12_PROTECTED_RESOURCE_SESSION_DESC*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateCommittedResource1(const D3D12_HEAP_PROPERTIES*, D3D12_HEAP_FLAGS, const D3D12_RESOURCE_DESC*,
                                                     D3D12_RESOURCE_STATES, const D3D12_CLEAR_VALUE*, ID3D12ProtectedResourceSession*,
                                                     REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateHeap1(const D3D12_HEAP_DESC*, ID3D12ProtectedResourceSession*, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateReservedResource1(const D3D12_RESOURCE_DESC*, D3D12_RESOURCE_STATES, const D3D12_CLEAR_VALUE*,
                                                    ID3D12ProtectedResourceSession*, REFIID, void**) override;
  DXT_STRUCT_METHOD(D3D12_RESOURCE_ALLOCATION_INFO, GetResourceAllocationInfo1, UINT, UINT, const D3D12_RESOURCE_DESC*,
                    D3D12_RESOURCE_ALLOCATION_INFO1*)
  override;
  HRESULT STDMETHODCALLTYPE CreateLifetimeTracker(ID3D12LifetimeOwner*, REFIID, void**) override;
  void STDMETHODCALLTYPE RemoveDevice() override;
  HRESULT STDMETHODCALLTYPE EnumerateMetaCommands(UINT*, D3D12_META_COMMAND_DESC*) override;
  HRESULT STDMETHODCALLTYPE EnumerateMetaCommandParameters(REFGUID, D3D12_META_COMMAND_PARAMETER_STAGE, UINT*, UINT*,
                                                           D3D12_META_COMMAND_PARAMETER_DESC*) override;
  HRESULT STDMETHODCALLTYPE CreateMetaCommand(REFGUID, UINT, const void*, SIZE_T, REFIID, void**) override;
  HRESULT STDMETHODCALLTYPE CreateStateObject(const D3D12_STATE_OBJECT_DESC*, REFIID, void**) override;
  void STDMETHODCALLTYPE GetRaytracingAccelerationStructurePrebuildInfo(const D3D12_BUILD_RAYTRACING_ACCELERATION_STRUCTURE_INPUTS*,
                                                                        D3D12_RAYTRACING_ACCELERATION_STRUCTURE_PREBUILD_INFO*) override;
  D3D12_DRIVER_MATCHING_IDENTIFIER_STATUS STDMETHODCALLTYPE
  CheckDriverMatchingIdentifier(D3D12_SERIALIZED_DATA_TYPE, const D3D12_SERIALIZED_DATA_DRIVER_MATCHING_IDENTIFIER*) override;

 private:
  class Control final : public SecondInterface<IDxtensorSoftware, Device> {
   public:
    using SecondInterface::SecondInterface;
    HRESULT STDMETHODCALLTYPE InjectFault(UINT fault) override;
    UINT STDMETHODCALLTYPE Traits() override { return kTraitFusesGraphs; }
    void* STDMETHODCALLTYPE HostMemory(ID3D12Resource* buffer, UINT64 offset, UINT64 size, IUnknown** keeper) override;
  };
  static constexpr size_t kMaxQueues = 256;

  explicit Device(std::shared_ptr<const Profile> profile);
  ~Device() override = default;
  HRESULT QueryOther(REFIID iid, void** out) override;
  void OnReleased() override;

  const std::shared_ptr<const Profile> profile_;
  const bool checks_;
  Control control_;
  std::atomic<HRESULT> removed_{S_OK};
  std::atomic<UINT> faults_{0};
  std::mutex mutex_;  // what follows
  std::string removed_why_;
  std::unordered_set<Fence*> fences_;
  std::vector<DescriptorHeap*> descriptor_heaps_;
  std::unordered_map<uint64_t, Resource*> viewed_;
  uint64_t last_viewed_ = 0;
  QueueProgress progress_[kMaxQueues];
};

// What every Direct3D object but the device is.
template <class I, class... Also>
class DeviceChild : public NamedObject<I, const IUnknown, ID3D12Object, ID3D12DeviceChild, Also...> {
 public:
  HRESULT STDMETHODCALLTYPE GetDevice(REFIID iid, void** out) override { return device_->QueryInterface(iid, out); }
  Device& device() const { return *device_.get(); }

 protected:
  explicit DeviceChild(Device* device) : device_(device) {}

 private:
  ComRef<Device> device_;
};

}  // namespace dxtensor::software
