/* Linux half of the d3d12 bridge: Debian's libvkd3d behind Microsoft-ABI entry points.
 *
 * vkd3d's COM objects already use the Microsoft calling convention on x86-64,
 * so Windows code may call their methods directly.  Only the creation functions, and the thread and event services that vkd3d requires of
 * its embedder, are adapted.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "patch.h"
/* vkd3d.h names a few Vulkan types in functions that are not used here. */
#define VKD3D_NO_VULKAN_H
typedef struct VkInstance_T* VkInstance;
typedef struct VkPhysicalDevice_T* VkPhysicalDevice;
typedef struct VkDevice_T* VkDevice;
typedef struct VkQueue_T* VkQueue;
typedef uint64_t VkImage;
typedef int VkFormat;
typedef void (*PFN_vkVoidFunction)(void);
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance, const char*);
#include <vkd3d/vkd3d.h>

static struct bridge_entry win;

static HRESULT signal_event(HANDLE event) { return win.set_event(event) ? S_OK : E_FAIL; }

/* vkd3d's threads signal Windows events, so they must be Windows threads. */
struct start {
  PFN_vkd3d_thread run;
  void* arg;
};

static unsigned BRIDGE_ABI thread_main(void* p) {
  struct start s = *(struct start*)p;
  free(p);
  s.run(s.arg);
  return 0;
}

static void* create_thread(PFN_vkd3d_thread run, void* arg) {
  struct start* s = malloc(sizeof(*s));
  if (!s) return NULL;
  s->run = run;
  s->arg = arg;
  return win.create_thread(NULL, 8u << 20, thread_main, s, 0x10000 /* stack size is a reservation */, NULL);
}

static HRESULT join_thread(void* thread) {
  win.wait(thread, ~0u);
  win.close(thread);
  return S_OK;
}

/* DirectML asks for the vendor's meta commands and takes E_NOTIMPL, which
 * vkd3d returns, as a broken device; "there are none" is a valid answer. */
static HRESULT BRIDGE_ABI no_meta_commands(ID3D12Device5* device, UINT* count, D3D12_META_COMMAND_DESC* descs) {
  (void)device;
  (void)descs;
  if (!count) return E_INVALIDARG;
  *count = 0;
  return S_OK;
}

void bridge_patch_slot(void** slot, void* fn) {
  uintptr_t page = sysconf(_SC_PAGESIZE), at = (uintptr_t)slot & ~(page - 1);
  if (*slot == fn || mprotect((void*)at, 2 * page, PROT_READ | PROT_WRITE)) return;
  *slot = fn;
}

static int BRIDGE_ABI create_device(unsigned int level, unsigned int luid_low, int luid_high, const void* iid, void** out) {
  struct vkd3d_application_info app = {.type = VKD3D_STRUCTURE_TYPE_APPLICATION_INFO, .api_version = VKD3D_API_VERSION_2_1};
  struct vkd3d_instance_create_info instance = {.type = VKD3D_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                                .next = &app,
                                                .pfn_signal_event = signal_event,
                                                .pfn_create_thread = create_thread,
                                                .pfn_join_thread = join_thread,
                                                .wchar_size = 2};
  struct vkd3d_device_create_info info = {.type = VKD3D_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                          .minimum_feature_level = level,
                                          .instance_create_info = &instance,
                                          .adapter_luid = {luid_low, luid_high}};
  ID3D12Device5* device;
  HRESULT hr;

  if (!out) return vkd3d_create_device(&info, iid, NULL);
  hr = vkd3d_create_device(&info, &IID_ID3D12Device5, (void**)&device);
  if (hr < 0) {
    *out = NULL;
    return hr;
  }
  bridge_patch_slot((void**)&device->lpVtbl->EnumerateMetaCommands, no_meta_commands);
  bridge_remove_after(device, win.remove_after);
  hr = ID3D12Device5_QueryInterface(device, iid, out);
  ID3D12Device5_Release(device);
  return hr;
}

static int BRIDGE_ABI serialize(const void* desc, int version, void** blob, void** errors) {
  return vkd3d_serialize_root_signature(desc, version, (ID3DBlob**)blob, (ID3DBlob**)errors);
}

static int BRIDGE_ABI serialize_versioned(const void* desc, void** blob, void** errors) {
  return vkd3d_serialize_versioned_root_signature(desc, (ID3DBlob**)blob, (ID3DBlob**)errors);
}

static int BRIDGE_ABI create_deserializer(const void* data, unsigned long long size, const void* iid, void** out) {
  return vkd3d_create_root_signature_deserializer(data, size, iid, out);
}

static int BRIDGE_ABI create_versioned_deserializer(const void* data, unsigned long long size, const void* iid, void** out) {
  return vkd3d_create_versioned_root_signature_deserializer(data, size, iid, out);
}

static int32_t attach(void* args) {
  struct bridge_entry* e = args;
  win = *e;
  e->create_device = create_device;
  e->serialize = serialize;
  e->serialize_versioned = serialize_versioned;
  e->create_deserializer = create_deserializer;
  e->create_versioned_deserializer = create_versioned_deserializer;
  return 0;
}

/* Wine finds this symbol when it loads the Windows half of the same name. */
__attribute__((visibility("default"))) int32_t (*const __wine_unix_call_funcs[])(void*) = {attach};
