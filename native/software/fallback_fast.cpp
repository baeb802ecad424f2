#include "graph.h"
namespace dxtensor::software {
__attribute__((weak)) std::unique_ptr<Kernel> MakeFastKernel(const schema::OperatorDesc&) { return nullptr; }
__attribute__((weak)) std::unique_ptr<Kernel> MakeKernel(const schema::OperatorDesc& desc) { return MakePlainKernel(desc); }
__attribute__((weak)) std::vector<GraphStep> Fuse(const Graph& graph, const char** unsupported) {
  std::vector<GraphStep> steps;
  for (const GraphNode& node : graph.nodes) {
    GraphStep step;
    step.kernel = MakeKernel(node.desc);
    if (!step.kernel) { *unsupported = node.desc.schema->name; return {}; }
    for (int v : node.inputs) step.inputs.push_back({v, 0});
    for (int v : node.outputs) step.outputs.push_back({v, 0});
    step.name = node.desc.schema->name;
    steps.push_back(std::move(step));
  }
  return steps;
}
}
