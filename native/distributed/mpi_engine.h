// The MPI library of this process, and the one thread that calls it: MPI's own thread level need not be more than "funneled". Every
// operation is a non-blocking one that the thread polls, so that calls of several groups overlap, have timeouts, and end when a rank gives
// up. A process starts MPI once; at its exit MPI is finalised if all groups were closed after their ranks had met, else not: then `mpirun`
// ends the others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi_shim.h"

namespace dxtensor::distributed {

class MpiGroup;

struct MpiLibrary {
  std::string file;
  // "openmpi", "mpich": whose ABI it has.
  std::string abi;
  std::string version;
};

class MpiEngine {
 public:
  enum class State { kIdle, kStarting, kReady, kFailed };

  static MpiEngine& Get();

  // The first of these files that is an MPI library, with the shim for it from the addon's folder. Twice is no mistake. Throws
  // std::runtime_error.
  const MpiLibrary& Load(const std::vector<std::string>& files);
  // Begins MPI's start on a thread of its own: see State().
  void Start();
  State state();
  std::string problem();
  int rank() const { return rank_; }
  int size() const { return size_; }
  int thread_level() const { return thread_level_; }

  // Runs `command` on the thread.
  void Post(std::function<void()> command);

  // The rest: on the thread alone.
  const MpiFunctions& mpi() const { return *functions_; }
  MpiComm control() const { return control_; }
  int largest_tag() const { return largest_tag_; }
  std::string Text(int code) const;
  void Add(std::shared_ptr<MpiGroup> group);
  void Remove(MpiGroup* group);
  // Tells ranks of the world that this one gives up a group.
  void Notify(int group, const std::vector<int>& ranks);
  // MPI may still write to memory, or others wait for this rank: MPI cannot be finalised.
  void Abandon() { is_abandoned_ = true; }
  // Any thread.
  bool is_abandoned() const { return is_abandoned_; }

 private:
  struct Notice;

  MpiEngine();
  void Run();
  bool Begin();
  bool Round();
  bool Receive();
  void AtExit();
  void Fail(const std::string& problem);

  std::mutex lock_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> commands_;
  State state_ = State::kIdle;
  std::string problem_;
  bool is_ending_ = false;
  bool has_ended_ = false;

  MpiLibrary library_;
  const MpiFunctions* functions_ = nullptr;
  int rank_ = -1;
  int size_ = 0;
  int thread_level_ = 0;
  int largest_tag_ = 0;
  MpiComm control_ = 0;
  std::atomic<bool> is_abandoned_{false};
  std::vector<std::shared_ptr<MpiGroup>> groups_;
  std::vector<std::unique_ptr<Notice>> sent_;
  std::unique_ptr<Notice> received_;
};

}  // namespace dxtensor::distributed
