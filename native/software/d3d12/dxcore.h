// DXCore's interfaces over the profiles: a factory, adapter lists, adapters.
//
// Factory and adapters live as long as the process; adapters that a later DxtensorSimulate takes out of the lists stay valid for
// whoever holds them. Any thread may call anything here.
#pragma once

#include <memory>
#include <string>

#include "com.h"
#include "profile.h"

namespace dxtensor::software {

HRESULT CreateFactory(REFIID iid, void** out);

// Replaces the simulated adapters of all lists made from now on. E_INVALIDARG for text that cannot be read.
HRESULT Simulate(const char* profiles);

// The profile of an adapter object of this library; the software adapter's for null. Null for a foreign object.
std::shared_ptr<const Profile> ProfileOf(IUnknown* adapter);
std::shared_ptr<const Profile> ProfileOf(const LUID& luid);

}  // namespace dxtensor::software
