#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "events.h"
#include "wrap.h"

// Under WSL the HANDLE of an event is an eventfd's number, and the kernel holds on to the eventfd: the program may close
// its number before the event comes. So a waiter has a duplicate. What vkd3d gets as its HANDLE is one struct pending
// for each fence that is waited for; vkd3d signals each of them once.
struct waiter {
  int fd;
  unsigned needed, pending;
};
struct pending {
  struct waiter* waiter;
};

static HRESULT new_waiter(HANDLE event, unsigned needed, unsigned pending, struct waiter** out) {
  int fd = (int)(intptr_t)event;
  char path[40], name[40] = "";

  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  if (readlink(path, name, sizeof(name) - 1) < 0 || strcmp(name, "anon_inode:[eventfd]") || (fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) {
    trace("%p is no eventfd", event);
    return E_INVALIDARG;
  }
  if (!(*out = malloc(sizeof(**out)))) {
    close(fd);
    return E_OUTOFMEMORY;
  }
  **out = (struct waiter){fd, needed, pending};
  return S_OK;
}

// So many of the fences are done with the waiter.
static void leave_waiter(struct waiter* w, unsigned count) {
  if (__atomic_sub_fetch(&w->pending, count, __ATOMIC_SEQ_CST)) return;
  close(w->fd);
  free(w);
}

HRESULT signal_event(HANDLE handle) {
  struct waiter* w = ((struct pending*)handle)->waiter;
  uint64_t one = 1;
  HRESULT hr = S_OK;

  free(handle);
  if (!__atomic_sub_fetch(&w->needed, 1, __ATOMIC_SEQ_CST) && write(w->fd, &one, sizeof(one)) != sizeof(one)) hr = E_FAIL;
  leave_waiter(w, 1);
  return hr;
}

static HRESULT add_pending(ID3D12Fence* real, UINT64 value, struct waiter* w) {
  struct pending* p = malloc(sizeof(*p));
  HRESULT hr = E_OUTOFMEMORY;

  if (p) {
    p->waiter = w;
    if (SUCCEEDED(hr = real->lpVtbl->SetEventOnCompletion(real, value, p))) return hr;
  }
  free(p);
  leave_waiter(w, 1);
  return hr;
}

HRESULT own_ID3D12Fence_SetEventOnCompletion(struct wrap* w, UINT64 value, HANDLE event) {
  ID3D12Fence* real = w->real;
  struct waiter* waiter;
  HRESULT hr;

  CALL("ID3D12Fence::SetEventOnCompletion");
  if (!event) return real->lpVtbl->SetEventOnCompletion(real, value, NULL);  // waits
  return FAILED(hr = new_waiter(event, 1, 1, &waiter)) ? hr : add_pending(real, value, waiter);
}

HRESULT own_ID3D12Device1_SetEventOnMultipleFenceCompletion(struct wrap* w, ID3D12Fence* const* fences, const UINT64* values, UINT count,
                                                            D3D12_MULTIPLE_FENCE_WAIT_FLAGS flags, HANDLE event) {
  int any = flags & D3D12_MULTIPLE_FENCE_WAIT_FLAG_ANY, own = -1;
  struct pollfd done = {.events = POLLIN};
  struct waiter* waiter;
  HRESULT hr = S_OK;

  (void)w;
  if (!fences || !values || !count) return E_INVALIDARG;
  if (!event) event = (HANDLE)(intptr_t)(own = eventfd(0, EFD_CLOEXEC));
  if (SUCCEEDED(hr = new_waiter(event, any ? 1 : count, count, &waiter)))
    for (UINT i = 0; i < count; ++i) {
      if (SUCCEEDED(hr = add_pending(unwrap(fences[i]), values[i], waiter))) continue;
      if (i + 1 < count) leave_waiter(waiter, count - i - 1);
      break;
    }
  if (own < 0) return hr;
  done.fd = own;
  while (SUCCEEDED(hr) && poll(&done, 1, -1) < 0 && errno == EINTR)
    ;
  close(own);
  return hr;
}
