#include "binding_table.h"

#include "software/d3d12/command_list.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kBufferAlignment = 16;
constexpr uint64_t kWholeAlignment = 256;  // temporary and persistent resources

// Empty, or what is wrong.
std::string ReadBuffer(const DML_BUFFER_BINDING& from, BoundBuffer* to) {
  if (!from.Buffer) {
    *to = {};
    return {};
  }
  auto* resource = static_cast<Resource*>(from.Buffer);
  if (from.Offset % kBufferAlignment) return "a binding's offset is no multiple of 16";
  if (!from.SizeInBytes) return "a binding's size is 0";
  if (from.Offset > resource->size() || from.SizeInBytes > resource->size() - from.Offset)
    return "a binding reaches beyond the end of its buffer";
  if (to->resource.get() != resource) to->resource = Held<Resource>(resource);
  to->offset = from.Offset;
  to->size = from.SizeInBytes;
  return {};
}

}  // namespace

BindingTable::~BindingTable() { SetBody(nullptr); }

void BindingTable::SetBody(DispatchBody* body) {
  if (body) body->HoldBody();
  if (body_) body_->DropBody();
  body_ = body;
}

HRESULT BindingTable::Reset(const DML_BINDING_TABLE_DESC* desc) {
  if (device().IsRemoved()) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard([&]() -> HRESULT {
    DispatchBody* body = nullptr;
    DescriptorHeap* heap = nullptr;
    UINT first = 0, count = 0;
    if (desc) {
      body = FindBody(reinterpret_cast<IUnknown*>(desc->Dispatchable));
      if (!body || body->Owner() != &device()) return E_INVALIDARG;
      count = body->Properties().RequiredDescriptorCount;
      if (desc->SizeInDescriptors < count) return E_INVALIDARG;
      heap = heap_ && heap_->Contains(desc->CPUDescriptorHandle, &first) && !heap_->released()
                 ? heap_.get()
                 : device().parent().FindDescriptor(desc->CPUDescriptorHandle, &first);
      if (!heap || heap->type() != D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV || !heap->shader_visible()) return E_INVALIDARG;
      if (count > heap->count() - first) return E_INVALIDARG;
      if (desc->GPUDescriptorHandle.ptr != heap->gpu_start() + uint64_t{first} * DescriptorHeap::kIncrement) return E_INVALIDARG;
    }
    SetBody(body);
    dispatchable_ = desc ? desc->Dispatchable : nullptr;
    if (heap_.get() != heap) heap_ = Held<DescriptorHeap>(heap);
    first_descriptor_ = first;
    descriptor_count_ = count;
    write_ = 0;
    bindings_ = {};
    bound_ = {};
    return S_OK;
  });
}

bool BindingTable::Usable(const char* method) {
  if (device().IsRemoved()) return false;
  if (body_) return true;
  device().Remove(std::string(method) + " on a binding table without a dispatchable");
  return false;
}

// Once for each series of changes: recorded work that still reads the descriptors would see them change.
void BindingTable::WriteDescriptors() {
  if (write_ && !bound_) return;
  bound_ = {};
  bool in_use = false;
  write_ = heap_->Write(first_descriptor_, descriptor_count_, &in_use);
  if (in_use && device().checks())
    device().parent().Remove(DXGI_ERROR_INVALID_CALL, "a binding table wrote descriptors that submitted work still uses");
}

std::string BindingTable::ReadSlots(UINT count, const DML_BINDING_DESC* from, std::vector<Bindings::Slot>* to) {
  if (count && !from) return "bindings are null and their count is not 0";
  to->resize(count);
  for (UINT i = 0; i < count; ++i) {
    Bindings::Slot& slot = (*to)[i];
    slot.array.clear();
    if (from[i].Type == DML_BINDING_TYPE_NONE || !from[i].Desc) {
      slot.buffer = {};
      continue;
    }
    if (from[i].Type == DML_BINDING_TYPE_BUFFER) {
      std::string wrong = ReadBuffer(*static_cast<const DML_BUFFER_BINDING*>(from[i].Desc), &slot.buffer);
      if (!wrong.empty()) return wrong;
      continue;
    }
    if (from[i].Type != DML_BINDING_TYPE_BUFFER_ARRAY) return "a binding has an unknown type";
    slot.buffer = {};
    auto* array = static_cast<const DML_BUFFER_ARRAY_BINDING*>(from[i].Desc);
    if (array->BindingCount && !array->Bindings) return "an array of bindings is null";
    slot.array.resize(array->BindingCount);
    for (UINT k = 0; k < array->BindingCount; ++k) {
      std::string wrong = ReadBuffer(array->Bindings[k], &slot.array[k]);
      if (!wrong.empty()) return wrong;
    }
  }
  return {};
}

