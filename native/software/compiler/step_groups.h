// Which steps of a program run at the same time, each on a thread of its own: small ones that follow each other and of which none reads or
// writes what another writes. One such step is too little for several threads; together they are worth the hand-over.
#pragma once

#include <cstddef>
#include <vector>

namespace dxtensor::software {

struct ProgramStep;

// The first step of each group, in order, and the count of steps at the end. Steps of a group are neighbours. Operands that have different
// bases or indices do not overlap where anything is written: binding refuses that.
std::vector<size_t> GroupSteps(const std::vector<ProgramStep>& steps);

}  // namespace dxtensor::software
