// Fusion pass, from a graph of operators to steps: nodes that only move an offset vanish, elementwise nodes over one box become one pass,
// and the post-ops of a GEMM or a convolution (the anchor) become its epilogue.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "software/cpu/fast/conv/convolution.h"
#include "software/cpu/fast/elementwise/elementwise.h"
#include "software/cpu/fast/gemm/gemm.h"
#include "software/cpu/fast/gemm/packed_matrix.h"
#include "fuse_group.h"
#include "fuse_units.h"
#include "graph.h"

namespace dxtensor::software {

namespace {

// 10 operands: 0.81 for relu(a x + b) c + tanh(x), 0.88 for a training step of the MLP; 20 operands, 12 and 24 nodes: within the noise of
// 8 % (AVX-512, 1 thread).
constexpr size_t kMaxNodes = 48, kMaxOperands = 40;

const char* NameOf(size_t nodes) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (size_t i = 0; i <= kMaxNodes; ++i) list.push_back("fused elementwise (" + std::to_string(i) + ")");
    return list;
  }();
  return names[std::min(nodes, kMaxNodes)].c_str();
}

class Fuser {
 public:
  Fuser(const Graph& graph, bool merges)
      : graph_(graph),
        merges_(merges),
        units_(static_cast<int>(graph.nodes.size())),
        producer_(graph.values.size(), -1),
        consumers_(graph.values.size()),
        location_(graph.values.size()),
        groups_(graph.nodes.size()),
        unit_of_(graph.nodes.size(), -1) {}

