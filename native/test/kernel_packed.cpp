// GEMMs by packed codes: graphs of DEQUANTIZE and GEMM, fused, against the plain kernels of the nodes.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "software/directml/validate.h"
#include "describe.h"
#include "graph_run.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using software::Graph;
using software::GraphNode;
using software::GraphStep;

std::string List(const std::vector<uint32_t>& sizes) {
  std::string text;
  for (uint32_t size : sizes) text += (text.empty() ? "[" : ",") + std::to_string(size);
  return text + "]";
}

struct PackedGraph {
  Graph graph;
  std::vector<Bytes> inputs;
  std::vector<schema::TensorDesc> outputs;

  int AddValue(const schema::TensorDesc& t, const Bytes* input) {
    software::GraphValue value;
    value.size_in_bytes = t.size_in_bytes;
    if (input) {
      value.graph_input = static_cast<int>(graph.input_count++);
      inputs.push_back(*input);
    }
    graph.values.push_back(std::move(value));
    return static_cast<int>(graph.values.size()) - 1;
  }
  int AddNode(const std::string& text, std::vector<int> from) {
    GraphNode node;
    node.desc = Parse(text);
    std::string why;
    if (FAILED(software::Validate(node.desc, schema::kHighestFeatureLevel, &why))) throw Failure{why + ": " + text};
    node.inputs = std::move(from);
    node.outputs.push_back(AddValue(*node.desc.Outputs()[0], nullptr));
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().outputs[0];
  }
};

void PackedMatrices(Suite& suite) {
  static const char* const kCodes[] = {"u4", "u8", "i8"};
  constexpr uint32_t kBlocks[] = {4, 8, 16, 32, 64, 128};
  std::mt19937 random(suite.seed);
  auto up = [&](uint32_t low, uint32_t high) { return std::uniform_int_distribution<uint32_t>(low, high)(random); };
  unsigned fused = 0;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    const char* codes = kCodes[round % 3];
    const bool is_four = round % 3 == 0, has_c = up(0, 1);
    const uint32_t block = kBlocks[up(is_four ? 1 : 0, 5)], blocks = up(1, block > 32 ? 9 : 21), width = block * blocks;
    const uint32_t rows = up(1, round % 7 == 0 ? 150 : 20), vectors = up(1, round % 5 == 0 ? 36 : 4);
    PackedGraph made;
    const auto matrix = std::vector<uint32_t>{1, 1, rows, width};
    const std::string code_text = std::string(codes) + List(matrix), scale_text = "f32" + List({1, 1, rows, blocks}),
                      x_text = "f32" + List({1, 1, vectors, width}), y_text = "f32" + List({1, 1, vectors, rows});
    const std::string dequantize = "DEQUANTIZE InputTensor=" + code_text + " QuantizationType=1 QuantizationTensors=[" + scale_text +
                                   "] OutputTensor=f32" + List(matrix);
    const std::string gemm = "GEMM ATensor=" + x_text + " BTensor=f32" + List(matrix) + (has_c ? " CTensor=" + y_text : "") +
                             " OutputTensor=" + y_text + " TransB=1 Alpha=" + (up(0, 1) ? "1" : "0.5") + " Beta=2" +
                             (up(0, 1) ? " FusedActivation={ACTIVATION_RELU}" : "");
    const schema::OperatorDesc d = Parse(dequantize), g = Parse(gemm);
    // Seldom numbers that have no integers.
    const int special = round % 11 == 0 ? static_cast<int>(up(0, 2)) : -1;
    auto real = [&](size_t) { return static_cast<double>(up(0, 2000)) / 1000 - 1; };
    auto of_x = [&](size_t i) {
      if (special == 0 && i == 1) return std::numeric_limits<double>::infinity();
      if (special == 1) return real(i) * 1e-33;
      if (special == 2 && i < width) return 0.0;
      return real(i);
    };
    auto input = [&](const schema::TensorDesc& t, const Bytes& bytes) { return made.AddValue(t, &bytes); };
    const int q = input(*d.Inputs()[0], FilledWhole(*d.Inputs()[0], [&](size_t) {
      const bool is_extreme = round % 4 == 0;
      const uint32_t bits = is_extreme ? (up(0, 1) ? 255 : 0) : up(0, 255);
      return static_cast<int64_t>(is_four ? bits & 15 : !std::strcmp(codes, "i8") ? static_cast<int8_t>(bits) : static_cast<int>(bits));
    }));
    const int s = input(*d.Inputs()[1], Filled(*d.Inputs()[1], [&](size_t i) { return real(i) * (special == 1 ? 1e33 : 1); }));
    const int x = input(*g.Inputs()[0], Filled(*g.Inputs()[0], of_x));
    const int c = has_c ? input(*g.Inputs()[2], Filled(*g.Inputs()[2], real)) : -1;
    const int values = made.AddNode(dequantize, {q, s});
    const int y = made.AddNode(gemm, {x, values, c});
    // Values that an output needs too are not fused.
    const bool shows = round % 13 == 0;
    for (int value : {y, values}) {
      if (value == values && !shows) continue;
      made.graph.values[static_cast<size_t>(value)].graph_outputs.push_back(static_cast<int>(made.graph.output_count++));
      made.outputs.push_back(value == y ? *g.Outputs()[0] : *d.Outputs()[0]);
    }
    const char* unsupported = nullptr;
    const std::vector<GraphStep> steps = software::Fuse(made.graph, &unsupported);
    if (steps.empty()) throw Failure{std::string("Fuse refuses ") + (unsupported ? unsupported : "?")};
    const bool is_fused = !std::strcmp(steps.back().name, "GEMM (packed)");
    CHECK(is_fused == (!shows && vectors <= 32));
    fused += is_fused;
    std::vector<ExactBytes> plain = ValueMemory(made.graph, made.inputs), fast = ValueMemory(made.graph, made.inputs);
    RunNodes(made.graph, plain);
    RunSteps(steps, fast);
    // Vectors have integers of 21 bits.
    const double absolute = 1e-6 * (is_four ? 8 : 128) * std::sqrt(static_cast<double>(width)) + 2e-6;
    const std::string difference = CompareOutputs(made.graph, made.outputs, fast, plain, {1e-5, absolute});
    if (!difference.empty()) throw Failure{"round " + std::to_string(round) + ", " + difference + "\n" + dequantize + "\n" + gemm};
  }
  std::printf("packed matrices: %u products by codes\n", fused);
  CHECK(suite.rounds < 100 || fused > suite.rounds / 2);
}

const Register kRegistration("packed matrices", PackedMatrices);

}  // namespace

}  // namespace dxtensor::test
