// The open command list and its few allocators, used in turn: an allocator is reset when the device has finished the lists that it
// recorded. The queue thread's.
#pragma once

#include <vector>

#include "timeline.h"

namespace dxtensor::dml {

class OpenLists {
 public:
  OpenLists(const Context& context, const Timeline& timeline) : context_(context), timeline_(timeline) {}

  // Resets the list over an allocator that is free, and waits for one when all are in use.
  ID3D12GraphicsCommandList* Open();
  ID3D12GraphicsCommandList* list() const { return list_.get(); }
  // The list was submitted, to be finished at this fence value.
  void Used(uint64_t value) { allocators_[current_].last_use = value; }
  // See Context::LetGo.
  void LetGo() {
    allocators_.clear();
    list_.Reset();
  }

 private:
  struct Allocator {
    ComPtr<ID3D12CommandAllocator> object;
    uint64_t last_use = 0;
  };
  size_t FreeAllocator();

  const Context& context_;
  const Timeline& timeline_;
  std::vector<Allocator> allocators_;
  size_t current_ = 0;
  ComPtr<ID3D12GraphicsCommandList> list_;
  Event event_;
};

}  // namespace dxtensor::dml
