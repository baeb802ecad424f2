// Calls of COM methods that return a structure. MSVC returns it through a hidden pointer after `this`; GCC on Linux agrees with
// Microsoft's Linux libraries, but GCC on Windows passes the pointer before `this`, so there the method is called by hand.
#pragma once

#include "../abi/abi.h"

namespace dxtensor::dml {

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
#if defined(_WIN32) && !defined(_MSC_VER)
  D3D12_CPU_DESCRIPTOR_HANDLE result;
  heap->GetCPUDescriptorHandleForHeapStart(&result);
  return result;
#else
  return heap->GetCPUDescriptorHandleForHeapStart();
#endif
}

inline D3D12_GPU_DESCRIPTOR_HANDLE GpuStart(ID3D12DescriptorHeap* heap) {
#if defined(_WIN32) && !defined(_MSC_VER)
  D3D12_GPU_DESCRIPTOR_HANDLE result;
  heap->GetGPUDescriptorHandleForHeapStart(&result);
  return result;
#else
  return heap->GetGPUDescriptorHandleForHeapStart();
#endif
}

}  // namespace dxtensor::dml
