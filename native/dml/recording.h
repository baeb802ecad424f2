// A program recorded over fixed buffers into a few closed command lists, which are submitted one after the other.
//
// Made by the JavaScript thread, replayed and destroyed by the queue thread. Holds the objects that its lists refer to: tables, resources,
// allocators; the program must live longer.
#pragma once

#include <memory>
#include <vector>

#include "bound_tables.h"
#include "list_recorder.h"

namespace dxtensor::dml {

class Recording {
 public:
  struct List {
    ComPtr<ID3D12CommandAllocator> allocator;
    ComPtr<ID3D12GraphicsCommandList> list;
    uint64_t last_use = 0;  // fence value
  };

  // `slots`: all of the program's, temporary memory too.
  Recording(const Context& context, DescriptorHeaps& heaps, const HeapPool& pool, ListRecorder& recorder, Program& program,
            const std::vector<Address>& slots, uint32_t lists);

  // The list to submit now; it must not be submitted before its last use is done.
  List& NextList() {
    List& list = lists_[next_];
    next_ = (next_ + 1) % lists_.size();
    return list;
  }
  Program& program() const { return program_; }
  // All steps, into a list that another one records.
  void RecordInto(ListRecorder& recorder) const { recorder.Run(program_, bound_.slots().data(), bound_); }
  uint64_t last_use() const;
  // See Context::LetGo.
  void LetGo();
  // The same for all of its lists.
  const ListHead& head() const { return head_; }

  uint32_t temporary_block = UINT32_MAX;  // the JavaScript thread's

 private:
  Program& program_;
  BoundSet bound_;
  std::vector<List> lists_;
  ListHead head_;
  std::vector<ComPtr<ID3D12Resource>> resources_;
  std::vector<ComPtr<ID3D12Heap>> resource_heaps_;
  size_t next_ = 0;
};

}  // namespace dxtensor::dml
