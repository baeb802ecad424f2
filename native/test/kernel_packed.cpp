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
    node.desc = std::make_shared<const schema::OperatorDesc>(Parse(text));
    std::string why;
    if (FAILED(software::Validate(*node.desc, schema::kHighestFeatureLevel, &why))) throw Failure{why + ": " + text};
    node.inputs = std::move(from);
    node.outputs.push_back(AddValue(*node.desc->Outputs()[0], nullptr));
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().outputs[0];
  }
};

void PackedMatrices(Suite& suite) {
  static const char* const kCodes[] = {"u4", "u8", "i8"};
  static const char* const kNumbers[] = {"f32", "f16"};
  constexpr uint32_t kBlocks[] = {4, 8, 16, 32, 64, 128};
  std::mt19937 random(suite.seed);
  auto up = [&](uint32_t low, uint32_t high) { return std::uniform_int_distribution<uint32_t>(low, high)(random); };
  unsigned fused = 0, with_minima = 0;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    const char* codes = kCodes[round % 3];
    const bool is_four = round % 3 == 0, has_c = up(0, 1);
    const uint32_t block = kBlocks[up(is_four ? 1 : 0, 5)], blocks = up(1, block > 32 ? 9 : 21), width = block * blocks;
    const uint32_t rows = up(1, round % 7 == 0 ? 150 : 20), vectors = up(1, round % 5 == 0 ? 36 : 4);
    // Seldom numbers that have no integers, or whose sums by codes have no floats.
    const int special = round % 7 == 0 ? static_cast<int>(up(0, 5)) : -1;
    // Minima are the second GEMM's matrix, and its C is the bias. Two products may be infinite where one of the sums is not a number.
    const bool has_minima = special != 0 && special != 3 && up(0, 1), has_unit_alpha = up(0, 2) > 0;
    const std::string of_scales = kNumbers[up(0, 1)], of_minima = kNumbers[up(0, 1)];
    PackedGraph made;
    const auto matrix = std::vector<uint32_t>{1, 1, rows, width}, by_block = std::vector<uint32_t>{1, 1, rows, blocks};
    const std::string code_text = std::string(codes) + List(matrix), x_text = "f32" + List({1, 1, vectors, width}),
                      y_text = "f32" + List({1, 1, vectors, rows}), sums_text = "f32" + List({1, 1, vectors, blocks});
    const std::string dequantize = "DEQUANTIZE InputTensor=" + code_text + " QuantizationType=1 QuantizationTensors=[f32" + List(by_block) +
                                   "] OutputTensor=f32" + List(matrix);
    auto product = [&](const std::string& a, const std::string& b, bool adds, const std::string& options) {
      return "GEMM ATensor=" + a + " BTensor=" + b + (adds ? " CTensor=" + y_text : "") + " OutputTensor=" + y_text + " TransB=1" + options;
    };
    const std::string gemm = product(x_text, "f32" + List(matrix), has_c || has_minima,
                                     std::string(" Alpha=") + (has_unit_alpha ? "1" : "0.5") + " Beta=" + (has_minima ? "1" : "2") +
                                         (up(0, 1) ? " FusedActivation={ACTIVATION_RELU}" : ""));
    const std::string minima_gemm = product(sums_text, "f32" + List(by_block), has_c, " Alpha=1 Beta=2");
    const std::string reduce = "REDUCE Function=10 Axes=[3] InputTensor=f32" + List({1, vectors, blocks, block}) + " OutputTensor=f32" +
                               List({1, vectors, blocks, 1});
    auto cast = [&](const std::string& from) { return "CAST InputTensor=" + from + List(by_block) + " OutputTensor=f32" + List(by_block); };
    const schema::OperatorDesc d = Parse(dequantize), g = Parse(gemm);
    auto real = [&](size_t) { return static_cast<double>(up(0, 2000)) / 1000 - 1; };
    auto of_x = [&](size_t i) {
      if (special == 0 && i == 1) return std::numeric_limits<double>::infinity();
      if (special == 1) return real(i) * 1e-33;
      if (special == 2 && i < width) return 0.0;
      if (special == 3) return real(i) * 1e37;
      if (special == 4 && i == width - 1) return std::numeric_limits<double>::quiet_NaN();
      if (special == 5) return real(i) * (i % width / 64 % 2 ? 1e-6 : 1);
      return real(i);
    };
    auto input = [&](const schema::TensorDesc& t, const Bytes& bytes) { return made.AddValue(t, &bytes); };
    const int q = input(*d.Inputs()[0], FilledWhole(*d.Inputs()[0], [&](size_t) {
      const bool is_extreme = round % 4 == 0;
      const uint32_t bits = is_extreme ? (up(0, 1) ? 255 : 0) : up(0, 255);
      return static_cast<int64_t>(is_four ? bits & 15 : !std::strcmp(codes, "i8") ? static_cast<int8_t>(bits) : static_cast<int>(bits));
    }));
    auto numbers = [&](const std::string& type, double factor) {
      const schema::OperatorDesc from = Parse(cast(type));
      const int value = input(*from.Inputs()[0], Filled(*from.Inputs()[0], [&](size_t i) { return real(i) * factor; }));
      return type == "f16" ? made.AddNode(cast(type), {value}) : value;
    };
    const double of_scale = special == 1 ? 1e33 : special == 3 ? 1e-30 : 1;
    const int s = numbers(of_scale != 1 ? "f32" : of_scales, of_scale);
    const int x = input(*g.Inputs()[0], Filled(*g.Inputs()[0], of_x));
    int c = has_c ? input(*g.Outputs()[0], Filled(*g.Outputs()[0], real)) : -1;
    if (has_minima) {
      const int minima = numbers(of_minima, 1), sums = made.AddNode(reduce, {x});
      c = made.AddNode(minima_gemm, {sums, minima, c});
    }
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
    // One step: casts, sums and the second product have vanished.
    const bool joins = is_fused && (!has_minima || has_unit_alpha);
    CHECK(!joins || steps.size() == 1);
    with_minima += joins && has_minima;
    std::vector<ExactBytes> plain = ValueMemory(made.graph, made.inputs), fast = ValueMemory(made.graph, made.inputs);
    RunNodes(made.graph, plain);
    RunSteps(steps, fast);
    // Vectors have integers of 21 bits.
    const double absolute = (1e-6 * (is_four ? 8 : 128) * std::sqrt(static_cast<double>(width)) + 2e-6) * (special == 3 ? 1e7 : 1);
    const std::string difference = CompareOutputs(made.graph, made.outputs, fast, plain, {1e-5, absolute});
    if (!difference.empty()) throw Failure{"round " + std::to_string(round) + ", " + difference + "\n" + dequantize + "\n" + gemm};
  }
  std::printf("packed matrices: %u products by codes, %u of them with minima\n", fused, with_minima);
  CHECK(suite.rounds < 100 || (fused > suite.rounds / 2 && with_minima > suite.rounds / 6));
}

const Register kRegistration("packed matrices", PackedMatrices);

}  // namespace

}  // namespace dxtensor::test
