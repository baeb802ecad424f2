// The training steps of bench/device that are measured without the library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tape.h"

namespace dxtensor::peer {

const std::vector<std::string>& NetworkNames();
// is_small: for a processor. Throws std::runtime_error for a name that is not there.
std::unique_ptr<Tape> MakeNetwork(const std::string& name, bool is_small);

}  // namespace dxtensor::peer
