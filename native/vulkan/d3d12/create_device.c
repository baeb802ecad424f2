// D3D12CreateDevice: one device for each adapter, as in Direct3D.
#include <dlfcn.h>

#include "events.h"
#include "wrap.h"
#include "../adapters.h"

static bool has_uuid(PFN_vkGetPhysicalDeviceProperties2 get, VkPhysicalDevice device, const uint8_t* uuid) {
  VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};

  get(device, &all);
  return !memcmp(uuid, id.deviceUUID, VK_UUID_SIZE) && !memcmp(uuid + VK_UUID_SIZE, id.driverUUID, VK_UUID_SIZE);
}

// The adapter's device in vkd3d's instance: layers and environment may order the devices of two instances differently.
static VkPhysicalDevice physical_device(struct vkd3d_instance* instance, const struct vulkan_adapter* adapter) {
  PFN_vkGetInstanceProcAddr get_proc;
  PFN_vkEnumeratePhysicalDevices enumerate;
  PFN_vkGetPhysicalDeviceProperties2 get;
  VkInstance vk = vkd3d_instance_get_vk_instance(instance);
  VkPhysicalDevice *list, found = NULL;
  uint32_t count = 0, i;
  void* loader = dxtensor_vulkan_loader();

  if (!loader || !(get_proc = (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr"))) return NULL;
  enumerate = (PFN_vkEnumeratePhysicalDevices)get_proc(vk, "vkEnumeratePhysicalDevices");
  if (!(get = (PFN_vkGetPhysicalDeviceProperties2)get_proc(vk, "vkGetPhysicalDeviceProperties2")))
    get = (PFN_vkGetPhysicalDeviceProperties2)get_proc(vk, "vkGetPhysicalDeviceProperties2KHR");
  if (!get || enumerate(vk, &count, NULL) < 0 || !(list = calloc(count + 1, sizeof(*list)))) return NULL;
  if (enumerate(vk, &count, list) >= 0) {
    // Of twins the one at the adapter's own index.
    for (i = 0; i < count; ++i)
      if (has_uuid(get, list[i], adapter->uuid) && (!found || i == adapter->vulkan_index)) found = list[i];
  }
  free(list);
  return found;
}

// The adapter that an IDXCoreAdapter names, by its InstanceLuid.
static HRESULT find_adapter(void* object, struct vulkan_adapter* adapter) {
  static const GUID iid = {0xf0db4c7f, 0xfe5a, 0x42a2, {0xbd, 0x62, 0xf2, 0xa6, 0xcf, 0x6f, 0xc8, 0x3e}};
  typedef HRESULT (*property_t)(void*, uint32_t, size_t, void*);
  LUID luid;
  void* dxcore;
  HRESULT hr;

  if (!object) return dxtensor_vulkan_adapter(NULL, adapter) ? S_OK : DXGI_ERROR_NOT_FOUND;
  if (FAILED(hr = program_query_interface(object, &iid, &dxcore))) {
    trace("D3D12CreateDevice: the adapter is no IDXCoreAdapter");
    return E_INVALIDARG;
  }
  hr = ((property_t*)*(void**)dxcore)[6](dxcore, 0 /* InstanceLuid */, sizeof(luid), &luid);
  program_release(dxcore);
  if (FAILED(hr)) return hr;
  return dxtensor_vulkan_adapter(&luid, adapter) ? S_OK : E_INVALIDARG;
}

static HRESULT new_device(const struct vulkan_adapter* adapter, D3D_FEATURE_LEVEL level, void** out) {
  struct vkd3d_application_info app = {.type = VKD3D_STRUCTURE_TYPE_APPLICATION_INFO, .api_version = VKD3D_API_VERSION_2_1};
  struct vkd3d_instance_create_info instance_info = {
      .type = VKD3D_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .next = &app, .pfn_signal_event = signal_event, .wchar_size = sizeof(WCHAR)};
  struct vkd3d_device_create_info info = {.type = VKD3D_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                          .minimum_feature_level = level,
                                          .adapter_luid = {adapter->luid_low, adapter->luid_high}};
  HRESULT hr;

  if (FAILED(hr = vkd3d_create_instance(&instance_info, &info.instance))) return hr;
  if (!(info.vk_physical_device = physical_device(info.instance, adapter))) hr = E_FAIL;
  else hr = vkd3d_create_device(&info, out ? &IID_ID3D12Device : NULL, out);
  vkd3d_instance_decref(info.instance);
  return hr;
}

static bool extends_device(const struct iface* type) {
  const struct iface* device = find_iface(&IID_ID3D12Device);

  while (type != device && type->base >= 0) type = &ifaces[type->base];
  return type == device;
}

// A device on the same adapter that the program still holds.
static int is_device_of(const struct wrap* w, const void* data) {
  const struct vulkan_adapter* adapter = data;
  ID3D12Device* device = w->real;
  LUID luid;

  if (!extends_device(w->type)) return 0;
  device->lpVtbl->GetAdapterLuid(device, &luid);
  return luid.LowPart == adapter->luid_low && luid.HighPart == adapter->luid_high;
}

EXPORT HRESULT D3D12CreateDevice(IUnknown* object, D3D_FEATURE_LEVEL level, REFIID iid, void** out) {
  static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;
  const char* fail = getenv("DXTENSOR_VULKAN_DEVICE_HR");
  // vkd3d knows no core (compute only) levels; it has nothing under 11.0 anyway.
  D3D_FEATURE_LEVEL wanted = (int)level < 0x9100 ? D3D_FEATURE_LEVEL_11_0 : level;
  struct vulkan_adapter adapter = {0};
  struct wrap* w = NULL;
  void* real = NULL;
  HRESULT hr;

  if (out) *out = NULL;
  if (fail && *fail) return (HRESULT)strtoul(fail, NULL, 16);
  if (SUCCEEDED(hr = find_adapter(object, &adapter))) {
    pthread_mutex_lock(&creating);
    if (!out) hr = new_device(&adapter, wanted, NULL);
    else if ((w = find_wrapper(is_device_of, &adapter))) {
      D3D12_FEATURE_DATA_FEATURE_LEVELS has = {1, &wanted};
      ID3D12Device* device = w->real;
      hr = device->lpVtbl->CheckFeatureSupport(device, D3D12_FEATURE_FEATURE_LEVELS, &has, sizeof(has));
      if (SUCCEEDED(hr) && has.MaxSupportedFeatureLevel < wanted) hr = E_INVALIDARG;
    } else if (SUCCEEDED(hr = new_device(&adapter, wanted, &real))) w = wrap(real, find_iface(&IID_ID3D12Device));
    if (hr == E_INVALIDARG) hr = DXGI_ERROR_UNSUPPORTED;  // Direct3D's word for a level it cannot reach
    if (SUCCEEDED(hr) && w) hr = own_IUnknown_QueryInterface(w, iid, out);
    if (w) own_IUnknown_Release(w);
    pthread_mutex_unlock(&creating);
  }
  trace("D3D12CreateDevice level %x luid %x:%x -> %08x", level, adapter.luid_high, adapter.luid_low, hr);
  return hr;
}
