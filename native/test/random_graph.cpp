#include "random_graph.h"

#include <cstring>

#include "software/directml/validate.h"
#include "cases/random_descriptions.h"
#include "check.h"
#include "describe.h"
#include "graph_run.h"

namespace dxtensor::test {

namespace {

using namespace schema;
using software::Graph;
using software::GraphNode;
using software::GraphValue;

struct Known {
  int value;
  TensorDesc tensor;  // as its writer described it
};

// Grows a graph of FLOAT32 nodes whose numbers stay small.
class GraphMaker {
 public:
  GraphMaker(std::mt19937& random, RandomGraph* made) : random_(random), made_(*made), graph_(made->graph) {}

  void Make(unsigned nodes, bool shows_inputs) {
    AddInput({Up(1, 3), Up(1, 6), Up(1, 24)}, false);
    if (shows_inputs) Show(known_[0]);
    while (graph_.nodes.size() < nodes) AddNode();
    // Whatever nobody reads is an output, and a few of those that somebody reads.
    for (Known& known : known_) {
      const GraphValue& value = graph_.values[static_cast<size_t>(known.value)];
      const bool written = value.graph_input < 0 && value.constant.empty() && value.graph_outputs.empty();
      if (written && (!read_[static_cast<size_t>(known.value)] || Up(0, 5) == 0)) AddOutput(known);
    }
  }

 private:
  uint32_t Up(uint32_t low, uint32_t high) { return std::uniform_int_distribution<uint32_t>(low, high)(random_); }

