#include "cgroup.h"

#include <fstream>
#include <sstream>

namespace dxtensor::software {

namespace {

// Where a hierarchy is mounted, and which of its cgroups is there.
struct Mount {
  std::string point, group;
};

bool HasWord(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');)
    if (one == word) return true;
  return false;
}

// A line of mountinfo: "36 35 98:0 GROUP POINT OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS".
bool FindMount(const std::string& root, const std::string& controller, bool is_second, Mount* mount) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream head(line.substr(0, dash)), tail(line.substr(dash + 3));
    std::string skipped, type, source, options;
    Mount found;
    head >> skipped >> skipped >> skipped >> found.group >> found.point;
    tail >> type >> source >> options;
    if (is_second ? type != "cgroup2" : type != "cgroup" || !HasWord(options, controller)) continue;
    *mount = found;
    return true;
  }
  return false;
}

// The cgroup of this process: lines of "N:CONTROLLERS:PATH", of version 2 "0::PATH".
bool FindGroup(const std::string& root, const std::string& controller, bool is_second, std::string* path) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_second ? !controllers.empty() : !HasWord(controllers, controller)) continue;
    *path = line.substr(second + 1);
    return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> CgroupFolders(const std::string& root, const std::string& controller, bool is_second) {
  Mount mount;
  std::string path;
  if (!FindMount(root, controller, is_second, &mount) || !FindGroup(root, controller, is_second, &path)) return {};
  // In a container the mount is often the container's own cgroup, whose path is the host's.
  std::string below = mount.group != "/" && path.compare(0, mount.group.size(), mount.group) == 0 ? path.substr(mount.group.size()) : path;
  if (below.find("/..") == 0 || below == "/") below.clear();
  std::vector<std::string> folders;
  for (;;) {
    folders.push_back(root + mount.point + below);
    if (below.empty()) return folders;
    below.resize(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
  }
}

}  // namespace dxtensor::software
