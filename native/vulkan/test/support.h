// Shared by the tests of the Vulkan runtime: the two libraries as a program written for WSL sees them, compiled against
// Microsoft's own headers and called through their C++ interfaces.
//
// The suite owns the loaded libraries and one device, which most tests use; the tests run one after another in one thread.
#pragma once

#include <wsl/winadapter.h>
#include <directx/dxcore.h>
#include <directx/d3d12.h>
#include <dxguids/dxguids.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../test/check.h"

namespace dxtensor::test {

// A reference that is released at the end of its scope.
template <class T>
class Com {
 public:
  Com() = default;
  Com(const Com&) = delete;
  Com& operator=(const Com&) = delete;
  ~Com() { Reset(); }
  T* operator->() const { return p_; }
  operator T*() const { return p_; }
  T* get() const { return p_; }
  T** operator&() { return &p_; }
  ULONG Reset() {
    T* p = p_;
    p_ = nullptr;
    return p ? p->Release() : 0;
  }

 private:
  T* p_ = nullptr;
};

ULONG CountOf(IUnknown* object);

class Suite {
 public:
  // Throws std::runtime_error with what could not be loaded.
  Suite(const char* dxcore, const char* d3d12);

  HRESULT (*create_factory)(REFIID, void**);
  PFN_D3D12_CREATE_DEVICE create_device;
  PFN_D3D12_SERIALIZE_ROOT_SIGNATURE serialize;
  PFN_D3D12_SERIALIZE_VERSIONED_ROOT_SIGNATURE serialize_versioned;
  PFN_D3D12_CREATE_ROOT_SIGNATURE_DESERIALIZER create_deserializer;
  PFN_D3D12_CREATE_VERSIONED_ROOT_SIGNATURE_DESERIALIZER create_versioned_deserializer;
  PFN_D3D12_GET_DEBUG_INTERFACE get_debug;
  unsigned (*live_objects)();
  const char* (*runtime_name)();

  // The first adapter, and a device on it, made when it is first asked for.
  IDXCoreAdapter* adapter();
  ID3D12Device* device();
  // Releases both; the tests that count objects start with nothing alive.
  void Drop();

 private:
  Com<IDXCoreAdapter> adapter_;
  Com<ID3D12Device> device_;
};

class Event {
 public:
  ~Event() { close(fd_); }
  HANDLE handle() const { return reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd_)); }
  bool Wait(int timeout_ms) {
    pollfd p = {fd_, POLLIN, 0};
    return poll(&p, 1, timeout_ms) == 1;
  }
  uint64_t Take() {
    uint64_t n = 0;
    return read(fd_, &n, sizeof n) == sizeof n ? n : 0;
  }

 private:
  int fd_ = eventfd(0, EFD_CLOEXEC);
};

D3D12_RESOURCE_DESC BufferDesc(UINT64 size, D3D12_RESOURCE_FLAGS flags = D3D12_RESOURCE_FLAG_NONE);
void MakeBuffer(ID3D12Device* device, D3D12_HEAP_TYPE type, UINT64 size, ID3D12Resource** out,
                D3D12_RESOURCE_FLAGS flags = D3D12_RESOURCE_FLAG_NONE);
D3D12_RESOURCE_BARRIER Transition(ID3D12Resource* resource, D3D12_RESOURCE_STATES from, D3D12_RESOURCE_STATES to);
D3D12_RESOURCE_BARRIER UavBarrier(ID3D12Resource* resource);

// A queue with one list and a fence.
struct Recorder {
  Com<ID3D12CommandQueue> queue;
  Com<ID3D12CommandAllocator> allocator;
  Com<ID3D12GraphicsCommandList> list;
  Com<ID3D12Fence> fence;
  UINT64 value = 0;

  Recorder(ID3D12Device* device, D3D12_COMMAND_LIST_TYPE type);
  void Execute();
  void Finish();
  void Again();
};

// result[i] = result[i] * scale + addend[i] for i < count, as a pipeline with a heap for its two views.
struct Compute {
  Com<ID3D12RootSignature> root;
  Com<ID3D12PipelineState> pipeline;
  Com<ID3D12DescriptorHeap> heap;
  UINT step;

  explicit Compute(Suite& suite);
  void View(ID3D12Device* device, ID3D12Resource* addend, ID3D12Resource* result, UINT count);
  void Bind(ID3D12GraphicsCommandList* list, UINT count, float scale);
};
D3D12_SHADER_BYTECODE ScaleShader();

}  // namespace dxtensor::test
