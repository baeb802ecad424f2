// A queue of the device for copies alone, which run with its other work: those out of the device, or those into it. A copy begins when the
// device's own timeline has come to a value.
//
// The queue thread's; Stop, Abandon and the questions are those of Timeline and CompletionThread.
#pragma once

#include <deque>
#include <memory>

#include "completion.h"

namespace dxtensor::dml {

class CopyLane {
 public:
  struct End {
    ID3D12Resource* resource;
    uint64_t offset;
  };
  CopyLane(const Context& context, uint32_t patience_ms);
  // How long threads look for what is on its way without sleeping.
  static std::chrono::microseconds PollTime(const Context& context);

  // Submits a copy. `after`: when it may begin. Returns the value of this lane's timeline at which it is done.
  uint64_t Copy(const Timeline& timeline, uint64_t after, End from, End to, uint64_t size);
  // The device's own queue does what follows after all copies so far.
  void HoldBack(ID3D12CommandQueue& queue) const;
  // What is told when the copy of that value is done, or has failed.
  void Tell(uint64_t value, std::unique_ptr<Completion> completion, std::optional<Failure> failure = std::nullopt) {
    completions_.Add(value, std::move(completion), std::move(failure));
  }

  Timeline& timeline() { return timeline_; }
  const Timeline& timeline() const { return timeline_; }
  void Stop() { completions_.Stop(); }
  // See Context::LetGo.
  void LetGo();

 private:
  struct List {
    ComPtr<ID3D12CommandAllocator> allocator;
    ComPtr<ID3D12GraphicsCommandList> list;
    uint64_t last_use = 0;
  };
  List TakeList();

  const Context& context_;
  ComPtr<ID3D12CommandQueue> queue_;
  Timeline timeline_;
  std::deque<List> lists_;  // by their last use
  CompletionThread completions_;
};

}  // namespace dxtensor::dml
