#include "open_lists.h"

#include <algorithm>

#include "failure.h"

namespace dxtensor::dml {

namespace {

constexpr size_t kMaxAllocators = 8;

}  // namespace

size_t OpenLists::FreeAllocator() {
  uint64_t done = timeline_.Completed();
  for (size_t i = 0; i < allocators_.size(); ++i)
    if (allocators_[i].last_use <= done) return i;
  if (allocators_.size() < kMaxAllocators) {
    Allocator allocator;
    Check(context_.d3d->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator),
                                               allocator.object.put_void()),
          "ID3D12Device::CreateCommandAllocator");
    allocators_.push_back(std::move(allocator));
    return allocators_.size() - 1;
  }
  auto oldest = std::min_element(allocators_.begin(), allocators_.end(),
                                 [](const Allocator& a, const Allocator& b) { return a.last_use < b.last_use; });
  timeline_.WaitOrThrow(oldest->last_use, event_);
  return static_cast<size_t>(oldest - allocators_.begin());
}

ID3D12GraphicsCommandList* OpenLists::Open() {
  current_ = FreeAllocator();
  ID3D12CommandAllocator* allocator = allocators_[current_].object.get();
  if (allocators_[current_].last_use) Check(allocator->Reset(), "ID3D12CommandAllocator::Reset");
  if (list_) {
    Check(list_->Reset(allocator, nullptr), "ID3D12GraphicsCommandList::Reset");
  } else {
    Check(context_.d3d->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator, nullptr, __uuidof(ID3D12GraphicsCommandList),
                                          list_.put_void()),
          "ID3D12Device::CreateCommandList");
  }
  return list_.get();
}

}  // namespace dxtensor::dml
