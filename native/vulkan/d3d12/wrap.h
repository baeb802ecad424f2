// COM objects of one calling convention behind COM objects of another: the base of the generated wrappers.
//
// A wrapper is one pair (object, table of functions). There is one wrapper for an object as long as the program holds references
// to it; every reference the program has is one reference on the object too, so AddRef and Release return the object's own counts,
// and the device counts its children, as in Direct3D. Any thread may call; one lock guards the table of wrappers.
//
// The functions are made by scripts/generate-vulkan.ts from vkd3d's headers; those named own_INTERFACE_METHOD are written by hand.
#ifndef DXTENSOR_VULKAN_WRAP_H
#define DXTENSOR_VULKAN_WRAP_H

#include <pthread.h>
#include <stddef.h>

#include "vkd3d.h"
#include "../trace.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

struct iface {
  const char* name;
  const GUID* iid;
  void* const* methods;
  int base;
};
struct wrap {
  void* const* methods;  // first, as in every C++ object
  void* real;
  const struct iface* type;
  unsigned refs;  // the program's references
  bool removed;   // a device that was
  struct wrap* next;
};

// Generated: all tables one after another, and the interfaces, bases before those that extend them.
extern void* const vtables[];
extern const size_t vtable_slots;
extern const struct iface ifaces[];
extern const size_t iface_count;

extern pthread_mutex_t wrap_lock;
const struct iface* find_iface(const GUID* iid);
// Takes over one reference on real. hint: the interface that it was got as. Null when there is no memory: the reference is
// released then.
struct wrap* wrap(void* real, const struct iface* hint);
// Wraps what a call gave, or clears it when the call failed. Returns E_OUTOFMEMORY instead of hr when no wrapper could be made.
HRESULT wrap_out(HRESULT hr, const GUID* iid, void** out);
// An object that is none of the library's ends the program with a line on stderr, as calling it would.
void* unwrap(const void* object);
// To be freed.
void** unwrap_array(UINT count, void* const* objects);
// The wrapper of an object, null when the program holds none; the lock is held.
struct wrap* wrapper_of(const void* real);
// The wrapper that accept is true of, with a reference more for the program; called under the lock.
struct wrap* find_wrapper(int (*accept)(const struct wrap* w, const void* data), const void* data);

// Copies of structures with objects inside, these unwrapped. Arrays are to be freed.
const D3D12_COMPUTE_PIPELINE_STATE_DESC* struct_D3D12_COMPUTE_PIPELINE_STATE_DESC(const D3D12_COMPUTE_PIPELINE_STATE_DESC* from,
                                                                                  D3D12_COMPUTE_PIPELINE_STATE_DESC* to);
const D3D12_GRAPHICS_PIPELINE_STATE_DESC* struct_D3D12_GRAPHICS_PIPELINE_STATE_DESC(const D3D12_GRAPHICS_PIPELINE_STATE_DESC* from,
                                                                                    D3D12_GRAPHICS_PIPELINE_STATE_DESC* to);
const D3D12_TEXTURE_COPY_LOCATION* struct_D3D12_TEXTURE_COPY_LOCATION(const D3D12_TEXTURE_COPY_LOCATION* from,
                                                                      D3D12_TEXTURE_COPY_LOCATION* to);
D3D12_RESOURCE_BARRIER* array_D3D12_RESOURCE_BARRIER(const D3D12_RESOURCE_BARRIER* from, UINT count);
D3D12_PIPELINE_STATE_STREAM_DESC* array_D3D12_PIPELINE_STATE_STREAM_DESC(const D3D12_PIPELINE_STATE_STREAM_DESC* from, UINT count);

extern bool tracing_calls;
#define CALL(name)                                             \
  do {                                                         \
    if (__builtin_expect(tracing_calls, 0)) trace("%s", name); \
  } while (0)
static inline HRESULT result(const char* name, HRESULT hr) {
  if (__builtin_expect(FAILED(hr), 0)) trace("%s -> %08x", name, hr);
  return hr;
}

HRESULT own_IUnknown_QueryInterface(struct wrap* w, REFIID iid, void** out);
ULONG own_IUnknown_AddRef(struct wrap* w);
ULONG own_IUnknown_Release(struct wrap* w);

// The program's own objects, which have the System V calling convention.
typedef HRESULT (*program_query)(void*, const GUID*, void**);
HRESULT program_query_interface(void* object, const GUID* iid, void** out);
ULONG program_addref(void* object);
ULONG program_release(void* object);

#endif
