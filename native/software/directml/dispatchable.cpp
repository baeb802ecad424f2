#include "dispatchable.h"

#include <cstring>

#include "abi/software_control.h"
#include "bound_program.h"

namespace dxtensor::software {

DispatchBody* FindBody(IUnknown* dispatchable) {
  void* body = nullptr;
  if (!dispatchable || FAILED(dispatchable->QueryInterface(kIidDispatchBody, &body))) return nullptr;
  return static_cast<DispatchBody*>(body);
}

namespace {

std::string CountError(const char* what, size_t wanted, size_t received) {
  return std::string(what) + ": " + std::to_string(received) + " bindings, " + std::to_string(wanted) + " wanted";
}

std::string CheckRange(const BindingSlot& slot, const BoundBuffer& buffer, const std::string& what, bool upload = false) {
  if (!buffer.resource) return what + " is required, and NONE was bound";
  D3D12_HEAP_TYPE heap = buffer.resource->heap_type();
  if (heap == D3D12_HEAP_TYPE_READBACK || (heap == D3D12_HEAP_TYPE_UPLOAD && !upload)) return what + " lies in an upload or readback heap";
  if (buffer.size < slot.size)
    return what + " wants " + std::to_string(slot.size) + " bytes, " + std::to_string(buffer.size) + " were bound";
  if (buffer.offset % slot.alignment) return what + " was bound at an offset that is no multiple of " + std::to_string(slot.alignment);
  return {};
}

}  // namespace

HRESULT CompiledOperator::GetPrivateData(REFGUID guid, UINT* size, void* data) {
  if (!(guid == kIidKernels)) return Dispatchable::GetPrivateData(guid, size, data);
  if (!size) return E_POINTER;
  return Guard([&]() -> HRESULT {
    std::string text;
    const std::vector<uint64_t> times = program_->times.Min();
    for (size_t i = 0; i < program_->steps.size(); ++i) {
      const ProgramStep& step = program_->steps[i];
      text += std::to_string(i < times.size() ? times[i] : 0);
      char before = ' ';
      for (uint32_t node : step.nodes) text += std::exchange(before, ',') + std::to_string(node);
      text += (step.nodes.empty() ? "  " : " ") + std::string(step.name) + '\n';
    }
    const auto needed = static_cast<UINT>(text.size());
    const UINT capacity = std::exchange(*size, needed);
    if (!data) return S_OK;
    if (capacity < needed) return DXGI_ERROR_MORE_DATA;
    std::memcpy(data, text.data(), needed);
    return S_OK;
  });
}

HRESULT CompiledOperator::SetPrivateData(REFGUID guid, UINT size, const void* data) {
  if (!(guid == kIidKernels)) return Dispatchable::SetPrivateData(guid, size, data);
  UINT on = 0;
  if (!data || size != sizeof on) return E_INVALIDARG;
  std::memcpy(&on, data, sizeof on);
  return Guard([&]() -> HRESULT {
    if (on) program_->times.Begin(program_->steps.size());
    else program_->times.End();
    return S_OK;
  });
}

DML_BINDING_PROPERTIES CompiledOperator::Properties() const {
  return {program_->DescriptorCount(), program_->temporary_size, program_->persistent_size};
}

std::string CompiledOperator::CheckInputs(const std::vector<Bindings::Slot>& inputs) const {
  if (inputs.size() != program_->inputs.size()) return CountError("BindInputs", program_->inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const BindingSlot& slot = program_->inputs[i];
    std::string what = "BindInputs: input " + std::to_string(i);
    if (!inputs[i].array.empty()) return what + " was bound to an array";
    if (slot.owned && inputs[i].buffer.resource) return what + " is OWNED_BY_DML, and was bound";
    if (!slot.present && inputs[i].buffer.resource) return what + " is absent, and was bound";
    if (!slot.present || slot.owned) continue;
    std::string wrong = CheckRange(slot, inputs[i].buffer, what);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string CompiledOperator::CheckOutputs(const std::vector<Bindings::Slot>& outputs) const {
  if (outputs.size() != program_->outputs.size()) return CountError("BindOutputs", program_->outputs.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const BindingSlot& slot = program_->outputs[i];
    std::string what = "BindOutputs: output " + std::to_string(i);
    if (!outputs[i].array.empty()) return what + " was bound to an array";
    if (!slot.present && outputs[i].buffer.resource) return what + " is absent, and was bound";
    if (!slot.present) continue;
    std::string wrong = CheckRange(slot, outputs[i].buffer, what);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Held<BoundDispatch> CompiledOperator::Bind(const Bindings& bindings, std::string* why) const {
  const Program& program = *program_;
  bool needs_inputs = false;
  for (const BindingSlot& slot : program.inputs) needs_inputs |= slot.present && !slot.owned;
  if (needs_inputs && !bindings.inputs_bound) *why = "RecordDispatch without inputs";
  else if (!program.outputs.empty() && !bindings.outputs_bound) *why = "RecordDispatch without outputs";
  else if (program.temporary_size && !bindings.temporary.resource) *why = "RecordDispatch without the temporary resource";
  else if (program.persistent_size && !bindings.persistent.resource) *why = "RecordDispatch without the persistent resource";
  else if (bindings.temporary.size < program.temporary_size) *why = "the temporary resource is too small";
  else if (bindings.persistent.size < program.persistent_size) *why = "the persistent resource is too small";
  if (!why->empty()) return {};
  return BindProgram(program_, bindings, why);
}

HRESULT Initializer::Reset(UINT count, IDMLCompiledOperator* const* operators) {
  if (count && !operators) return E_INVALIDARG;
  if (device().IsRemoved()) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard([&]() -> HRESULT {
    std::vector<Held<CompiledOperator>> list;
    for (UINT i = 0; i < count; ++i) {
      if (!FindBody(operators[i])) return E_INVALIDARG;
      auto* op = reinterpret_cast<CompiledOperatorAbi*>(operators[i]);
      list.emplace_back(static_cast<CompiledOperator*>(op));
    }
    operators_ = std::move(list);
    return S_OK;
  });
}

DML_BINDING_PROPERTIES Initializer::Properties() const {
  UINT descriptors = 1;
  for (const auto& op : operators_) descriptors += op->program().persistent_size ? 1 + static_cast<UINT>(op->program().inputs.size()) : 0;
  return {descriptors, 0, 0};
}

std::string Initializer::CheckInputs(const std::vector<Bindings::Slot>& inputs) const {
  if (inputs.size() != operators_.size()) return CountError("BindInputs of an initializer", operators_.size(), inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<BindingSlot>& slots = operators_[k]->program().inputs;
    const std::vector<BoundBuffer>& array = inputs[k].array;
    if (inputs[k].buffer.resource) return "an initializer's input was bound to a buffer instead of an array";
    if (!array.empty() && array.size() != slots.size())
      return CountError("the array of an initializer's input", slots.size(), array.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      bool bound = i < array.size() && array[i].resource;
      std::string what = "operator " + std::to_string(k) + ", input " + std::to_string(i) + " of an initializer";
      if (bound && !slots[i].owned) return what + " is not OWNED_BY_DML, and was bound";
      if (!slots[i].owned) continue;
      if (!bound) return what + " is OWNED_BY_DML, and was not bound";
      std::string wrong = CheckRange(slots[i], array[i], what, true);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

std::string Initializer::CheckOutputs(const std::vector<Bindings::Slot>& outputs) const {
  if (outputs.size() != operators_.size()) return CountError("BindOutputs of an initializer", operators_.size(), outputs.size());
  for (size_t k = 0; k < outputs.size(); ++k) {
    uint64_t wanted = operators_[k]->program().persistent_size;
    if (!outputs[k].array.empty()) return "an initializer's output was bound to an array";
    const BoundBuffer& buffer = outputs[k].buffer;
    if (!wanted) {
      if (buffer.resource) return "an initializer's output was bound for an operator without a persistent resource";
      continue;
    }
    BindingSlot slot;
    slot.size = wanted;
    slot.alignment = 256;
    std::string wrong = CheckRange(slot, buffer, "the persistent resource of operator " + std::to_string(k));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Held<BoundDispatch> Initializer::Bind(const Bindings& bindings, std::string* why) const {
  auto bound = Held<BoundInitialization>::Adopt(new BoundInitialization);
  bound->reads_upload = true;
  for (size_t k = 0; k < operators_.size(); ++k) {
    const Program& program = operators_[k]->program();
    if (!program.persistent_size) continue;
    if (!bindings.inputs_bound || !bindings.outputs_bound) {
      *why = "RecordDispatch of an initializer whose operators have state, without its inputs or outputs";
      return {};
    }
    const BoundBuffer& to = bindings.outputs[k].buffer;
    AddAccess(bound.get(), to, program.persistent_size, true);
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const BindingSlot& slot = program.inputs[i];
      if (!slot.owned) continue;
      const BoundBuffer& from = bindings.inputs[k].array[i];
      if (from.resource.get() == to.resource.get()) {
        *why = "an initializer's input and output are one buffer";
        return {};
      }
      AddAccess(bound.get(), from, slot.size, false);
      bound->copies.push_back({to.data() + slot.persistent_offset, from.data(), slot.size});
    }
  }
  bound->Hold();
  return Held<BoundDispatch>::Adopt(bound.get());
}

}  // namespace dxtensor::software
