// Layout pass: values between a graph's convolutions become NHWC where all their readers and writers allow it. Convolutions then need no
// packing of their input and no whole vectors of columns (implicit_gemm_nhwc.h).
//
// A tensor's layout is its strides: the pass changes descriptions only, and every kernel computes the same from them.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "software/cpu/fast/conv/convolution_problem.h"
#include "software/cpu/fast/elementwise/elementwise.h"
#include "graph.h"

namespace dxtensor::software {

namespace {

using schema::TensorDesc;

// Multiply-adds of convolutions by element that is transposed at the edges of an NHWC region.
// From 1/4 to 4 times within the noise of 8 % for ResNet-50 and MobileNetV2, batch 1 (AVX-512, 1 thread); kFewChannels 2 and 32 too.
constexpr double kWorkPerElement = 256;
constexpr uint64_t kMaxElements = 1u << 31;
constexpr uint32_t kFewChannels = 8;  // of an input that costs almost nothing to transpose

bool IsPlane(const TensorDesc& t) { return t.rank == 4 && static_cast<uint64_t>(t.sizes[2]) * t.sizes[3] > 1; }
bool IsBroadcast(const TensorDesc& t) {
  for (uint32_t d = 0; d < t.rank; ++d)
    if (t.sizes[d] > 1 && t.strides[d] == 0) return true;
  return false;
}
bool IsPacked4D(const TensorDesc& t) { return t.rank == 4 && t.IsPacked(); }

// The tensors of a description, by slot.
std::vector<TensorDesc*> TensorsOf(schema::OperatorDesc* desc, schema::FieldKind kind) {
  std::vector<TensorDesc*> tensors;
  for (size_t i = 0; i < desc->fields.size(); ++i) {
    const schema::FieldSchema& field = desc->schema->fields[i];
    if (field.kind != kind) continue;
    if (field.type == schema::FieldType::TensorArray) {
      for (TensorDesc& t : std::get<std::vector<TensorDesc>>(desc->fields[i])) tensors.push_back(&t);
    } else if (field.type == schema::FieldType::Tensor) {
      auto& t = std::get<std::optional<TensorDesc>>(desc->fields[i]);
      tensors.push_back(t ? &*t : nullptr);
    }
  }
  return tensors;
}

// Whether it is all channels of the first rows and columns of packed planes: what a strided convolution reads of them may end before they
// do.
bool IsPartOf(const TensorDesc& t, const TensorDesc& planes) {
  if (t.rank != 4 || t.sizes[0] != planes.sizes[0] || t.sizes[1] != planes.sizes[1]) return false;
  if (t.sizes[2] > planes.sizes[2] || t.sizes[3] > planes.sizes[3]) return false;
  for (uint32_t d = 0; d < 4; ++d)
    if (t.sizes[d] != 1 && t.strides[d] != planes.strides[d]) return false;
  return true;
}
bool SamePlanes(const TensorDesc& a, const TensorDesc& b) {
  return a.rank == 4 && std::equal(a.sizes.begin(), a.sizes.begin() + 4, b.sizes.begin());
}

enum class Role {
  Foreign,      // its values stay as they are
  Convolution,  // reads one layout and writes another where it must
  Same,         // all its planes have one layout
};

class LayoutPass {
 public:
  explicit LayoutPass(Graph* graph)
      : graph_(*graph), uses_(graph->values.size()), chosen_(graph->values.size()), sizes_(graph->values.size()) {}

  void Run() {
    size_t convolutions = 0;
    for (const GraphNode& node : graph_.nodes) convolutions += node.desc->type() == DML_OPERATOR_CONVOLUTION;
    if (convolutions < 2) return;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (size_t i = 0; i < graph_.nodes[n].inputs.size(); ++i) Use(graph_.nodes[n].inputs[i], n, i, false);
      for (size_t i = 0; i < graph_.nodes[n].outputs.size(); ++i) Use(graph_.nodes[n].outputs[i], n, i, true);
    }
    for (const GraphNode& node : graph_.nodes) roles_.push_back(RoleOf(node));
    for (size_t v = 0; v < uses_.size(); ++v) {
      chosen_[v] = CanBe(v);
      if (chosen_[v]) std::copy_n(TensorOf(uses_[v][0])->sizes.begin(), 4, sizes_[v].begin());
    }
    Settle();
    WeighRegions();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) LayOut(&graph_.nodes[n]);
  }

 private:
  struct User {
    size_t node, slot;
    bool writes;
  };

  void Use(int value, size_t node, size_t slot, bool writes) {
    if (value >= 0) uses_[static_cast<size_t>(value)].push_back({node, slot, writes});
  }
  const TensorDesc* TensorOf(const User& user) const {
    const schema::OperatorDesc& desc = *graph_.nodes[user.node].desc;
    return (user.writes ? desc.Outputs() : desc.Inputs())[user.slot];
  }

