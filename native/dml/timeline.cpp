#include "timeline.h"

#include "failure.h"
#include "pause.h"

namespace dxtensor::dml {

namespace {

constexpr int kPolls = 64, kLookForRemovalMs = 100;

}  // namespace

Timeline::Timeline(const Context& context) : context_(context) {
  Check(context.d3d->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence_.put_void()), "ID3D12Device::CreateFence");
}

uint64_t Timeline::Signal() {
  uint64_t value = submitted_.load(std::memory_order_relaxed) + 1;
  Check(context_.queue->Signal(fence_.get(), value), "ID3D12CommandQueue::Signal");
  submitted_.store(value, std::memory_order_release);
  return value;
}

bool Timeline::Wait(uint64_t value, Event& event, uint32_t timeout_ms) const {
  for (int i = 0; i < kPolls; ++i) {
    uint64_t done = Completed();
    if (done == UINT64_MAX) return false;
    if (done >= value) return true;
    PausePoll();
  }
  if (FAILED(fence_->SetEventOnCompletion(value, event.handle()))) return false;
  for (uint32_t waited = 0; timeout_ms == 0 || waited < timeout_ms; waited += kLookForRemovalMs) {
    bool signalled = event.Wait(kLookForRemovalMs);
    uint64_t done = Completed();
    if (done == UINT64_MAX) return false;
    if (done >= value) return true;
    // An event may be late from an earlier wait; and a removed device may never signal.
    if (!signalled && FAILED(context_.RemovedReason())) return false;
  }
  return false;
}

}  // namespace dxtensor::dml
