// Random networks of convolutions, whose values become NHWC, against the plain kernels of their nodes.
#include <cstdio>
#include <cstring>
#include <random>

#include "software/directml/validate.h"
#include "describe.h"
#include "graph_run.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using namespace schema;
using software::Graph;
using software::GraphNode;
using software::GraphStep;
using software::GraphValue;

using Sizes = std::vector<uint32_t>;

struct Value {
  int number;
  TensorDesc tensor;
};

// A network from a picture: convolutions with what follows them, sums of two branches, pooling, gates by channel.
class NetworkMaker {
 public:
  explicit NetworkMaker(std::mt19937& random) : random_(random) {}

  Graph Make(uint32_t layers) {
    Value x = Input({Up(1, 3), OneOf({1, 3, 3, 4, 16, 21}), Up(5, 20), Up(5, 20)});
    for (uint32_t i = 0; i < layers; ++i) {
      x = Layer(x);
      if (Up(0, 9) == 0) Show(x);
    }
    Show(x);
    return std::move(graph_);
  }
  // A residual block with steps, whose shortcut reads what it needs: all but the last row and column.
  Graph MakeShortcut() {
    const Value picture = Input({1, 3, 16, 16});
    const Value x = Convolved(picture, picture.tensor, {1, 64, 16, 16}, {3, 1, 1, 1, 1});
    const Value shortcut = Convolved(x, Part(x, 15, 15), {1, 128, 8, 8}, {1, 2, 1, 0, 1});
    const Value inside = Convolved(x, x.tensor, {1, 64, 8, 8}, {3, 2, 1, 1, 1});
    const Value sum = Binary("ELEMENT_WISE_ADD", Convolved(inside, inside.tensor, {1, 128, 8, 8}, {1, 1, 1, 0, 1}), shortcut);
    Show(Convolved(sum, sum.tensor, {1, 64, 8, 8}, {1, 1, 1, 0, 1}));
    return std::move(graph_);
  }
  std::vector<TensorDesc> outputs_;
  std::vector<Bytes> inputs_;

 private:
  uint32_t Up(uint32_t low, uint32_t high) { return std::uniform_int_distribution<uint32_t>(low, high)(random_); }
  uint32_t OneOf(const Sizes& all) { return all[Up(0, static_cast<uint32_t>(all.size()) - 1)]; }
  static Sizes SizesOf(const Value& v) { return {v.tensor.sizes.begin(), v.tensor.sizes.begin() + v.tensor.rank}; }

