#include "overwrites.h"

#include <algorithm>
#include <cstring>

#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kAlignment = 16;           // of a part's offset, as of bound buffers
constexpr int64_t kCopiedAtOnce = 256 << 10;  // bytes of a task; 64 KiB and 1 MiB: within the noise of 8 % for training steps
constexpr size_t kNever = static_cast<size_t>(-1);

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(uint64_t size) : size_(size) {}
  void Run(const KernelArguments& arguments) const override {
    ThreadPool::Get().ParallelFor(0, static_cast<int64_t>(size_), kCopiedAtOnce, [&](int64_t first, int64_t last, int) {
      std::memcpy(arguments.outputs[0] + first, arguments.inputs[0] + first, static_cast<size_t>(last - first));
    });
  }

 private:
  const uint64_t size_;
};

struct Range {
  uint64_t begin = 0, end = 0;
  bool Meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

const GraphValue& ValueOf(const Graph& graph, const GraphOperand& operand) { return graph.values[static_cast<size_t>(operand.value)]; }

Range RangeOf(const Graph& graph, const GraphOperand& operand) { return {operand.offset, operand.offset + SizeOf(graph, operand)}; }

// Whether the step may write over what it reads, when both are the same bytes.
bool MayOverwrite(const Graph& graph, const GraphStep& step, size_t input, size_t output) {
  if (step.kernel->MayOverwrite(input, output)) return true;
  if (step.nodes.size() != 1) return false;
  const schema::OperatorDesc& desc = *graph.nodes[static_cast<size_t>(step.nodes[0])].desc;
  if (!desc.schema->supports_in_place) return false;
  const auto inputs = desc.Inputs(), outputs = desc.Outputs();
  return input < inputs.size() && output < outputs.size() && inputs[input] && outputs[output] &&
         HaveSameLayout(*inputs[input], *outputs[output]);
}

bool IsCopy(const GraphStep& step) { return dynamic_cast<const CopyKernel*>(step.kernel.get()) != nullptr; }

GraphStep CopyOf(const GraphOperand& from, const GraphOperand& to, std::vector<int> nodes) {
  GraphStep step;
  step.kernel = MakeCopyKernel(from.size);
  step.inputs.push_back(from);
  step.outputs.push_back({to.value, to.offset, from.size});
  step.name = "copy";
  step.nodes = std::move(nodes);
  return step;
}

// Where the pieces of a flat JOIN lie in what it makes; empty when it is none.
std::vector<Range> PartsOf(const Graph& graph, const GraphStep& step) {
  if (step.nodes.size() != 1) return {};
  const GraphNode& node = graph.nodes[static_cast<size_t>(step.nodes[0])];
  if (node.desc->type() != DML_OPERATOR_JOIN) return {};
  const schema::TensorDesc& whole = *node.desc->Outputs()[0];
  const auto axis = node.desc->Get<uint32_t>("Axis");
  const uint32_t bytes = schema::BytesPerElement(whole.data_type);
  for (uint32_t d = 0; d < axis; ++d)
    if (whole.sizes[d] != 1) return {};
  if (!whole.IsPacked() || !bytes) return {};
  std::vector<Range> ranges;
  uint64_t at = 0;
  for (const schema::TensorDesc* part : node.desc->Inputs()) {
    if (!part->IsPacked()) return {};
    ranges.push_back({at, at + part->ElementCount() * bytes});
    at = ranges.back().end;
  }
  return ranges;
}

// Whether a step writes a part of what it reads: then the slots that it reads that by, else none.
std::vector<size_t> KeptSlots(const Graph& graph, const GraphStep& step, int value) {
  std::vector<size_t> slots;
  for (size_t i = 0; i < step.inputs.size(); ++i)
    if (step.inputs[i].value == value) slots.push_back(i);
  if (step.nodes.size() != 1 || step.outputs.size() != 1 || slots.empty()) return {};
  const DML_OPERATOR_TYPE type = graph.nodes[static_cast<size_t>(step.nodes[0])].desc->type();
  if (type == DML_OPERATOR_SCATTER || type == DML_OPERATOR_SCATTER_ND)
    return slots == std::vector<size_t>{0} && step.inputs[0].offset == 0 && step.kernel->MayOverwrite(0, 0) ? slots : std::vector<size_t>{};
  const std::vector<Range> ranges = PartsOf(graph, step);
  if (ranges.size() != step.inputs.size()) return {};
  uint64_t kept = 0;
  for (size_t i : slots) {
    if (step.inputs[i].offset != ranges[i].begin) return {};
    kept += ranges[i].end - ranges[i].begin;
  }
  return 2 * kept >= ranges.back().end ? slots : std::vector<size_t>{};
}

// Whether the step makes all of a value, and the memory of a later one may be written by it.
bool MakesPart(const Graph& graph, const GraphStep& step) {
  if (step.nodes.size() != 1 || step.outputs.size() != 1 || step.outputs[0].value < 0 || step.outputs[0].offset != 0) return false;
  const DML_OPERATOR_TYPE type = graph.nodes[static_cast<size_t>(step.nodes[0])].desc->type();
  return type == DML_OPERATOR_SCATTER || type == DML_OPERATOR_SCATTER_ND || !PartsOf(graph, step).empty();
}

// Lets the parts of a JOIN be computed where its result has them.
class Joiner {
 public:
  Joiner(const Graph& graph, std::vector<GraphStep>* steps) : graph_(graph), steps_(*steps), inside_(graph.values.size()) {
    last_write_.resize(graph.values.size(), kNever);
    for (size_t s = 0; s < steps_.size(); ++s)
      for (const GraphOperand& operand : steps_[s].outputs)
        if (operand.value >= 0) last_write_[static_cast<size_t>(operand.value)] = s;
  }

