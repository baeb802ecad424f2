#include "forms.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "../../../native/abi/abi_calls.h"

namespace dxtensor::peer {

namespace {

using Clock = std::chrono::steady_clock;
double MillisecondsSince(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

Ref<IDMLOperator> CreateOperator(const Device& device, const Node& node) {
  const DML_OPERATOR_DESC desc{node.type, node.desc.data()};
  Ref<IDMLOperator> op;
  Check(device.dml()->CreateOperator(&desc, __uuidof(IDMLOperator), op.out_void()), ("CreateOperator of " + node.key).c_str());
  return op;
}

class List : public Form {
 public:
  List(Device& device, const Net& net, Groups groups) : Form(device, net), groups_(std::move(groups)), arena_(AssignOffsets(net, groups_)) {
    const Clock::time_point start = Clock::now();
    std::map<std::string, size_t> known;
    for (const Node& node : net.nodes()) {
      auto [found, is_new] = known.try_emplace(node.key, operators_.size());
      if (is_new) operators_.push_back(Compile(node));
      operator_of_.push_back(found->second);
    }
    compile_ms_ = MillisecondsSince(start);
    if (persistent_bytes_) persistent_ = device.Buffer(persistent_bytes_);
    if (temporary_bytes_) temporary_ = device.Buffer(temporary_bytes_);
    if (arena_.bytes) values_ = device.Buffer(arena_.bytes);
    std::vector<IDMLCompiledOperator*> all;
    std::vector<Range> ranges;
    for (const Operator& op : operators_) {
      all.push_back(op.compiled.get());
      ranges.push_back(PersistentOf(op));
    }
    device.Initialize(all, ranges);
  }

 private:
  struct Operator {
    Ref<IDMLCompiledOperator> compiled;
    uint64_t temporary, persistent, persistent_offset;
  };

  Operator Compile(const Node& node) {
    Operator op{};
    Check(device_.dml()->CompileOperator(CreateOperator(device_, node).get(), DML_EXECUTION_FLAG_NONE, __uuidof(IDMLCompiledOperator),
                                         op.compiled.out_void()),
          ("CompileOperator of " + node.key).c_str());
    const DML_BINDING_PROPERTIES properties = BindingProperties(op.compiled.get());
    op.temporary = properties.TemporaryResourceSize;
    op.persistent = properties.PersistentResourceSize;
    op.persistent_offset = persistent_bytes_;
    persistent_bytes_ += (op.persistent + 255) / 256 * 256;
    temporary_bytes_ = std::max(temporary_bytes_, op.temporary);
    return op;
  }

  Range PersistentOf(const Operator& op) const {
    return op.persistent ? Range{persistent_.get(), op.persistent_offset, op.persistent} : Range{};
  }

  void RecordInto(CommandList& list, const std::vector<Range>& inputs, const std::vector<Range>& outputs) override {
    const auto range = [&](const View& view) -> Range {
      if (!view.is_present()) return {};
      const Value& value = net_.values()[view.value];
      if (value.input >= 0) return inputs[value.input];
      if (value.output >= 0) return outputs[value.output];
      return {values_.get(), arena_.offsets[view.value], value.bytes};
    };
    Hazards hazards;
    for (const std::vector<int>& group : groups_)
      for (int i : group) {
        const Node& node = net_.nodes()[i];
        const Operator& op = operators_[operator_of_[i]];
        std::vector<Range> in, out;
        std::vector<Hazards::Span> reads, writes;
        const auto note = [](std::vector<Hazards::Span>& spans, const Range& r) {
          if (r.buffer) spans.push_back({r.buffer, r.offset, r.offset + r.bytes});
        };
        for (const View& view : node.inputs) {
          in.push_back(range(view));
          note(reads, in.back());
        }
        for (const View& view : node.outputs) {
          out.push_back(range(view));
          note(writes, out.back());
        }
        const Range temporary = op.temporary ? Range{temporary_.get(), 0, op.temporary} : Range{};
        note(writes, temporary);
        if (hazards.Add(reads, writes)) {
          list.Barrier();
          ++counts_.barriers;
        }
        Dispatch(list, op.compiled.get(), in, out, temporary, PersistentOf(op));
      }
  }

  const Groups groups_;
  const Arena arena_;
  std::vector<Operator> operators_;
  std::vector<size_t> operator_of_;
  uint64_t temporary_bytes_ = 0, persistent_bytes_ = 0;
  Ref<ID3D12Resource> values_, temporary_, persistent_;
};

class Graph : public Form {
 public:
  Graph(Device& device, const Net& net) : Form(device, net) {
    const Clock::time_point start = Clock::now();
    Compile();
    compile_ms_ = MillisecondsSince(start);
    const DML_BINDING_PROPERTIES properties = BindingProperties(compiled_.get());
    const auto range = [&](Ref<ID3D12Resource>& buffer, uint64_t bytes) {
      if (bytes) buffer = device.Buffer(bytes);
      return Range{buffer.get(), 0, bytes};
    };
    temporary_ = range(temporary_buffer_, properties.TemporaryResourceSize);
    persistent_ = range(persistent_buffer_, properties.PersistentResourceSize);
    device.Initialize({compiled_.get()}, {persistent_});
  }

 private:
  void Compile() {
    const std::vector<Node>& nodes = net_.nodes();
    std::vector<Ref<IDMLOperator>> operators;
    std::vector<DML_OPERATOR_GRAPH_NODE_DESC> node_descs(nodes.size());
    std::vector<DML_GRAPH_NODE_DESC> graph_nodes(nodes.size());
    std::vector<DML_INPUT_GRAPH_EDGE_DESC> input_edges;
    std::vector<DML_INTERMEDIATE_GRAPH_EDGE_DESC> inner_edges;
    std::vector<DML_OUTPUT_GRAPH_EDGE_DESC> output_edges;
    for (UINT i = 0; i < nodes.size(); ++i) {
      operators.push_back(CreateOperator(device_, nodes[i]));
      node_descs[i] = {operators.back().get(), nullptr};
      graph_nodes[i] = {DML_GRAPH_NODE_TYPE_OPERATOR, &node_descs[i]};
      for (UINT slot = 0; slot < nodes[i].inputs.size(); ++slot) {
        if (!nodes[i].inputs[slot].is_present()) continue;
        const Value& value = net_.values()[nodes[i].inputs[slot].value];
        if (value.input >= 0) input_edges.push_back({static_cast<UINT>(value.input), i, slot, nullptr});
        else inner_edges.push_back({static_cast<UINT>(value.node), static_cast<UINT>(value.slot), i, slot, nullptr});
      }
    }
    for (UINT i = 0; i < net_.outputs().size(); ++i) {
      const Value& value = net_.values()[net_.outputs()[i]];
      output_edges.push_back({static_cast<UINT>(value.node), static_cast<UINT>(value.slot), i, nullptr});
    }
    const auto edges = [](DML_GRAPH_EDGE_TYPE type, const auto& descs) {
      std::vector<DML_GRAPH_EDGE_DESC> result;
      for (const auto& desc : descs) result.push_back({type, &desc});
      return result;
    };
    const auto in = edges(DML_GRAPH_EDGE_TYPE_INPUT, input_edges), inner = edges(DML_GRAPH_EDGE_TYPE_INTERMEDIATE, inner_edges),
               out = edges(DML_GRAPH_EDGE_TYPE_OUTPUT, output_edges);
    const auto size = [](const auto& list) { return static_cast<UINT>(list.size()); };
    const DML_GRAPH_DESC desc{size(net_.inputs()), size(net_.outputs()), size(graph_nodes), graph_nodes.data(), size(in), in.data(),
                              size(out),           out.data(),           size(inner),       inner.data()};
    Check(device_.dml()->CompileGraph(&desc, DML_EXECUTION_FLAG_NONE, __uuidof(IDMLCompiledOperator), compiled_.out_void()),
          "IDMLDevice1::CompileGraph");
  }

  void RecordInto(CommandList& list, const std::vector<Range>& inputs, const std::vector<Range>& outputs) override {
    Dispatch(list, compiled_.get(), inputs, outputs, temporary_, persistent_);
  }

  Ref<IDMLCompiledOperator> compiled_;
  Ref<ID3D12Resource> temporary_buffer_, persistent_buffer_;
  Range temporary_, persistent_;
};

}  // namespace

CommandList Form::Record(const std::vector<Range>& inputs, const std::vector<Range>& outputs) {
  counts_ = {};
  CommandList list = device_.Open();
  RecordInto(list, inputs, outputs);
  list.Barrier();
  list.Close();
  return list;
}

void Form::Dispatch(CommandList& list, IDMLCompiledOperator* compiled, const std::vector<Range>& inputs, const std::vector<Range>& outputs,
                    const Range& temporary, const Range& persistent) {
  tables_.push_back(device_.Table(compiled));
  BindTable(tables_.back().get(), inputs, outputs, temporary, persistent);
  device_.recorder()->RecordDispatch(list.get(), compiled, tables_.back().get());
  ++counts_.dispatches;
}

std::unique_ptr<Form> MakeList(Device& device, const Net& net, Groups groups) {
  return std::make_unique<List>(device, net, std::move(groups));
}
std::unique_ptr<Form> MakeGraph(Device& device, const Net& net) { return std::make_unique<Graph>(device, net); }

}  // namespace dxtensor::peer
