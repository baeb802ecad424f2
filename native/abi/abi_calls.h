// Calls of COM methods that return a structure. MSVC returns it through a hidden pointer after `this`; GCC on Linux agrees with
// Microsoft's Linux libraries, but GCC on Windows passes the pointer before `this`: there d3d12.h declares the pointer, and DirectML's
// one such method is called by hand.
#pragma once

#include "abi.h"

#if defined(_WIN32) && !defined(_MSC_VER)
#define DXT_CALL_FOR_STRUCT(Type, object, Method) \
  Type result;                                    \
  (object)->Method(&result);                      \
  return result
#else
#define DXT_CALL_FOR_STRUCT(Type, object, Method) return (object)->Method()
#endif

namespace dxtensor {

inline DML_BINDING_PROPERTIES BindingProperties(IDMLDispatchable* dispatchable) {
#if defined(_WIN32) && !defined(_MSC_VER)
  using Method = DML_BINDING_PROPERTIES*(STDMETHODCALLTYPE*)(IDMLDispatchable*, DML_BINDING_PROPERTIES*);
  constexpr size_t kSlot = 8;  // IUnknown 3, IDMLObject 4, IDMLDeviceChild 1
  DML_BINDING_PROPERTIES result;
  void** table = *reinterpret_cast<void***>(dispatchable);
  reinterpret_cast<Method>(table[kSlot])(dispatchable, &result);
  return result;
#else
  return dispatchable->GetBindingProperties();
#endif
}

inline D3D12_CPU_DESCRIPTOR_HANDLE CpuStart(ID3D12DescriptorHeap* heap) {
  DXT_CALL_FOR_STRUCT(D3D12_CPU_DESCRIPTOR_HANDLE, heap, GetCPUDescriptorHandleForHeapStart);
}

inline D3D12_GPU_DESCRIPTOR_HANDLE GpuStart(ID3D12DescriptorHeap* heap) {
  DXT_CALL_FOR_STRUCT(D3D12_GPU_DESCRIPTOR_HANDLE, heap, GetGPUDescriptorHandleForHeapStart);
}

inline D3D12_DESCRIPTOR_HEAP_DESC DescriptionOf(ID3D12DescriptorHeap* heap) {
  DXT_CALL_FOR_STRUCT(D3D12_DESCRIPTOR_HEAP_DESC, heap, GetDesc);
}

inline D3D12_HEAP_DESC DescriptionOf(ID3D12Heap* heap) { DXT_CALL_FOR_STRUCT(D3D12_HEAP_DESC, heap, GetDesc); }

inline D3D12_RESOURCE_DESC DescriptionOf(ID3D12Resource* resource) { DXT_CALL_FOR_STRUCT(D3D12_RESOURCE_DESC, resource, GetDesc); }

inline LUID AdapterLuid(ID3D12Device* device) { DXT_CALL_FOR_STRUCT(LUID, device, GetAdapterLuid); }

inline D3D12_RESOURCE_ALLOCATION_INFO AllocationInfo(ID3D12Device* device, UINT count, const D3D12_RESOURCE_DESC* resources) {
#if defined(_WIN32) && !defined(_MSC_VER)
  D3D12_RESOURCE_ALLOCATION_INFO result;
  device->GetResourceAllocationInfo(&result, 0, count, resources);
  return result;
#else
  return device->GetResourceAllocationInfo(0, count, resources);
#endif
}

}  // namespace dxtensor

#undef DXT_CALL_FOR_STRUCT
