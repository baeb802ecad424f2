#include "open_lists.h"

#include <algorithm>

#include "failure.h"

namespace dxtensor::dml {

namespace {

// As many in flight as wait to be submitted.
constexpr size_t kMaxLists = 2 * OpenLists::kMaxUnsubmitted;

}  // namespace

size_t OpenLists::FreeList() {
  uint64_t done = timeline_.Completed();
  for (size_t i = 0; i < lists_.size(); ++i)
    if (lists_[i].last_use <= done) return i;
  if (lists_.size() < kMaxLists) {
    List list;
    Check(
        context_.d3d->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), list.allocator.put_void()),
        "ID3D12Device::CreateCommandAllocator");
    lists_.push_back(std::move(list));
    return lists_.size() - 1;
  }
  auto oldest = std::min_element(lists_.begin(), lists_.end(), [](const List& a, const List& b) { return a.last_use < b.last_use; });
  timeline_.WaitOrThrow(oldest->last_use, event_);
  return static_cast<size_t>(oldest - lists_.begin());
}

ID3D12GraphicsCommandList* OpenLists::Open() {
  current_ = FreeList();
  List& list = lists_[current_];
  if (list.object) {
    Check(list.allocator->Reset(), "ID3D12CommandAllocator::Reset");
    Check(list.object->Reset(list.allocator.get(), nullptr), "ID3D12GraphicsCommandList::Reset");
  } else {
    Check(context_.d3d->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, list.allocator.get(), nullptr,
                                          __uuidof(ID3D12GraphicsCommandList), list.object.put_void()),
          "ID3D12Device::CreateCommandList");
  }
  return list.object.get();
}

}  // namespace dxtensor::dml
