#include "program.h"

#include <algorithm>

#include "binding_check.h"
#include "bound_tables.h"
#include "failure.h"

namespace dxtensor::dml {

Program::Program() = default;
Program::~Program() = default;

namespace {

constexpr uint64_t kBindingAlignment = DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT;
constexpr uint64_t kTemporaryAlignment = DML_TEMPORARY_BUFFER_ALIGNMENT;

class Planner {
 public:
  explicit Planner(const ProgramDesc& desc) : desc_(desc), program_(std::make_unique<Program>()) {}

  std::unique_ptr<Program> Plan() {
    program_->name = desc_.name;
    program_->input_sizes = desc_.inputs;
    program_->output_sizes = desc_.outputs;
    program_->scratch = desc_.scratch;
    program_->slot_count = static_cast<uint32_t>(desc_.inputs.size() + desc_.outputs.size() + 2);
    program_->bound_slots.assign(program_->slot_count, false);
    std::vector<const StepDesc*> steps;
    for (const StepDesc& step : desc_.steps) steps.push_back(&step);
    std::stable_sort(steps.begin(), steps.end(), [](const StepDesc* a, const StepDesc* b) { return a->group < b->group; });
    for (size_t i = 0; i < steps.size();) i = AddGroup(steps, i);
    return std::move(program_);
  }

 private:
  size_t AddGroup(const std::vector<const StepDesc*>& steps, size_t i) {
    StepGroup group;
    group.dispatch_begin = static_cast<uint32_t>(program_->dispatches.size());
    group.copy_begin = static_cast<uint32_t>(program_->copies.size());
    for (uint32_t number = steps[i]->group; i < steps.size() && steps[i]->group == number; ++i) AddStep(*steps[i]);
    group.dispatch_end = static_cast<uint32_t>(program_->dispatches.size());
    group.copy_end = static_cast<uint32_t>(program_->copies.size());
    program_->groups.push_back(group);
    return i;
  }

  void AddStep(const StepDesc& step) {
    if (step.dispatchable < 0) {
      const SlotRange &from = step.inputs.at(0), &to = step.outputs.at(0);
      CheckRange(from);
      CheckRange(to);
      if (from.slot < 0 || to.slot < 0 || from.size != to.size) Refuse("a copy needs two ranges of one size");
      if (from.slot == to.slot && from.offset < to.offset + to.size && to.offset < from.offset + from.size)
        Refuse("a copy's two ranges meet");
      if (from.size) program_->copies.push_back({from, to});
      return;
    }
    if (static_cast<size_t>(step.dispatchable) >= desc_.dispatchables.size()) Refuse("a step names a dispatchable that is not there");
    DispatchStep dispatch;
    dispatch.op = static_cast<uint32_t>(step.dispatchable);
    dispatch.inputs = step.inputs;
    dispatch.outputs = step.outputs;
    for (auto* list : {&dispatch.inputs, &dispatch.outputs})
      for (SlotRange& range : *list) Bind(range);
    StepDesc rounded{step.group, step.dispatchable, dispatch.inputs, dispatch.outputs};
    std::string fault = BindingFault(desc_.dispatchables[dispatch.op], rounded);
    if (!fault.empty()) Refuse(fault);
    if (std::holds_alternative<ShaderDesc>(desc_.dispatchables[dispatch.op])) CheckShaderStep(dispatch);
    program_->dispatches.push_back(std::move(dispatch));
  }

  // A pipeline is made for one number of buffers.
  void CheckShaderStep(const DispatchStep& dispatch) const {
    for (const DispatchStep& other : program_->dispatches)
      if (other.op == dispatch.op && other.outputs.size() != dispatch.outputs.size())
        Refuse("two steps bind different numbers of buffers to one shader");
  }

  void Bind(SlotRange& range) {
    if (range.slot < 0) return;
    CheckRange(range);
    if (range.offset % kBindingAlignment) Refuse("a bound offset of " + std::to_string(range.offset) + " is no multiple of 16");
    range.size = RoundUp(range.size, 4);
    program_->bound_slots[static_cast<size_t>(range.slot)] = true;
  }

  void CheckRange(const SlotRange& range) {
    if (range.slot < 0) return;
    auto slot = static_cast<size_t>(range.slot);
    if (slot > desc_.inputs.size() + desc_.outputs.size()) Refuse("slot " + std::to_string(slot) + " is not there");
    uint64_t size = slot < desc_.inputs.size()                          ? desc_.inputs[slot]
                    : slot < desc_.inputs.size() + desc_.outputs.size() ? desc_.outputs[slot - desc_.inputs.size()]
                                                                        : desc_.scratch;
    // Buffers hold whole units of 4 bytes, and so may a range.
    if (range.offset > size || range.size > RoundUp(size, 4) - range.offset)
      Refuse("bytes " + std::to_string(range.offset) + " to " + std::to_string(range.offset + range.size) + " are outside slot " +
             std::to_string(slot) + " of " + std::to_string(size));
  }

  [[noreturn]] void Refuse(const std::string& why) const { throw Failure(FailureKind::Invalid, "program '" + desc_.name + "': " + why); }

  const ProgramDesc& desc_;
  std::unique_ptr<Program> program_;
};

}  // namespace

std::unique_ptr<Program> PlanProgram(const ProgramDesc& desc) { return Planner(desc).Plan(); }

void AssignTemporaryOffsets(Program& program) {
  program.temporary = 0;
  for (const StepGroup& group : program.groups) {
    uint64_t at = 0;
    for (uint32_t i = group.dispatch_begin; i < group.dispatch_end; ++i) {
      DispatchStep& step = program.dispatches[i];
      const CompiledOperator& op = program.operators[step.op];
      step.temporary_offset = at;
      at += RoundUp(op.temporary, kTemporaryAlignment);
      program.descriptors += op.descriptors;
    }
    program.temporary = std::max(program.temporary, at);
  }
}

}  // namespace dxtensor::dml
