// Which Vulkan devices are adapters, in which order.
//
// DXTENSOR_VULKAN_ADAPTERS holds entries "SELECT[=NAME]" separated by commas. SELECT is a Vulkan device's number or a part of its
// name, NAME is what DXCore then calls it. A device may be named more than once: "0=Radeon,0=GeForce" makes two adapters of it,
// for tests. "none": no adapter. Default: all Vulkan devices, in Vulkan's order. Read once.
#include <cstring>

#include "../adapters.h"
#include "../trace.h"
#include "adapter.h"

namespace dxtensor::vulkan {

namespace {

bool IsSelected(const Device& device, const std::string& select) {
  char* end = nullptr;
  unsigned long number = std::strtoul(select.c_str(), &end, 10);
  if (select.empty()) return false;
  return *end ? device.name.find(select) != std::string::npos : number == device.index;
}

std::vector<Device> Choose(const std::vector<Device>& all, const std::string& wish) {
  std::vector<Device> chosen;
  if (wish.empty()) return all;
  if (wish == "none") return chosen;
  for (size_t at = 0; at <= wish.size();) {
    size_t end = std::min(wish.find(',', at), wish.size());
    std::string entry = wish.substr(at, end - at);
    size_t equals = entry.find('=');
    for (const Device& device : all) {
      if (!IsSelected(device, entry.substr(0, equals))) continue;
      chosen.push_back(device);
      if (equals != std::string::npos) chosen.back().name = entry.substr(equals + 1);
      break;
    }
    at = end + 1;
  }
  return chosen;
}

}  // namespace

const std::vector<Adapter*>& Adapters() {
  // Never destroyed: programs hold adapters until the very end.
  static const std::vector<Adapter*>& adapters = *[] {
    auto* list = new std::vector<Adapter*>;
    const char* wish = std::getenv("DXTENSOR_VULKAN_ADAPTERS");
    for (Device& device : Choose(FindDevices(), wish ? wish : "")) {
      LUID luid{};
      luid.LowPart = static_cast<uint32_t>((list->size() + 1) << 16) | device.index;
      list->push_back(new Adapter(std::move(device), luid));
    }
    if (list->empty()) trace("no adapters; on a machine without an X server, NVIDIA's driver file must name libEGL_nvidia.so.0");
    return list;
  }();
  return adapters;
}

}  // namespace dxtensor::vulkan

extern "C" EXPORT int dxtensor_vulkan_adapter(const void* luid, vulkan_adapter* found) {
  for (const dxtensor::vulkan::Adapter* adapter : dxtensor::vulkan::Adapters()) {
    if (luid && std::memcmp(luid, &adapter->luid(), sizeof(LUID))) continue;
    *found = {adapter->luid().LowPart, adapter->luid().HighPart, adapter->device().index, {}};
    std::memcpy(found->uuid, adapter->device().uuid.data(), sizeof found->uuid);
    return 1;
  }
  return 0;
}
