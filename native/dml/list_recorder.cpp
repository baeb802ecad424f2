#include "list_recorder.h"

#include <algorithm>

#include "failure.h"

namespace dxtensor::dml {

namespace {

// Beyond this many ranges a barrier is cheaper than the search.
constexpr size_t kMaxSpans = 256;

}  // namespace

ListRecorder::ListRecorder(const Context& context, const HeapPool& pool, ID3D12Resource* staging, uint64_t staging_size)
    : context_(context), pool_(pool), staging_(staging), staging_size_(staging_size), states_(kMaxChunks) {
  Check(context_.dml->CreateCommandRecorder(__uuidof(IDMLCommandRecorder), recorder_.put_void()), "IDMLDevice::CreateCommandRecorder");
}

void ListRecorder::Begin(ID3D12GraphicsCommandList* list) {
  list_ = list;
  heap_ = nullptr;
  shader_ = nullptr;
  ++list_number_;
  touched_.clear();
  head_.chunks.clear();
  head_.staging = false;
  reads_.clear();
  writes_.clear();
  copy_writes_.clear();
  barriers_.clear();
  work_ = 0;
  dirty_ = false;
}

bool ListRecorder::Meets(const std::vector<Span>& spans, Address begin, Address end) {
  for (const Span& span : spans)
    if (begin < span.end && span.begin < end) return true;
  return false;
}

void ListRecorder::Transition(ID3D12Resource* resource, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition.pResource = resource;
  barrier.Transition.Subresource = D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES;
  barrier.Transition.StateBefore = before;
  barrier.Transition.StateAfter = after;
  barriers_.push_back(barrier);
}

void ListRecorder::UavBarrier() {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
  barriers_.push_back(barrier);
  reads_.clear();
  writes_.clear();
}

void ListRecorder::FlushBarriers() {
  if (barriers_.empty()) return;
  list_->ResourceBarrier(static_cast<UINT>(barriers_.size()), barriers_.data());
  counts.barriers += barriers_.size();
  barriers_.clear();
  dirty_ = true;
}

void ListRecorder::Start(ChunkState& now, D3D12_RESOURCE_STATES left) const {
  now.list = list_number_;
  now.state = now.submission == submission_ ? left : D3D12_RESOURCE_STATE_COMMON;
}

void ListRecorder::NeedState(uint32_t chunk, D3D12_RESOURCE_STATES state) {
  ChunkState& now = states_[chunk];
  if (now.list != list_number_) {
    Start(now, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    touched_.push_back(chunk);
    if (state != D3D12_RESOURCE_STATE_UNORDERED_ACCESS) head_.chunks.push_back(chunk);
  }
  if (now.state == state) return;
  bool promoted = now.state == D3D12_RESOURCE_STATE_COMMON && state == D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
  if (!promoted) {
    // A range is written by copies of one chunk at a time, so a transition of that chunk settles them.
    if (now.state == D3D12_RESOURCE_STATE_COPY_DEST)
      copy_writes_.erase(
          std::remove_if(copy_writes_.begin(), copy_writes_.end(), [&](const Span& span) { return ChunkOf(span.begin) == chunk; }),
          copy_writes_.end());
    Transition(pool_.Resource(chunk), now.state, state);
  }
  now.state = state;
}

void ListRecorder::NeedStaging(D3D12_RESOURCE_STATES state) {
  if (staging_state_.list != list_number_) Start(staging_state_, D3D12_RESOURCE_STATE_COPY_DEST);
  if (staging_state_.state == state) return;
  head_.staging = true;
  Transition(staging_, staging_state_.state, state);
  staging_state_.state = state;
}

template <typename F>
void ListRecorder::EachSpan(const Program& program, const Address* slots, const DispatchStep& step, F&& visit) const {
  for (const SlotRange& range : step.inputs)
    if (range.slot >= 0) visit(slots[range.slot] + range.offset, range.size, false);
  for (const SlotRange& range : step.outputs)
    if (range.slot >= 0) visit(slots[range.slot] + range.offset, range.size, true);
  const CompiledOperator& op = program.operators[step.op];
  if (op.temporary) visit(slots[program.temporary_slot()] + step.temporary_offset, op.temporary, true);
  if (op.persistent) visit(op.persistent_address, op.persistent, false);
}

void ListRecorder::BarrierForGroup(const Program& program, const Address* slots, const StepGroup& group) {
  bool conflict = reads_.size() + writes_.size() > kMaxSpans;
  for (uint32_t i = group.dispatch_begin; i < group.dispatch_end; ++i) {
    EachSpan(program, slots, program.dispatches[i], [&](Address at, uint64_t size, bool write) {
      NeedState(ChunkOf(at), D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
      conflict = conflict || Meets(writes_, at, at + size) || (write && Meets(reads_, at, at + size));
    });
  }
  if (conflict) UavBarrier();
  FlushBarriers();
}

void ListRecorder::RememberGroup(const Program& program, const Address* slots, const StepGroup& group) {
  for (uint32_t i = group.dispatch_begin; i < group.dispatch_end; ++i)
    EachSpan(program, slots, program.dispatches[i], [&](Address at, uint64_t size, bool write) {
      (write ? writes_ : reads_).push_back({at, at + size});
    });
}

void ListRecorder::SetHeap(ID3D12DescriptorHeap* heap) {
  if (heap == heap_) return;
  list_->SetDescriptorHeaps(1, &heap);
  heap_ = heap;
}

void ListRecorder::Dispatch(IDMLDispatchable* dispatchable, IDMLBindingTable* table, ID3D12DescriptorHeap* heap) {
  SetHeap(heap);
  recorder_->RecordDispatch(list_, dispatchable, table);
  shader_ = nullptr;  // DirectML sets a root signature and a pipeline of its own
  ++work_;
  dirty_ = true;
}

void ListRecorder::DispatchShader(const CompiledOperator& op, D3D12_GPU_DESCRIPTOR_HANDLE views, ID3D12DescriptorHeap* heap) {
  SetHeap(heap);
  const Shader& shader = *op.shader;
  if (shader_ != &shader) {
    if (!shader_ || shader_->root_signature.get() != shader.root_signature.get())
      list_->SetComputeRootSignature(shader.root_signature.get());
    list_->SetPipelineState(shader.pipeline.get());
    shader_ = &shader;
  }
  UINT parameter = 0;
  if (shader.has_constants)
    list_->SetComputeRoot32BitConstants(parameter++, static_cast<UINT>(op.constants.size()), op.constants.data(), 0);
  if (shader.has_table) list_->SetComputeRootDescriptorTable(parameter, views);
  list_->Dispatch(op.groups[0], op.groups[1], op.groups[2]);
  ++work_;
  dirty_ = true;
}

void ListRecorder::WriteStamp() {
  UavBarrier();
  FlushBarriers();
  if (timing_) return timing_->Stamp(list_);
  list_->EndQuery(stamps_, D3D12_QUERY_TYPE_TIMESTAMP, stamp_++);
}

void ListRecorder::Run(const Program& program, const Address* slots, const BoundSet& bound, size_t first_group, size_t end_group) {
  std::vector<CopyRange> copies;
  for (size_t number = first_group; number < end_group; ++number) {
    const StepGroup& group = program.groups[number];
    if (group.dispatch_begin != group.dispatch_end) {
      BarrierForGroup(program, slots, group);
      for (uint32_t i = group.dispatch_begin; i < group.dispatch_end; ++i) {
        if (stamps_ || timing_) WriteStamp();
        const CompiledOperator& op = program.operators[program.dispatches[i].op];
        if (op.shader) DispatchShader(op, bound.views(i), bound.heap(i));
        else Dispatch(op.object.get(), bound.table(i), bound.heap(i));
        if (stamps_ || timing_) WriteStamp();
      }
      counts.dispatches += group.dispatch_end - group.dispatch_begin;
      RememberGroup(program, slots, group);
    }
    if (group.copy_begin == group.copy_end) continue;
    copies.clear();
    for (uint32_t i = group.copy_begin; i < group.copy_end; ++i) {
      const CopyStep& copy = program.copies[i];
      copies.push_back({slots[copy.from.slot] + copy.from.offset, slots[copy.to.slot] + copy.to.offset, copy.from.size});
    }
    Copy(copies.data(), copies.size());
    counts.copies += copies.size();
  }
}

void ListRecorder::Initialise(IDMLDispatchable* dispatchable, IDMLBindingTable* table, ID3D12DescriptorHeap* heap,
                              const std::vector<std::pair<Address, uint64_t>>& writes) {
  bool conflict = false;
  for (const auto& [at, size] : writes) {
    NeedState(ChunkOf(at), D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    conflict = conflict || Meets(writes_, at, at + size) || Meets(reads_, at, at + size);
  }
  if (conflict) UavBarrier();
  FlushBarriers();
  Dispatch(dispatchable, table, heap);
  for (const auto& [at, size] : writes) writes_.push_back({at, at + size});
}

void ListRecorder::NeedWritableByCopy(Address to, uint64_t size) {
  // Two copies into one range are not ordered by themselves.
  if (Meets(copy_writes_, to, to + size)) {
    NeedState(ChunkOf(to), D3D12_RESOURCE_STATE_COPY_SOURCE);
    FlushBarriers();
  }
  NeedState(ChunkOf(to), D3D12_RESOURCE_STATE_COPY_DEST);
  copy_writes_.push_back({to, to + size});
}

void ListRecorder::Copy(const CopyRange* ranges, size_t count) {
  staged_.clear();
  for (size_t i = 0; i < count; ++i) {
    CopyRange range = ranges[i];
    if (ChunkOf(range.from) == ChunkOf(range.to)) {
      for (uint64_t at = 0; at < range.size; at += staging_size_)
        staged_.push_back({range.from + at, range.to + at, std::min(staging_size_, range.size - at)});
      continue;
    }
    NeedState(ChunkOf(range.from), D3D12_RESOURCE_STATE_COPY_SOURCE);
    NeedWritableByCopy(range.to, range.size);
    FlushBarriers();
    list_->CopyBufferRegion(pool_.Resource(ChunkOf(range.to)), OffsetOf(range.to), pool_.Resource(ChunkOf(range.from)),
                            OffsetOf(range.from), range.size);
    ++work_;
    dirty_ = true;
  }
  for (size_t i = 0; i < staged_.size();) {
    size_t end = i;
    for (uint64_t used = 0; end < staged_.size() && used + staged_[end].size <= staging_size_; ++end)
      used += RoundUp(staged_[end].size, 16);
    if (end == i) end = i + 1;
    CopyStaged(&staged_[i], end - i);
    i = end;
  }
}

// A buffer is never source and destination of one copy: all go to the staging buffer and from there to their destinations.
void ListRecorder::CopyStaged(const CopyRange* ranges, size_t count) {
  NeedStaging(D3D12_RESOURCE_STATE_COPY_DEST);
  for (size_t i = 0; i < count; ++i) NeedState(ChunkOf(ranges[i].from), D3D12_RESOURCE_STATE_COPY_SOURCE);
  FlushBarriers();
  uint64_t at = 0;
  for (size_t i = 0; i < count; at += RoundUp(ranges[i].size, 16), ++i)
    list_->CopyBufferRegion(staging_, at, pool_.Resource(ChunkOf(ranges[i].from)), OffsetOf(ranges[i].from), ranges[i].size);
  NeedStaging(D3D12_RESOURCE_STATE_COPY_SOURCE);
  for (size_t i = 0; i < count; ++i) NeedWritableByCopy(ranges[i].to, ranges[i].size);
  FlushBarriers();
  at = 0;
  for (size_t i = 0; i < count; at += RoundUp(ranges[i].size, 16), ++i)
    list_->CopyBufferRegion(pool_.Resource(ChunkOf(ranges[i].to)), OffsetOf(ranges[i].to), staging_, at, ranges[i].size);
  work_ += static_cast<uint32_t>(count);
  dirty_ = true;
}

void ListRecorder::CopyIn(ID3D12Resource* from, uint64_t offset, Address to, uint64_t size) {
  NeedWritableByCopy(to, size);
  FlushBarriers();
  list_->CopyBufferRegion(pool_.Resource(ChunkOf(to)), OffsetOf(to), from, offset, size);
  ++work_;
  dirty_ = true;
}

void ListRecorder::CopyOut(Address from, ID3D12Resource* to, uint64_t offset, uint64_t size) {
  NeedState(ChunkOf(from), D3D12_RESOURCE_STATE_COPY_SOURCE);
  FlushBarriers();
  list_->CopyBufferRegion(to, offset, pool_.Resource(ChunkOf(from)), OffsetOf(from), size);
  ++work_;
  dirty_ = true;
}

void ListRecorder::Leave(const std::vector<uint32_t>& chunks) {
  for (uint32_t chunk : chunks) states_[chunk].submission = submission_;
}

void ListRecorder::LeaveOwn() {
  Leave(touched_);
  if (staging_state_.list == list_number_ && staging_state_.state == D3D12_RESOURCE_STATE_COPY_DEST)
    staging_state_.submission = submission_;
}

void ListRecorder::Submitted() { ++submission_; }

void ListRecorder::End(const ListHead* next) {
  for (uint32_t chunk : touched_) {
    bool taken = next && std::find(next->chunks.begin(), next->chunks.end(), chunk) != next->chunks.end();
    NeedState(chunk, taken ? D3D12_RESOURCE_STATE_COMMON : D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
  }
  if (head_.staging && next && next->staging) NeedStaging(D3D12_RESOURCE_STATE_COMMON);
  else if (staging_state_.list == list_number_ && staging_state_.state == D3D12_RESOURCE_STATE_COPY_SOURCE)
    NeedStaging(D3D12_RESOURCE_STATE_COPY_DEST);
  if (!reads_.empty() || !writes_.empty()) UavBarrier();
  FlushBarriers();
}

}  // namespace dxtensor::dml
