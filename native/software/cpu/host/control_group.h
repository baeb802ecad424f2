// The control groups that bound this process, of both versions. Any thread.
#pragma once

#include <string>
#include <vector>

namespace dxtensor::software::fast {

// The folders of a controller's groups, from this process's own up to the mount: a group's limit holds for all below it. Empty where the
// hierarchy is not mounted. `root` is put in front of every path: a folder that stands for the root of the file system, for tests.
std::vector<std::string> GroupFolders(const std::string& root, const std::string& controller, bool is_second);

}  // namespace dxtensor::software::fast
