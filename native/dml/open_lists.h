// The open command list, one of a few that are used in turn, each with its allocator: it is reset when the device has finished what it
// recorded. The queue thread's.
#pragma once

#include <vector>

#include "timeline.h"

namespace dxtensor::dml {

class OpenLists {
 public:
  OpenLists(const Context& context, const Timeline& timeline) : context_(context), timeline_(timeline) {}

  // More lists than this are never closed and not yet submitted.
  static constexpr size_t kMaxUnsubmitted = 8;

  // Resets a list that is free, and waits for one when all are in use.
  ID3D12GraphicsCommandList* Open();
  ID3D12GraphicsCommandList* list() const { return lists_[current_].object.get(); }
  // The list is finished at this fence value.
  void Used(uint64_t value) { lists_[current_].last_use = value; }
  // See Context::LetGo.
  void LetGo() { lists_.clear(); }

 private:
  struct List {
    ComPtr<ID3D12CommandAllocator> allocator;
    ComPtr<ID3D12GraphicsCommandList> object;
    uint64_t last_use = 0;
  };
  size_t FreeList();

  const Context& context_;
  const Timeline& timeline_;
  std::vector<List> lists_;
  size_t current_ = 0;
  Event event_;
};

}  // namespace dxtensor::dml