  void Run() {
    std::vector<GraphStep> left;
    for (size_t s = 0; s < steps_.size(); ++s)
      if (!Join(s, &left)) left.push_back(std::move(steps_[s]));
    steps_ = std::move(left);
    for (GraphStep& step : steps_)
      for (auto* operands : {&step.inputs, &step.outputs})
        for (GraphOperand& operand : *operands) Move(&operand);
  }

 private:
  // Only steps use the value, and it has the size of the part.
  bool IsMovable(const GraphOperand& operand, const Range& target) const {
    const GraphValue& value = ValueOf(graph_, operand);
    const auto v = static_cast<size_t>(operand.value);
    return last_write_[v] != kNever && operand.offset == 0 && value.graph_outputs.empty() && target.begin % kAlignment == 0 &&
           value.size_in_bytes == target.end - target.begin && inside_[v].value < 0;
  }

  bool IsInside(int value, int whole) const {
    for (; value >= 0; value = inside_[static_cast<size_t>(value)].value)
      if (value == whole) return true;
    return false;
  }

  // Whether a later step overwrites the result, as SCATTER does in a chain, and that step or one after it reads the part.
  bool IsReadAfterOverwrite(size_t join, int part, int whole) const {
    const size_t last = last_write_[static_cast<size_t>(whole)];
    bool is_written = false;
    for (size_t s = join + 1; last != kNever && last > join && s < steps_.size(); ++s) {
      for (const GraphOperand& operand : steps_[s].outputs) is_written = is_written || operand.value == whole;
      if (!is_written) continue;
      for (const GraphOperand& operand : steps_[s].inputs)
        if (IsInside(operand.value, part)) return true;
    }
    return false;
  }

  bool Join(size_t join, std::vector<GraphStep>* left) {
    const GraphStep& step = steps_[join];
    const std::vector<Range> ranges = PartsOf(graph_, step);
    if (ranges.empty()) return false;
    const GraphOperand whole = step.outputs[0];
    // In a chain the result has values that are still read: parts are copied, not computed there.
    const bool is_chained =
        std::any_of(step.inputs.begin(), step.inputs.end(), [&](const GraphOperand& part) { return part.value == whole.value; });
    std::vector<bool> moves(ranges.size());
    uint64_t moved = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const GraphOperand& part = step.inputs[i];
      moves[i] = !is_chained && IsMovable(part, ranges[i]) && !IsReadAfterOverwrite(join, part.value, whole.value);
      for (size_t k = 0; k < i; ++k) moves[i] = moves[i] && step.inputs[k].value != part.value;
      if (moves[i] || IsAt(part, whole, ranges[i])) moved += ranges[i].end - ranges[i].begin;
    }
    if (2 * moved < ranges.back().end) return false;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const GraphOperand& part = step.inputs[i];
      const uint64_t size = ranges[i].end - ranges[i].begin;
      if (part.value == whole.value) continue;
      if (moves[i]) inside_[static_cast<size_t>(part.value)] = {whole.value, whole.offset + ranges[i].begin};
      else left->push_back(CopyOf({part.value, part.offset, size}, {whole.value, whole.offset + ranges[i].begin}, step.nodes));
    }
    return true;
  }

  // Whether a part of a graph input is at its offset in the result already.
  bool IsAt(const GraphOperand& part, const GraphOperand& whole, const Range& target) const {
    if (part.value == whole.value) return true;
    for (const Overwrite& over : graph_.overwrites) {
      const std::vector<int>& outputs = ValueOf(graph_, whole).graph_outputs;
      if (!outputs.empty() && outputs[0] == static_cast<int>(over.output) &&
          ValueOf(graph_, part).graph_input == static_cast<int>(over.input) && over.offset + part.offset == whole.offset + target.begin)
        return true;
    }
    return false;
  }

  // The result of a JOIN may be a part of another JOIN.
  void Move(GraphOperand* operand) const {
    while (operand->value >= 0) {
      const GraphOperand& whole = inside_[static_cast<size_t>(operand->value)];
      if (whole.value < 0) return;
      operand->size = SizeOf(graph_, *operand);
      operand->value = whole.value;
      operand->offset += whole.offset;
    }
  }

  const Graph& graph_;
  std::vector<GraphStep>& steps_;
  std::vector<GraphOperand> inside_;  // by value: where it lies; no value for those that are their own
  std::vector<size_t> last_write_;    // by value: the last step that writes it
};

struct Use {
  size_t step, slot;
  Range range;  // of the output
};

