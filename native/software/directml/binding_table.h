// Binding tables, and the recorder that puts a bound dispatchable into a command list.
//
// A table keeps the BoundDispatch that it was last recorded as until a binding changes, so that recording it again costs next to
// nothing. One thread at a time uses a table, as in DirectML; the recorder has no state.
#pragma once

#include "dispatchable.h"

namespace dxtensor::software {

class BindingTable final : public DmlChild<IDMLBindingTable, IDMLBindingTable> {
 public:
  explicit BindingTable(DmlDevice* device) : DmlChild(device) {}

  // What to record for that dispatchable; null when that is a mistake, and the device is removed then.
  const BoundDispatch* Prepare(IDMLDispatchable* dispatchable);

  void STDMETHODCALLTYPE BindInputs(UINT count, const DML_BINDING_DESC* bindings) override;
  void STDMETHODCALLTYPE BindOutputs(UINT count, const DML_BINDING_DESC* bindings) override;
  void STDMETHODCALLTYPE BindTemporaryResource(const DML_BINDING_DESC* binding) override;
  void STDMETHODCALLTYPE BindPersistentResource(const DML_BINDING_DESC* binding) override;
  HRESULT STDMETHODCALLTYPE Reset(const DML_BINDING_TABLE_DESC* desc) override;

 private:
  ~BindingTable() override;
  void SetBody(DispatchBody* body);
  bool Usable(const char* method);
  void WriteDescriptors();
  std::string ReadSlots(UINT count, const DML_BINDING_DESC* from, std::vector<Bindings::Slot>* to);
  void BindWhole(const DML_BINDING_DESC* binding, const char* what, uint64_t needed, BoundBuffer* to);

  DispatchBody* body_ = nullptr;  // held
  IDMLDispatchable* dispatchable_ = nullptr;
  Held<DescriptorHeap> heap_;
  UINT first_descriptor_ = 0, descriptor_count_ = 0;
  uint64_t write_ = 0;  // the last write of the descriptors
  Bindings bindings_;
  Held<BoundDispatch> bound_;  // null after a change
};

class CommandRecorder final : public DmlChild<IDMLCommandRecorder, IDMLCommandRecorder> {
 public:
  explicit CommandRecorder(DmlDevice* device) : DmlChild(device) {}

  void STDMETHODCALLTYPE RecordDispatch(ID3D12CommandList* list, IDMLDispatchable* dispatchable, IDMLBindingTable* table) override;
};

}  // namespace dxtensor::software
