// Dispatchables: compiled operators and operator initializers.
//
// Both list the bindings that a table needs, and make a BoundDispatch of a table. Immutable but for Initializer::Reset, which the caller
// keeps apart from other uses, as in DirectML.
#pragma once

#include "software/compiler/program.h"
#include "software/d3d12/bound_dispatch.h"
#include "dml_device.h"

namespace dxtensor::software {

#ifdef DXT_STRUCT_BY_POINTER
// DirectML.h declares no hidden pointer for GCC: the same tables of methods, with it.
struct DispatchableAbi : public IDMLPageable {
  virtual DML_BINDING_PROPERTIES* STDMETHODCALLTYPE GetBindingProperties(DML_BINDING_PROPERTIES* result) = 0;
};
struct CompiledOperatorAbi : public DispatchableAbi {};
struct InitializerAbi : public DispatchableAbi {
  virtual HRESULT STDMETHODCALLTYPE Reset(UINT count, IDMLCompiledOperator* const* operators) = 0;
};
#else
using CompiledOperatorAbi = IDMLCompiledOperator;
using InitializerAbi = IDMLOperatorInitializer;
#endif

// What a table has bound, each range already inside of its buffer and aligned.
struct Bindings {
  struct Slot {
    BoundBuffer buffer;
    std::vector<BoundBuffer> array;  // of an initializer's input
  };
  std::vector<Slot> inputs, outputs;
  bool inputs_bound = false, outputs_bound = false;
  BoundBuffer temporary, persistent;
};

// The part of a dispatchable that tables and recorders use. Found by QueryInterface for kIidDispatchBody, without a reference.
class DispatchBody {
 public:
  virtual DML_BINDING_PROPERTIES Properties() const = 0;
  virtual DmlDevice* Owner() const = 0;
  // Empty, or what is wrong with a binding; called when it is bound.
  virtual std::string CheckInputs(const std::vector<Bindings::Slot>& inputs) const = 0;
  virtual std::string CheckOutputs(const std::vector<Bindings::Slot>& outputs) const = 0;
  // Null and *why when something is missing or overlaps; called when it is recorded.
  virtual Held<BoundDispatch> Bind(const Bindings& bindings, std::string* why) const = 0;
  virtual void HoldBody() = 0;
  virtual void DropBody() = 0;

 protected:
  ~DispatchBody() = default;
};

// {5d6b3f0e-7c39-4c7e-9a1f-0b7d53a1c2e4}
constexpr GUID kIidDispatchBody = {0x5d6b3f0e, 0x7c39, 0x4c7e, {0x9a, 0x1f, 0x0b, 0x7d, 0x53, 0xa1, 0xc2, 0xe4}};
DispatchBody* FindBody(IUnknown* dispatchable);

template <class Abi, class... Interfaces>
class Dispatchable : public DmlChild<Abi, IDMLPageable, IDMLDispatchable, Interfaces...>, public DispatchBody {
 public:
  DXT_STRUCT_METHOD(DML_BINDING_PROPERTIES, GetBindingProperties) override { DXT_RETURN_STRUCT(Properties()); }
  DmlDevice* Owner() const override { return &this->device(); }
  void HoldBody() override { this->Hold(); }
  void DropBody() override { this->Drop(); }

 protected:
  explicit Dispatchable(DmlDevice* device) : DmlChild<Abi, IDMLPageable, IDMLDispatchable, Interfaces...>(device) {}
  HRESULT QueryOther(REFIID iid, void** out) override {
    if (!(iid == kIidDispatchBody)) return E_NOINTERFACE;
    *out = static_cast<DispatchBody*>(this);
    return S_OK;
  }
};

class CompiledOperator final : public Dispatchable<CompiledOperatorAbi, IDMLCompiledOperator> {
 public:
  CompiledOperator(DmlDevice* device, Held<Program> program) : Dispatchable(device), program_(std::move(program)) {}

  const Program& program() const { return *program_; }
  // Under kIidKernels, what the program runs.
  HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID guid, UINT* size, void* data) override;
  HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID guid, UINT size, const void* data) override;
  DML_BINDING_PROPERTIES Properties() const override;
  std::string CheckInputs(const std::vector<Bindings::Slot>& inputs) const override;
  std::string CheckOutputs(const std::vector<Bindings::Slot>& outputs) const override;
  Held<BoundDispatch> Bind(const Bindings& bindings, std::string* why) const override;

 private:
  const Held<Program> program_;
};

class Initializer final : public Dispatchable<InitializerAbi, IDMLOperatorInitializer> {
 public:
  explicit Initializer(DmlDevice* device) : Dispatchable(device) {}

  HRESULT STDMETHODCALLTYPE Reset(UINT count, IDMLCompiledOperator* const* operators) override;
  DML_BINDING_PROPERTIES Properties() const override;
  std::string CheckInputs(const std::vector<Bindings::Slot>& inputs) const override;
  std::string CheckOutputs(const std::vector<Bindings::Slot>& outputs) const override;
  Held<BoundDispatch> Bind(const Bindings& bindings, std::string* why) const override;

 private:
  std::vector<Held<CompiledOperator>> operators_;
};

}  // namespace dxtensor::software
