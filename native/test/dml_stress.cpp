// native/dml under many threads, and its calls one by one, on the software adapter.
//
//   dml_stress --software P [--threads N] [--rounds N] [--seed N] [--no-faults]
//
// Each thread opens devices, runs, records, replays, reads, trims, holds and closes them with work pending, while others do the same
// and now and then remove the adapter's device; every byte that is read is compared with plain C++.
// The same seed makes each thread do the same. The last line is "N passed, N failed, N skipped".
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "check.h"
#include "dml_calls.h"
#include "dml_worker.h"

namespace dxtensor::test {

std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

namespace {

struct Options {
  std::string software;
  uint32_t threads = 6, rounds = 40, seed = 1;
  bool faults = true;
};

Options OptionsFrom(int argc, char** argv) {
  Options options;
  auto number = [](const char* text) { return static_cast<uint32_t>(std::strtoul(text, nullptr, 10)); };
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--no-faults") options.faults = false;
    else if (i + 1 == argc) break;
    else if (name == "--software") options.software = argv[++i];
    else if (name == "--threads") options.threads = number(argv[++i]);
    else if (name == "--rounds") options.rounds = number(argv[++i]);
    else if (name == "--seed") options.seed = number(argv[++i]);
  }
  return options;
}

void Stress(const Options& options) {
  std::vector<Tally> tallies(options.threads);
  std::vector<std::string> errors(options.threads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < options.threads; ++i)
    threads.emplace_back([&, i] {
      try {
        Worker worker(options.seed * 1000 + i, options.faults, tallies[i]);
        for (uint32_t round = 0; round < options.rounds; ++round) worker.Round();
      } catch (const Failure& failure) {
        errors[i] = failure.text;
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  Tally all;
  for (const Tally& tally : tallies) all += tally;
  std::printf("%u threads: %llu devices opened, %llu actions, %llu reads compared, %llu removals and timeouts met\n", options.threads,
              static_cast<unsigned long long>(all.opened), static_cast<unsigned long long>(all.actions),
              static_cast<unsigned long long>(all.compared), static_cast<unsigned long long>(all.lost));
  for (uint32_t i = 0; i < options.threads; ++i)
    if (!errors[i].empty()) throw Failure{"thread " + std::to_string(i) + ": " + errors[i]};
  CHECK(all.compared > 0);
}

// The end of a process while a thread still works: it is told, and nothing is pulled away from it.
void QuiesceUnderWork(const Options& options) {
  Tally tally;
  Worker worker(options.seed, false, tally);
  worker.Round();
  std::string error;
  std::atomic<bool> ended{false};
  std::thread thread([&] {
    try {
      for (;;) worker.Round();
    } catch (const dml::Failure& failure) {
      error = failure.what();
    }
    ended = true;
  });
  while (tally.actions.load() < 50) std::this_thread::yield();
  // Between two rounds it has no device, and opens another.
  while (!ended) {
    dml::QuiesceAllDevices();
    std::this_thread::yield();
  }
  thread.join();
  CHECK(error.find("closed") != std::string::npos);
}

int Main(int argc, char** argv) {
  Options options = OptionsFrom(argc, argv);
  dml::LibraryPaths paths;
  paths.software = options.software;
  if (!dml::Load(dml::RuntimeKind::Software, paths).loaded) {
    std::fprintf(stderr, "usage: dml_stress --software P [--threads N] [--rounds N] [--seed N] [--no-faults]\n");
    return 2;
  }
  std::vector<std::pair<std::string, std::function<void()>>> tests = Calls();
  tests.emplace_back("threads at once", [&] { Stress(options); });
  tests.emplace_back("the end of a process under work", [&] { QuiesceUnderWork(options); });
  unsigned passed = 0, failed = 0;
  for (const auto& [name, run] : tests) {
    try {
      run();
      ++passed;
    } catch (const Failure& failure) {
      std::printf("FAILED %s: %s\n", name.c_str(), failure.text.c_str());
      ++failed;
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", name.c_str(), error.what());
      ++failed;
    }
    std::fflush(stdout);
  }
  std::printf("%u passed, %u failed, 0 skipped\n", passed, failed);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace dxtensor::test

int main(int argc, char** argv) { return dxtensor::test::Main(argc, argv); }
