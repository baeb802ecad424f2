// DirectML's rules for a graph description, and its translation into values and nodes in order of execution.
#include <algorithm>

#include "software/d3d12/trace.h"
#include "compile.h"

namespace dxtensor::software {

namespace {

class Reader {
 public:
  Reader(const DML_GRAPH_DESC& desc, uint32_t feature_level, DescribeOperator describe, Graph* graph, std::vector<BindingSlot>* slots)
      : desc_(desc), level_(feature_level), describe_(describe), graph_(*graph), slots_(*slots) {}

  HRESULT Read() {
    bool good = ReadNodes() && ReadInputEdges() && ReadEdges() && ReadOutputEdges() && CheckConnected() && CheckOverwriting() && Sort();
    if (good) return S_OK;
    Trace("CompileGraph: " + why_);
    return E_INVALIDARG;
  }

 private:
  struct Node {
    std::shared_ptr<const schema::OperatorDesc> desc;  // null: a constant
    std::vector<const schema::TensorDesc*> input_tensors, output_tensors;
    std::vector<int> inputs, outputs;  // values
    std::vector<int> sources;          // of each input: the node that an edge comes from, -1 for a graph input
    std::vector<size_t> before;        // nodes whose outputs it reads
    bool used = false;                 // of a constant
  };

  bool Fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  int AddValue(uint64_t size) {
    graph_.values.emplace_back();
    graph_.values.back().size_in_bytes = size;
    return static_cast<int>(graph_.values.size() - 1);
  }

  bool ReadNodes() {
    if (!desc_.NodeCount || !desc_.Nodes) return Fail("the graph has no nodes");
    if (!desc_.OutputEdgeCount || !desc_.OutputEdges) return Fail("the graph has no output edges");
    if ((desc_.InputEdgeCount && !desc_.InputEdges) || (desc_.IntermediateEdgeCount && !desc_.IntermediateEdges))
      return Fail("an array of edges is null");
    graph_.input_count = desc_.InputCount;
    graph_.output_count = desc_.OutputCount;
    for (UINT i = 0; i < desc_.NodeCount; ++i) {
      const DML_GRAPH_NODE_DESC& from = desc_.Nodes[i];
      if (!from.Desc) return Fail("a node's description is null");
      Node node;
      if (from.Type == DML_GRAPH_NODE_TYPE_OPERATOR) {
        IDMLOperator* op = static_cast<const DML_OPERATOR_GRAPH_NODE_DESC*>(from.Desc)->Operator;
        if (!op) return Fail("a node's operator is null");
        node.desc = describe_(op);
        node.input_tensors = node.desc->Inputs();
        node.output_tensors = node.desc->Outputs();
        node.inputs.assign(node.input_tensors.size(), -1);
        node.outputs.assign(node.output_tensors.size(), -1);
        node.sources.assign(node.input_tensors.size(), -1);
      } else if (static_cast<UINT>(from.Type) == DML_GRAPH_NODE_TYPE_CONSTANT && level_ >= 0x6200) {
        auto* constant = static_cast<const DML_CONSTANT_DATA_GRAPH_NODE_DESC*>(from.Desc);
        if (!constant->Data || !constant->DataSize) return Fail("a constant node has no data");
        auto* bytes = static_cast<const uint8_t*>(constant->Data);
        int value = AddValue(constant->DataSize);
        graph_.values.back().constant.assign(bytes, bytes + constant->DataSize);
        node.outputs.push_back(value);
      } else {
        return Fail("a node has an unknown type");
      }
      nodes_.push_back(std::move(node));
    }
    return true;
  }

  // The input of a node that an edge goes to; null when there is none, or it is connected already.
  const schema::TensorDesc* Target(UINT node, UINT input) {
    if (node >= nodes_.size() || input >= nodes_[node].input_tensors.size()) {
      Fail("an edge goes to a node or input that is not there");
      return nullptr;
    }
    const schema::TensorDesc* tensor = nodes_[node].input_tensors[input];
    if (!tensor) Fail("an edge goes to an optional input that the operator does not have");
    else if (nodes_[node].inputs[input] >= 0) Fail("two edges go to one input");
    else return tensor;
    return nullptr;
  }

  // The value of a node's output, made at its first use; -1 when there is none.
  int Source(UINT node, UINT output) {
    if (node >= nodes_.size() || output >= nodes_[node].outputs.size()) {
      Fail("an edge comes from a node or output that is not there");
      return -1;
    }
    Node& from = nodes_[node];
    if (!from.desc) return from.outputs[0];
    if (!from.output_tensors[output]) {
      Fail("an edge comes from an optional output that the operator does not have");
      return -1;
    }
    if (from.outputs[output] < 0) {
      int value = AddValue(from.output_tensors[output]->size_in_bytes);
      from.outputs[output] = value;
    }
    return from.outputs[output];
  }

