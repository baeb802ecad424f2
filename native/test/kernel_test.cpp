// Compares each fast kernel with the plain one, and fused graphs with their nodes one by one.
//
//   kernel_test [--only PART] [--rounds N] [--every N] [--seed N]
//
// --every N: of the long cases every nth.
// Random sizes, layouts and data types; the same seed gives the same cases. Last line "N passed, N failed, N skipped".

#include "kernel_test.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "software/cpu/fast/isa/cpu.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/denormals.h"
#include "software/cpu/prepacking_kernel.h"
#include "software/directml/validate.h"
#include "cases/operators.h"
#include "cases/random_descriptions.h"
#include "describe.h"
#include "kernel_run.h"

namespace dxtensor::test {

std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

std::string CompareKernels(const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs, bool* compared) {
  auto plain = software::MakePlainKernel(desc), fast = software::MakeFastKernel(desc);
  if (!plain) return "there is no plain kernel";
  if (!fast) return "";
  *compared = true;
  const std::vector<Bytes> a = RunKernel(*plain, desc, inputs), b = RunKernel(*fast, desc, inputs);
  const auto slots = desc.Outputs();
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i]) continue;
    std::string difference = Difference(Unpack(b[i], *slots[i]), Unpack(a[i], *slots[i]), KernelTolerance(desc, slots[i]->data_type));
    if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
  }
  if (software::PrepackingKernel::Of(fast.get()) && RunKernel(*fast, desc, inputs, true) != b)
    return "with a prepacked input it gives something else";
  return "";
}

namespace {

// Descriptions of the ABI suite, with the kernels' own reference.
void PlainAgainstReference(Suite&) {
  std::string failures;
  unsigned failed = 0;
  for (const std::string& name : ExecutedOperators()) {
    const std::vector<OperatorCase> cases = CasesOf(name, schema::kHighestFeatureLevel);
    for (size_t i = 0; i < cases.size(); ++i) {
      const OperatorCase& c = cases[i];
      std::vector<Bytes> inputs = InputsFor(c.desc, static_cast<uint32_t>(i + 1));
      std::vector<Values> expected = Expected(c.desc, inputs);
      std::string difference;
      auto plain = software::MakePlainKernel(c.desc);
      if (!plain) {
        difference = "there is no plain kernel";
      } else {
        std::vector<Bytes> results = RunKernel(*plain, c.desc, inputs);
        const auto slots = c.desc.Outputs();
        for (size_t k = 0; k < slots.size() && difference.empty(); ++k)
          if (slots[k]) difference = Difference(Unpack(results[k], *slots[k]), expected[k], c.tolerance);
        bool compared = false;
        if (difference.empty()) difference = CompareKernels(c.desc, inputs, &compared);
      }
      if (!difference.empty() && ++failed <= 8) failures += "\n    " + difference + ": " + Text(c.desc);
    }
  }
  if (failed) throw Failure{std::to_string(failed) + " cases" + failures};
}

void RandomFamily(Suite& suite, int family) {
  std::mt19937 random(suite.seed * 1000003u + static_cast<uint32_t>(family));
  std::string failures;
  unsigned failed = 0, compared_count = 0;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    schema::OperatorDesc desc = RandomDescription(family, random);
    RandomLayout(desc, random);
    std::string why;
    if (FAILED(software::Validate(desc, schema::kHighestFeatureLevel, &why)))
      throw Failure{"the case is wrong: " + why + ": " + Text(desc)};
    bool compared = false;
    std::string difference = CompareKernels(desc, InputsFor(desc, round + 1), &compared);
    compared_count += compared;
    if (!difference.empty() && ++failed <= 4) failures += "\n    " + difference + ": " + Text(desc);
  }
  if (failed) throw Failure{std::to_string(failed) + " of " + std::to_string(suite.rounds) + failures};
  std::printf("%s: %u of %u descriptions have a fast kernel\n", RandomFamilyName(family), compared_count, suite.rounds);
}

// The kernels for AVX2 use FMA and F16C as well, those for AVX-512 all of them, and dot products of bytes where the CPU has them.
void InstructionSets(Suite&) {
  using software::fast::Isa;
  for (unsigned bits = 0; bits < 32; ++bits) {
    software::fast::CpuFeatures features{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
    const Isa best = (bits & 7) != 7 ? Isa::Portable : bits == 31 ? Isa::Avx512Vnni : bits == 15 ? Isa::Avx512 : Isa::Avx2;
    CHECK(software::fast::IsaFor(features) == best);
  }
  software::fast::CpuFeatures arm;
  arm.neon = true;
  CHECK(software::fast::IsaFor(arm) == Isa::Neon);
  arm.dot_product = true;
  CHECK(software::fast::IsaFor(arm) == Isa::NeonDot);
#ifdef __aarch64__
  CHECK(software::fast::ActiveIsa() >= Isa::Neon || std::getenv("DXTENSOR_SOFTWARE_ISA"));
  CHECK(&software::fast::Table() != &software::fast::PortableTable() || software::fast::ActiveIsa() == Isa::Portable);
#endif
  std::printf("instruction set: %s, %d floats at once, tiles of %d x %d\n", software::fast::IsaName(software::fast::ActiveIsa()),
              software::fast::Table().width, software::fast::Table().tile_rows, software::fast::Table().tile_columns);
}

const bool kRegistered = [] {
  Register("instruction sets", InstructionSets);
  Register("plain kernels against the reference", PlainAgainstReference);
  for (int family = 0; family < kRandomFamilies; ++family)
    Register(std::string("fast against plain: ") + RandomFamilyName(family), [family](Suite& suite) { RandomFamily(suite, family); });
  return true;
}();

int Main(int argc, char** argv) {
  software::FlushDenormals();  // as the queue's thread does, which calls kernels: the pool's threads do
  Suite suite;
  std::string only;
  for (int i = 1; i + 1 < argc; ++i) {
    if (!std::strcmp(argv[i], "--only")) only = argv[++i];
    else if (!std::strcmp(argv[i], "--rounds")) suite.rounds = static_cast<unsigned>(std::stoul(argv[++i]));
    else if (!std::strcmp(argv[i], "--every")) suite.every = std::max(1u, static_cast<unsigned>(std::stoul(argv[++i])));
    else if (!std::strcmp(argv[i], "--seed")) suite.seed = static_cast<uint32_t>(std::stoul(argv[++i]));
  }
  unsigned passed = 0, failed = 0, skipped = 0;
  for (const Test& test : Tests()) {
    if (test.name.find(only) == std::string::npos) continue;
    try {
      test.run(suite);
      ++passed;
    } catch (const Skip& skip) {
      std::printf("skipped %s: %s\n", test.name.c_str(), skip.reason.c_str());
      ++skipped;
    } catch (const Failure& failure) {
      std::printf("FAILED %s: %s\n", test.name.c_str(), failure.text.c_str());
      ++failed;
    } catch (const std::exception& error) {
      std::printf("FAILED %s: %s\n", test.name.c_str(), error.what());
      ++failed;
    }
    std::fflush(stdout);
  }
  if (passed + failed + skipped == 0) {
    std::printf("FAILED: no test's name contains \"%s\"\n", only.c_str());
    ++failed;
  }
  std::printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace dxtensor::test

int main(int argc, char** argv) { return dxtensor::test::Main(argc, argv); }
