// All convolution strategies, in the order in which a grid tries them.
#pragma once

#include <string_view>

#include "convolution_strategy.h"

namespace dxtensor::software::fast {

struct ConvStrategyTable {
  const ConvStrategyEntry *first, *last;
  const ConvStrategyEntry* begin() const { return first; }
  const ConvStrategyEntry* end() const { return last; }
};
ConvStrategyTable ConvStrategies();

// The first strategy that fits, and its name. `only`: the strategy of this name, or null where it does not fit; empty: any.
struct PlannedConvolution {
  const char* name = nullptr;
  std::unique_ptr<ConvStrategy> strategy;
};
PlannedConvolution PlanConvolution(const ConvolutionProblem& problem, const ConvolutionGrid& grid, std::string_view only = {});

}  // namespace dxtensor::software::fast