  std::vector<GraphStep> Run(const char** unsupported) {
    for (size_t v = 0; v < location_.size(); ++v) location_[v] = {static_cast<int>(v), 0};
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (int v : graph_.nodes[n].outputs)
        if (v >= 0) producer_[static_cast<size_t>(v)] = static_cast<int>(n);
      for (int v : graph_.nodes[n].inputs)
        if (v >= 0) consumers_[static_cast<size_t>(v)].push_back(static_cast<int>(n));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) Visit(static_cast<int>(n));
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (groups_[n].is_anchor) JoinClamp(static_cast<int>(n));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) ReadPacked(static_cast<int>(n));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) DropUnread(static_cast<int>(n));
    std::vector<GraphStep> steps;
    const std::vector<int> order = Order();
    // Kernels take the memory of what they are made of: a large graph needs megabytes of both.
    units_ = UnitGraph(0);
    for (int unit : order) {
      Group& group = groups_[static_cast<size_t>(unit)];
      if (!Emit(group, &steps, unsupported)) return {};
      group = {};
    }
    return steps;
  }

 private:
  bool IsGraphOutput(int value) const { return !graph_.values[static_cast<size_t>(value)].graph_outputs.empty(); }
  // The unit that writes a value, -1 for what the graph is given.
  int WriterOf(int value) const {
    const int node = producer_[static_cast<size_t>(location_[static_cast<size_t>(value)].value)];
    return node < 0 ? -1 : unit_of_[static_cast<size_t>(node)];
  }

  // Whether the node vanishes, its outputs being parts of its input.
  bool Vanishes(const GraphNode& node) {
    const auto outputs = node.desc->Outputs();
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] < 0) {
        offsets.push_back(0);
        continue;
      }
      if (!outputs[i] || IsGraphOutput(node.outputs[i])) return false;
      offsets.push_back(OffsetInInput(*node.desc, i));
      if (offsets.back() < 0) return false;
    }
    const Location from = location_[static_cast<size_t>(node.inputs[0])];
    for (size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] >= 0)
        location_[static_cast<size_t>(node.outputs[i])] = {from.value, from.offset + static_cast<uint64_t>(offsets[i])};
    return true;
  }

  void Visit(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    const bool moves = node.desc->type() == DML_OPERATOR_ELEMENT_WISE_IDENTITY || node.desc->type() == DML_OPERATOR_ACTIVATION_IDENTITY ||
                       node.desc->type() == DML_OPERATOR_SLICE1 || node.desc->type() == DML_OPERATOR_SPLIT;
    if (merges_ && moves && Vanishes(node)) return;
    unit_of_[static_cast<size_t>(n)] = n;
    for (int v : node.inputs)
      if (v >= 0 && WriterOf(v) >= 0) units_.Add(n, WriterOf(v));
    Group& group = groups_[static_cast<size_t>(n)];
    group.nodes.push_back(n);
    if (!merges_) return;
    if (node.desc->type() == DML_OPERATOR_GEMM || node.desc->type() == DML_OPERATOR_CONVOLUTION) {
      group.is_anchor = true;
      group.anchor = *node.desc;
      group.anchor_inputs = node.inputs;
      group.result = node.outputs[0];
      group.stored = *node.desc->Outputs()[0];
      return;
    }
    if (node.desc->type() == DML_OPERATOR_BATCH_NORMALIZATION && JoinAnchor(n)) return;
    group.is_elementwise = fast::IsElementwise(*node.desc);
    if (!group.is_elementwise) return;
    group.box = *node.desc->Outputs()[0];
    if (JoinAnchor(n)) return;
    for (int v : node.inputs)
      if (WriterOf(v) >= 0) JoinGroup(n, v);
  }

  bool JoinAnchor(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    for (int v : node.inputs) {
      const int unit = WriterOf(v);
      if (unit < 0) continue;
      Group& anchor = groups_[static_cast<size_t>(unit)];
      if (!anchor.is_anchor || anchor.result != v || IsGraphOutput(v) || consumers_[static_cast<size_t>(v)].size() != 1) continue;
      if (!units_.CanMerge(unit, n)) continue;
      const Group before = anchor;
      if (!Absorb(&anchor, node)) continue;
      if (!MakeAnchor(anchor)) {
        anchor = before;
        continue;
      }
      Merge(unit, n);
      return true;
    }
    return false;
  }

  // A group of elementwise nodes that only clamps the anchor's result.
  void JoinClamp(int unit) {
    Group& anchor = groups_[static_cast<size_t>(unit)];
    const std::vector<int>& readers = consumers_[static_cast<size_t>(anchor.result)];
    if (IsGraphOutput(anchor.result) || readers.size() != 3) return;
    const int other = unit_of_[static_cast<size_t>(readers[0])];
    if (other < 0 || other == unit || !units_.CanMerge(unit, other)) return;
    const Group& group = groups_[static_cast<size_t>(other)];
    auto is_inside = [&](int node) { return Contains(group, node); };
    if (!group.is_elementwise || !std::all_of(readers.begin(), readers.end(), is_inside)) return;
    const Group before = anchor;
    if (!AbsorbClamp(&anchor, graph_, group.nodes)) return;
    // Nobody else sees what lies between.
    bool fits = true;
    for (int n : group.nodes) {
      const int out = graph_.nodes[static_cast<size_t>(n)].outputs[0];
      if (out == anchor.result) continue;
      const std::vector<int>& of = consumers_[static_cast<size_t>(out)];
      fits &= !IsGraphOutput(out) && std::all_of(of.begin(), of.end(), is_inside);
    }
    if (!fits || !MakeAnchor(anchor)) anchor = before;
    else Merge(unit, other);
  }

  // Joins the group of node n (which may have grown) with the one that writes v.
  void JoinGroup(int n, int v) {
    const int mine = unit_of_[static_cast<size_t>(n)], theirs = WriterOf(v);
    if (mine == theirs) return;
    const Group &a = groups_[static_cast<size_t>(theirs)], &b = groups_[static_cast<size_t>(mine)];
    if (!a.is_elementwise || a.nodes.size() + b.nodes.size() > kMaxNodes || !units_.CanMerge(theirs, mine)) return;
    // Every node of the one over the box of the other, and every value between them read as it is written.
    Group both = a;
    both.nodes.insert(both.nodes.end(), b.nodes.begin(), b.nodes.end());
    bool fits = All(both);
    if (!fits) {
      both.box = b.box;
      fits = All(both);
    }
    if (!fits || OperandsOf(both) > kMaxOperands) return;
    std::sort(both.nodes.begin(), both.nodes.end());
    Merge(theirs, mine);
    groups_[static_cast<size_t>(theirs)] = both;
  }
  bool All(const Group& group) const {
    for (int n : group.nodes) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      if (!FitsGroup(graph_, group, node, producer_)) return false;
      // What vanished between two nodes of the group moved an offset: the reader would need the writer's memory.
      for (int v : node.inputs) {
        const Location location = location_[static_cast<size_t>(v)];
        if (location.value == v) continue;
        const int writer = producer_[static_cast<size_t>(location.value)];
        if (writer >= 0 && Contains(group, writer)) return false;
      }
    }
    return true;
  }
  static bool Contains(const Group& group, int node) {
    return std::find(group.nodes.begin(), group.nodes.end(), node) != group.nodes.end();
  }
  size_t OperandsOf(const Group& group) const {
    size_t count = group.nodes.size();
    for (int n : group.nodes)
      for (int v : graph_.nodes[static_cast<size_t>(n)].inputs) {
        const int writer = producer_[static_cast<size_t>(v)];
        count += writer < 0 || !Contains(group, writer);
      }
    return count;
  }

  void Merge(int into, int unit) {
    units_.Merge(into, unit);
    for (int n : groups_[static_cast<size_t>(unit)].nodes) unit_of_[static_cast<size_t>(n)] = into;
    if (groups_[static_cast<size_t>(into)].is_anchor)
      for (int n : groups_[static_cast<size_t>(unit)].nodes) groups_[static_cast<size_t>(into)].nodes.push_back(n);
    groups_[static_cast<size_t>(unit)].nodes.clear();
  }

  // Units in an order in which each comes after all that it needs, as near to the nodes' order as that allows.
  std::vector<int> Order() const {
    std::vector<int> order, left;
    for (size_t u = 0; u < groups_.size(); ++u)
      if (!groups_[u].nodes.empty()) left.push_back(static_cast<int>(u));
    std::vector<int> waits(groups_.size(), 0);  // for how many units
    for (int unit : left) waits[static_cast<size_t>(unit)] = static_cast<int>(units_.Before(unit).size());
    while (!left.empty()) {
      const auto next = std::find_if(left.begin(), left.end(), [&](int unit) { return waits[static_cast<size_t>(unit)] == 0; });
      order.push_back(*next);
      left.erase(next);
      for (int other : units_.After(order.back())) --waits[static_cast<size_t>(other)];
    }
    return order;
  }

  GraphOperand OperandOf(int value) const {
    if (value < 0) return {};
    const Location location = location_[static_cast<size_t>(value)];
    return {location.value, location.offset};
  }
  GraphOperand OperandOf(int value, const schema::TensorDesc& t) const {
    GraphOperand operand = OperandOf(value);
    operand.size = schema::BufferTensorSize(t.data_type, t.rank, t.sizes.data(), t.strides.data());
    return operand;
  }

  // A DEQUANTIZE whose output only skinny GEMMs read, as their matrix B, vanishes: they read its codes and scales.
  void ReadPacked(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    if (!merges_ || node.desc->type() != DML_OPERATOR_DEQUANTIZE || IsGraphOutput(node.outputs[0])) return;
    const std::vector<int>& readers = consumers_[static_cast<size_t>(node.outputs[0])];
    for (int reader : readers) {
      const int unit = unit_of_[static_cast<size_t>(reader)];
      if (unit < 0) return;
      const Group& group = groups_[static_cast<size_t>(unit)];
      if (!group.is_anchor || group.nodes[0] != reader || group.anchor.type() != DML_OPERATOR_GEMM) return;
      if (std::count(group.anchor_inputs.begin(), group.anchor_inputs.end(), node.outputs[0]) != 1) return;
      if (group.anchor_inputs[1] != node.outputs[0] || !fast::MakePackedGemmKernel(group.anchor, *node.desc, group.after, &group.stored))
        return;
    }
    if (readers.empty()) return;
    for (int reader : readers) {
      Group& group = groups_[static_cast<size_t>(unit_of_[static_cast<size_t>(reader)])];
      group.packed = n;
      ReadMinima(&group);
    }
    groups_[static_cast<size_t>(n)].vanishes = true;
  }

  // A GEMM by packed codes whose C is the GEMM of the sums of A's blocks and the minima computes both.
  void ReadMinima(Group* group) {
    if (group->anchor_inputs.size() < 3 || group->anchor_inputs[2] < 0) return;
    const int c = group->anchor_inputs[2], unit = WriterOf(c);
    if (unit < 0 || IsGraphOutput(c) || consumers_[static_cast<size_t>(c)].size() != 1) return;
    Group& minima = groups_[static_cast<size_t>(unit)];
    if (!minima.is_anchor || minima.result != c || minima.nodes.size() != 1 || minima.packed >= 0) return;
    const int n = minima.nodes[0];
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    if (node.desc->type() != DML_OPERATOR_GEMM || producer_[static_cast<size_t>(node.inputs[0])] < 0 || node.inputs[0] == node.inputs[1])
      return;
    const GraphNode& sums = graph_.nodes[static_cast<size_t>(producer_[static_cast<size_t>(node.inputs[0])])];
    if (!fast::SumsBlocks(*sums.desc, group->anchor, *graph_.nodes[static_cast<size_t>(group->packed)].desc)) return;
    const GraphOperand a = OperandOf(group->anchor_inputs[0]), summed = OperandOf(sums.inputs[0]);
    if (a.value != summed.value || a.offset != summed.offset) return;
    group->minima = n;
    if (MakePacked(*group)) minima.vanishes = true;
    else group->minima = -1;
  }

  std::unique_ptr<Kernel> MakePacked(const Group& group) const {
    const GraphNode& codes = graph_.nodes[static_cast<size_t>(group.packed)];
    fast::PackedParts parts;
    parts.half_scales = HalfBefore(codes.inputs[1]) >= 0;
    if (group.minima >= 0) {
      const GraphNode& minima = graph_.nodes[static_cast<size_t>(group.minima)];
      parts.minima = minima.desc.get();
      parts.half_minima = HalfBefore(minima.inputs[1]) >= 0;
    }
    return fast::MakePackedGemmKernel(group.anchor, *codes.desc, group.after, &group.stored, parts);
  }

  // The halves that a value is the CAST of to float32, in the same order; -1 for others.
  int HalfBefore(int value) const {
    const int n = producer_[static_cast<size_t>(value)];
    if (n < 0 || location_[static_cast<size_t>(value)].value != value) return -1;
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    if (node.desc->type() != DML_OPERATOR_CAST) return -1;
    const schema::TensorDesc &in = *node.desc->Inputs()[0], &out = *node.desc->Outputs()[0];
    if (in.data_type != DML_TENSOR_DATA_TYPE_FLOAT16 || out.data_type != DML_TENSOR_DATA_TYPE_FLOAT32) return -1;
    return in.IsPacked() && out.IsPacked() ? node.inputs[0] : -1;
  }
  int WithoutCast(int value) const {
    const int half = HalfBefore(value);
    return half < 0 ? value : half;
  }

  // Casts of scales and minima, and sums of blocks, vanish if only GEMMs by packed codes would read them.
  void DropUnread(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    const bool is_cast = node.desc->type() == DML_OPERATOR_CAST && HalfBefore(node.outputs[0]) >= 0;
    if (!merges_ || (!is_cast && node.desc->type() != DML_OPERATOR_REDUCE)) return;
    Group& group = groups_[static_cast<size_t>(n)];
    const int out = node.outputs[0];
    const std::vector<int>& readers = consumers_[static_cast<size_t>(out)];
    if (group.nodes.size() != 1 || IsGraphOutput(out) || readers.empty()) return;
    for (int reader : readers) {
      const int unit = unit_of_[static_cast<size_t>(reader)];
      if (unit < 0 || !groups_[static_cast<size_t>(unit)].vanishes) return;
      // Scales and minima are the second input, sums the first.
      if (graph_.nodes[static_cast<size_t>(reader)].inputs[is_cast ? 1 : 0] != out) return;
      if (!is_cast && !groups_[static_cast<size_t>(unit)].is_anchor) return;
    }
    group.vanishes = true;
  }

  std::unique_ptr<Kernel> MakeAnchor(const Group& group) const {
    if (group.anchor.type() == DML_OPERATOR_GEMM) return fast::MakeGemmKernel(group.anchor, group.after, &group.stored);
    const bool input_is_padded = graph_.values[static_cast<size_t>(group.anchor_inputs[0])].is_padded;
    const bool output_is_padded = graph_.values[static_cast<size_t>(group.result)].is_padded;
    return fast::MakeConvolutionKernel(group.anchor, {group.norm ? &*group.norm : nullptr, group.has_residual, group.after, group.clamps,
                                                      &group.stored, input_is_padded, output_is_padded});
  }

  bool IsPadded(const Group& group) const {
    return graph_.values[static_cast<size_t>(group.anchor_inputs[0])].is_padded ||
           graph_.values[static_cast<size_t>(group.result)].is_padded;
  }

  bool Emit(const Group& group, std::vector<GraphStep>* steps, const char** unsupported) {
    if (group.vanishes) return true;
    if (group.packed >= 0) {
      const GraphNode& codes = graph_.nodes[static_cast<size_t>(group.packed)];
      GraphStep step;
      step.kernel = MakePacked(group);
      step.name = "GEMM (packed)";
      step.nodes = group.nodes;
      step.nodes.push_back(group.packed);
      int c = group.anchor_inputs.size() > 2 ? group.anchor_inputs[2] : -1, minima = -1;
      if (group.minima >= 0) {
        const std::vector<int>& inputs = graph_.nodes[static_cast<size_t>(group.minima)].inputs;
        c = inputs.size() > 2 ? inputs[2] : -1;
        minima = WithoutCast(inputs[1]);
        step.nodes.push_back(group.minima);
      }
      for (int v : {group.anchor_inputs[0], codes.inputs[0], c, WithoutCast(codes.inputs[1])}) step.inputs.push_back(OperandOf(v));
      if (minima >= 0) step.inputs.push_back(OperandOf(minima));
      step.outputs.push_back(OperandOf(group.result));
      steps->push_back(std::move(step));
      return true;
    }
    const bool is_convolution = group.is_anchor && group.anchor.type() == DML_OPERATOR_CONVOLUTION;
    if (group.is_anchor && (group.nodes.size() > 1 || (is_convolution && IsPadded(group)))) {
      GraphStep step;
      step.kernel = MakeAnchor(group);
      step.name = group.nodes.size() == 1 ? "CONVOLUTION" : is_convolution ? "CONVOLUTION (fused)" : "GEMM (fused)";
      step.nodes = group.nodes;
      for (int v : group.anchor_inputs) step.inputs.push_back(OperandOf(v));
      step.outputs.push_back(OperandOf(group.result));
      steps->push_back(std::move(step));
      return true;
    }
    if (group.nodes.size() > 1 && EmitElementwiseGroup(group, steps)) return true;
    for (int n : group.nodes) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      GraphStep step;
      step.kernel = MakeKernel(*node.desc);
      if (!step.kernel) {
        *unsupported = node.desc->schema->name;
        return false;
      }
      step.name = node.desc->schema->name;
      step.nodes = {n};
      const auto inputs = node.desc->Inputs(), outputs = node.desc->Outputs();
      for (size_t i = 0; i < node.inputs.size(); ++i)
        step.inputs.push_back(node.inputs[i] < 0 ? GraphOperand{} : OperandOf(node.inputs[i], *inputs[i]));
      for (size_t i = 0; i < node.outputs.size(); ++i)
        step.outputs.push_back(node.outputs[i] < 0 ? GraphOperand{} : OperandOf(node.outputs[i], *outputs[i]));
      steps->push_back(std::move(step));
    }
    return true;
  }

  bool EmitElementwiseGroup(const Group& group, std::vector<GraphStep>* steps) {
    struct Loaded {
      int value, reg;
      schema::TensorDesc desc;
    };
    GraphStep step;
    fast::ProgramBuilder builder(group.box);
    std::vector<Loaded> loaded;
    std::vector<int> settled(graph_.values.size(), -1);  // registers of values that the group computes
    for (int n : group.nodes) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      const auto inputs = node.desc->Inputs();
      int in[3] = {-1, -1, -1};
      for (size_t i = 0; i < inputs.size(); ++i) {
        const int v = node.inputs[i];
        if (settled[static_cast<size_t>(v)] >= 0) {
          in[i] = settled[static_cast<size_t>(v)];
          continue;
        }
        for (const Loaded& l : loaded)
          if (l.value == v && l.desc.data_type == inputs[i]->data_type &&
              fast::ProgramBuilder::StridesIn(group.box, l.desc) == fast::ProgramBuilder::StridesIn(group.box, *inputs[i]))
            in[i] = l.reg;
        if (in[i] >= 0) continue;
        in[i] = builder.Load(static_cast<int>(step.inputs.size()), *inputs[i]);
        step.inputs.push_back(OperandOf(v, *inputs[i]));
        loaded.push_back({v, in[i], *inputs[i]});
      }
      const int raw = fast::EmitElementwise(builder, *node.desc, in);
      if (raw < 0) return false;
      const int out = node.outputs[0];
      const schema::TensorDesc& desc = *node.desc->Outputs()[0];
      bool inside = false, outside = IsGraphOutput(out);
      for (int consumer : consumers_[static_cast<size_t>(out)]) {
        if (Contains(group, consumer)) inside = true;
        else outside = true;
      }
      if (inside) settled[static_cast<size_t>(out)] = fast::Settle(builder, desc.data_type, raw);
      if (!outside && inside) continue;
      builder.Store(static_cast<int>(step.outputs.size()), desc, raw);
      step.outputs.push_back(OperandOf(out, desc));
    }
    step.kernel = builder.Finish();
    if (!step.kernel) return false;
    step.name = NameOf(group.nodes.size());
    step.nodes = group.nodes;
    steps->push_back(std::move(step));
    return true;
  }

  const Graph& graph_;
  const bool merges_;
  UnitGraph units_;
  std::vector<int> producer_;                // node of each value
  std::vector<std::vector<int>> consumers_;  // nodes that read each value
  std::vector<Location> location_;
  std::vector<Group> groups_;  // by unit; a unit bears the number of its first node
  std::vector<int> unit_of_;
};

}  // namespace

std::vector<GraphStep> Fuse(const Graph& graph, const char** unsupported) {
  const char* plain = std::getenv("DXTENSOR_SOFTWARE_PLAIN");
  return Fuser(graph, !(plain && plain[0] == '1')).Run(unsupported);
}

}  // namespace dxtensor::software
