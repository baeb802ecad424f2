// Inputs at the edges of functions, and selections that keep NaN: small random inputs do not reach them.
#include <cmath>
#include <cstring>
#include <limits>

#include "software/compiler/graph.h"
#include "describe.h"
#include "graph_run.h"
#include "kernel_run.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using namespace schema;
using software::Graph;
using software::GraphNode;
using software::GraphStep;

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr uint32_t kCount = 1031;  // no whole vectors

// Edges first, then numbers from -110 to 110, every other one of them near 0.
double NumberAt(size_t i) {
  static const double kEdges[] = {0,     -0.0, kInfinity, -kInfinity, kNaN,   1e-42, -1e-42, 1e30,
                                  -1e30, 88.7, 88.8,      -87.5,      -103.9, 5.9,   6.1,    -6.1};
  if (i < std::size(kEdges)) return kEdges[i];
  const double along = (static_cast<double>(i) - kCount / 2.0) * (220.0 / kCount);
  return i % 2 ? along : along / 16;
}

void Edges(Suite&) {
  const std::string x = " InputTensor=f32[1031] OutputTensor=f32[1031]";
  for (const std::string function :
       {"ELEMENT_WISE_EXP", "ELEMENT_WISE_LOG", "ELEMENT_WISE_ERF", "ELEMENT_WISE_TANH", "ACTIVATION_SIGMOID", "ACTIVATION_GELU",
        "ACTIVATION_SOFTPLUS Steepness=1", "ACTIVATION_SOFTPLUS Steepness=3", "ACTIVATION_PARAMETRIC_SOFTPLUS Alpha=2 Beta=-1",
        "ACTIVATION_ELU Alpha=1", "ACTIVATION_CELU Alpha=2", "ACTIVATION_SWISH SigmoidInputScale=1", "ELEMENT_WISE_CLIP Min=-1 Max=2"}) {
    const OperatorDesc desc = Parse(function + x);
    bool compared = false;
    const std::string difference = CompareKernels(desc, {Filled(*desc.Inputs()[0], NumberAt)}, &compared);
    if (!compared) throw Failure{"no fast kernel: " + function};
    if (!difference.empty()) throw Failure{difference + ": " + function};
  }
}

// Extremes of rows in which NaN stands anywhere, of equals, and of nothing but infinities.
void Extremes(Suite&) {
  for (const std::string operation :
       {"REDUCE Function=7 OutputTensor=f32[41,1] Axes=[1]", "REDUCE Function=8 OutputTensor=f32[41,1] Axes=[1]",
        "ARGMAX OutputTensor=u32[41,1] AxisDirection=0 Axes=[1]", "ARGMAX OutputTensor=u32[41,1] AxisDirection=1 Axes=[1]",
        "ARGMIN OutputTensor=u32[41,1] AxisDirection=0 Axes=[1]",
        "TOP_K1 OutputValueTensor=f32[41,1] OutputIndexTensor=u32[41,1] Axis=1 K=1 AxisDirection=0",
        "TOP_K1 OutputValueTensor=f32[41,1] OutputIndexTensor=u32[41,1] Axis=1 K=1 AxisDirection=1"})
    for (const uint32_t length : {3u, 25u, 70u, 1500u}) {
      const bool is_plain = length < 24 && operation.compare(0, 3, "ARG") == 0;  // short rows
      const OperatorDesc desc = Parse(operation + " InputTensor=f32[41," + std::to_string(length) + "]");
      auto number = [&](size_t i) {
        const size_t row = i / length, at = i % length;
        if (row == 0) return kInfinity;
        if (row == 1) return -kInfinity;
        if (row == 2) return kNaN;
        if (row % 3 == 0 && at == (row * 7) % length) return kNaN;
        return static_cast<double>((i * 7919 + row) % (row % 2 ? 13 : 4001)) - 6;
      };
      bool compared = false;
      const std::string difference = CompareKernels(desc, {Filled(*desc.Inputs()[0], number)}, &compared);
      if (compared == is_plain) throw Failure{(is_plain ? "a fast kernel: " : "no fast kernel: ") + operation};
      if (!difference.empty()) throw Failure{difference + ": " + operation + ", rows of " + std::to_string(length)};
    }
}

// Graphs of elementwise nodes over vectors.
class ChoiceMaker {
 public:
  explicit ChoiceMaker(const char* type) : type_(type) {}

