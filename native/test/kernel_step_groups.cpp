// Which steps of a program run concurrently: random programs, whose operands are compared byte by byte.
#include <cstdio>
#include <random>

#include "software/compiler/program.h"
#include "software/compiler/step_groups.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using software::Operand;
using software::ProgramStep;

Operand Range(Operand::Base base, uint32_t index, uint64_t offset, uint64_t size) { return {base, index, offset, size}; }

uint64_t SizeOf(const ProgramStep& step) {
  uint64_t bytes = step.scratch.size;
  for (const auto* operands : {&step.inputs, &step.outputs})
    for (const Operand& operand : *operands) bytes += operand.size;
  return bytes;
}

void Writes(const ProgramStep& step, const std::function<void(const Operand&)>& visit) {
  for (const Operand& operand : step.outputs) visit(operand);
  visit(step.scratch);
}

// Marks what a step uses in a memory of pieces of 1 KiB.
bool Meets(const ProgramStep& writer, const ProgramStep& other) {
  bool meets = false;
  Writes(writer, [&](const Operand& written) {
    auto look = [&](const Operand& operand) {
      if (operand.base != written.base || operand.index != written.index) return;
      for (uint64_t at = written.offset; at < written.offset + written.size; at += 1024)
        meets |= at >= operand.offset && at < operand.offset + operand.size;
    };
    for (const Operand& operand : other.inputs) look(operand);
    Writes(other, look);
  });
  return meets;
}

std::vector<ProgramStep> RandomSteps(std::mt19937& random) {
  auto up = [&](uint64_t low, uint64_t high) { return std::uniform_int_distribution<uint64_t>(low, high)(random); };
  auto any = [&] {
    const auto base = static_cast<Operand::Base>(up(1, 3));
    return Range(base, static_cast<uint32_t>(base == Operand::Base::Temporary ? 0 : up(0, 6)), up(0, 300) * 1024,
                 up(1, up(0, 9) == 0 ? 90 : 12) * 1024);
  };
  std::vector<ProgramStep> steps(up(1, 40));
  for (ProgramStep& step : steps) {
    for (uint64_t i = up(1, 3); i > 0; --i) step.inputs.push_back(any());
    step.outputs.push_back(any());
    if (step.outputs[0].base == Operand::Base::Input) step.outputs[0].base = Operand::Base::Output;
    if (up(0, 3) == 0) step.scratch = Range(Operand::Base::Temporary, 0, up(0, 300) * 1024, up(1, 9) * 1024);
  }
  return steps;
}

void StepGroups(Suite& suite) {
  std::mt19937 random(suite.seed);
  size_t groups = 0, grouped = 0;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    const std::vector<ProgramStep> steps = RandomSteps(random);
    const std::vector<size_t> firsts = software::GroupSteps(steps);
    CHECK(firsts.front() == 0 && firsts.back() == steps.size());
    for (size_t g = 0; g + 1 < firsts.size(); ++g) {
      CHECK(firsts[g] < firsts[g + 1]);
      if (firsts[g + 1] - firsts[g] == 1) continue;
      ++groups;
      grouped += firsts[g + 1] - firsts[g];
      for (size_t a = firsts[g]; a < firsts[g + 1]; ++a) {
        CHECK(SizeOf(steps[a]) <= 64 << 10);
        for (size_t b = firsts[g]; b < firsts[g + 1]; ++b) CHECK(a == b || !Meets(steps[a], steps[b]));
      }
    }
  }
  std::printf("step groups: %zu groups of %zu steps\n", groups, grouped);
  CHECK(suite.rounds < 100 || groups > 20);

  // As many as there are, where none depends on another; none where each depends on the one before, or all are next to nothing.
  std::vector<ProgramStep> apart(20), chain(20), tiny(5);
  for (uint32_t i = 0; i < 20; ++i) {
    apart[i].inputs.push_back(Range(Operand::Base::Input, 0, 0, 16 << 10));
    apart[i].outputs.push_back(Range(Operand::Base::Output, i, 0, 16 << 10));
    chain[i].inputs.push_back(Range(Operand::Base::Temporary, 0, i * (16 << 10), 16 << 10));
    chain[i].outputs.push_back(Range(Operand::Base::Temporary, 0, (i + 1) * (16 << 10), 16 << 10));
  }
  for (uint32_t i = 0; i < 5; ++i) tiny[i].outputs.push_back(Range(Operand::Base::Output, i, 0, 64));
  CHECK(software::GroupSteps(apart) == (std::vector<size_t>{0, 20}));
  CHECK(software::GroupSteps(chain).size() == 21);
  CHECK(software::GroupSteps(tiny).size() == 6);
}

const Register kRegistration("groups of concurrent steps", StepGroups);

}  // namespace

}  // namespace dxtensor::test
