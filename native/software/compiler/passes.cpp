// The one order of the compiler's passes. The memory plan (temporary_plan.cpp) follows in compile.cpp.
#include "compile.h"
#include "overwrites.h"

namespace dxtensor::software {

std::vector<GraphStep> RunPasses(Graph* graph, const char** unsupported) {
  // Layout first: it changes descriptions, by which the fusion chooses kernels.
  LayOut(graph);
  std::vector<GraphStep> steps = Fuse(*graph, unsupported);
  if (*unsupported) return {};
  ChainInPlace(*graph, &steps);
  JoinInPlace(*graph, &steps);
  // Last: it copies what the final order of steps would overwrite too early.
  SettleOverwrites(graph, &steps);
  return steps;
}

}  // namespace dxtensor::software