  static bool IsDepthwise(const schema::OperatorDesc& desc) {
    return desc.UInt("GroupCount") > 1 && desc.Inputs()[0]->sizes[1] == desc.UInt("GroupCount") &&
           desc.Outputs()[0]->sizes[1] == desc.UInt("GroupCount");
  }
  static Role RoleOf(const GraphNode& node) {
    const schema::OperatorDesc& desc = *node.desc;
    const auto inputs = desc.Inputs(), outputs = desc.Outputs();
    switch (desc.type()) {
      case DML_OPERATOR_CONVOLUTION: {
        for (const TensorDesc* t : {inputs[0], inputs[1], outputs[0]})
          if (t->data_type != DML_TENSOR_DATA_TYPE_FLOAT32 || t->rank != 4) return Role::Foreign;
        for (uint32_t padding : desc.UInts("OutputPadding"))
          if (padding) return Role::Foreign;
        if (desc.UInt("Direction") != DML_CONVOLUTION_DIRECTION_FORWARD) return Role::Foreign;
        if (desc.UInt("GroupCount") == 1) return Role::Convolution;
        if (IsDepthwise(desc) || outputs[0]->sizes[1] / desc.UInt("GroupCount") % fast::kMaxWidth == 0) return Role::Same;
        return Role::Foreign;
      }
      case DML_OPERATOR_MAX_POOLING:
      case DML_OPERATOR_MAX_POOLING1:
      case DML_OPERATOR_MAX_POOLING2:
      case DML_OPERATOR_AVERAGE_POOLING:
      case DML_OPERATOR_AVERAGE_POOLING1:
        if (outputs.size() > 1 && outputs[1]) return Role::Foreign;
        return inputs[0]->data_type == DML_TENSOR_DATA_TYPE_FLOAT32 ? Role::Same : Role::Foreign;
      case DML_OPERATOR_BATCH_NORMALIZATION: return Role::Same;
      case DML_OPERATOR_REDUCE: return IsPlane(*outputs[0]) ? Role::Foreign : Role::Same;
      default: return fast::IsElementwise(desc) ? Role::Same : Role::Foreign;
    }
  }

  // Whether nobody outside sees the value, and all within the graph as the same packed planes, or a convolution as a part of them.
  bool CanBe(size_t value) const {
    const GraphValue& v = graph_.values[value];
    if (v.graph_input >= 0 || !v.graph_outputs.empty() || !v.constant.empty() || uses_[value].empty()) return false;
    const TensorDesc& first = *TensorOf(uses_[value][0]);
    const auto step = static_cast<uint64_t>(fast::PixelStride(first.sizes[1])), channels = static_cast<uint64_t>(first.sizes[1]);
    if (!IsPlane(first) || !IsPacked4D(first) || step * 5 > channels * 8 || first.ElementCount() / channels * step > kMaxElements)
      return false;
    for (const User& user : uses_[value]) {
      const TensorDesc& t = *TensorOf(user);
      if (roles_[user.node] == Role::Foreign || !IsPartOf(t, first) || t.data_type != first.data_type) return false;
      const DML_OPERATOR_TYPE type = graph_.nodes[user.node].desc->type();
      if ((type != DML_OPERATOR_CONVOLUTION || user.writes) && !SamePlanes(t, first)) return false;
      if ((type == DML_OPERATOR_CONVOLUTION || type == DML_OPERATOR_BATCH_NORMALIZATION) && !user.writes && user.slot > 0) return false;
      // One that is not part of a convolution's end has a kernel that runs along planes.
      if (type == DML_OPERATOR_BATCH_NORMALIZATION && !FollowsConvolution(graph_.nodes[user.node])) return false;
    }
    return true;
  }
  bool FollowsConvolution(const GraphNode& norm) const {
    const std::vector<User>& uses = uses_[static_cast<size_t>(norm.inputs[0])];
    auto writes = [&](const User& u) { return u.writes && graph_.nodes[u.node].desc->type() == DML_OPERATOR_CONVOLUTION; };
    return uses.size() == 2 && std::any_of(uses.begin(), uses.end(), writes);
  }

  bool IsChosen(int value) const { return value >= 0 && chosen_[static_cast<size_t>(value)]; }

  static bool IsFilter(const GraphNode& node, const TensorDesc* t) {
    return node.desc->type() == DML_OPERATOR_CONVOLUTION && t == node.desc->Inputs()[1];
  }

