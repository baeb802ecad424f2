// The ABI suite: DXCore, Direct3D 12 and DirectML as this project uses them, on any runtime.
//
//   abi_suite --dxcore P --d3d12 P --directml P | --software P   [--only PART] [--list]
//
// Each test reports its failures; tests beyond the runtime's feature level are skipped. The last line is
// "N passed, N failed, N skipped"; the exit status is 1 when one failed.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "check.h"
#include "gpu.h"

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

int Main(int argc, char** argv) {
  std::string only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--list")) {
      for (const Test& test : Tests()) std::printf("%s\n", test.name.c_str());
      return 0;
    }
    if (!std::strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
  }
  RuntimePaths paths = PathsFrom(argc, argv);
  if (paths.dxcore.empty() || paths.d3d12.empty() || paths.directml.empty()) {
    std::fprintf(stderr, "usage: abi_suite --dxcore P --d3d12 P --directml P | --software P [--only PART] [--list]\n");
    return 2;
  }
  std::vector<Test> tests = Tests();
  std::stable_sort(tests.begin(), tests.end(), [](const Test& a, const Test& b) { return a.last < b.last; });
  Suite suite(paths);
  unsigned passed = 0, failed = 0, skipped = 0;
  for (const Test& test : tests) {
    if (test.name.find(only) == std::string::npos) continue;
    if (test.last) suite.Drop();
    auto start = std::chrono::steady_clock::now();
    try {
      test.run(suite);
      ++passed;
    } catch (const Skip& skip) {
      std::printf("skipped %s: %s\n", test.name.c_str(), skip.reason.c_str());
      ++skipped;
    } catch (const Failure& failure) {
      std::printf("FAILED %s: %s\n", test.name.c_str(), failure.text.c_str());
      ++failed;
      suite.Drop();
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", test.name.c_str(), error.what());
      ++failed;
      suite.Drop();
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > 2) std::printf("slow %s: %.1f s\n", test.name.c_str(), seconds);
    std::fflush(stdout);
  }
  suite.Drop();
  if (passed + failed + skipped == 0) {
    std::printf("FAILED: no test's name contains \"%s\"\n", only.c_str());
    ++failed;
  }
  std::printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace dxtensor::test

int main(int argc, char** argv) {
  try {
    return dxtensor::test::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "abi_suite: %s\n", error.what());
    return 2;
  }
}
