// What every engine has: works, and the groups that run them. Work keeps its memory; its `done` is called once, by the thread that ended
// it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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
  // It has failed, and the engine may still write to its memory, which has to stay.
  bool is_memory_used = false;

  void Wait();
  // An empty reason: it succeeded.
  void End(const std::string& message, const std::string& reason_of, int peer_of);
};

// The size of a description between ranks, with its end.
constexpr size_t kDescriptionSize = 512;
// Of a buffer of that size.
std::vector<char> Described(const Work& work);
// Compares the descriptions of all ranks with a work's own: whether they are the same; else `work` has the first that differs.
bool IsSameCall(Work& work, const std::vector<char>& own, const std::vector<char>& all);

// Ranks that call together. Start(), Transfer() and Close() are called by the owner's thread. After a failure every later call fails at
// once.
class Group : public std::enable_shared_from_this<Group> {
 public:
  virtual ~Group() = default;

  // A collective: in the order of the calls.
  virtual void Start(std::shared_ptr<Work> work) = 0;
  // Sent and received in the order of the calls, for each pair of ranks and tag.
  virtual void Transfer(std::shared_ptr<Work> work) = 0;
  // From now on `lost` is called when another rank ends without Close(), or gives up.
  virtual void Watch(std::function<void(int rank)> lost) = 0;
  // A rank is gone: Lose() notes which, Break() ends at `when` what still runs, and all later calls.
  virtual void Lose(int rank) = 0;
  virtual void Break(std::chrono::steady_clock::time_point when) = 0;
  // Ends what runs. Twice is no mistake.
  virtual void Close(bool is_clean) = 0;

 protected:
  // Collectives that are not begun.
  std::deque<std::shared_ptr<Work>> queue_;
  bool is_closing_ = false;
  // It can make no more calls, for this reason, and perhaps because of this rank.
  bool is_broken_ = false;
  int lost_ = -1;
  std::string broken_by_;
  std::string broken_reason_;
};

}  // namespace dxtensor::distributed
