/* A device that is removed, as by a driver's reset, after so many submissions (DXTENSOR_CELL_REMOVE_AFTER): from then on lists are
 * dropped, fences jump to their end, and the reason is DXGI_ERROR_DEVICE_REMOVED, as Direct3D 12 has it.
 *
 * vkd3d's tables of methods are patched in place, for all devices of the process. */
#define _GNU_SOURCE
#include "patch.h"

#define DEVICE_REMOVED ((HRESULT)0x887a0005)

typedef HRESULT(BRIDGE_ABI* create_queue_t)(ID3D12Device5*, const D3D12_COMMAND_QUEUE_DESC*, REFIID, void**);
typedef void(BRIDGE_ABI* execute_t)(ID3D12CommandQueue*, UINT, ID3D12CommandList* const*);
typedef HRESULT(BRIDGE_ABI* signal_t)(ID3D12CommandQueue*, ID3D12Fence*, UINT64);

static create_queue_t create_queue;
static execute_t execute;
static signal_t signal_fence;
static int left;

static int is_removed(void) { return __atomic_load_n(&left, __ATOMIC_SEQ_CST) < 0; }

static HRESULT BRIDGE_ABI removed_reason(ID3D12Device5* device) {
  (void)device;
  return is_removed() ? DEVICE_REMOVED : S_OK;
}

static void BRIDGE_ABI count_execute(ID3D12CommandQueue* queue, UINT count, ID3D12CommandList* const* lists) {
  if (is_removed() || __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) < 0) return;
  execute(queue, count, lists);
}

static HRESULT BRIDGE_ABI end_signal(ID3D12CommandQueue* queue, ID3D12Fence* fence, UINT64 value) {
  return is_removed() ? ID3D12Fence_Signal(fence, UINT64_MAX) : signal_fence(queue, fence, value);
}

static HRESULT BRIDGE_ABI watch_queue(ID3D12Device5* device, const D3D12_COMMAND_QUEUE_DESC* desc, REFIID iid, void** out) {
  HRESULT hr = create_queue(device, desc, iid, out);
  if (hr >= 0 && out) {
    const ID3D12CommandQueueVtbl* table = ((ID3D12CommandQueue*)*out)->lpVtbl;
    if ((void*)table->ExecuteCommandLists != (void*)count_execute) {
      execute = (execute_t)table->ExecuteCommandLists;
      signal_fence = (signal_t)table->Signal;
      bridge_patch_slot((void**)&table->Signal, end_signal);
      bridge_patch_slot((void**)&table->ExecuteCommandLists, count_execute);
    }
  }
  return hr;
}

void bridge_remove_after(ID3D12Device5* device, int submissions) {
  if (submissions <= 0 || create_queue) return;
  left = submissions;
  create_queue = (create_queue_t)device->lpVtbl->CreateCommandQueue;
  bridge_patch_slot((void**)&device->lpVtbl->CreateCommandQueue, watch_queue);
  bridge_patch_slot((void**)&device->lpVtbl->GetDeviceRemovedReason, removed_reason);
}
