// Devices that were removed, by ID3D12Device5::RemoveDevice or, for tests, after DXTENSOR_VULKAN_REMOVE_AFTER submissions: from
// then on lists are dropped, fences jump to their end, and the reason is DXGI_ERROR_DEVICE_REMOVED, as in Direct3D. What was
// submitted before runs to its end. vkd3d's own RemoveDevice does nothing.
#include <limits.h>

#include "wrap.h"

static unsigned removed_count;  // so that nothing is looked up as long as none was removed
static unsigned submissions;

static bool is_removed(void* device) {
  struct wrap* w;
  bool removed;

  if (!__atomic_load_n(&removed_count, __ATOMIC_SEQ_CST)) return false;
  pthread_mutex_lock(&wrap_lock);
  removed = (w = wrapper_of(device)) && w->removed;
  pthread_mutex_unlock(&wrap_lock);
  return removed;
}

static void remove_device(void* device) {
  struct wrap* w;

  pthread_mutex_lock(&wrap_lock);
  if ((w = wrapper_of(device)) && !w->removed) {
    w->removed = true;
    __atomic_add_fetch(&removed_count, 1, __ATOMIC_SEQ_CST);
  }
  pthread_mutex_unlock(&wrap_lock);
}

static bool belongs_to_removed(ID3D12CommandQueue* queue, bool remove) {
  ID3D12Device* device;
  bool removed;

  if (!remove && !__atomic_load_n(&removed_count, __ATOMIC_SEQ_CST)) return false;
  if (FAILED(queue->lpVtbl->GetDevice(queue, &IID_ID3D12Device, (void**)&device))) return false;
  if (remove) remove_device(device);
  removed = is_removed(device);
  device->lpVtbl->Release(device);
  return removed;
}

HRESULT own_ID3D12Device_GetDeviceRemovedReason(struct wrap* w) {
  ID3D12Device* real = w->real;

  CALL("ID3D12Device::GetDeviceRemovedReason");
  return is_removed(real) ? DXGI_ERROR_DEVICE_REMOVED : real->lpVtbl->GetDeviceRemovedReason(real);
}

void own_ID3D12Device5_RemoveDevice(struct wrap* w) {
  CALL("ID3D12Device5::RemoveDevice");
  remove_device(w->real);
}

void own_ID3D12CommandQueue_ExecuteCommandLists(struct wrap* w, UINT count, ID3D12CommandList* const* lists) {
  static unsigned limit = UINT_MAX;
  ID3D12CommandQueue* real = w->real;
  void** unwrapped;

  CALL("ID3D12CommandQueue::ExecuteCommandLists");
  if (limit == UINT_MAX) {
    const char* text = getenv("DXTENSOR_VULKAN_REMOVE_AFTER");
    limit = text ? (unsigned)atoi(text) : 0;
  }
  if (belongs_to_removed(real, limit && __atomic_add_fetch(&submissions, 1, __ATOMIC_SEQ_CST) > limit)) return;
  unwrapped = unwrap_array(count, (void* const*)lists);
  real->lpVtbl->ExecuteCommandLists(real, count, (ID3D12CommandList* const*)unwrapped);
  free(unwrapped);
}

HRESULT own_ID3D12CommandQueue_Signal(struct wrap* w, ID3D12Fence* fence, UINT64 value) {
  ID3D12CommandQueue* real = w->real;
  ID3D12Fence* signalled = unwrap(fence);

  CALL("ID3D12CommandQueue::Signal");
  if (belongs_to_removed(real, false)) return signalled ? signalled->lpVtbl->Signal(signalled, UINT64_MAX) : E_INVALIDARG;
  return result("ID3D12CommandQueue::Signal", real->lpVtbl->Signal(real, signalled, value));
}
