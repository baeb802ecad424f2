// A process group's engine over Gloo: collectives run in the order of Start() on a thread of its own, sends and receives each on another
// one. Close() ends what runs, and waits for it.
#pragma once

#include <thread>

#include "gloo_context.h"
#include "work.h"

namespace dxtensor::distributed {

class GlooGroup : public Group {
 public:
  explicit GlooGroup(std::shared_ptr<Context> context);
  ~GlooGroup() override;

  void Start(std::shared_ptr<Work> work) override;
  void Transfer(std::shared_ptr<Work> work) override;
  // A thread for each other rank, from the connection on.
  void Watch(std::function<void(int rank)> lost) override;
  void Lose(int rank) override;
  void Break(std::chrono::steady_clock::time_point when) override;
  // Says to the others that this rank leaves, ends what runs, joins the threads.
  void Close(bool is_clean) override;

 private:
  void Run();
  void Require();
  void Execute(Work& work);
  // Splits a large one among the channels.
  void AllReduce(Work& work);
  void Compare(Work& work);
  void Fail(Work& work, const std::string& message);
  // Sends to the other ranks, once, which rank this one lost, or that it leaves.
  void TellOthers(int32_t lost_rank);

  const std::shared_ptr<Context> context_;
  // Of the base's state, too.
  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
  std::thread thread_;
  int running_ = 0;
  bool is_watched_ = false;
  bool has_told_ = false;
};

}  // namespace dxtensor::distributed
