// The calls of native/dml one by one, with wrong arguments too.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dxtensor::test {

// Tests by name; each throws where something is wrong. The software runtime must be loaded.
std::vector<std::pair<std::string, std::function<void()>>> Calls();

}  // namespace dxtensor::test