// Whether the copy takes bytes from where it puts them.
bool IsIdle(const Graph& graph, const GraphStep& step, int value, const std::vector<Overwrite>& over) {
  if (!IsCopy(step) || step.outputs[0].value != value) return false;
  const int input = ValueOf(graph, step.inputs[0]).graph_input;
  return std::any_of(over.begin(), over.end(), [&](const Overwrite& o) {
    return static_cast<int>(o.input) == input && o.offset + step.inputs[0].offset == step.outputs[0].offset;
  });
}

// Whether every old byte is read for the last time before it is written.
bool IsInPlace(const Graph& graph, const std::vector<GraphStep>& steps, int value, const std::vector<Overwrite>& over) {
  std::vector<Use> reads, writes;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (IsIdle(graph, steps[s], value, over)) continue;
    for (size_t i = 0; i < steps[s].outputs.size(); ++i)
      if (steps[s].outputs[i].value == value) writes.push_back({s, i, RangeOf(graph, steps[s].outputs[i])});
    for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
      const GraphOperand& operand = steps[s].inputs[i];
      if (operand.value < 0) continue;
      for (const Overwrite& o : over) {
        if (ValueOf(graph, operand).graph_input != static_cast<int>(o.input)) continue;
        const Range range = RangeOf(graph, operand);
        reads.push_back({s, i, {range.begin + o.offset, range.end + o.offset}});
      }
    }
  }
  for (const Use& w : writes)
    for (const Use& r : reads) {
      if (r.step < w.step || !r.range.Meets(w.range)) continue;
      if (r.step > w.step || r.range.begin != w.range.begin || !MayOverwrite(graph, steps[w.step], r.slot, w.slot)) return false;
    }
  return true;
}

}  // namespace

bool HaveSameLayout(const schema::TensorDesc& a, const schema::TensorDesc& b) {
  return a.rank == b.rank && a.sizes == b.sizes && a.strides == b.strides &&
         schema::BitsPerElement(a.data_type) == schema::BitsPerElement(b.data_type);
}

std::unique_ptr<Kernel> MakeCopyKernel(uint64_t size) { return std::make_unique<CopyKernel>(size); }

void ChainInPlace(const Graph& graph, std::vector<GraphStep>* steps) {
  for (size_t s = steps->size(); s-- > 1;) {
    const GraphStep& last = (*steps)[s];
    if (!MakesPart(graph, last)) continue;
    const int to = last.outputs[0].value;
    for (size_t p = 0; p < s; ++p) {
      const GraphStep& first = (*steps)[p];
      if (!MakesPart(graph, first)) continue;
      const int from = first.outputs[0].value;
      const GraphValue &before = graph.values[static_cast<size_t>(from)], &after = graph.values[static_cast<size_t>(to)];
      if (from == to || before.size_in_bytes != after.size_in_bytes || before.graph_input >= 0 || !before.graph_outputs.empty()) continue;
      if (KeptSlots(graph, last, from).empty()) continue;
      bool is_last = true;
      for (size_t r = 0; r < steps->size(); ++r) {
        for (const GraphOperand& operand : (*steps)[r].inputs) is_last = is_last && !(r > s && operand.value == from);
        for (const GraphOperand& operand : (*steps)[r].outputs) is_last = is_last && (r == p || operand.value != from);
      }
      if (!is_last) continue;
      for (GraphStep& step : *steps)
        for (auto* operands : {&step.inputs, &step.outputs})
          for (GraphOperand& operand : *operands)
            if (operand.value == from) operand.value = to;
      break;
    }
  }
}

void JoinInPlace(const Graph& graph, std::vector<GraphStep>* steps) { Joiner(graph, steps).Run(); }

void SettleOverwrites(Graph* graph, std::vector<GraphStep>* steps) {
  std::vector<GraphStep> copies;
  for (size_t v = 0, count = graph->values.size(); v < count; ++v) {
    const std::vector<int> outputs = graph->values[v].graph_outputs;
    if (outputs.empty()) continue;
    const int value = static_cast<int>(v);
    std::vector<Overwrite> over;
    for (const Overwrite& o : graph->overwrites)
      if (static_cast<int>(o.output) == outputs[0]) over.push_back(o);
    if (over.empty()) continue;
    if (IsInPlace(*graph, *steps, value, over)) {
      auto idle = [&](const GraphStep& step) { return IsIdle(*graph, step, value, over); };
      steps->erase(std::remove_if(steps->begin(), steps->end(), idle), steps->end());
      continue;
    }
    const int apart = static_cast<int>(count + copies.size());
    graph->values.emplace_back();
    graph->values.back().size_in_bytes = graph->values[v].size_in_bytes;
    for (GraphStep& step : *steps)
      for (auto* operands : {&step.inputs, &step.outputs})
        for (GraphOperand& operand : *operands)
          if (operand.value == value) operand.value = apart;
    copies.push_back(CopyOf({apart, 0, graph->values[v].size_in_bytes}, {value, 0}, {}));
  }
  for (GraphStep& copy : copies) steps->push_back(std::move(copy));
}

}  // namespace dxtensor::software
