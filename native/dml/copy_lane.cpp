#include "copy_lane.h"

#include <thread>

namespace dxtensor::dml {

namespace {

ComPtr<ID3D12CommandQueue> CopyQueue(const Context& context) {
  D3D12_COMMAND_QUEUE_DESC desc{};
  desc.Type = D3D12_COMMAND_LIST_TYPE_COPY;
  desc.Flags = D3D12_COMMAND_QUEUE_FLAG_DISABLE_GPU_TIMEOUT;
  ComPtr<ID3D12CommandQueue> queue;
  Check(context.d3d->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), queue.put_void()), "ID3D12Device::CreateCommandQueue");
  return queue;
}

}  // namespace

CopyLane::CopyLane(const Context& context, uint32_t patience_ms)
    : context_(context),
      queue_(CopyQueue(context)),
      timeline_(context, patience_ms, queue_.get(), PollTime(context)),
      completions_(timeline_) {}

std::chrono::microseconds CopyLane::PollTime(const Context& context) {
  constexpr unsigned kManyCores = 8;
  constexpr std::chrono::microseconds kPoll(2000);
  static const bool has_many = std::thread::hardware_concurrency() >= kManyCores;
  return context.software || !has_many ? std::chrono::microseconds(0) : kPoll;
}

CopyLane::List CopyLane::TakeList() {
  if (!lists_.empty() && lists_.front().last_use <= timeline_.Completed()) {
    List list = std::move(lists_.front());
    lists_.pop_front();
    Check(list.allocator->Reset(), "ID3D12CommandAllocator::Reset");
    Check(list.list->Reset(list.allocator.get(), nullptr), "ID3D12GraphicsCommandList::Reset");
    return list;
  }
  List list;
  Check(context_.d3d->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COPY, __uuidof(ID3D12CommandAllocator), list.allocator.put_void()),
        "ID3D12Device::CreateCommandAllocator");
  Check(context_.d3d->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COPY, list.allocator.get(), nullptr, __uuidof(ID3D12GraphicsCommandList),
                                        list.list.put_void()),
        "ID3D12Device::CreateCommandList");
  return list;
}

// Buffers need no barriers here: they are in the state COMMON between lists, from which a copy takes them.
uint64_t CopyLane::Copy(const Timeline& timeline, uint64_t after, End from, End to, uint64_t size) {
  List list = TakeList();
  list.list->CopyBufferRegion(to.resource, to.offset, from.resource, from.offset, size);
  Check(list.list->Close(), "ID3D12GraphicsCommandList::Close");
  Check(queue_->Wait(timeline.fence(), after), "ID3D12CommandQueue::Wait");
  ID3D12CommandList* lists[] = {list.list.get()};
  queue_->ExecuteCommandLists(1, lists);
  list.last_use = timeline_.Signal();
  lists_.push_back(std::move(list));
  return timeline_.submitted();
}

void CopyLane::HoldBack(ID3D12CommandQueue& queue) const {
  Check(queue.Wait(timeline_.fence(), timeline_.submitted()), "ID3D12CommandQueue::Wait");
}

void CopyLane::LetGo() {
  lists_.clear();
  timeline_.LetGo();
  queue_.Reset();
}

}  // namespace dxtensor::dml
