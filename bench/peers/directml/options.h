// The options of both programs: paths of the libraries, and sizes of the work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../../../native/test/runtime.h"

namespace dxtensor::peer {

struct Options {
  test::RuntimePaths paths;
  bool is_small = false;
  std::vector<std::string> names;
};

// Parses, runs the body, and gives the process's exit status: 2 after a usage text, 1 with what was thrown, else the body's.
int Main(int argc, char** argv, const char* usage, const std::function<int(const Options&)>& body);

}  // namespace dxtensor::peer