  bool ReadInputEdges() {
    slots_.assign(desc_.InputCount, BindingSlot());
    std::vector<int> values(desc_.InputCount, -1);
    for (UINT i = 0; i < desc_.InputEdgeCount; ++i) {
      const DML_GRAPH_EDGE_DESC& edge = desc_.InputEdges[i];
      if (edge.Type != DML_GRAPH_EDGE_TYPE_INPUT || !edge.Desc) return Fail("an input edge has another type");
      auto* e = static_cast<const DML_INPUT_GRAPH_EDGE_DESC*>(edge.Desc);
      if (e->GraphInputIndex >= desc_.InputCount) return Fail("an edge comes from a graph input that is not there");
      const schema::TensorDesc* tensor = Target(e->ToNodeIndex, e->ToNodeInputIndex);
      if (!tensor) return false;
      BindingSlot& slot = slots_[e->GraphInputIndex];
      bool owned = (tensor->flags & DML_TENSOR_FLAG_OWNED_BY_DML) != 0;
      int& value = values[e->GraphInputIndex];
      if (value < 0) {
        value = AddValue(tensor->size_in_bytes);
        graph_.values.back().graph_input = static_cast<int>(e->GraphInputIndex);
        slot.present = true;
        slot.owned = owned;
        slot.size = tensor->size_in_bytes;
      } else if (slot.owned != owned) {
        return Fail("the operators on one graph input do not agree on OWNED_BY_DML");
      } else if (slot.size != tensor->size_in_bytes) {
        return Fail("the operators on one graph input do not agree on its size");
      }
      slot.alignment = std::max(slot.alignment, tensor->alignment);
      nodes_[e->ToNodeIndex].inputs[e->ToNodeInputIndex] = value;
    }
    return true;
  }

  static bool SameLayout(const schema::TensorDesc* a, const schema::TensorDesc* b) {
    if (!a || !b || a->data_type != b->data_type || a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; ++i)
      if (a->sizes[i] != b->sizes[i] || (a->sizes[i] != 1 && a->strides[i] != b->strides[i])) return false;
    return true;
  }

  // A contiguous slice of another node's result.
  bool IsPart(const Node& node) const {
    if (node.sources.empty() || node.sources[0] < 0 || !nodes_[static_cast<size_t>(node.sources[0])].desc) return false;
    const auto type = node.desc->type();
    if (type != DML_OPERATOR_SLICE && type != DML_OPERATOR_SLICE1 && type != DML_OPERATOR_SPLIT) return false;
    const schema::TensorDesc *whole = node.input_tensors[0], *part = node.output_tensors[0];
    uint32_t first = 0;  // of what is not cut
    for (uint32_t i = 0; i < whole->rank; ++i)
      if (part->sizes[i] != whole->sizes[i]) first = i;
    for (uint32_t i = 0; i < first; ++i)
      if (part->sizes[i] != 1) return false;
    if (type == DML_OPERATOR_SLICE1 && part->sizes[first] > 1 && node.desc->Get<std::vector<int32_t>>("InputWindowStrides")[first] != 1)
      return false;
    if (type == DML_OPERATOR_SLICE && part->sizes[first] > 1 && node.desc->UInts("Strides")[first] != 1) return false;
    return part->ElementCount() < whole->ElementCount();
  }

  // DirectML lets a node that can run in place write over what it reads, slices seen through, and refuses the graph where the sizes of the
  // two differ.
  bool CheckOverwriting() {
    std::vector<int> readers(graph_.values.size(), 0);
    for (const Node& node : nodes_)
      for (int value : node.inputs)
        if (value >= 0) ++readers[static_cast<size_t>(value)];
    for (const Node& node : nodes_) {
      // It leaves such a node out, and then finds the readers of its input at odds.
      if (node.desc && node.desc->type() == DML_OPERATOR_ELEMENT_WISE_IDENTITY && node.sources[0] < 0 &&
          !node.desc->Get<std::optional<DML_SCALE_BIAS>>("ScaleBias") && readers[static_cast<size_t>(node.inputs[0])] > 1 &&
          SameLayout(node.input_tensors[0], node.output_tensors[0]) &&
          node.input_tensors[0]->size_in_bytes != node.output_tensors[0]->size_in_bytes)
        return Fail("an identity reads a part of a graph input that other nodes read too");
      if (!node.desc || !node.desc->schema->supports_in_place) continue;
      for (size_t i = 0; i < node.sources.size(); ++i) {
        if (node.sources[i] < 0 || !nodes_[static_cast<size_t>(node.sources[i])].desc) continue;
        if (!SameLayout(node.input_tensors[i], node.output_tensors[0])) continue;
        if (node.input_tensors[i]->size_in_bytes != node.output_tensors[0]->size_in_bytes ||
            IsPart(nodes_[static_cast<size_t>(node.sources[i])]))
          return Fail(std::string(node.desc->schema->name) + ", which can run in place, reads a part of an edge's tensor");
      }
    }
    return true;
  }