  int AddValue(const TensorDesc& t) {
    GraphValue value;
    value.size_in_bytes = t.size_in_bytes;
    graph_.values.push_back(std::move(value));
    read_.push_back(false);
    known_.push_back({static_cast<int>(graph_.values.size() - 1), t});
    return known_.back().value;
  }
  Known AddInput(const std::vector<uint32_t>& sizes, bool constant) {
    TensorDesc t = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes);
    const int value = AddValue(t);
    Bytes bytes = Filled(t, [&](size_t) { return static_cast<double>(Up(0, 32)) / 16 - 1; });
    if (constant) {
      graph_.values[static_cast<size_t>(value)].constant = bytes;
    } else {
      graph_.values[static_cast<size_t>(value)].graph_input = static_cast<int>(graph_.input_count++);
      made_.inputs.push_back(bytes);
    }
    return known_.back();
  }
  static bool IsPacked(const TensorDesc& t) {
    TensorDesc packed = t;
    Pack(packed);
    return !t.has_strides || std::equal(t.strides.begin(), t.strides.begin() + t.rank, packed.strides.begin());
  }
  // How the next node reads the value: as it was written, or a packed one flat or in two dimensions.
  TensorDesc View(const Known& known) {
    if (!IsPacked(known.tensor) || Up(0, 3)) return known.tensor;
    const uint32_t count = static_cast<uint32_t>(known.tensor.ElementCount());
    for (uint32_t rows = Up(1, 6); rows > 0; --rows)
      if (count % rows == 0)
        return MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32,
                          rows == 1 ? std::vector<uint32_t>{count} : std::vector<uint32_t>{rows, count / rows});
    return known.tensor;
  }
  TensorDesc Output(const std::vector<uint32_t>& sizes) {
    TensorDesc t = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes);
    if (Up(0, 4)) return t;
    std::vector<uint32_t> strides(sizes.size());
    uint32_t stride = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      strides[d] = stride;
      stride *= sizes[d];
    }
    return MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes, strides);
  }
  void Finish(OperatorDesc desc, const std::vector<int>& inputs) {
    GraphNode node;
    node.inputs = inputs;
    for (int input : inputs)
      if (input >= 0) read_[static_cast<size_t>(input)] = true;
    for (const TensorDesc* t : desc.Outputs()) node.outputs.push_back(AddValue(*t));
    std::string why;
    if (FAILED(software::Validate(desc, kHighestFeatureLevel, &why))) throw Failure{"the graph is wrong: " + why + ": " + Text(desc)};
    node.desc = std::make_shared<const schema::OperatorDesc>(std::move(desc));
    graph_.nodes.push_back(std::move(node));
  }
  static void Set(OperatorDesc& desc, const char* name, const TensorDesc& t) {
    for (size_t i = 0; i < desc.fields.size(); ++i)
      if (!std::strcmp(desc.schema->fields[i].name, name)) desc.fields[i] = std::optional<TensorDesc>(t);
  }

  void AddNode() {
    const Known known =
        known_[Up(known_.size() > 6 ? static_cast<uint32_t>(known_.size()) - 6 : 0, static_cast<uint32_t>(known_.size()) - 1)];
    const TensorDesc view = View(known);
    const std::vector<uint32_t> sizes = SizesOf(view);
    switch (Up(0, 14)) {
      case 0:
      case 1:
      case 2: {
        static const char* const kUnary[] = {"ELEMENT_WISE_TANH",   "ELEMENT_WISE_SIN", "ELEMENT_WISE_ABS",   "ELEMENT_WISE_IDENTITY",
                                             "ELEMENT_WISE_NEGATE", "ACTIVATION_RELU",  "ACTIVATION_SIGMOID", "ACTIVATION_GELU"};
        OperatorDesc desc = Parse(kUnary[Up(0, 7)]);
        Set(desc, "InputTensor", view);
        Set(desc, "OutputTensor", Output(sizes));
        return Finish(std::move(desc), {known.value});
      }
      case 3:
      case 4: {  // with another value of the same sizes, or itself
        Known other = known;
        TensorDesc other_view = view;
        for (const Known& candidate : known_)
          if (SizesOf(candidate.tensor) == sizes && Up(0, 1)) {
            other = candidate;
            other_view = candidate.tensor;
          }
        OperatorDesc desc = Parse(Up(0, 1) ? "ELEMENT_WISE_ADD" : Up(0, 1) ? "ELEMENT_WISE_SUBTRACT" : "ELEMENT_WISE_MAX");
        Set(desc, "ATensor", view);
        Set(desc, "BTensor", other_view);
        Set(desc, "OutputTensor", Output(sizes));
        return Finish(std::move(desc), {known.value, other.value});
      }
      case 5: {  // with a broadcast vector
        const Known bias = AddInput({sizes.back()}, Up(0, 2) == 0);
        std::vector<uint32_t> strides(sizes.size(), 0);
        strides.back() = 1;
        TensorDesc wide = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes, strides);
        OperatorDesc desc = Parse(Up(0, 1) ? "ELEMENT_WISE_ADD" : "ELEMENT_WISE_MULTIPLY");
        Set(desc, "ATensor", view);
        Set(desc, "BTensor", wide);
        Set(desc, "OutputTensor", Output(sizes));
        return Finish(std::move(desc), {known.value, bias.value});
      }
      case 6: {  // a GEMM with weights, then tanh keeps the numbers small
        if (view.rank < 2 || view.rank > 4) return;
        const uint32_t columns = Up(1, 20);
        std::vector<uint32_t> weights = sizes, result = sizes;
        weights[sizes.size() - 2] = sizes.back();
        weights.back() = columns;
        result.back() = columns;
        const Known weight = AddInput(weights, false);
        OperatorDesc desc = Parse(Up(0, 1) ? "GEMM Alpha=0.25" : "GEMM Alpha=0.25 FusedActivation={ACTIVATION_RELU}");
        Set(desc, "ATensor", view);
        Set(desc, "BTensor", weight.tensor);
        Set(desc, "OutputTensor", MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, result));
        Finish(std::move(desc), {known.value, weight.value, -1});
        const Known gemm = known_.back();
        OperatorDesc tanh = Parse("ACTIVATION_TANH");
        Set(tanh, "InputTensor", gemm.tensor);
        Set(tanh, "OutputTensor", Output(result));
        return Finish(std::move(tanh), {gemm.value});
      }
      case 7:
      case 11: {
        std::vector<uint32_t> reduced = sizes;
        std::string axes;
        const bool sums = Up(0, 3) > 0;  // over what enumerates rows, too
        const uint32_t first = sums ? 0 : Up(0, view.rank - 1), last = sums ? Up(0, view.rank - 1) : first;
        for (uint32_t axis = first; axis <= last; ++axis) {
          if (axis > first && axis < last && Up(0, 2) == 0) continue;
          reduced[axis] = 1;
          axes += (axes.empty() ? "" : ",") + std::to_string(axis);
        }
        OperatorDesc desc = Parse(std::string("REDUCE Function=") + (sums ? "10" : "2") + " Axes=[" + axes + "]");
        Set(desc, "InputTensor", view);
        Set(desc, "OutputTensor", Output(reduced));
        return Finish(std::move(desc), {known.value});
      }
      case 8: {  // a slice, sometimes a plain range of the memory
        std::string offsets, windows, ones;
        std::vector<uint32_t> small = sizes;
        for (size_t d = 0; d < sizes.size(); ++d) {
          const uint32_t size = d == 0 || Up(0, 2) == 0 ? Up(1, sizes[d]) : sizes[d], offset = Up(0, sizes[d] - size);
          small[d] = size;
          offsets += (d ? "," : "") + std::to_string(offset);
          windows += (d ? "," : "") + std::to_string(size);
          ones += d ? ",1" : "1";
        }
        OperatorDesc desc =
            Parse("SLICE1 InputWindowOffsets=[" + offsets + "] InputWindowSizes=[" + windows + "] InputWindowStrides=[" + ones + "]");
        Set(desc, "InputTensor", view);
        Set(desc, "OutputTensor", Output(small));
        return Finish(std::move(desc), {known.value});
      }
      case 9:
      case 12: return AddConvolution();
      case 14: return AddJoin();
      case 10: {  // what is normalised along the last dimension, and its gradient
        std::vector<uint32_t> row_sizes = sizes;
        row_sizes.back() = 1;
        const Known scale = AddInput(row_sizes, false), shift = AddInput(row_sizes, false);
        OperatorDesc norm = Parse("BATCH_NORMALIZATION_TRAINING Epsilon=2");
        Set(norm, "InputTensor", view);
        Set(norm, "OutputTensor", Output(sizes));
        Set(norm, "ScaleTensor", scale.tensor);
        Set(norm, "BiasTensor", shift.tensor);
        for (const char* name : {"OutputMeanTensor", "OutputVarianceTensor"})
          Set(norm, name, MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, row_sizes));
        Finish(std::move(norm), {known.value, scale.value, shift.value, -1});
        const std::vector<Known> made(known_.end() - 3, known_.end());
        OperatorDesc grad = Parse("BATCH_NORMALIZATION_TRAINING_GRAD Epsilon=2");
        Set(grad, "InputTensor", view);
        Set(grad, "InputGradientTensor", made[0].tensor);
        Set(grad, "MeanTensor", made[1].tensor);
        Set(grad, "VarianceTensor", made[2].tensor);
        Set(grad, "ScaleTensor", scale.tensor);
        Set(grad, "OutputGradientTensor", Output(sizes));
        for (const char* name : {"OutputScaleGradientTensor", "OutputBiasGradientTensor"})
          Set(grad, name, MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, row_sizes));
        return Finish(std::move(grad), {known.value, made[0].value, made[1].value, made[2].value, scale.value});
      }
      default: {
        OperatorDesc desc = Parse("ACTIVATION_SOFTMAX1 Axes=[" + std::to_string(view.rank - 1) + "]");
        Set(desc, "InputTensor", view);
        Set(desc, "OutputTensor", Output(sizes));
        return Finish(std::move(desc), {known.value});
      }
    }
  }

  // As it is, for others to read and as an output. known is a copy, since a value is added.
  void Show(Known known) {
    OperatorDesc desc = Parse("ELEMENT_WISE_IDENTITY");
    Set(desc, "InputTensor", known.tensor);
    Set(desc, "OutputTensor", known.tensor);
    Finish(std::move(desc), {known.value});
    AddOutput(known_.back());
  }
  void AddOutput(const Known& known) {
    graph_.values[static_cast<size_t>(known.value)].graph_outputs.push_back(static_cast<int>(graph_.output_count++));
    made_.outputs.push_back(known.tensor);
  }

  // Values behind each other, as a flat one: what follows it may read any of them.
  void AddJoin() {
    std::vector<Known> parts;
    uint32_t count = 0;
    for (const Known& known : known_)
      if (parts.size() < 5 && IsPacked(known.tensor) && Up(0, known_.size() > 8 ? 3 : 1)) parts.push_back(known);
    if (parts.empty()) return;
    std::vector<TensorDesc> tensors;
    std::vector<int> inputs;
    for (const Known& part : parts) {
      const auto elements = static_cast<uint32_t>(part.tensor.ElementCount());
      tensors.push_back(MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, {elements}));
      inputs.push_back(part.value);
      count += elements;
    }
    OperatorDesc desc = Parse("JOIN Axis=0");
    for (size_t i = 0; i < desc.fields.size(); ++i)
      if (!std::strcmp(desc.schema->fields[i].name, "InputTensors")) desc.fields[i] = tensors;
    Set(desc, "OutputTensor", MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, {count}));
    Finish(std::move(desc), inputs);
  }

  // A convolution in either direction, and some of what may go into it: normalisation, an addition, an activation.
  void AddConvolution() {
    const bool has_tiles = Up(0, 3) == 0;                    // large enough for Winograd's
    const bool has_long_rows = !has_tiles && Up(0, 4) == 0;  // for taps, as the gradient of a filter has
    const bool is_other = !has_tiles && !has_long_rows;
    const bool backward = !has_long_rows && Up(0, 2) == 0, is_depthwise = is_other && Up(0, 2) == 0, pads = backward && Up(0, 3) == 0;
    const uint32_t kernel = has_tiles ? 3 : has_long_rows ? Up(8, 14) : Up(1, 3), stride = is_other ? Up(1, 2) : 1;
    const uint32_t padding = Up(0, std::min(kernel - 1, 2u)), dilation = has_tiles ? 1 : Up(1, 2);
    const uint32_t groups = !is_other ? 1 : is_depthwise ? Up(1, 5) : Up(1, 2), images = Up(1, 3);
    const uint32_t channels = has_tiles ? Up(24, 40) : groups * (is_depthwise ? 1 : Up(1, 4));
    const uint32_t results = has_tiles ? Up(24, 70) : groups * (is_depthwise ? 1 : Up(1, 20));
    const uint32_t reach = dilation * (kernel - 1) + 1, min_size = has_tiles ? 8 : 0;
    std::vector<uint32_t> in{images, channels, reach + min_size + Up(0, 9), reach + min_size + Up(0, is_other ? 30 : 9)},
        out{images, results, 0, 0};
    for (size_t d = 2; d < 4; ++d)
      out[d] = backward ? (in[d] - 1) * stride + reach - 2 * padding + (pads ? 1 : 0) : (in[d] + 2 * padding - reach) / stride + 1;
    for (uint32_t size : out)
      if (size < 1 || size > 200) return;
    const std::string two = std::to_string(stride), pad = std::to_string(padding), dilate = std::to_string(dilation);
    const Known x = AddInput(in, false);
    const Known filter = AddInput(backward ? std::vector<uint32_t>{channels, results / groups, kernel, kernel}
                                           : std::vector<uint32_t>{results, channels / groups, kernel, kernel},
                                  false);
    OperatorDesc desc = Parse("CONVOLUTION Mode=1 Direction=" + std::string(backward ? "1" : "0") + " Strides=[" + two + "," + two +
                              "] Dilations=[" + dilate + "," + dilate + "] StartPadding=[" + pad + "," + pad + "] EndPadding=[" + pad +
                              "," + pad + "] OutputPadding=" + (pads ? "[1,1]" : "[0,0]") + " GroupCount=" + std::to_string(groups));
    Set(desc, "InputTensor", x.tensor);
    Set(desc, "FilterTensor", filter.tensor);
    Set(desc, "OutputTensor", MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, out));
    const std::vector<uint32_t> each{1, results, 1, 1};
    int bias = -1;
    if (!has_long_rows && Up(0, 2) == 0) {
      const Known known = AddInput(each, false);
      Set(desc, "BiasTensor", known.tensor);
      bias = known.value;
    }
    Finish(std::move(desc), {x.value, filter.value, bias});
    if (!has_long_rows && Up(0, 2)) {
      const Known before = known_.back();
      OperatorDesc norm = Parse(Up(0, 3) ? "BATCH_NORMALIZATION Spatial=1 Epsilon=2"
                                         : "BATCH_NORMALIZATION Spatial=1 Epsilon=2 FusedActivation={ACTIVATION_RELU}");
      Set(norm, "InputTensor", before.tensor);
      std::vector<int> inputs{before.value};
      for (const char* name : {"MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor"}) {
        const Known known = AddInput(each, Up(0, 4) == 0);
        Set(norm, name, known.tensor);
        inputs.push_back(known.value);
      }
      Set(norm, "OutputTensor", Output(out));
      Finish(std::move(norm), inputs);
    }
    if (Up(0, 2)) {
      const Known before = known_.back(), added = AddInput(Up(0, 3) ? out : each, false);
      TensorDesc wide = added.tensor;
      if (SizesOf(wide) != out) wide = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, out, {0, 1, 0, 0});
      OperatorDesc add = Parse(Up(0, 3) ? "ELEMENT_WISE_ADD" : "ELEMENT_WISE_ADD1 FusedActivation={ACTIVATION_RELU}");
      Set(add, "ATensor", before.tensor);
      Set(add, "BTensor", wide);
      Set(add, "OutputTensor", Output(out));
      Finish(std::move(add), {before.value, added.value});
    }
    if (Up(0, 2) == 0) {
      Hold(known_.back(), out);
    } else if (Up(0, 2)) {
      const Known before = known_.back();
      OperatorDesc relu = Parse(Up(0, 1) ? "ACTIVATION_THRESHOLDED_RELU Alpha=0" : "ACTIVATION_RELU");
      Set(relu, "InputTensor", before.tensor);
      Set(relu, "OutputTensor", Output(out));
      Finish(std::move(relu), {before.value});
    }
  }

  // Between two numbers, where NaN stays; sometimes not quite so. x is a copy, since values are added meanwhile.
  void Hold(Known x, const std::vector<uint32_t>& sizes) {
    auto number = [&] {
      Known known = AddInput({1}, Up(0, 3) == 0);
      known.tensor = MakeTensor(DML_TENSOR_DATA_TYPE_FLOAT32, sizes, std::vector<uint32_t>(sizes.size(), 0));
      return known;
    };
    auto limit = [&](const char* which, const Known& of) {
      const Known edge = number();
      const bool first = Up(0, 3) == 0;
      OperatorDesc desc = Parse(which);
      Set(desc, "ATensor", first ? edge.tensor : of.tensor);
      Set(desc, "BTensor", first ? of.tensor : edge.tensor);
      Set(desc, "OutputTensor", of.tensor);
      if (first) Finish(std::move(desc), {edge.value, of.value});
      else Finish(std::move(desc), {of.value, edge.value});
      return known_.back();
    };
    const Known raised = limit("ELEMENT_WISE_MAX", x), lowered = limit("ELEMENT_WISE_MIN", raised);
    OperatorDesc test = Parse("ELEMENT_WISE_IS_NAN");
    Set(test, "InputTensor", x.tensor);
    Set(test, "OutputTensor", MakeTensor(DML_TENSOR_DATA_TYPE_UINT8, sizes));
    Finish(std::move(test), {x.value});
    const Known nan = known_.back();
    known_.pop_back();  // of another type: for no node but the next
    OperatorDesc choose = Parse("ELEMENT_WISE_IF");
    const bool swapped = Up(0, 7) == 0;
    Set(choose, "ConditionTensor", nan.tensor);
    Set(choose, "ATensor", swapped ? lowered.tensor : x.tensor);
    Set(choose, "BTensor", swapped ? x.tensor : lowered.tensor);
    Set(choose, "OutputTensor", Output(sizes));
    if (swapped) Finish(std::move(choose), {nan.value, lowered.value, x.value});
    else Finish(std::move(choose), {nan.value, x.value, lowered.value});
  }

  std::mt19937& random_;
  RandomGraph& made_;
  Graph& graph_;
  std::vector<Known> known_;
  std::vector<bool> read_;
};

}  // namespace

RandomGraph MakeRandomGraph(std::mt19937& random, unsigned nodes, bool shows_inputs) {
  RandomGraph made;
  GraphMaker(random, &made).Make(nodes, shows_inputs);
  return made;
}

}  // namespace dxtensor::test
