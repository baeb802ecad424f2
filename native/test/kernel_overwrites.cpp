// Random graphs whose outputs lie over inputs: the results equal those with separate outputs.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "software/compiler/overwrites.h"
#include "graph_run.h"
#include "kernel_test.h"
#include "random_graph.h"

namespace dxtensor::test {

namespace {

using software::Graph;
using software::GraphStep;
using software::GraphValue;
using software::Overwrite;

// Lets about every second output lie over inputs that fit it: one of its size, or several behind each other.
std::vector<Overwrite> ChooseOverwrites(std::mt19937& random, const Graph& graph) {
  auto up = [&](uint64_t low, uint64_t high) { return std::uniform_int_distribution<uint64_t>(low, high)(random); };
  std::vector<const GraphValue*> inputs;
  for (const GraphValue& value : graph.values)
    if (value.graph_input >= 0) inputs.push_back(&value);
  std::vector<Overwrite> chosen;
  for (const GraphValue& value : graph.values) {
    if (value.graph_outputs.empty() || up(0, 1)) continue;
    std::shuffle(inputs.begin(), inputs.end(), random);
    std::stable_sort(inputs.begin(), inputs.end(), [&](const GraphValue* a, const GraphValue* b) {
      return (a->size_in_bytes == value.size_in_bytes) > (b->size_in_bytes == value.size_in_bytes);
    });
    uint64_t at = up(0, 3) ? 0 : up(0, 4) * 16;
    for (auto input = inputs.begin(); input != inputs.end();) {
      if (at + (*input)->size_in_bytes > value.size_in_bytes) {
        ++input;
        continue;
      }
      chosen.push_back({static_cast<uint32_t>(value.graph_outputs[0]), static_cast<uint32_t>((*input)->graph_input), at});
      at = (at + (*input)->size_in_bytes + 15) / 16 * 16;
      input = inputs.erase(input);
    }
  }
  return chosen;
}

// Memory of each value, where inputs that are overwritten lie in their outputs.
std::vector<uint8_t*> Addresses(const Graph& graph, const std::vector<ExactBytes>& memory) {
  std::vector<uint8_t*> addresses;
  for (const ExactBytes& bytes : memory) addresses.push_back(bytes.data());
  for (const Overwrite& over : graph.overwrites)
    for (size_t from = 0; from < graph.values.size(); ++from) {
      if (graph.values[from].graph_input != static_cast<int>(over.input)) continue;
      for (size_t to = 0; to < graph.values.size(); ++to) {
        const std::vector<int>& outputs = graph.values[to].graph_outputs;
        if (outputs.empty() || outputs[0] != static_cast<int>(over.output)) continue;
        addresses[from] = memory[to].data() + over.offset;
        std::memcpy(addresses[from], memory[from].data(), memory[from].size());
      }
    }
  return addresses;
}

void Overwrites(Suite& suite) {
  std::mt19937 random(suite.seed);
  size_t over = 0, apart = 0, joined = 0;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    const RandomGraph made = MakeRandomGraph(random, 1 + round % 14, round % 2 == 1);
    Graph graph = made.graph;
    graph.overwrites = ChooseOverwrites(random, graph);
    if (round % 3 == 0) software::LayOut(&graph);
    const char* unsupported = nullptr;
    std::vector<GraphStep> steps = software::Fuse(graph, &unsupported);
    CHECK(!steps.empty());
    auto count_joins = [&] {
      return static_cast<size_t>(
          std::count_if(steps.begin(), steps.end(), [](const GraphStep& step) { return !std::strcmp(step.name, "JOIN"); }));
    };
    const size_t joins = count_joins(), values = graph.values.size();
    software::JoinInPlace(graph, &steps);
    joined += joins - count_joins();
    software::SettleOverwrites(&graph, &steps);
    over += graph.overwrites.size();
    apart += graph.values.size() - values;
    std::vector<ExactBytes> plain = ValueMemory(made.graph, made.inputs), fused = ValueMemory(graph, made.inputs);
    RunNodes(made.graph, plain);
    RunSteps(steps, Addresses(graph, fused));
    const std::string difference = CompareOutputs(made.graph, made.outputs, fused, plain, {1e-3, 1e-4});
    if (!difference.empty()) throw Failure{"graph " + std::to_string(round) + ", " + difference + Describe(made.graph) + Describe(steps)};
  }
  CHECK(suite.rounds < 100 || (joined > 0 && apart > 0 && over > 2 * apart));
  std::printf("overwrites: %zu inputs lay under outputs, %zu outputs were copied at the end, %zu joins fell away\n", over, apart, joined);
}

const Register kRegistration("overwrites", Overwrites);

}  // namespace

}  // namespace dxtensor::test
