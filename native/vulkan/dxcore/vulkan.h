// The Vulkan devices of this machine, as DXCore wants to know them.
//
// Vulkan's loader and one instance stay open until the process ends. Any thread may call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

namespace dxtensor::vulkan {

struct Device {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  uint32_t index = 0;                            // in vkEnumeratePhysicalDevices' order
  std::array<uint8_t, 2 * VK_UUID_SIZE> uuid{};  // deviceUUID, then driverUUID
  std::string name;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t vendor = 0, device = 0, driver_version = 0;
  uint64_t dedicated_in_bytes = 0, shared_in_bytes = 0;
  uint32_t dedicated_heap = 0;
  bool has_budget = false;  // VK_EXT_memory_budget

  bool is_cpu() const { return type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
};

struct Budget {
  uint64_t budget_in_bytes, usage_in_bytes;
};

// All of them, in Vulkan's order; empty when there is no Vulkan.
std::vector<Device> FindDevices();
Budget MemoryBudget(const Device& device);

}  // namespace dxtensor::vulkan
