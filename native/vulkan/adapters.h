// libdxcore.so's function for libd3d12.so: the Vulkan device of an adapter. Any thread may call; the answers hold until the
// process ends.
#ifndef DXTENSOR_VULKAN_ADAPTERS_H
#define DXTENSOR_VULKAN_ADAPTERS_H

#include <stdint.h>

// luid_low is (position + 1) << 16 | vulkan_index.
struct vulkan_adapter {
  uint32_t luid_low;
  int32_t luid_high;
  uint32_t vulkan_index;  // in vkEnumeratePhysicalDevices' order of libdxcore.so's instance; another instance's may differ
  uint8_t uuid[32];       // deviceUUID, then driverUUID: the same in every instance
};

#ifdef __cplusplus
extern "C" {
#endif
// luid null: the first adapter. 0 when there is no such adapter.
int dxtensor_vulkan_adapter(const void* luid, struct vulkan_adapter* found);
// Vulkan's loader, opened when it is first asked for; null when there is none. From then on "libvulkan.so.1" finds it, which is
// how vkd3d opens it.
void* dxtensor_vulkan_loader(void);
#ifdef __cplusplus
}
#endif

#endif
