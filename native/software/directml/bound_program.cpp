#include "bound_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "software/compiler/overwrites.h"
#include "software/cpu/host/abandon.h"
#include "software/cpu/host/thread_pool.h"
#include "software/cpu/prepacked_inputs.h"

namespace dxtensor::software {

namespace {

class BoundProgram final : public BoundDispatch {
 public:
  BoundProgram(Held<Program> program, const Bindings& bindings) : program_(std::move(program)) {
    size_t in = 0, out = 0;
    for (const ProgramStep& step : program_->steps) {
      in += step.inputs.size();
      out += step.outputs.size();
    }
    inputs_.reserve(in);
    outputs_.reserve(out);
    steps_.reserve(program_->steps.size());
    for (const ProgramStep& step : program_->steps) {
      steps_.push_back(
          {step.kernel.get(), {inputs_.data() + inputs_.size(), outputs_.data() + outputs_.size(), Resolve(step.scratch, bindings)}});
      for (const Operand& operand : step.inputs) inputs_.push_back(Resolve(operand, bindings));
      for (const Operand& operand : step.outputs) outputs_.push_back(Resolve(operand, bindings));
      Watch(step, bindings, &steps_.back());
    }
    for (const Overwrite& over : program_->overwrites) {
      uint8_t* begin = bindings.inputs[over.input].buffer.data();
      overwritten_.push_back({begin, begin + program_->inputs[over.input].size, nullptr, true});
    }
  }