  // Two numbers or NaN out of each of a few, in all pairs.
  int Input(size_t period) {
    const int value = Value(type_);
    graph.values[static_cast<size_t>(value)].graph_input = static_cast<int>(graph.input_count++);
    static const double kNumbers[] = {1, -2, kNaN, 0, kInfinity, -kInfinity, 0.5};
    inputs.push_back(Filled(TensorOf(type_), [&](size_t i) { return kNumbers[i / period % std::size(kNumbers)]; }));
    return value;
  }
  int Node(const std::string& operation, const std::vector<std::pair<const char*, int>>& operands, const char* type) {
    std::string text = operation;
    GraphNode node;
    for (auto [field, value] : operands) {
      text += std::string(" ") + field + "=" + types_[static_cast<size_t>(value)] + "[400]";
      node.inputs.push_back(value);
    }
    node.desc = std::make_shared<const schema::OperatorDesc>(Parse(text + " OutputTensor=" + type + "[400]"));
    const int out = Value(type);
    node.outputs.push_back(out);
    graph.nodes.push_back(std::move(node));
    return out;
  }
  int Extreme(const char* which, int a, int b) {
    return Node(std::string("ELEMENT_WISE_") + which, {{"ATensor", a}, {"BTensor", b}}, type_);
  }
  // Where `tested` is NaN: one of two.
  int Choose(int tested, int a, int b) {
    const int test = Node("ELEMENT_WISE_IS_NAN", {{"InputTensor", tested}}, "u8");
    return Node("ELEMENT_WISE_IF", {{"ConditionTensor", test}, {"ATensor", a}, {"BTensor", b}}, type_);
  }
  void Compare(int result, const std::string& what) {
    graph.values[static_cast<size_t>(result)].graph_outputs.push_back(static_cast<int>(graph.output_count++));
    const char* unsupported = nullptr;
    const std::vector<GraphStep> steps = software::Fuse(graph, &unsupported);
    if (steps.size() != 1) throw Failure{what + " is no single kernel"};
    std::vector<ExactBytes> plain = ValueMemory(graph, inputs), fused = ValueMemory(graph, inputs);
    RunNodes(graph, plain);
    RunSteps(steps, fused);
    const std::string difference = CompareOutputs(graph, {TensorOf(type_)}, fused, plain, {});
    if (!difference.empty()) throw Failure{what + ": " + difference};
  }

  Graph graph;
  std::vector<Bytes> inputs;

 private:
  static TensorDesc TensorOf(const char* type) {
    return *Parse(std::string("ACTIVATION_RELU InputTensor=") + type + "[400] OutputTensor=" + type + "[400]").Inputs()[0];
  }
  int Value(const char* type) {
    graph.values.emplace_back();
    graph.values.back().size_in_bytes = TensorOf(type).size_in_bytes;
    types_.push_back(type);
    return static_cast<int>(graph.values.size()) - 1;
  }

  const char* type_;
  std::vector<std::string> types_;
};

// All that comes near to a larger or smaller one, or a number between two, with NaN: also what differs from these in one bit.
void Choices(Suite&) {
  for (const char* type : {"f32", "f16"})
    for (const char* which : {"MAX", "MIN"})
      for (const char* then : {"MAX", "MIN"})
        for (unsigned variant = 0; variant < 96; ++variant) {
          ChoiceMaker m(type);
          const int x = m.Input(1), y = m.Input(7), z = m.Input(49);
          auto extreme = [&](const char* name, int a, int b, bool swapped) {
            return swapped ? m.Extreme(name, b, a) : m.Extreme(name, a, b);
          };
          int result = extreme(which, x, y, variant & 1);
          const int kind = static_cast<int>(variant / 32);
          if (kind == 2) result = extreme(then, result, z, variant & 2);
          else if (kind == 1) result = variant & 2 ? m.Choose(x, x, result) : m.Choose(y, y, result);
          const int tested = variant & 4 ? x : y, kept = variant & 8 ? x : y;
          result = variant & 16 ? m.Choose(tested, result, kept) : m.Choose(tested, kept, result);
          m.Compare(result, std::string(type) + " " + which + " " + then + ", variant " + std::to_string(variant));
        }
}

// A million equal products, whose sum is rounded the same way each time where it is carried on in one number.
void LongDotProducts(Suite&) {
  constexpr int kLength = 1000003;
  for (const int rows : {1, 2, 4, 7, 16}) {
    const std::string m = std::to_string(rows), k = std::to_string(kLength);
    const OperatorDesc desc =
        Parse("GEMM ATensor=f32[" + m + "," + k + "] BTensor=f32[3," + k + "] OutputTensor=f32[" + m + ",3] TransB=1 Alpha=1");
    const float value = 0.1f;
    const auto tenth = [&](size_t) { return static_cast<double>(value); };
    const std::vector<Bytes> inputs = {Filled(*desc.Inputs()[0], tenth), Filled(*desc.Inputs()[1], tenth), {}};
    const Values got = Unpack(RunKernel(*software::MakeFastKernel(desc), desc, inputs)[0], *desc.Outputs()[0]);
    const double exact = static_cast<double>(value) * static_cast<double>(value) * kLength;
    for (size_t i = 0; i < got.size(); ++i)
      if (const double error = std::abs(got.AsReal(i) / exact - 1); !(error <= 5e-6))
        throw Failure{m + " rows: " + std::to_string(error * 1e6) + " millionths off"};
  }
}

const bool kRegistered = [] {
  Register("long dot products", LongDotProducts);
  Register("fast against plain: edges of functions", Edges);
  Register("fast against plain: extremes and NaN", Extremes);
  Register("fused choices that keep NaN", Choices);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
