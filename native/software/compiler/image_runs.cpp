// Steps of a fused graph that treat the images of a batch alike, for one image after the other.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "software/cpu/fast/elementwise/elementwise.h"
#include "graph.h"

namespace dxtensor::software {

namespace {

using schema::TensorDesc;

constexpr uint64_t kNoChains = UINT64_MAX;
constexpr double kWinogradGrowth = 4;  // of a filter: 36 positions for 9 taps

uint64_t BytesOf(const TensorDesc& t) { return t.ElementCount() * schema::BytesPerElement(t.data_type); }

// Bytes from one to the other end of an image.
uint64_t ExtentOf(const TensorDesc& t) {
  uint64_t last = 0;
  for (uint32_t d = 1; d < t.rank; ++d) last += static_cast<uint64_t>(t.sizes[d] - 1) * t.strides[d];
  return (last + 1) * schema::BytesPerElement(t.data_type);
}

// How a value comes by images: the bytes from one to the next, and that all of one take.
struct Steps {
  uint64_t stride, extent;
};
// What a step reads and writes; nothing where all images share it.
using Strides = std::map<int, std::optional<Steps>>;

// Notes how another tensor describes the value: false where its images are at other offsets. One may be a part of an image.
bool AddSteps(Strides* strides, int value, const std::optional<Steps>& steps) {
  const auto [at, inserted] = strides->insert({value, steps});
  if (inserted || (!at->second && !steps)) return true;
  if (!at->second || !steps || at->second->stride != steps->stride) return false;
  at->second->extent = std::max(at->second->extent, steps->extent);
  return true;
}

struct Images {
  uint32_t count = 0;
  Strides strides;
  bool convolves = false;
  double bytes = 0, shared_bytes = 0;  // of an image; of what all share
  uint64_t largest = 0;                // of an image's tensors
};

bool IsPooling(const schema::OperatorDesc& desc) {
  switch (desc.type()) {
    case DML_OPERATOR_MAX_POOLING:
    case DML_OPERATOR_MAX_POOLING1:
    case DML_OPERATOR_MAX_POOLING2:
    case DML_OPERATOR_AVERAGE_POOLING:
    case DML_OPERATOR_AVERAGE_POOLING1: return desc.Outputs().size() == 1 || !desc.Outputs()[1];
    default: return false;
  }
}

// How many inputs of a node come by images: the first ones; the others are shared. -1: it does not treat images alike.
int InputsByImages(const schema::OperatorDesc& desc) {
  if (desc.type() == DML_OPERATOR_CONVOLUTION || desc.type() == DML_OPERATOR_BATCH_NORMALIZATION || IsPooling(desc)) return 1;
  return fast::IsElementwise(desc) ? static_cast<int>(desc.Inputs().size()) : -1;
}

// Adds a node's tensors to what is known of its step's. False where they do not come by the same images.
bool AddNode(const GraphNode& node, Images* images) {
  const TensorDesc* first = node.desc.Outputs()[0];
  if (!first || first->rank != 4) return false;
  const int by_images = InputsByImages(node.desc);
  if (by_images < 0) return false;
  images->convolves |= node.desc.type() == DML_OPERATOR_CONVOLUTION;
  const auto inputs = node.desc.Inputs(), outputs = node.desc.Outputs();
  if (!images->count) images->count = outputs[0]->sizes[0];
  if (images->count != outputs[0]->sizes[0]) return false;
  auto add = [&](int value, const TensorDesc& t, bool comes) {
    if (comes && (t.rank != 4 || t.sizes[0] != images->count)) return false;
    std::optional<Steps> stride;
    if (comes) stride = Steps{static_cast<uint64_t>(t.strides[0]) * schema::BytesPerElement(t.data_type), ExtentOf(t)};
    const bool is_new = !images->strides.count(value);
    if (!AddSteps(&images->strides, value, stride)) return false;
    if (!is_new) return true;
    const bool has_own = comes && t.strides[0] != 0;
    const uint64_t bytes = has_own ? BytesOf(t) / images->count : 0;
    images->bytes += static_cast<double>(bytes);
    images->largest = std::max(images->largest, bytes);
    if (!has_own) {
      const bool grows = node.desc.type() == DML_OPERATOR_CONVOLUTION && t.rank == 4 && t.sizes[2] == 3 && t.sizes[3] == 3;
      images->shared_bytes += static_cast<double>(comes ? 0 : BytesOf(t)) * (grows ? kWinogradGrowth : 1);
    }
    return true;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && !add(node.inputs[i], *inputs[i], static_cast<int>(i) < by_images)) return false;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] && node.outputs[i] >= 0 && !add(node.outputs[i], *outputs[i], true)) return false;
  return true;
}

class ImageRuns {
 public:
  ImageRuns(Graph* graph, std::vector<GraphStep>* steps, uint64_t image_bytes)
      : graph_(*graph), steps_(*steps), image_bytes_(image_bytes), last_reader_(graph->values.size(), -1) {
    for (size_t s = 0; s < steps_.size(); ++s)
      for (const GraphOperand& o : steps_[s].inputs)
        if (o.value >= 0) last_reader_[static_cast<size_t>(o.value)] = static_cast<int>(s);
  }

