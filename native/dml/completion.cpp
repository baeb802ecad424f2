#include "completion.h"

namespace dxtensor::dml {

CompletionThread::CompletionThread(const Context& context, const Timeline& timeline)
    : context_(context), timeline_(timeline), thread_([this] { Run(); }) {}

CompletionThread::~CompletionThread() { Stop(); }

void CompletionThread::Add(uint64_t value, std::unique_ptr<Completion> completion, std::optional<Failure> failure) {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back({value, std::move(completion), std::move(failure)});
  condition_.notify_one();
}

void CompletionThread::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    condition_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void CompletionThread::Run() {
  for (;;) {
    Entry entry;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      condition_.wait(lock, [&] { return stopping_ || !entries_.empty(); });
      if (entries_.empty()) return;
      entry = std::move(entries_.front());
      entries_.pop_front();
    }
    if (!entry.failure && !timeline_.Wait(entry.value, event_)) {
      HRESULT reason = context_.RemovedReason();
      entry.failure =
          FAILED(reason) ? Failure::Removal(reason, "waiting for it") : Failure(FailureKind::Device, "waiting for the device failed");
    }
    entry.completion->Done(entry.failure ? &*entry.failure : nullptr);
  }
}

}  // namespace dxtensor::dml
