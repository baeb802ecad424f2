#include "../graph.h"

namespace dxtensor::software {

std::vector<GraphStep> Fuse(const Graph& graph, const char** unsupported) {
  std::vector<GraphStep> steps;
  for (const GraphNode& node : graph.nodes) {
    GraphStep step;
    step.kernel = MakeKernel(node.desc);
    if (!step.kernel) {
      *unsupported = node.desc.schema->name;
      return {};
    }
    step.name = node.desc.schema->name;
    for (int value : node.inputs) step.inputs.push_back({value, 0});
    for (int value : node.outputs) step.outputs.push_back({value, 0});
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace dxtensor::software