  // Gives up values until each node that wants one layout has one.
  void Settle() {
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t n = 0; n < graph_.nodes.size(); ++n) {
        if (roles_[n] != Role::Same) continue;
        const GraphNode& node = graph_.nodes[n];
        bool is_mixed = false;
        std::vector<int> chosen;
        auto look = [&](const std::vector<const TensorDesc*>& tensors, const std::vector<int>& values) {
          for (size_t i = 0; i < tensors.size(); ++i) {
            if (!tensors[i]) continue;
            if (IsChosen(values[i])) chosen.push_back(values[i]);
            else is_mixed |= IsPlane(*tensors[i]) && !IsBroadcast(*tensors[i]) && !IsFilter(node, tensors[i]);
          }
        };
        look(node.desc->Inputs(), node.inputs);
        look(node.desc->Outputs(), node.outputs);
        if (!is_mixed || chosen.empty()) continue;
        for (int v : chosen) chosen_[static_cast<size_t>(v)] = false;
        changes = true;
      }
    }
  }

  static double Elements(const TensorDesc& t) { return static_cast<double>(t.ElementCount()); }

  // Keeps the NHWC regions in which convolutions gain more than the transposes at the edges cost.
  void WeighRegions() {
    std::vector<int> region(graph_.values.size());
    std::iota(region.begin(), region.end(), 0);
    auto find = [&](int v) {
      while (region[static_cast<size_t>(v)] != v)
        v = region[static_cast<size_t>(v)] = region[static_cast<size_t>(region[static_cast<size_t>(v)])];
      return v;
    };
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      int first = -1;
      for (const auto* values : {&graph_.nodes[n].inputs, &graph_.nodes[n].outputs})
        for (int v : *values) {
          if (!IsChosen(v)) continue;
          if (first < 0) first = v;
          else region[static_cast<size_t>(find(v))] = find(first);
        }
    }
    struct Weight {
      double work = 0, transposed = 0;
      int inside = 0, edges = 0;
    };
    std::vector<Weight> weights(graph_.values.size());
    for (const GraphNode& node : graph_.nodes) {
      if (node.desc->type() != DML_OPERATOR_CONVOLUTION) continue;
      const TensorDesc &in = *node.desc->Inputs()[0], &filter = *node.desc->Inputs()[1], &out = *node.desc->Outputs()[0];
      const bool reads = IsChosen(node.inputs[0]), writes = IsChosen(node.outputs[0]);
      if (!reads && !writes) continue;
      Weight& weight = weights[static_cast<size_t>(find(reads ? node.inputs[0] : node.outputs[0]))];
      weight.work += Elements(out) * filter.sizes[1] * filter.sizes[2] * filter.sizes[3];
      if ((reads && writes) || (writes && in.sizes[1] <= kFewChannels)) {
        ++weight.inside;
        continue;
      }
      if (reads && !IsPlane(out)) continue;
      ++weight.edges;
      weight.transposed += reads ? Elements(out) : Elements(in);
    }
    for (size_t v = 0; v < chosen_.size(); ++v) {
      if (!chosen_[v]) continue;
      const Weight& weight = weights[static_cast<size_t>(find(static_cast<int>(v)))];
      chosen_[v] = weight.inside > 0 && weight.inside >= weight.edges && weight.work >= kWorkPerElement * weight.transposed;
    }
  }

  void LayOut(GraphNode* node) {
    auto is_chosen = [&](int value) { return IsChosen(value); };
    if (std::none_of(node->inputs.begin(), node->inputs.end(), is_chosen) &&
        std::none_of(node->outputs.begin(), node->outputs.end(), is_chosen))
      return;
    auto desc = std::make_shared<schema::OperatorDesc>(*node->desc);
    const std::vector<TensorDesc*> inputs = TensorsOf(desc.get(), schema::FieldKind::Input);
    const std::vector<TensorDesc*> outputs = TensorsOf(desc.get(), schema::FieldKind::Output);
    auto transpose = [&](const std::vector<TensorDesc*>& tensors, const std::vector<int>& values) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (!IsChosen(values[i])) continue;
        TensorDesc& t = *tensors[i];
        const std::array<uint32_t, 4>& whole = sizes_[static_cast<size_t>(values[i])];
        t.strides[1] = 1;
        t.strides[3] = static_cast<uint32_t>(fast::PixelStride(whole[1]));
        t.strides[2] = t.strides[3] * whole[3];
        t.strides[0] = t.strides[2] * whole[2];
        t.has_strides = true;
        t.size_in_bytes = static_cast<uint64_t>(t.strides[0]) * whole[0] * schema::BytesPerElement(t.data_type);
        GraphValue& value = graph_.values[static_cast<size_t>(values[i])];
        value.size_in_bytes = t.size_in_bytes;
        value.is_padded = true;
      }
    };
    transpose(inputs, node->inputs);
    transpose(outputs, node->outputs);
    node->desc = std::move(desc);
  }

  Graph& graph_;
  std::vector<std::vector<User>> uses_;         // of each value
  std::vector<Role> roles_;                     // of each node
  std::vector<char> chosen_;                    // values that become NHWC
  std::vector<std::array<uint32_t, 4>> sizes_;  // of these
};

}  // namespace

void LayOut(Graph* graph) {
  const char* plain = std::getenv("DXTENSOR_SOFTWARE_PLAIN");
  if (!plain || plain[0] != '1') LayoutPass(graph).Run();
}

}  // namespace dxtensor::software
