// The cgroups (v1 and v2) of this process. Any thread.
#pragma once

#include <string>
#include <vector>

namespace dxtensor::software {

// The folders of a controller's cgroups, from this process's own up to the mount: a limit applies to all cgroups below it. Empty where the
// hierarchy is not mounted. `root` is put in front of every path: a folder that stands for the root of the file system, for tests.
std::vector<std::string> CgroupFolders(const std::string& root, const std::string& controller, bool is_second);

}  // namespace dxtensor::software
