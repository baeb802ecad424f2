// IDMLDevice1 of the software adapter, and the base class of its children.
//
// A factory whose only state is its removal: a mistake in a method that returns nothing (binding, recording) removes this
// device, as Microsoft's does; the Direct3D device lives on. Any thread may call.
#pragma once

#include <string>

#include "schema/schema.h"
#include "software/d3d12/device.h"

namespace dxtensor::software {

class DmlDevice final : public NamedObject<IDMLDevice1, IUnknown, IDMLObject, IDMLDevice, IDMLDevice1> {
 public:
  static HRESULT Create(ID3D12Device* parent, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL minimum, REFIID iid, void** out);

  Device& parent() const { return *parent_.get(); }
  bool checks() const { return parent_->checks(); }
  void Remove(const std::string& why);
  bool IsRemoved() const { return removed_.load(std::memory_order_acquire) || FAILED(parent_->removed()); }

  HRESULT STDMETHODCALLTYPE CheckFeatureSupport(DML_FEATURE feature, UINT query_size, const void* query, UINT data_size,
                                                void* data) override;
  HRESULT STDMETHODCALLTYPE CreateOperator(const DML_OPERATOR_DESC* desc, REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE CompileOperator(IDMLOperator* op, DML_EXECUTION_FLAGS flags, REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE CreateOperatorInitializer(UINT count, IDMLCompiledOperator* const* operators, REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE CreateCommandRecorder(REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE CreateBindingTable(const DML_BINDING_TABLE_DESC* desc, REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE Evict(UINT count, IDMLPageable* const* objects) override;
  HRESULT STDMETHODCALLTYPE MakeResident(UINT count, IDMLPageable* const* objects) override;
  HRESULT STDMETHODCALLTYPE GetDeviceRemovedReason() override;
  HRESULT STDMETHODCALLTYPE GetParentDevice(REFIID iid, void** out) override;
  HRESULT STDMETHODCALLTYPE CompileGraph(const DML_GRAPH_DESC* desc, DML_EXECUTION_FLAGS flags, REFIID iid, void** out) override;

 private:
  class Graphs final : public SecondInterface<IDxtensorGraphs, DmlDevice> {
   public:
    using SecondInterface::SecondInterface;
    HRESULT STDMETHODCALLTYPE CompileGraph(const DML_GRAPH_DESC* desc, DML_EXECUTION_FLAGS flags, const DxtensorOverwrite* overwrites,
                                           UINT count, REFIID iid, void** out) override;
  };

  explicit DmlDevice(Device* parent) : parent_(parent), graphs_(this) {}
  HRESULT QueryOther(REFIID iid, void** out) override;
  template <class Function>
  HRESULT Make(void** out, Function function);

  const ComRef<Device> parent_;
  Graphs graphs_;
  std::atomic<bool> removed_{false};
};

// What every DirectML object but the device is.
template <class I, class... Also>
class DmlChild : public NamedObject<I, IUnknown, IDMLObject, IDMLDeviceChild, Also...> {
 public:
  HRESULT STDMETHODCALLTYPE GetDevice(REFIID iid, void** out) override { return device_->QueryInterface(iid, out); }
  DmlDevice& device() const { return *device_.get(); }

 protected:
  explicit DmlChild(DmlDevice* device) : device_(device) {}

 private:
  ComRef<DmlDevice> device_;
};

class Operator final : public DmlChild<IDMLOperator, IDMLOperator> {
 public:
  Operator(DmlDevice* device, schema::OperatorDesc desc)
      : DmlChild(device), desc_(std::make_shared<const schema::OperatorDesc>(std::move(desc))) {}
  // Graphs that contain the operator keep it.
  const std::shared_ptr<const schema::OperatorDesc>& desc() const { return desc_; }

 private:
  const std::shared_ptr<const schema::OperatorDesc> desc_;
};

}  // namespace dxtensor::software
