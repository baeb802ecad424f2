// A process group's engine over MPI: a communicator, whose collectives run in the order of Start(), one at a time; sends and receives run
// beside them. All that it has belongs to MpiEngine's thread: the other functions hand it over.
#pragma once

#include <memory>
#include <vector>

#include "mpi_engine.h"
#include "work.h"

namespace dxtensor::distributed {

class MpiGroup : public Group {
 public:
  // `number` is the same on all ranks, and no other group's. `ranks` are those of the world.
  MpiGroup(int number, std::vector<int> ranks);
  ~MpiGroup() override;

  void Start(std::shared_ptr<Work> work) override;
  void Transfer(std::shared_ptr<Work> work) override;
  void Watch(std::function<void(int rank)> lost) override;
  void Lose(int rank) override;
  void Break(std::chrono::steady_clock::time_point when) override;
  // Waits until the thread has let go of it, or two seconds.
  void Close(bool is_clean) override;

  // Of the thread. Polls and begins; gives whether anything ended or began.
  bool Advance(std::chrono::steady_clock::time_point now);
  bool is_active() const { return active_ != nullptr || !transfers_.empty(); }
  // A rank of the world gives a group up.
  void Told(int number, int rank);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Operation;

  std::shared_ptr<MpiGroup> Own() { return std::static_pointer_cast<MpiGroup>(shared_from_this()); }
  void Begin(std::shared_ptr<Work> work, Time now);
  void BeginConnect(Operation& operation);
  int Call(Work& work, MpiRequest* request);
  // Whether it has ended.
  bool Poll(Operation& operation, Time now);
  void Finish(Operation& operation);
  void Fail(const std::string& message, const std::string& reason);
  void Refuse(Work& work) const;
  void EndAll(const std::string& message, const std::string& reason, int peer);

  MpiEngine& engine_;
  const int number_;
  const std::vector<int> ranks_;
  const int rank_;
  MpiComm comm_ = 0;
  std::unique_ptr<Operation> active_;
  std::vector<std::unique_ptr<Operation>> transfers_;
  std::function<void(int rank)> watch_;
  bool is_connected_ = false;
  bool is_closed_ = false;
  bool is_breaking_ = false;
  Time break_at_;
};

}  // namespace dxtensor::distributed
