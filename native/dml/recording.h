// A program recorded over fixed buffers into a few closed command lists, which are submitted one after the other.
//
// Such a list may have parts that are submitted one by one, so that what a part has made can be taken before the next one is done.
//
// Made by the JavaScript thread, replayed and destroyed by the queue thread. Holds the objects that its lists refer to: tables, resources,
// allocators; the program must live longer.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "bound_tables.h"
#include "list_recorder.h"
#include "open_lists.h"

namespace dxtensor::dml {

class Recording {
 public:
  struct List {
    ComPtr<ID3D12CommandAllocator> allocator;
    std::vector<ComPtr<ID3D12GraphicsCommandList>> parts;
    uint64_t last_use = 0;  // fence value
  };

  // `slots`: all of the program's, temporary memory too. `cuts`: the groups behind which a part ends, ascending.
  Recording(const Context& context, DescriptorHeaps& heaps, const HeapPool& pool, ListRecorder& recorder, Program& program,
            const std::vector<Address>& slots, uint32_t lists, const std::vector<uint32_t>& cuts);

  // The list to submit now; it must not be submitted before its last use is done.
  List& NextList() {
    List& list = lists_[next_];
    next_ = (next_ + 1) % lists_.size();
    return list;
  }
  Program& program() const { return program_; }
  const std::vector<Address>& slots() const { return bound_.slots(); }
  size_t parts() const { return lists_[0].parts.size(); }
  // Whether the pool still has the memory that this was recorded over. Replays keep that memory alive; a list that is recorded again reads
  // the pool's.
  bool IsBackedBy(const HeapPool& pool) const;
  // All steps, into a list that another one records.
  void RecordInto(ListRecorder& recorder) const { recorder.Run(program_, bound_.slots().data(), bound_); }
  uint64_t last_use() const;
  // See Context::LetGo.
  void LetGo();
  // The same for all of its lists.
  const ListHead& head() const { return head_; }
  // That its lists use, and leave in UNORDERED_ACCESS.
  const std::vector<uint32_t>& chunks() const { return chunks_; }
  // Of its replays, those that are submitted together while the device has other work: as many lists are submitted, and as many wait to be.
  size_t together() const { return std::clamp<size_t>(lists_.size() / 3, 1, OpenLists::kMaxUnsubmitted); }

  uint32_t temporary_block = UINT32_MAX;  // the JavaScript thread's

  // The queue thread's, of the last replay: the fence values of its parts, and of what was submitted before it.
  std::vector<uint64_t> part_values;
  uint64_t value_before = 0;

 private:
  Program& program_;
  BoundSet bound_;
  std::vector<List> lists_;
  ListHead head_;
  std::vector<uint32_t> chunks_;  // with a resource each
  std::vector<ComPtr<ID3D12Resource>> resources_;
  std::vector<ComPtr<ID3D12Heap>> resource_heaps_;
  size_t next_ = 0;
};

}  // namespace dxtensor::dml
