#include "step_groups.h"

#include "program.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kSmall = 64 << 10;  // bytes of all operands of a step
constexpr size_t kMaxSteps = 128;      // of a group: each is compared with all others
// What a step takes, in nanoseconds, and what a group has to take, so that a thread that sleeps may be woken for it.
constexpr uint64_t kOfStep = 400, kBytesPerNanosecond = 10, kWorth = 15000;

// Calls visit(operand, writes) for all that a step uses; scratch is written.
template <typename Visit>
void ForOperands(const ProgramStep& step, const Visit& visit) {
  for (const Operand& operand : step.inputs) visit(operand, false);
  for (const Operand& operand : step.outputs) visit(operand, true);
  visit(step.scratch, true);
}

uint64_t BytesOf(const ProgramStep& step) {
  uint64_t bytes = 0;
  ForOperands(step, [&](const Operand& operand, bool) { bytes += operand.size; });
  return bytes;
}

bool Overlap(const Operand& a, const Operand& b) {
  return a.base == b.base && a.index == b.index && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

bool AreIndependent(const ProgramStep& a, const ProgramStep& b) {
  bool meet = false;
  ForOperands(a, [&](const Operand& one, bool writes) {
    ForOperands(b, [&](const Operand& other, bool writes_too) { meet |= (writes || writes_too) && Overlap(one, other); });
  });
  return !meet;
}

}  // namespace

std::vector<size_t> GroupSteps(const std::vector<ProgramStep>& steps) {
  std::vector<size_t> firsts;
  for (size_t first = 0; first < steps.size();) {
    size_t last = first;
    uint64_t time = 0;
    for (; last < steps.size() && last - first < kMaxSteps; ++last) {
      const uint64_t bytes = BytesOf(steps[last]);
      bool joins = bytes <= kSmall;
      for (size_t other = first; joins && other < last; ++other) joins = AreIndependent(steps[other], steps[last]);
      if (!joins) break;
      time += kOfStep + bytes / kBytesPerNanosecond;
    }
    if (last - first > 1 && time >= kWorth) {
      firsts.push_back(first);
      first = last;
    } else {
      firsts.push_back(first++);
    }
  }
  firsts.push_back(steps.size());
  return firsts;
}

}  // namespace dxtensor::software
