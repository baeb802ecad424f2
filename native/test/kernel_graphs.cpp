// Random graphs: the fused kernels against the plain kernels of the nodes, one by one.
#include <cstdio>
#include <cstring>

#include "graph_run.h"
#include "kernel_test.h"
#include "random_graph.h"

namespace dxtensor::test {

namespace {

using software::Graph;
using software::GraphStep;

constexpr unsigned kMaxTimes = 20;  // the rounds, where what is looked for is rarer

void FusedGraphs(Suite& suite) {
  std::mt19937 random(suite.seed);
  size_t nodes = 0, steps_in_all = 0, held = 0;
  const unsigned max_rounds = suite.rounds < 100 ? suite.rounds : suite.rounds * kMaxTimes;
  for (unsigned round = 0; round < suite.rounds || (round < max_rounds && held == 0); ++round) {
    const RandomGraph made = MakeRandomGraph(random, 1 + round % 14);
    const Graph& graph = made.graph;
    const char* unsupported = nullptr;
    const std::vector<GraphStep> steps = software::Fuse(graph, &unsupported);
    if (steps.empty()) throw Failure{std::string("Fuse refuses ") + (unsupported ? unsupported : "?") + Describe(graph)};
    nodes += graph.nodes.size();
    steps_in_all += steps.size();
    for (const GraphStep& step : steps)
      held += !std::strcmp(step.name, "CONVOLUTION (fused)") && step.inputs.size() > 9 && step.inputs[9].value >= 0;
    std::vector<ExactBytes> plain = ValueMemory(graph, made.inputs), fused = ValueMemory(graph, made.inputs);
    RunNodes(graph, plain);
    RunSteps(steps, fused);
    const std::string difference = CompareOutputs(graph, made.outputs, fused, plain, {1e-3, 1e-4});
    if (!difference.empty()) throw Failure{"graph " + std::to_string(round) + ", " + difference + Describe(graph) + Describe(steps)};
  }
  CHECK(steps_in_all < nodes);
  CHECK(suite.rounds < 100 || held > 0);
  std::printf("graphs: %zu nodes became %zu kernels, %zu of them convolutions with limits\n", nodes, steps_in_all, held);
}

const Register kRegistration("fused graphs", FusedGraphs);

}  // namespace

}  // namespace dxtensor::test