  Value Add(const TensorDesc& t) {
    GraphValue value;
    value.size_in_bytes = t.size_in_bytes;
    graph_.values.push_back(std::move(value));
    return {static_cast<int>(graph_.values.size()) - 1, t};
  }
  Value Input(const Sizes& sizes, double scale = 1) {
    const Value value = Add(MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes));
    graph_.values.back().graph_input = static_cast<int>(graph_.input_count++);
    inputs_.push_back(Filled(value.tensor, [&](size_t) { return (static_cast<double>(Up(0, 32)) / 16 - 1) * scale; }));
    return value;
  }
  void Show(const Value& v) {
    GraphValue& value = graph_.values[static_cast<size_t>(v.number)];
    if (!value.graph_outputs.empty() || value.graph_input >= 0) return;
    value.graph_outputs.push_back(static_cast<int>(graph_.output_count++));
    outputs_.push_back(v.tensor);
  }
  static void Set(OperatorDesc& desc, const char* name, const TensorDesc& t) {
    for (size_t i = 0; i < desc.fields.size(); ++i)
      if (!std::strcmp(desc.schema->fields[i].name, name)) desc.fields[i] = std::optional<TensorDesc>(t);
  }
  Value Finish(OperatorDesc desc, const std::vector<int>& inputs, const Sizes& sizes) {
    const TensorDesc t = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes);
    Set(desc, "OutputTensor", t);
    const Value out = Add(t);
    std::string why;
    if (FAILED(software::Validate(desc, kHighestFeatureLevel, &why))) throw Failure{"the graph is wrong: " + why + ": " + Text(desc)};
    GraphNode node;
    node.inputs = inputs;
    node.outputs.assign(desc.Outputs().size(), -1);
    node.outputs[0] = out.number;
    node.desc = std::make_shared<const schema::OperatorDesc>(std::move(desc));
    graph_.nodes.push_back(std::move(node));
    return out;
  }
  Value Unary(const char* text, const Value& x) {
    OperatorDesc desc = Parse(text);
    Set(desc, "InputTensor", x.tensor);
    return Finish(std::move(desc), {x.number}, SizesOf(x));
  }
  Value Binary(const char* text, const Value& a, const Value& b) {
    OperatorDesc desc = Parse(text);
    Set(desc, "ATensor", a.tensor);
    Set(desc, "BTensor", b.tensor);
    return Finish(std::move(desc), {a.number, b.number}, SizesOf(a));
  }

  Value Layer(const Value& x) {
    if (x.tensor.sizes[2] * x.tensor.sizes[3] == 1) return Convolve(x);
    switch (Up(0, 15)) {
      case 0: return Pool(x);
      case 1: {  // a residual
        const Value y = Convolve(x, x.tensor.sizes[1], true);
        return Activate(Binary(Up(0, 1) ? "ELEMENT_WISE_ADD" : "ELEMENT_WISE_ADD1", y, x));
      }
      case 2: {  // two branches that become one
        const uint32_t channels = Up(1, 40);
        return Binary(Up(0, 3) ? "ELEMENT_WISE_ADD" : "ELEMENT_WISE_MAX", Convolve(x, channels, true), Convolve(x, channels, true));
      }
      case 3: {  // gates by channel
        const Value pooled = Reduce(x);
        Value gate = Unary("ACTIVATION_SIGMOID", Convolve(pooled, x.tensor.sizes[1], true));
        const uint32_t channels = gate.tensor.sizes[1];
        gate.tensor = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, SizesOf(x), {channels, 1, 0, 0});
        return Binary("ELEMENT_WISE_MULTIPLY", x, gate);
      }
      case 4: return Activate(x);
      case 5: {  // another that comes from outside
        return Binary("ELEMENT_WISE_SUBTRACT", x, Input(SizesOf(x)));
      }
      default: return Convolve(x);
    }
  }

  Value Reduce(const Value& x) {
    if (Up(0, 1)) {  // of rows that are its planes
      const uint32_t rows = x.tensor.sizes[0] * x.tensor.sizes[1];
      OperatorDesc desc = Parse("REDUCE Function=2 Axes=[1]");
      Set(desc, "InputTensor", MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, {rows, x.tensor.sizes[2] * x.tensor.sizes[3]}));
      Value out = Finish(std::move(desc), {x.number}, {rows, 1});
      out.tensor = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, {x.tensor.sizes[0], x.tensor.sizes[1], 1, 1});
      return out;
    }
    OperatorDesc desc = Parse("REDUCE Function=3 Axes=[2,3]");
    Set(desc, "InputTensor", x.tensor);
    return Finish(std::move(desc), {x.number}, {x.tensor.sizes[0], x.tensor.sizes[1], 1, 1});
  }

  Value Pool(const Value& x) {
    if (Up(0, 4) == 0) return Reduce(x);
    Sizes out = SizesOf(x);
    const uint32_t window = Up(1, 3), stride = Up(1, 2), padding = Up(0, window - 1);
    for (size_t d = 2; d < 4; ++d) {
      if (out[d] + 2 * padding < window) return x;
      out[d] = (out[d] + 2 * padding - window) / stride + 1;
    }
    auto two = [](uint32_t n) { return "[" + std::to_string(n) + "," + std::to_string(n) + "]"; };
    const std::string rest =
        " WindowSize=" + two(window) + " Strides=" + two(stride) + " StartPadding=" + two(padding) + " EndPadding=" + two(padding);
    OperatorDesc desc = Parse(Up(0, 2) == 0 ? "MAX_POOLING" + rest
                              : Up(0, 1)    ? "MAX_POOLING2 Dilations=[1,1]" + rest
                                            : "AVERAGE_POOLING IncludePadding=" + std::to_string(Up(0, 1)) + rest);
    Set(desc, "InputTensor", x.tensor);
    return Finish(std::move(desc), {x.number}, out);
  }

  Value Activate(const Value& x) {
    static const char* const kNames[] = {"ACTIVATION_RELU",  "ACTIVATION_SIGMOID",
                                         "ACTIVATION_TANH",  "ACTIVATION_HARD_SIGMOID Alpha=0.2 Beta=0.5",
                                         "ELEMENT_WISE_ABS", "ACTIVATION_IDENTITY"};
    if (Up(0, 5) == 0) return Binary("ELEMENT_WISE_MULTIPLY", x, Unary("ACTIVATION_SIGMOID", x));
    return Unary(kNames[Up(0, 5)], x);
  }

  struct Taps {
    uint32_t kernel, stride, dilation, padding, groups;
  };
  // Of what `seen` shows of x, with a bias or without.
  Value Convolved(const Value& x, const TensorDesc& seen, const Sizes& out, const Taps& taps) {
    auto two = [](uint32_t n) { return "[" + std::to_string(n) + "," + std::to_string(n) + "]"; };
    const uint32_t channels = seen.sizes[1] / taps.groups;
    OperatorDesc desc = Parse("CONVOLUTION Mode=" + std::to_string(Up(0, 5) ? 1 : 0) + " Direction=0 Strides=" + two(taps.stride) +
                              " Dilations=" + two(taps.dilation) + " StartPadding=" + two(taps.padding) +
                              " EndPadding=" + two(taps.padding) + " OutputPadding=[0,0] GroupCount=" + std::to_string(taps.groups));
    const Value filter = Input({out[1], channels, taps.kernel, taps.kernel}, 1.5 / static_cast<double>(channels * taps.kernel));
    Set(desc, "InputTensor", seen);
    Set(desc, "FilterTensor", filter.tensor);
    std::vector<int> inputs{x.number, filter.number, -1};
    if (Up(0, 1)) {
      const Value bias = Input({1, out[1], 1, 1});
      Set(desc, "BiasTensor", bias.tensor);
      inputs[2] = bias.number;
    }
    return Finish(std::move(desc), inputs, out);
  }
  // Its first rows and columns.
  static TensorDesc Part(const Value& x, uint32_t rows, uint32_t columns) {
    return MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, {x.tensor.sizes[0], x.tensor.sizes[1], rows, columns},
                      {x.tensor.strides.begin(), x.tensor.strides.begin() + 4});
  }

  Value Convolve(const Value& x, uint32_t channels = 0, bool keeps_size = false) {
    Sizes in = SizesOf(x);
    const bool is_plane = in[2] * in[3] > 1;
    TensorDesc seen = x.tensor;
    if (!keeps_size && Up(0, 3) == 0) {  // without the last rows and columns
      for (size_t d = 2; d < 4; ++d) in[d] -= std::min(Up(0, 2), in[d] - 1);
      seen = Part(x, in[2], in[3]);
    }
    uint32_t groups = 1;
    if (!channels) channels = OneOf({1, 2, 7, 16, 24, 32, 33, 48, 70});
    if (is_plane && Up(0, 3) == 0) {  // depthwise, or a few groups
      const uint32_t few = 2 * OneOf({3, 16, 20, 32});
      const bool is_depthwise = Up(0, 3) || in[1] % 2;
      const uint32_t wanted = is_depthwise ? in[1] : few;
      if (!keeps_size || channels == wanted) {
        channels = wanted;
        groups = is_depthwise ? in[1] : 2;
      }
    }
    const uint32_t kernel = is_plane ? OneOf({1, 1, 3, 3, 2, 5}) : 1, dilation = Up(0, 5) ? 1 : 2;
    uint32_t stride = Up(1, 2), padding = Up(0, kernel - 1);
    if (keeps_size) {
      if (kernel % 2 == 0) return Convolve(x, channels, true);
      stride = 1;
      padding = dilation * (kernel - 1) / 2;
    }
    Sizes out{in[0], channels, 0, 0};
    for (size_t d = 2; d < 4; ++d) {
      const uint32_t reach = dilation * (kernel - 1) + 1;
      if (in[d] + 2 * padding < reach) return x;
      out[d] = (in[d] + 2 * padding - reach) / stride + 1;
    }
    Value y = Convolved(x, seen, out, {kernel, stride, dilation, padding, groups});
    const Sizes each{1, channels, 1, 1};
    if (Up(0, 1)) {
      OperatorDesc norm = Parse("BATCH_NORMALIZATION Spatial=1 Epsilon=2");
      Set(norm, "InputTensor", y.tensor);
      std::vector<int> of{y.number};
      for (const char* name : {"MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor"}) {
        const Value known = Input(each);
        Set(norm, name, known.tensor);
        of.push_back(known.number);
      }
      y = Finish(std::move(norm), of, out);
    }
    if (keeps_size || Up(0, 2) == 0) return y;
    return Up(0, 1) ? Unary("ACTIVATION_RELU", y) : Activate(y);
  }

  std::mt19937& random_;
  Graph graph_;
};

