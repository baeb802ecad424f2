#include "bound_dispatch.h"

namespace dxtensor::software {

void AddAccess(BoundDispatch* dispatch, const BoundBuffer& buffer, uint64_t size, bool write) {
  Resource* resource = buffer.resource.get();
  dispatch->accesses.push_back({buffer.data(), buffer.data() + size, resource, write});
  for (const Held<Resource>& known : dispatch->resources)
    if (known.get() == resource) return;
  dispatch->resources.push_back(buffer.resource);
}

}  // namespace dxtensor::software
