#include "vulkan.h"

#include <dlfcn.h>
#include <sys/sysinfo.h>

#include <cstring>

#include "../adapters.h"
#include "../trace.h"

namespace dxtensor::vulkan {

namespace {

VkInstance g_instance = VK_NULL_HANDLE;
PFN_vkGetInstanceProcAddr g_get_proc = nullptr;

template <typename F>
F Proc(const char* name) {
  return reinterpret_cast<F>(g_get_proc(g_instance, name));
}

bool OpenInstance() {
  void* loader = dxtensor_vulkan_loader();
  if (!loader) return false;
  g_get_proc = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
  if (!g_get_proc) return false;
  VkApplicationInfo app{};
  app.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  app.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &app;
  VkResult result = Proc<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &g_instance);
  if (result != VK_SUCCESS) trace("vkCreateInstance gave %d: no Vulkan driver was found (VK_DRIVER_FILES names one)", result);
  return result == VK_SUCCESS;
}

bool HasExtension(VkPhysicalDevice device, const char* name) {
  auto list = Proc<PFN_vkEnumerateDeviceExtensionProperties>("vkEnumerateDeviceExtensionProperties");
  uint32_t count = 0;
  list(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  list(device, nullptr, &count, all.data());
  for (const VkExtensionProperties& extension : all)
    if (!std::strcmp(extension.extensionName, name)) return true;
  return false;
}

void GetMemory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2& properties) {
  Proc<PFN_vkGetPhysicalDeviceMemoryProperties2>("vkGetPhysicalDeviceMemoryProperties2")(device, &properties);
}

Device Describe(VkPhysicalDevice handle, uint32_t index) {
  VkPhysicalDeviceIDProperties id{};
  id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &id;
  Proc<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(handle, &all);
  const VkPhysicalDeviceProperties& properties = all.properties;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  GetMemory(handle, memory);
  Device d;
  d.handle = handle;
  d.index = index;
  std::memcpy(d.uuid.data(), id.deviceUUID, VK_UUID_SIZE);
  std::memcpy(d.uuid.data() + VK_UUID_SIZE, id.driverUUID, VK_UUID_SIZE);
  d.name = properties.deviceName;
  d.type = properties.deviceType;
  d.vendor = properties.vendorID;
  d.device = properties.deviceID;
  d.driver_version = properties.driverVersion;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) || heap.size <= d.dedicated_in_bytes) continue;
    d.dedicated_in_bytes = heap.size;
    d.dedicated_heap = i;
  }
  struct sysinfo system {};
  sysinfo(&system);
  // Windows lets a GPU take half of the machine's memory.
  d.shared_in_bytes = static_cast<uint64_t>(system.totalram) * system.mem_unit / 2;
  d.has_budget = HasExtension(handle, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  return d;
}

}  // namespace

std::vector<Device> FindDevices() {
  std::vector<Device> devices;
  if (!OpenInstance()) return devices;
  auto enumerate = Proc<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices");
  uint32_t count = 0;
  enumerate(g_instance, &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  if (enumerate(g_instance, &count, handles.data()) < 0) return devices;
  for (uint32_t i = 0; i < count; ++i) devices.push_back(Describe(handles[i], i));
  return devices;
}

Budget MemoryBudget(const Device& device) {
  if (!device.has_budget) return {device.dedicated_in_bytes, 0};
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = &budget;
  GetMemory(device.handle, memory);
  return {budget.heapBudget[device.dedicated_heap], budget.heapUsage[device.dedicated_heap]};
}

}  // namespace dxtensor::vulkan

extern "C" EXPORT void* dxtensor_vulkan_loader() {
  static void* const loader = [] {
    const char* file = std::getenv("DXTENSOR_VULKAN_LOADER");
    void* opened = dlopen(file && *file ? file : "libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!opened) trace("Vulkan's loader: %s", dlerror());
    return opened;
  }();
  return loader;
}
