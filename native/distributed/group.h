// A process group's engine: collectives run in the order of Start() on a thread of its own, sends and receives each on another one.
// Start(), Send(), Receive() and Close() are called by the owner's thread. Work keeps its memory; its `done` is called once, by the thread
// that ended it. After a failure every later call fails at once. Close() ends what runs, and waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gloo_context.h"
#include "reduction.h"

namespace dxtensor::distributed {

enum class Kind {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kConnect,
  kSend,
  kReceive
};

struct Work {
  Kind kind = Kind::kBarrier;
  // Which the ranks' messages are matched by; of a collective, below 2^31.
  uint32_t tag = 0;
  // Which call it is: by it descriptions are matched.
  uint32_t sequence = 0;
  DType dtype = DType::kUint8;
  Reduction reduction = Reduction::kSum;
  bool is_mean = false;
  int root = 0;
  std::chrono::milliseconds timeout{0};
  char* input = nullptr;
  size_t input_size = 0;
  char* output = nullptr;
  size_t output_size = 0;
  // Compared between the ranks before the operation; empty: not.
  std::string description;
  std::vector<std::vector<char>> addresses;
  std::function<void()> done;

  // Set before `done` is called.
  std::mutex lock;
  std::condition_variable ended;
  bool is_ended = false;
  std::string error;
  // "timeout", "connection", "mismatch", "closed", "engine"; empty: it succeeded.
  std::string reason;
  int peer = -1;
  // Of a mismatch: what the other rank does.
  std::string other;

  void Wait();
};

class Group : public std::enable_shared_from_this<Group> {
 public:
  explicit Group(std::shared_ptr<Context> context);
  ~Group();

  Context& context() { return *context_; }

  void Start(std::shared_ptr<Work> work);
  // Sent and received in the order of the calls, for each pair of ranks and tag.
  void Transfer(std::shared_ptr<Work> work);

  // Notices when another rank ends without Close(): a thread for each, from the connection on, which calls `lost`.
  void Watch(std::function<void(int rank)> lost);
  // A rank is gone: Lose() notes which, Break() ends at `when` what still runs, and all later calls.
  void Lose(int rank);
  void Break(std::chrono::steady_clock::time_point when);
  // Says to the others that this rank leaves, ends what runs, joins the threads. Twice is no mistake.
  void Close(bool is_clean);

 private:
  void Run();
  void Require();
  void Execute(Work& work);
  void Compare(Work& work);
  void Finish(Work& work, const std::string& message, const char* reason, int peer);
  void Fail(Work& work, const std::string& message);

  const std::shared_ptr<Context> context_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> queue_;
  std::vector<std::thread> threads_;
  std::thread thread_;
  int running_ = 0;
  bool is_closing_ = false;
  bool is_broken_ = false;
  int lost_ = -1;
  std::string broken_by_;
  std::string broken_reason_;
};

}  // namespace dxtensor::distributed