struct Counts {
  size_t values = 0, transposed = 0;
};

void Check(const std::string& name, const Graph& graph, const NetworkMaker& maker, Counts* counts) {
  Graph laid_out = graph;
  software::LayOut(&laid_out);
  for (const GraphValue& value : laid_out.values) counts->transposed += value.is_padded;
  counts->values += graph.nodes.size();
  const char* unsupported = nullptr;
  std::vector<GraphStep> steps = software::Fuse(laid_out, &unsupported);
  if (steps.empty()) throw Failure{std::string("Fuse refuses ") + (unsupported ? unsupported : "?") + Describe(laid_out)};
  std::vector<ExactBytes> plain = ValueMemory(graph, maker.inputs_), got = ValueMemory(laid_out, maker.inputs_);
  RunNodes(graph, plain);
  for (const bool prepacks : {false, true}) {
    RunSteps(steps, got, prepacks);
    const std::string difference = CompareOutputs(graph, maker.outputs_, got, plain, {2e-3, 2e-4});
    if (!difference.empty()) throw Failure{name + (prepacks ? ", prepacked, " : ", ") + difference + Describe(laid_out) + Describe(steps)};
  }
}

void Layouts(Suite& suite) {
  std::mt19937 random(suite.seed);
  Counts counts;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    NetworkMaker maker(random);
    const Graph graph = maker.Make(2 + round % 9);
    Check("network " + std::to_string(round), graph, maker, &counts);
  }
  std::printf("networks: %zu of %zu values became NHWC\n", counts.transposed, counts.values);
  CHECK(suite.rounds < 100 || counts.transposed * 10 > counts.values);
  NetworkMaker maker(random);
  const Graph graph = maker.MakeShortcut();
  Counts of_shortcut;
  Check("a shortcut", graph, maker, &of_shortcut);
  CHECK(of_shortcut.transposed + 1 == of_shortcut.values);  // all but what the graph shows
}

const Register kRegistration("networks in NHWC", Layouts);

}  // namespace

}  // namespace dxtensor::test