void BindingTable::BindInputs(UINT count, const DML_BINDING_DESC* bindings) {
  if (!Usable("BindInputs")) return;
  Guard([&]() -> HRESULT {
    WriteDescriptors();
    bindings_.inputs_bound = false;
    std::string wrong = ReadSlots(count, bindings, &bindings_.inputs);
    if (wrong.empty() && !count) return S_OK;
    if (wrong.empty()) wrong = body_->CheckInputs(bindings_.inputs);
    bindings_.inputs_bound = wrong.empty();
    if (!wrong.empty()) device().Remove(wrong);
    return S_OK;
  });
}

void BindingTable::BindOutputs(UINT count, const DML_BINDING_DESC* bindings) {
  if (!Usable("BindOutputs")) return;
  Guard([&]() -> HRESULT {
    WriteDescriptors();
    bindings_.outputs_bound = false;
    std::string wrong = ReadSlots(count, bindings, &bindings_.outputs);
    if (wrong.empty() && !count) return S_OK;
    if (wrong.empty()) wrong = body_->CheckOutputs(bindings_.outputs);
    bindings_.outputs_bound = wrong.empty();
    if (!wrong.empty()) device().Remove(wrong);
    return S_OK;
  });
}

void BindingTable::BindWhole(const DML_BINDING_DESC* binding, const char* what, uint64_t needed, BoundBuffer* to) {
  Guard([&]() -> HRESULT {
    WriteDescriptors();
    *to = {};
    if (!binding || binding->Type == DML_BINDING_TYPE_NONE || !binding->Desc) return S_OK;
    std::string wrong;
    if (binding->Type != DML_BINDING_TYPE_BUFFER) wrong = "is bound to no buffer";
    else wrong = ReadBuffer(*static_cast<const DML_BUFFER_BINDING*>(binding->Desc), to);
    if (wrong.empty() && to->resource && !needed) wrong = "is bound, but the dispatchable needs none";
    if (wrong.empty() && to->resource && to->offset % kWholeAlignment) wrong = "begins at an offset that is no multiple of 256";
    if (wrong.empty() && to->resource && to->size < needed) wrong = "is too small";
    if (!wrong.empty()) device().Remove(std::string(what) + ": " + wrong);
    return S_OK;
  });
}

void BindingTable::BindTemporaryResource(const DML_BINDING_DESC* binding) {
  if (!Usable("BindTemporaryResource")) return;
  BindWhole(binding, "the temporary resource", body_->Properties().TemporaryResourceSize, &bindings_.temporary);
}

void BindingTable::BindPersistentResource(const DML_BINDING_DESC* binding) {
  if (!Usable("BindPersistentResource")) return;
  BindWhole(binding, "the persistent resource", body_->Properties().PersistentResourceSize, &bindings_.persistent);
}

const BoundDispatch* BindingTable::Prepare(IDMLDispatchable* dispatchable) {
  if (bound_ && dispatchable == dispatchable_) return bound_.get();
  if (!dispatchable || dispatchable != dispatchable_) {
    device().Remove("RecordDispatch with a binding table that was made for another dispatchable");
    return nullptr;
  }
  if (!write_) WriteDescriptors();
  std::string why;
  Held<BoundDispatch> bound = body_->Bind(bindings_, &why);
  if (!bound) {
    device().Remove(why);
    return nullptr;
  }
  bound->heap = heap_;
  bound->first_descriptor = first_descriptor_;
  bound->descriptor_count = descriptor_count_;
  bound->descriptor_write = write_;
  bound_ = std::move(bound);
  return bound_.get();
}

void CommandRecorder::RecordDispatch(ID3D12CommandList* list, IDMLDispatchable* dispatchable, IDMLBindingTable* table) {
  if (!list || !table) return device().Remove("RecordDispatch with null");
  auto* to = static_cast<CommandList*>(static_cast<ID3D12GraphicsCommandList*>(list));
  if (device().IsRemoved()) return to->DropDispatch();
  HRESULT prepacked = Guard([&]() -> HRESULT {
    const BoundDispatch* bound = static_cast<BindingTable*>(table)->Prepare(dispatchable);
    if (bound) to->RecordDispatch(bound);
    else to->DropDispatch();
    return S_OK;
  });
  if (FAILED(prepacked)) device().Remove("RecordDispatch ran out of memory");
}

}  // namespace dxtensor::software
