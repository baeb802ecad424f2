#include "completion.h"

namespace dxtensor::dml {

CompletionThread::CompletionThread(const Timeline& timeline) : timeline_(timeline), thread_([this] { Run(); }) {}

CompletionThread::~CompletionThread() { Stop(); }

void CompletionThread::Add(uint64_t value, std::unique_ptr<Completion> completion, std::optional<Failure> failure) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!ended_) {
      entries_.push_back({value, std::move(completion), std::move(failure)});
      condition_.notify_one();
      return;
    }
  }
  if (!failure) failure.emplace(FailureKind::Device, "the device was closed before this was done");
  completion->Done(&*failure);
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
      if (entries_.empty()) {
        ended_ = true;
        return;
      }
      entry = std::move(entries_.front());
      entries_.pop_front();
    }
    if (!entry.failure) {
      Waited waited = timeline_.Wait(entry.value, event_);
      if (waited != Waited::Done) entry.failure = timeline_.WhyNot(waited);
    }
    entry.completion->Done(entry.failure ? &*entry.failure : nullptr);
  }
}

}  // namespace dxtensor::dml
