// vulkan_test LIBDXCORE LIBD3D12 [--only PART] [--list]: tests the Vulkan runtime against Microsoft's headers.
//
// No object of the library may be left when a test ends. The last line is "N passed, N failed"; the exit status is 1 when one failed.
#include <cstdio>

#include "support.h"

namespace dxtensor::test {

std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

void CheckResult(int32_t hr, int32_t expected, const char* expression, const char* file, int line) {
  if (hr == expected) return;
  char text[300];
  std::snprintf(text, sizeof text, "%s:%d: %s gave %08x, expected %08x", file, line, expression, static_cast<uint32_t>(hr),
                static_cast<uint32_t>(expected));
  throw Failure{text};
}

void CheckFails(int32_t hr, const char* expression, const char* file, int line) {
  if (hr >= 0) throw Failure{std::string(file) + ":" + std::to_string(line) + ": " + expression + " succeeded"};
}

namespace {

int Run(Suite& suite, const std::string& only) {
  unsigned passed = 0, failed = 0;
  for (const Test& test : Tests()) {
    if (test.name.find(only) == std::string::npos) continue;
    std::string problem;
    try {
      test.run(suite);
      suite.Drop();
      CHECK_EQ(suite.live_objects(), 0u);
    } catch (const Failure& failure) {
      problem = failure.text;
    } catch (const std::exception& error) {
      problem = error.what();
    }
    ++(problem.empty() ? passed : failed);
    if (!problem.empty()) std::printf("FAILED %s: %s\n", test.name.c_str(), problem.c_str());
    suite.Drop();
  }
  std::printf("%u passed, %u failed\n", passed, failed);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace dxtensor::test

int main(int argc, char** argv) {
  using namespace dxtensor::test;
  if (argc > 1 && !std::strcmp(argv[1], "--list")) {
    for (const Test& test : Tests()) std::printf("%s\n", test.name.c_str());
    return 0;
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: vulkan_test LIBDXCORE LIBD3D12 [--only PART] | --list\n");
    return 2;
  }
  try {
    Suite suite(argv[1], argv[2]);
    return Run(suite, argc > 4 && !std::strcmp(argv[3], "--only") ? argv[4] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vulkan_test: %s\n", error.what());
    return 2;
  }
}
