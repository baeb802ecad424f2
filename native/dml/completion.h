// A thread that waits for the device's fence and then calls the callbacks, in the order of the fence.
//
// Done runs on this thread, in Add once it has ended. Owns its entries.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "failure.h"
#include "timeline.h"

namespace dxtensor::dml {

// Something to do when work is done. failure: null when it went well.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void Done(const Failure* failure) = 0;
};

class CompletionThread {
 public:
  explicit CompletionThread(const Timeline& timeline);
  ~CompletionThread();
  // Any thread. After the fence has reached `value`, or at once with `failure`.
  void Add(uint64_t value, std::unique_ptr<Completion> completion, std::optional<Failure> failure);
  // Finishes what was added, then ends.
  void Stop();

 private:
  struct Entry {
    uint64_t value;
    std::unique_ptr<Completion> completion;
    std::optional<Failure> failure;
  };
  void Run();

  const Timeline& timeline_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<Entry> entries_;
  bool stopping_ = false, ended_ = false;
  Event event_;
  std::thread thread_;
};

}  // namespace dxtensor::dml