  void Run() {
    std::vector<GraphStep> made;
    for (size_t s = 0; s < steps_.size();) {
      Images all;
      size_t end = s;
      while (end < steps_.size() && Joins(steps_[end], &all)) ++end;
      if (end - s < 2 || !all.convolves || !Emit(s, end, all, &made)) {
        end = std::max(end, s + 1);
        for (; s < end; ++s) made.push_back(std::move(steps_[s]));
      }
      s = end;
    }
    steps_ = std::move(made);
  }

 private:
  // Whether a step can be part of a run whose tensors are `all`, which then has its too.
  bool Joins(const GraphStep& step, Images* all) const {
    Images own;
    for (int n : step.nodes)
      if (!AddNode(graph_.nodes[static_cast<size_t>(n)], &own)) return false;
    if (own.count < 2 || own.largest < image_bytes_ || own.shared_bytes > own.bytes) return false;
    // A node that vanished has moved an operand: it is in another value's memory.
    for (const auto* operands : {&step.inputs, &step.outputs})
      for (const GraphOperand& o : *operands)
        if (o.value >= 0 && (o.offset || !own.strides.count(o.value))) return false;
    Images both = *all;
    if (!both.count) both.count = own.count;
    if (both.count != own.count) return false;
    for (const auto& [value, stride] : own.strides)
      if (!AddSteps(&both.strides, value, stride)) return false;
    both.convolves |= own.convolves;
    *all = std::move(both);
    return true;
  }

  static schema::OperatorDesc OneImage(const schema::OperatorDesc& desc) {
    schema::OperatorDesc one = desc;
    const int by_images = InputsByImages(desc);
    int input = 0;
    for (size_t i = 0; i < one.fields.size(); ++i) {
      const schema::FieldSchema& field = one.schema->fields[i];
      if (field.type != schema::FieldType::Tensor) continue;
      const bool comes = field.kind == schema::FieldKind::Output || input < by_images;
      input += field.kind == schema::FieldKind::Input;
      auto& t = std::get<std::optional<TensorDesc>>(one.fields[i]);
      if (!t || !comes) continue;
      t->sizes[0] = 1;
      t->has_strides = true;
    }
    return one;
  }

  // The steps [first, last) for each image; false where they do not become steps of one.
  bool Emit(size_t first, size_t last, const Images& all, std::vector<GraphStep>* made) {
    std::set<int> nodes, written, made_here;
    for (size_t s = first; s < last; ++s) {
      nodes.insert(steps_[s].nodes.begin(), steps_[s].nodes.end());
      for (const GraphOperand& o : steps_[s].outputs)
        if (o.value >= 0) written.insert(o.value);  // an optional one may be absent
    }
    // A graph of one image, whose values bear the same numbers.
    Graph image;
    image.values.resize(graph_.values.size());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      image.values[v].size_in_bytes = graph_.values[v].size_in_bytes;
      image.values[v].is_padded = graph_.values[v].is_padded;
    }
    for (int n : nodes)
      for (int v : graph_.nodes[static_cast<size_t>(n)].outputs) made_here.insert(v);
    std::set<int> inside;
    for (int v : written) {
      const GraphValue& value = graph_.values[static_cast<size_t>(v)];
      if (value.graph_outputs.empty() && last_reader_[static_cast<size_t>(v)] < static_cast<int>(last)) inside.insert(v);
      else image.values[static_cast<size_t>(v)].graph_outputs.push_back(static_cast<int>(image.output_count++));
    }
    for (int n : nodes) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      for (int v : node.inputs)
        if (v >= 0 && !made_here.count(v) && image.values[static_cast<size_t>(v)].graph_input < 0)
          image.values[static_cast<size_t>(v)].graph_input = static_cast<int>(image.input_count++);
      image.nodes.push_back({OneImage(node.desc), node.inputs, node.outputs, static_cast<uint32_t>(n)});
    }
    const char* unsupported = nullptr;
    const std::vector<GraphStep> of_image = Fuse(image, &unsupported, kNoChains);
    for (const GraphStep& step : of_image)
      for (const auto* operands : {&step.inputs, &step.outputs})
        for (const GraphOperand& o : *operands)
          if (o.value >= 0 && (o.offset || !all.strides.count(o.value))) return false;
    if (of_image.empty()) return false;
    for (uint32_t i = 0; i < all.count; ++i)
      for (const GraphStep& step : of_image) {
        GraphStep copy = step;
        for (int& n : copy.nodes) n = static_cast<int>(image.nodes[static_cast<size_t>(n)].index);
        for (auto* operands : {&copy.inputs, &copy.outputs})
          for (GraphOperand& o : *operands) {
            if (o.value < 0 || inside.count(o.value)) continue;
            const auto& stride = all.strides.at(o.value);
            if (stride) o.offset = i * stride->stride;
          }
        made->push_back(std::move(copy));
      }
    for (int v : inside) {
      uint64_t& size = graph_.values[static_cast<size_t>(v)].size_in_bytes;
      const Steps& of = *all.strides.at(v);
      size = std::min(size, std::max(of.stride, of.extent));
    }
    return true;
  }

  Graph& graph_;
  std::vector<GraphStep>& steps_;
  const uint64_t image_bytes_;
  std::vector<int> last_reader_;  // step of each value
};

}  // namespace

void RunByImages(Graph* graph, std::vector<GraphStep>* steps, uint64_t image_bytes) {
  const char* plain = std::getenv("DXTENSOR_SOFTWARE_PLAIN");
  if (plain && plain[0] == '1') return;
  ImageRuns(graph, steps, image_bytes).Run();
}

}  // namespace dxtensor::software
