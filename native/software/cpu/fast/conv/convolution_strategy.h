// The interface of the methods that compute a convolution, one file each: forward, data gradient and weight gradient.
//
// A strategy is planned for one grid of output positions (convolution_grid.h). convolution_strategies.cpp has the table of all of them; a
// grid takes the first that fits. Immutable after construction; Run uses the thread pool.
#pragma once

#include <memory>

#include "convolution_grid.h"

namespace dxtensor::software::fast {

class ConvStrategy {
 public:
  virtual ~ConvStrategy() = default;
  // Of KernelArguments::scratch, with the space for the packed filter.
  virtual size_t WorkspaceBytes() const = 0;
  // Of the packed filter, in whole cache lines; 0: the strategy packs none.
  virtual size_t PrepackedBytes() const { return 0; }
  virtual void Prepack(const ConvolutionProblem&, const KernelArguments&, uint8_t* /*to*/) const {}
  // `prepacked`: what Prepack made, or null: the strategy then packs the filter into its workspace.
  virtual void Run(const ConvolutionProblem& problem, const KernelArguments& arguments, const uint8_t* prepacked) const = 0;
};

struct ConvStrategyEntry {
  const char* name;
  // Null where the strategy does not fit: it does not cover the grid, or another is faster.
  std::unique_ptr<ConvStrategy> (*make)(const ConvolutionProblem& problem, const ConvolutionGrid& grid);
};

// For a class with Fits(problem, grid) and a constructor of the same arguments.
template <typename Strategy>
std::unique_ptr<ConvStrategy> MakeIfFits(const ConvolutionProblem& problem, const ConvolutionGrid& grid) {
  return Strategy::Fits(problem, grid) ? std::make_unique<Strategy>(problem, grid) : nullptr;
}

}  // namespace dxtensor::software::fast
