#include "command_list.h"

#include "trace.h"

namespace dxtensor::software {

void Recording::Clear() {
  for (const Command& command : commands)
    if (command.kind == Command::Kind::Dispatch) command.dispatch->Drop();
  commands.clear();
  descriptors.clear();
  query_heaps.clear();
  hazards.Clear();
}

HRESULT CommandAllocator::Create(Device* device, D3D12_COMMAND_LIST_TYPE type, REFIID iid, void** out) {
  if (type != D3D12_COMMAND_LIST_TYPE_DIRECT && type != D3D12_COMMAND_LIST_TYPE_COMPUTE && type != D3D12_COMMAND_LIST_TYPE_COPY)
    return type == D3D12_COMMAND_LIST_TYPE_BUNDLE ? E_NOTIMPL : E_INVALIDARG;
  return Deliver(new CommandAllocator(device, type), iid, out);
}

bool CommandAllocator::Executing() const {
  for (const Held<Recording>& recording : used_)
    if (recording->Executing()) return true;
  return false;
}

Held<Recording> CommandAllocator::Begin() {
  if (recording_) return {};
  Held<Recording> recording;
  if (free_.empty()) {
    recording = Held<Recording>::Adopt(new Recording(device().checks()));
  } else {
    recording = std::move(free_.back());
    free_.pop_back();
  }
  used_.push_back(recording);
  recording_ = true;
  return recording;
}

HRESULT CommandAllocator::Reset() {
  if (recording_) {
    Trace("CommandAllocator::Reset while a list records into it");
    return E_FAIL;
  }
  if (Executing()) {
    device().Remove(DXGI_ERROR_INVALID_CALL, "a command allocator was reset while its lists execute");
    return DXGI_ERROR_DEVICE_REMOVED;
  }
  return Guard([&]() -> HRESULT {
    for (Held<Recording>& recording : used_) {
      recording->Clear();
      ++recording->use;
      free_.push_back(std::move(recording));
    }
    used_.clear();
    return FAILED(device().removed()) ? DXGI_ERROR_DEVICE_REMOVED : S_OK;
  });
}

void CommandAllocator::OnReleased() {
  if (device().checks() && Executing())
    device().Remove(DXGI_ERROR_INVALID_CALL, "a command allocator was released while its lists execute");
}

HRESULT CommandList::Create(Device* device, D3D12_COMMAND_LIST_TYPE type, ID3D12CommandAllocator* allocator, REFIID iid, void** out) {
  if (type != D3D12_COMMAND_LIST_TYPE_DIRECT && type != D3D12_COMMAND_LIST_TYPE_COMPUTE && type != D3D12_COMMAND_LIST_TYPE_COPY)
    return type == D3D12_COMMAND_LIST_TYPE_BUNDLE ? E_NOTIMPL : E_INVALIDARG;
  auto* list = new CommandList(device, type);
  if (allocator) {
    HRESULT begun = list->Reset(allocator, nullptr);
    if (FAILED(begun)) {
      list->Release();
      return begun;
    }
  }
  return Deliver(list, iid, out);
}

CommandList::~CommandList() {
  if (open_ && allocator_) allocator_->End();
}

HRESULT CommandList::Reset(ID3D12CommandAllocator* allocator, ID3D12PipelineState* pipeline) {
  if (!allocator) return E_INVALIDARG;
  if (open_) return E_FAIL;
  auto* from = static_cast<CommandAllocator*>(allocator);
  if (from->type() != type_) return E_INVALIDARG;
  if (FAILED(device().removed())) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard([&]() -> HRESULT {
    Held<Recording> recording = from->Begin();
    if (!recording) return E_INVALIDARG;
    recording_ = std::move(recording);
    use_ = recording_->use;
    allocator_ = Held<CommandAllocator>(from);
    descriptor_heap_ = {};
    compute_.Clear();
    compute_.SetPipeline(static_cast<PipelineState*>(pipeline));
    open_ = true;
    failed_ = S_OK;
    return S_OK;
  });
}

HRESULT CommandList::Close() {
  if (!open_) return E_FAIL;
  open_ = false;
  allocator_->End();
  if (FAILED(device().removed())) return DXGI_ERROR_DEVICE_REMOVED;
  return failed_;
}

void CommandList::Report(const std::string& violation) {
  if (recording_) recording_->hazards.Report(violation);
}

bool CommandList::Recordable(const char* method) {
  if (open_) return true;
  device().Remove(DXGI_ERROR_INVALID_CALL, std::string(method) + " on a closed command list");
  return false;
}

void CommandList::AddDispatch(const BoundDispatch* dispatch) {
  recording_->hazards.Dispatch(*dispatch);
  Command command;
  command.kind = Command::Kind::Dispatch;
  command.dispatch = dispatch;
  recording_->commands.push_back(command);
  dispatch->Hold();
}

void CommandList::RecordDispatch(const BoundDispatch* dispatch) {
  if (!Recordable("RecordDispatch")) return;
  Record([&] {
    Recording& r = *recording_;
    if (type_ == D3D12_COMMAND_LIST_TYPE_COPY) return r.hazards.Report("RecordDispatch on a copy list");
    if (device().checks() && descriptor_heap_.get() != dispatch->heap.get())
      return r.hazards.Report("RecordDispatch, but the binding table's descriptor heap was not set by SetDescriptorHeaps");
    compute_.Clear();
    AddDispatch(dispatch);
    DescriptorUse use{dispatch->heap.get(), dispatch->first_descriptor, dispatch->descriptor_count, dispatch->descriptor_write};
    if (r.descriptors.empty() || r.descriptors.back().write != use.write || r.descriptors.back().heap != use.heap)
      r.descriptors.push_back(use);
  });
}

void CommandList::RecordCopy(Resource* to, uint64_t to_offset, Resource* from, uint64_t from_offset, uint64_t size) {
  Record([&] {
    Recording& r = *recording_;
    if (to_offset > to->size() || size > to->size() - to_offset || from_offset > from->size() || size > from->size() - from_offset)
      return r.hazards.Report("a copy reaches beyond the end of a buffer");
    r.hazards.Copy(to, from);
    if (!size) return;
    Command command;
    command.kind = Command::Kind::Copy;
    command.copy = {to->data() + to_offset, from->data() + from_offset, size};
    r.commands.push_back(command);
  });
}

void CommandList::CopyBufferRegion(ID3D12Resource* to, UINT64 to_offset, ID3D12Resource* from, UINT64 from_offset, UINT64 size) {
  if (!Recordable("CopyBufferRegion")) return;
  if (!to || !from) return Report("CopyBufferRegion with a null buffer");
  RecordCopy(static_cast<Resource*>(to), to_offset, static_cast<Resource*>(from), from_offset, size);
}

void CommandList::CopyResource(ID3D12Resource* to, ID3D12Resource* from) {
  if (!Recordable("CopyResource")) return;
  if (!to || !from) return Report("CopyResource with a null buffer");
  auto* source = static_cast<Resource*>(from);
  auto* destination = static_cast<Resource*>(to);
  if (source->size() != destination->size()) return Report("CopyResource of buffers of unequal size");
  RecordCopy(destination, 0, source, 0, source->size());
}

void CommandList::ResourceBarrier(UINT count, const D3D12_RESOURCE_BARRIER* barriers) {
  if (!Recordable("ResourceBarrier")) return;
  if (count && !barriers) return Report("ResourceBarrier with null");
  Record([&] {
    for (UINT i = 0; i < count; ++i) recording_->hazards.Barrier(barriers[i]);
  });
}

void CommandList::SetDescriptorHeaps(UINT count, ID3D12DescriptorHeap* const* heaps) {
  if (!Recordable("SetDescriptorHeaps")) return;
  if (count && !heaps) return Report("SetDescriptorHeaps with null");
  for (UINT i = 0; i < count; ++i) {
    auto* heap = static_cast<DescriptorHeap*>(heaps[i]);
    if (!heap || !heap->shader_visible()) return Report("SetDescriptorHeaps with a heap that shaders cannot see");
    if (heap->type() == D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV && heap != descriptor_heap_.get())
      descriptor_heap_ = Held<DescriptorHeap>(heap);
  }
}

void CommandList::EndQuery(ID3D12QueryHeap* heap, D3D12_QUERY_TYPE type, UINT index) {
  if (!Recordable("EndQuery")) return;
  auto* from = static_cast<QueryHeap*>(heap);
  if (!from || type != D3D12_QUERY_TYPE_TIMESTAMP || index >= from->count()) return Report("EndQuery of no timestamp");
  Record([&] {
    recording_->query_heaps.emplace_back(from);
    Command command;
    command.kind = Command::Kind::Timestamp;
    command.timestamp = from->values() + index;
    recording_->commands.push_back(command);
  });
}

void CommandList::ResolveQueryData(ID3D12QueryHeap* heap, D3D12_QUERY_TYPE type, UINT first, UINT count, ID3D12Resource* to,
                                   UINT64 offset) {
  if (!Recordable("ResolveQueryData")) return;
  auto* from = static_cast<QueryHeap*>(heap);
  auto* target = static_cast<Resource*>(to);
  if (!from || !target || type != D3D12_QUERY_TYPE_TIMESTAMP || first > from->count() || count > from->count() - first || offset % 8 ||
      offset > target->size() || uint64_t{count} * 8 > target->size() - offset)
    return Report("ResolveQueryData outside of its heap or buffer");
  Record([&] {
    recording_->hazards.Copy(target, nullptr);
    recording_->query_heaps.emplace_back(from);
    Command command;
    command.kind = Command::Kind::Resolve;
    command.copy = {target->data() + offset, reinterpret_cast<const uint8_t*>(from->values() + first), uint64_t{count} * 8};
    recording_->commands.push_back(command);
  });
}

void CommandList::Missing(const char* method) {
  Trace(std::string(method) + " is not part of the software adapter");
  failed_ = E_NOTIMPL;
}

}  // namespace dxtensor::software
