// Records a program's steps and copies into a command list, with the barriers that they need and no others.
//
// Between two barriers it remembers which ranges were read and written; a group of steps that touches them in conflict gets a UAV
// barrier first. The state of a buffer belongs to its whole chunk: a chunk starts each list as COMMON, becomes UNORDERED_ACCESS
// by use, and changes to and from copy states by transitions. Every list ends with all of it finished and visible, and its buffers
// in UNORDERED_ACCESS, but for those that the next list of the same submission takes out of COMMON: they are there. A chunk that a
// list of the same submission has left in UNORDERED_ACCESS starts there: see Leave().
//
// Used by one thread for one list at a time. `staging` is shared by all lists of the device, since those run one after another.
#pragma once

#include <vector>

#include "bound_tables.h"
#include "counters.h"
#include "heap_pool.h"
#include "timing.h"

namespace dxtensor::dml {

struct CopyRange {
  Address from, to;
  uint64_t size;
};

// What a list takes out of COMMON by a transition, since a copy uses it first.
struct ListHead {
  std::vector<uint32_t> chunks;
  bool staging = false;
};

class ListRecorder {
 public:
  ListRecorder(const Context& context, const HeapPool& pool, ID3D12Resource* staging, uint64_t staging_size);

  void Begin(ID3D12GraphicsCommandList* list);
  // All steps of a program, through tables that are bound to these slots.
  void Run(const Program& program, const Address* slots, const BoundSet& bound) { Run(program, slots, bound, 0, program.groups.size()); }
  // Those of some groups.
  void Run(const Program& program, const Address* slots, const BoundSet& bound, size_t first_group, size_t end_group);
  // A dispatch outside a program: `writes` are the ranges it writes.
  void Initialise(IDMLDispatchable* dispatchable, IDMLBindingTable* table, ID3D12DescriptorHeap* heap,
                  const std::vector<std::pair<Address, uint64_t>>& writes);
  // Independent copies.
  void Copy(const CopyRange* ranges, size_t count);
  void CopyIn(ID3D12Resource* from, uint64_t offset, Address to, uint64_t size);
  void CopyOut(Address from, ID3D12Resource* to, uint64_t offset, uint64_t size);
  // From now on a timestamp before and after each dispatch of a program, which then runs alone: number 2i and 2i + 1. Null: no more.
  void Stamp(ID3D12QueryHeap* stamps) {
    stamps_ = stamps;
    stamp_ = 0;
  }
  // The same by a timing, whose list the caller has it resolve.
  void Time(Timing* timing) { timing_ = timing; }
  // These chunks were used by a list that is submitted with the lists that follow, until Submitted().
  void Leave(const std::vector<uint32_t>& chunks);
  // The same of the list that was ended last, and of its staging.
  void LeaveOwn();
  void Submitted();
  // The closing barriers; the caller closes the list. next: the head of the list that follows in the same submission.
  void End(const ListHead* next = nullptr);

  // See Context::LetGo.
  void LetGo() { recorder_.Reset(); }

  // Something was recorded since Begin.
  bool dirty() const { return dirty_; }
  // Dispatches and copies since Begin.
  uint32_t work() const { return work_; }
  // Chunks used since Begin.
  const std::vector<uint32_t>& touched() const { return touched_; }
  // Of what was recorded since Begin.
  const ListHead& head() const { return head_; }
  RecordCounts counts;

 private:
  struct Span {
    Address begin, end;
  };
  struct ChunkState {
    uint32_t list = 0, submission = 0;  // whose state it is; that has left it as buffers are left
    D3D12_RESOURCE_STATES state = D3D12_RESOURCE_STATE_COMMON;
  };
  static bool Meets(const std::vector<Span>& spans, Address begin, Address end);
  template <typename F>
  void EachSpan(const Program& program, const Address* slots, const DispatchStep& step, F&& visit) const;
  void BarrierForGroup(const Program& program, const Address* slots, const StepGroup& group);
  void RememberGroup(const Program& program, const Address* slots, const StepGroup& group);
  void Dispatch(IDMLDispatchable* dispatchable, IDMLBindingTable* table, ID3D12DescriptorHeap* heap);
  void DispatchShader(const CompiledOperator& op, D3D12_GPU_DESCRIPTOR_HANDLE views, ID3D12DescriptorHeap* heap);
  void SetHeap(ID3D12DescriptorHeap* heap);
  // The state at the first use in a list.
  void Start(ChunkState& now, D3D12_RESOURCE_STATES left) const;
  void NeedState(uint32_t chunk, D3D12_RESOURCE_STATES state);
  void NeedStaging(D3D12_RESOURCE_STATES state);
  void NeedWritableByCopy(Address to, uint64_t size);
  void CopyStaged(const CopyRange* ranges, size_t count);
  void Transition(ID3D12Resource* resource, D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after);
  void WriteStamp();
  void UavBarrier();
  void FlushBarriers();

  const Context& context_;
  const HeapPool& pool_;
  ID3D12Resource* staging_;
  const uint64_t staging_size_;
  ComPtr<IDMLCommandRecorder> recorder_;
  ID3D12GraphicsCommandList* list_ = nullptr;
  ID3D12DescriptorHeap* heap_ = nullptr;
  const Shader* shader_ = nullptr;  // whose pipeline is set
  ID3D12QueryHeap* stamps_ = nullptr;
  uint32_t stamp_ = 0;
  Timing* timing_ = nullptr;
  std::vector<ChunkState> states_;
  std::vector<uint32_t> touched_;
  ListHead head_;
  std::vector<Span> reads_, writes_, copy_writes_;
  std::vector<D3D12_RESOURCE_BARRIER> barriers_;
  std::vector<CopyRange> staged_;
  ChunkState staging_state_;  // a list leaves it in COPY_DEST
  uint32_t list_number_ = 0, submission_ = 1, work_ = 0;
  bool dirty_ = false;
};

}  // namespace dxtensor::dml