  void Run() const override {
    if (program_->times.wanted()) return RunTimed();
    ThreadChoice& threads = program_->threads;
    const ThreadChoice::Run run = threads.Next();
    if (run == ThreadChoice::Run::Shared) return RunSteps();
    if (run == ThreadChoice::Run::Alone) return RunAlone();
    const Clock::time_point before = Clock::now();
    if (run == ThreadChoice::Run::MeasuredAlone) RunAlone();
    else RunSteps();
    threads.Note(run, static_cast<uint64_t>(std::chrono::nanoseconds(Clock::now() - before).count()));
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Step {
    const Kernel* kernel;
    KernelArguments arguments;
    const PrepackingKernel* prepacking = nullptr;  // where its input may be prepacked
    const uint8_t* source = nullptr;
    uint64_t source_size = 0;
  };

  void RunSteps() const {
    for (const Step& step : steps_) {
      CheckAbandoned();
      RunStep(step);
    }
    DropPrepacked();
  }

  void RunAlone() const {
    const OneThreadScope scope;
    RunSteps();
  }

  void RunTimed() const {
    std::vector<uint64_t> run;
    Clock::time_point before = Clock::now();
    for (const Step& step : steps_) {
      CheckAbandoned();
      RunStep(step);
      const Clock::time_point after = Clock::now();
      run.push_back(static_cast<uint64_t>(std::chrono::nanoseconds(after - before).count()));
      before = after;
    }
    program_->times.Note(run);
    DropPrepacked();
  }

  // What was made of inputs before they were written in place.
  void DropPrepacked() const {
    for (const Access& over : overwritten_) PrepackedInputs::Get().Written(over.begin, over.end);
  }

  static void RunStep(const Step& step) {
    if (!step.prepacking) return step.kernel->Run(step.arguments);
    const auto form = PrepackedInputs::Get().Take(*step.prepacking, step.arguments, step.source, step.source_size);
    step.prepacking->RunPrepacked(step.arguments, form.get());
  }

  // An input that only commands write: the CPU may map other heaps than the default one.
  void Watch(const ProgramStep& step, const Bindings& bindings, Step* bound) const {
    const PrepackingKernel* prepacking = PrepackingKernel::Of(step.kernel.get());
    if (!prepacking) return;
    const Operand& operand = step.inputs[static_cast<size_t>(prepacking->PrepackedInput())];
    const BoundBuffer* buffer = nullptr;
    uint64_t end = 0;
    if (operand.base == Operand::Base::Input) {
      buffer = &bindings.inputs[operand.index].buffer;
      end = program_->inputs[operand.index].size;
    } else if (operand.base == Operand::Base::Persistent) {
      buffer = &bindings.persistent;
      end = program_->persistent_size;
    }
    if (!buffer || buffer->resource->heap_type() != D3D12_HEAP_TYPE_DEFAULT) return;
    bound->prepacking = prepacking;
    bound->source = Resolve(operand, bindings);
    bound->source_size = end - operand.offset;
  }

  uint8_t* Resolve(const Operand& operand, const Bindings& bindings) const {
    switch (operand.base) {
      case Operand::Base::None: return nullptr;
      case Operand::Base::Input: return bindings.inputs[operand.index].buffer.data() + operand.offset;
      case Operand::Base::Output: return bindings.outputs[operand.index].buffer.data() + operand.offset;
      case Operand::Base::Temporary: return bindings.temporary.data() + operand.offset;
      case Operand::Base::Persistent: return bindings.persistent.data() + operand.offset;
      case Operand::Base::Constant:
        // Constants are inputs only; the addresses of inputs are kept as such.
        return reinterpret_cast<uint8_t*>(const_cast<uint64_t*>(program_->constants[operand.index].data())) + operand.offset;
    }
    return nullptr;
  }

  const Held<Program> program_;
  std::vector<const uint8_t*> inputs_;
  std::vector<uint8_t*> outputs_;
  std::vector<Step> steps_;
  std::vector<Access> overwritten_;
};

bool Meet(const Access& a, const Access& b) { return a.begin < b.end && b.begin < a.end; }

// DirectML lets one operator write over an input when both are the same bytes, read and written in the same order.
bool MayRunInPlace(const Program& program, size_t input, size_t output, const Access& in, const Access& out) {
  return program.in_place && in.begin == out.begin && in.end == out.end &&
         HaveSameLayout(program.inputs[input].tensor, program.outputs[output].tensor);
}

// Whether the program was compiled to find them so.
bool IsOverwrite(const Program& program, size_t input, size_t output, const Access& in, const Access& out) {
  return std::any_of(program.overwrites.begin(), program.overwrites.end(), [&](const Overwrite& over) {
    return over.input == input && over.output == output && in.begin == out.begin + over.offset;
  });
}

}  // namespace

Held<BoundDispatch> BindProgram(const Held<Program>& program, const Bindings& bindings, std::string* why) {
  auto bound = Held<BoundProgram>::Adopt(new BoundProgram(program, bindings));
  std::vector<std::pair<size_t, Access>> inputs, outputs;
  BoundDispatch* dispatch = bound.get();
  dispatch->accesses.reserve(program->inputs.size() + program->outputs.size() + 2);
  for (size_t i = 0; i < program->inputs.size(); ++i) {
    const BindingSlot& slot = program->inputs[i];
    if (!slot.present || slot.owned) continue;
    AddAccess(dispatch, bindings.inputs[i].buffer, slot.size, false);
    inputs.push_back({i, dispatch->accesses.back()});
  }
  if (program->persistent_size) {
    AddAccess(dispatch, bindings.persistent, program->persistent_size, false);
    inputs.push_back({SIZE_MAX, dispatch->accesses.back()});
  }
  for (size_t i = 0; i < program->outputs.size(); ++i) {
    if (!program->outputs[i].present) continue;
    AddAccess(dispatch, bindings.outputs[i].buffer, program->outputs[i].size, true);
    outputs.push_back({i, dispatch->accesses.back()});
  }
  if (program->temporary_size) {
    AddAccess(dispatch, bindings.temporary, program->temporary_size, true);
    outputs.push_back({SIZE_MAX, dispatch->accesses.back()});
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (size_t k = 0; k < o; ++k)
      if (Meet(outputs[o].second, outputs[k].second))
        *why = "the ranges of two outputs, or of an output and the temporary resource, overlap";
    for (const auto& [i, in] : inputs) {
      if (!Meet(in, outputs[o].second)) continue;
      bool both_tensors = i != SIZE_MAX && outputs[o].first != SIZE_MAX;
      if (!both_tensors || !(MayRunInPlace(*program, i, outputs[o].first, in, outputs[o].second) ||
                             IsOverwrite(*program, i, outputs[o].first, in, outputs[o].second)))
        *why = "an output or the temporary resource overlaps an input, and this cannot run in place";
    }
  }
  for (const Overwrite& over : program->overwrites)
    if (bindings.inputs[over.input].buffer.data() != bindings.outputs[over.output].buffer.data() + over.offset)
      *why = "an output is not bound over the input that it was compiled to overwrite";
  if (!why->empty()) return {};
  bound->Hold();
  return Held<BoundDispatch>::Adopt(bound.get());
}

void BoundInitialization::Run() const {
  for (const Copy& copy : copies) std::memmove(copy.to, copy.from, copy.size);
}

}  // namespace dxtensor::software
