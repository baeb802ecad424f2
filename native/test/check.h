// A small test frame: tests register themselves, a failed check ends its test, a skipped one names its reason.
#pragma once

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace dxtensor::test {

struct Failure {
  std::string text;
};
struct Skip {
  std::string reason;
};

template <typename A, typename B>
void CheckEqual(const A& a, const B& b, const char* expression, const char* file, int line) {
  if (a == b) return;
  std::ostringstream text;
  text << file << ":" << line << ": " << expression << " is " << a << ", expected " << b;
  throw Failure{text.str()};
}
inline void CheckTrue(bool holds, const char* expression, const char* file, int line) {
  if (!holds) throw Failure{std::string(file) + ":" + std::to_string(line) + ": not " + expression};
}
void CheckResult(int32_t hr, int32_t expected, const char* expression, const char* file, int line);
// Any failure code.
void CheckFails(int32_t hr, const char* expression, const char* file, int line);

#define CHECK(expression) ::dxtensor::test::CheckTrue(!!(expression), #expression, __FILE__, __LINE__)
#define CHECK_EQ(a, b) ::dxtensor::test::CheckEqual((a), (b), #a, __FILE__, __LINE__)
#define CHECK_HR(call, expected) ::dxtensor::test::CheckResult((call), (expected), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_HR(call, 0)
#define CHECK_FAILS(call) ::dxtensor::test::CheckFails((call), #call, __FILE__, __LINE__)

class Suite;
struct Test {
  std::string name;
  std::function<void(Suite&)> run;
  bool last;  // removes a device: runs after the others
};
std::vector<Test>& Tests();

struct Register {
  Register(std::string name, std::function<void(Suite&)> run, bool last = false) {
    Tests().push_back({std::move(name), std::move(run), last});
  }
};

// TEST(name) { ... suite ... }
#define TEST_AS(name, last)                                                       \
  static void name(::dxtensor::test::Suite& suite);                               \
  static const ::dxtensor::test::Register name##_registration(#name, name, last); \
  static void name([[maybe_unused]] ::dxtensor::test::Suite& suite)
#define TEST(name) TEST_AS(name, false)
#define TEST_LAST(name) TEST_AS(name, true)

}  // namespace dxtensor::test
