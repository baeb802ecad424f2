// From a graph of operators to steps: what only moves an offset vanishes, elementwise nodes over one box become one pass, and what
// follows a matrix product or a convolution alone goes into it.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "../graph.h"
#include "convolution.h"
#include "elementwise.h"
#include "fuse_group.h"
#include "fuse_units.h"
#include "gemm.h"

namespace dxtensor::software {

namespace fast {
namespace {

constexpr size_t kMostNodes = 48, kMostOperands = 40;

const char* NameOf(size_t nodes) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (size_t i = 0; i <= kMostNodes; ++i) list.push_back("fused elementwise (" + std::to_string(i) + ")");
    return list;
  }();
  return names[std::min(nodes, kMostNodes)].c_str();
}

class Fuser {
 public:
  Fuser(const Graph& graph, bool merges)
      : graph_(graph),
        merges_(merges),
        units_(static_cast<int>(graph.nodes.size())),
        producer_(graph.values.size(), -1),
        consumers_(graph.values.size()),
        place_(graph.values.size()),
        groups_(graph.nodes.size()),
        unit_of_(graph.nodes.size(), -1) {}

  std::vector<GraphStep> Run(const char** unsupported) {
    for (size_t v = 0; v < place_.size(); ++v) place_[v] = {static_cast<int>(v), 0};
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (int v : graph_.nodes[n].outputs)
        if (v >= 0) producer_[static_cast<size_t>(v)] = static_cast<int>(n);
      for (int v : graph_.nodes[n].inputs)
        if (v >= 0) consumers_[static_cast<size_t>(v)].push_back(static_cast<int>(n));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) Visit(static_cast<int>(n));
    std::vector<GraphStep> steps;
    for (int unit : Order())
      if (!Emit(groups_[static_cast<size_t>(unit)], &steps, unsupported)) return {};
    return steps;
  }

 private:
  bool IsShown(int value) const { return !graph_.values[static_cast<size_t>(value)].graph_outputs.empty(); }
  // The unit that writes a value, -1 for what the graph is given.
  int WriterOf(int value) const {
    const int node = producer_[static_cast<size_t>(place_[static_cast<size_t>(value)].value)];
    return node < 0 ? -1 : unit_of_[static_cast<size_t>(node)];
  }