  bool ReadEdges() {
    for (UINT i = 0; i < desc_.IntermediateEdgeCount; ++i) {
      const DML_GRAPH_EDGE_DESC& edge = desc_.IntermediateEdges[i];
      if (edge.Type != DML_GRAPH_EDGE_TYPE_INTERMEDIATE || !edge.Desc) return Fail("an intermediate edge has another type");
      auto* e = static_cast<const DML_INTERMEDIATE_GRAPH_EDGE_DESC*>(edge.Desc);
      int value = Source(e->FromNodeIndex, e->FromNodeOutputIndex);
      if (value < 0) return false;
      const schema::TensorDesc* tensor = Target(e->ToNodeIndex, e->ToNodeInputIndex);
      if (!tensor) return false;
      if (tensor->flags & DML_TENSOR_FLAG_OWNED_BY_DML) return Fail("an OWNED_BY_DML input is not connected to a graph input");
      uint64_t size = graph_.values[static_cast<size_t>(value)].size_in_bytes;
      Node &from = nodes_[e->FromNodeIndex], &to = nodes_[e->ToNodeIndex];
      // A constant may be larger than what is read of it.
      if (from.desc ? size != tensor->size_in_bytes : size < tensor->size_in_bytes) return Fail("an edge connects tensors of unequal size");
      to.inputs[e->ToNodeInputIndex] = value;
      to.sources[e->ToNodeInputIndex] = static_cast<int>(e->FromNodeIndex);
      from.used = true;
      if (from.desc) to.before.push_back(e->FromNodeIndex);
    }
    return true;
  }

  bool ReadOutputEdges() {
    std::vector<bool> connected(desc_.OutputCount, false);
    for (UINT i = 0; i < desc_.OutputEdgeCount; ++i) {
      const DML_GRAPH_EDGE_DESC& edge = desc_.OutputEdges[i];
      if (edge.Type != DML_GRAPH_EDGE_TYPE_OUTPUT || !edge.Desc) return Fail("an output edge has another type");
      auto* e = static_cast<const DML_OUTPUT_GRAPH_EDGE_DESC*>(edge.Desc);
      if (e->GraphOutputIndex >= desc_.OutputCount) return Fail("an edge goes to a graph output that is not there");
      if (connected[e->GraphOutputIndex]) return Fail("two edges go to one graph output");
      int value = Source(e->FromNodeIndex, e->FromNodeOutputIndex);
      if (value < 0) return false;
      if (!nodes_[e->FromNodeIndex].desc) return Fail("a constant is a graph output");
      connected[e->GraphOutputIndex] = true;
      graph_.values[static_cast<size_t>(value)].graph_outputs.push_back(static_cast<int>(e->GraphOutputIndex));
    }
    return true;  // an output without an edge is bound to NONE
  }

  bool CheckConnected() {
    for (const Node& node : nodes_) {
      if (!node.desc) {
        if (!node.used) return Fail("a constant is not used");
        continue;
      }
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.input_tensors[i] && node.inputs[i] < 0)
          return Fail(std::string("an input of ") + node.desc->schema->name + " is not connected");
      if (std::all_of(node.outputs.begin(), node.outputs.end(), [](int value) { return value < 0; }))
        return Fail(std::string("no output of ") + node.desc->schema->name + " is used");
    }
    return true;
  }

  bool Sort() {
    std::vector<size_t> waiting(nodes_.size(), 0);
    std::vector<std::vector<size_t>> after(nodes_.size());
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      waiting[i] = nodes_[i].before.size();
      for (size_t b : nodes_[i].before) after[b].push_back(i);
    }
    // The earliest ready node first, so that an order that was right stays as it was.
    auto later = [](size_t a, size_t b) { return a > b; };
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (!waiting[i]) ready.push_back(i);
    std::make_heap(ready.begin(), ready.end(), later);
    size_t done = 0;
    while (!ready.empty()) {
      std::pop_heap(ready.begin(), ready.end(), later);
      size_t at = ready.back();
      ready.pop_back();
      ++done;
      Node& node = nodes_[at];
      if (node.desc) {
        CompleteOutputs(node);
        graph_.nodes.push_back({node.desc, std::move(node.inputs), std::move(node.outputs), static_cast<uint32_t>(at)});
      }
      for (size_t next : after[at])
        if (!--waiting[next]) {
          ready.push_back(next);
          std::push_heap(ready.begin(), ready.end(), later);
        }
    }
    return done == nodes_.size() || Fail("the graph has a cycle");
  }

  // Outputs that nobody reads are written all the same: the kernel needs memory for them.
  void CompleteOutputs(Node& node) {
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] < 0 && node.output_tensors[i]) node.outputs[i] = AddValue(node.output_tensors[i]->size_in_bytes);
  }

  const DML_GRAPH_DESC& desc_;
  const uint32_t level_;
  const DescribeOperator describe_;
  Graph& graph_;
  std::vector<BindingSlot>& slots_;
  std::vector<Node> nodes_;
  std::string why_;
};

}  // namespace

HRESULT ReadGraph(const DML_GRAPH_DESC& desc, uint32_t feature_level, DescribeOperator describe, Graph* graph,
                  std::vector<BindingSlot>* slots) {
  return Reader(desc, feature_level, describe, graph, slots).Read();
}

}  // namespace dxtensor::software
