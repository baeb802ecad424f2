#include "options.h"

#include <cstdio>
#include <exception>

namespace dxtensor::peer {

int Main(int argc, char** argv, const char* usage, const std::function<int(const Options&)>& body) {
  Options options;
  options.paths = test::PathsFrom(argc, argv);
  bool is_wrong = options.paths.directml.empty(), is_help = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--dxcore" || argument == "--d3d12" || argument == "--directml" || argument == "--software") ++i;
    else if (argument == "--small") options.is_small = true;
    else if (argument == "--help") is_help = true;
    else if (argument.rfind("--", 0) == 0) is_wrong = true;
    else options.names.push_back(argument);
  }
  if (is_help || is_wrong) {
    std::fputs(usage, is_help ? stdout : stderr);
    return is_help ? 0 : 2;
  }
  try {
    return body(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace dxtensor::peer