  // Whether the node vanishes, its outputs being parts of its input.
  bool Vanishes(const GraphNode& node) {
    const auto outputs = node.desc.Outputs();
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] < 0) {
        offsets.push_back(0);
        continue;
      }
      if (!outputs[i] || IsShown(node.outputs[i])) return false;
      offsets.push_back(OffsetInInput(node.desc, i));
      if (offsets.back() < 0) return false;
    }
    const Place from = place_[static_cast<size_t>(node.inputs[0])];
    for (size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i] >= 0)
        place_[static_cast<size_t>(node.outputs[i])] = {from.value, from.offset + static_cast<uint64_t>(offsets[i])};
    return true;
  }

  void Visit(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    const bool moves = node.desc.type() == DML_OPERATOR_ELEMENT_WISE_IDENTITY || node.desc.type() == DML_OPERATOR_ACTIVATION_IDENTITY ||
                       node.desc.type() == DML_OPERATOR_SLICE1 || node.desc.type() == DML_OPERATOR_SPLIT;
    if (merges_ && moves && Vanishes(node)) return;
    unit_of_[static_cast<size_t>(n)] = n;
    for (int v : node.inputs)
      if (v >= 0 && WriterOf(v) >= 0) units_.Add(n, WriterOf(v));
    Group& group = groups_[static_cast<size_t>(n)];
    group.nodes.push_back(n);
    if (!merges_) return;
    if (node.desc.type() == DML_OPERATOR_GEMM || node.desc.type() == DML_OPERATOR_CONVOLUTION) {
      group.is_product = true;
      group.product = node.desc;
      group.product_inputs = node.inputs;
      group.result = node.outputs[0];
      group.stored = *node.desc.Outputs()[0];
      return;
    }
    if (node.desc.type() == DML_OPERATOR_BATCH_NORMALIZATION && JoinProduct(n)) return;
    group.is_elementwise = IsElementwise(node.desc);
    if (!group.is_elementwise) return;
    group.box = *node.desc.Outputs()[0];
    if (JoinProduct(n)) return;
    for (int v : node.inputs)
      if (WriterOf(v) >= 0) JoinGroup(n, v);
  }

  bool JoinProduct(int n) {
    const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
    for (int v : node.inputs) {
      const int unit = WriterOf(v);
      if (unit < 0) continue;
      Group& product = groups_[static_cast<size_t>(unit)];
      if (!product.is_product || product.result != v || IsShown(v) || consumers_[static_cast<size_t>(v)].size() != 1) continue;
      if (!units_.CanMerge(unit, n)) continue;
      const Group before = product;
      if (!Absorb(&product, node)) continue;
      if (!MakeProduct(product)) {
        product = before;
        continue;
      }
      Merge(unit, n);
      return true;
    }
    return false;
  }

  // Joins the group of node n (which may have grown) with the one that writes v.
  void JoinGroup(int n, int v) {
    const int mine = unit_of_[static_cast<size_t>(n)], theirs = WriterOf(v);
    if (mine == theirs) return;
    const Group &a = groups_[static_cast<size_t>(theirs)], &b = groups_[static_cast<size_t>(mine)];
    if (!a.is_elementwise || a.nodes.size() + b.nodes.size() > kMostNodes || !units_.CanMerge(theirs, mine)) return;
    // Every node of the one over the box of the other, and every value between them read as it is written.
    Group both = a;
    both.nodes.insert(both.nodes.end(), b.nodes.begin(), b.nodes.end());
    bool fits = All(both);
    if (!fits) {
      both.box = b.box;
      fits = All(both);
    }
    if (!fits || OperandsOf(both) > kMostOperands) return;
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
        const Place place = place_[static_cast<size_t>(v)];
        if (place.value == v) continue;
        const int writer = producer_[static_cast<size_t>(place.value)];
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
    if (groups_[static_cast<size_t>(into)].is_product)
      for (int n : groups_[static_cast<size_t>(unit)].nodes) groups_[static_cast<size_t>(into)].nodes.push_back(n);
    groups_[static_cast<size_t>(unit)].nodes.clear();
  }

  // Units in an order in which each comes after all that it needs, as near to the nodes' order as that allows.
  std::vector<int> Order() const {
    std::vector<int> order, left;
    for (size_t u = 0; u < groups_.size(); ++u)
      if (!groups_[u].nodes.empty()) left.push_back(static_cast<int>(u));
    std::vector<bool> done(groups_.size(), false);
    while (!left.empty()) {
      for (size_t i = 0; i < left.size(); ++i) {
        const int unit = left[i];
        if (std::any_of(left.begin(), left.end(), [&](int other) { return other != unit && units_.Needs(unit, other); })) continue;
        order.push_back(unit);
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    }
    return order;
  }

  GraphOperand OperandOf(int value) const {
    if (value < 0) return {};
    const Place place = place_[static_cast<size_t>(value)];
    return {place.value, place.offset};
  }

  static std::unique_ptr<Kernel> MakeProduct(const Group& group) {
    if (group.product.type() == DML_OPERATOR_GEMM) return MakeGemmKernel(group.product, group.after, &group.stored);
    return MakeConvolutionKernel(group.product, {group.norm ? &*group.norm : nullptr, group.adds, group.after, &group.stored});
  }

  bool Emit(const Group& group, std::vector<GraphStep>* steps, const char** unsupported) {
    if (group.is_product && group.nodes.size() > 1) {
      GraphStep step;
      step.kernel = MakeProduct(group);
      step.name = group.product.type() == DML_OPERATOR_GEMM ? "GEMM (fused)" : "CONVOLUTION (fused)";
      step.nodes = group.nodes;
      for (int v : group.product_inputs) step.inputs.push_back(OperandOf(v));
      step.outputs.push_back(OperandOf(group.result));
      steps->push_back(std::move(step));
      return true;
    }
    if (group.nodes.size() > 1 && EmitElementwiseGroup(group, steps)) return true;
    for (int n : group.nodes) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      GraphStep step;
      step.kernel = MakeKernel(node.desc);
      if (!step.kernel) {
        *unsupported = node.desc.schema->name;
        return false;
      }
      step.name = node.desc.schema->name;
      step.nodes = {n};
      for (int v : node.inputs) step.inputs.push_back(OperandOf(v));
      for (int v : node.outputs) step.outputs.push_back(OperandOf(v));
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
    ProgramBuilder builder(group.box);
    std::vector<Loaded> loaded;
    std::vector<int> settled(graph_.values.size(), -1);  // registers of values that the group computes
    for (int n : group.nodes) {
      const GraphNode& node = graph_.nodes[static_cast<size_t>(n)];
      const auto inputs = node.desc.Inputs();
      int in[3] = {-1, -1, -1};
      for (size_t i = 0; i < inputs.size(); ++i) {
        const int v = node.inputs[i];
        if (settled[static_cast<size_t>(v)] >= 0) {
          in[i] = settled[static_cast<size_t>(v)];
          continue;
        }
        for (const Loaded& l : loaded)
          if (l.value == v && l.desc.data_type == inputs[i]->data_type &&
              ProgramBuilder::StridesIn(group.box, l.desc) == ProgramBuilder::StridesIn(group.box, *inputs[i]))
            in[i] = l.reg;
        if (in[i] >= 0) continue;
        in[i] = builder.Load(static_cast<int>(step.inputs.size()), *inputs[i]);
        step.inputs.push_back(OperandOf(v));
        loaded.push_back({v, in[i], *inputs[i]});
      }
      const int raw = EmitElementwise(builder, node.desc, in);
      if (raw < 0) return false;
      const int out = node.outputs[0];
      const schema::TensorDesc& desc = *node.desc.Outputs()[0];
      bool inside = false, outside = IsShown(out);
      for (int consumer : consumers_[static_cast<size_t>(out)]) {
        if (Contains(group, consumer)) inside = true;
        else outside = true;
      }
      if (inside) settled[static_cast<size_t>(out)] = Settle(builder, desc.data_type, raw);
      if (!outside && inside) continue;
      builder.Store(static_cast<int>(step.outputs.size()), desc, raw);
      step.outputs.push_back(OperandOf(out));
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
  std::vector<Place> place_;
  std::vector<Group> groups_;  // by unit; a unit bears the number of its first node
  std::vector<int> unit_of_;
};

}  // namespace
}  // namespace fast

std::vector<GraphStep> Fuse(const Graph& graph, const char** unsupported) {
  const char* plain = std::getenv("DXTENSOR_SOFTWARE_PLAIN");
  return fast::Fuser(graph, !(plain && plain[0] == '1')).Run(unsupported);
}

}  // namespace dxtensor::software
