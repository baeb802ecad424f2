// The queue thread: takes tasks from the JavaScript thread, binds, records, submits, and destroys what work in flight has used.
//
// All public methods but those named otherwise are the JavaScript thread's. Must be stopped before anything its tasks refer to
// is destroyed. A failure on the thread (a removed device, a list that cannot be closed) ends the device's work: `failed` is set,
// later tasks do nothing but complete with that failure.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "completion.h"
#include "copy_lane.h"
#include "counters.h"
#include "list_recorder.h"
#include "open_lists.h"
#include "progress.h"
#include "recording.h"
#include "relay.h"
#include "task_ring.h"

namespace dxtensor::dml {

// Initialisation of a program's operators, recorded once before its first run.
struct InitialiseWork {
  ComPtr<IDMLOperatorInitializer> initializer;
  ComPtr<IDMLBindingTable> table;
  DescriptorHeaps::Region region;
  std::vector<std::pair<Address, uint64_t>> writes;
};

struct ReplayWork {
  std::vector<CopyRange> before, after;
};

// A read of more bytes than the host sees at once: the queue thread moves them in pieces, in turn through a few buffers of mapped
// memory. It completes when all are at `to`.
struct LargeRead : Completion {
  static constexpr size_t kBuffers = 4;
  struct Buffer {
    ID3D12Resource* resource = nullptr;
    uint64_t offset = 0;
    const uint8_t* memory = nullptr;
  };
  Buffer buffers[kBuffers];
  uint64_t piece = 0;  // bytes of a buffer
  Address from = 0;
  uint8_t* to = nullptr;
  uint64_t size = 0;
};

// A piece of another device's: copied from the host's memory once it is there.
struct ReceiveWork {
  std::shared_ptr<Relay> relay;
  ID3D12Resource* host;
  uint64_t host_offset;
  Address to;
  uint64_t size;
  // Of a piece that comes while other work runs: the memory at `to` is free since the replay before the last of this recording; null: since
  // what was submitted last.
  const Recording* free_before = nullptr;
  // Whose task sends it.
  std::shared_ptr<const Progress> sender = nullptr;
  uint64_t sender_task = 0;
};

// Plain data: lies in the ring. Pointers named "owned" belong to the task.
struct Task {
  static constexpr uint32_t kSlots = 12;
  enum class Kind : uint8_t {
    Run,
    RunMany,
    Copy,
    Upload,
    Read,
    ReadLarge,
    Receive,
    Send,
    Land,
    Replay,
    Initialise,
    ReleaseProgram,
    ReleaseRecording,
    Flush,
    Time
  };
  Kind kind;
  union {
    Program* program;
    Recording* recording;
    InitialiseWork* initialise;  // owned
    Completion* completion;      // owned, may be null
    ReceiveWork* receive;        // owned: Receive, Land (null: the end of an exchange)
    Timing* timing;              // of what follows; null: none
  };
  union {
    Address slots[kSlots];  // Run
    Address* many_slots;    // RunMany, owned array
    CopyRange copy;         // Copy
    ReplayWork* replay;     // owned
    struct {                // Upload, Read, Send
      ID3D12Resource* host;
      uint64_t host_offset;
      Address device;
      uint64_t size;
      const Recording* maker;  // Send: whose last replay made it; null: all before
      uint32_t part;
    } transfer;
  };
};

class Queue {
 public:
  // patience_ms: see timeline.h. look: the JavaScript thread's, wherever it waits.
  Queue(const Context& context, const HeapPool& pool, DescriptorHeaps& heaps, Counters& counters, ID3D12Resource* staging,
        uint64_t staging_size, uint32_t patience_ms, Look look);
  ~Queue();

  // A task to fill; then Commit. Throws Failure when the device has failed, or is held with a full ring; what `look` throws.
  Task& Next();
  void Commit() {
    ring_.Commit();
    if (ended_.load(std::memory_order_seq_cst)) Drain();
  }
  // The number of the task committed last.
  uint64_t last_task() const { return ring_.pushed(); }

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Throws the failure that ended the device's work.
  void CheckAlive() const {
    if (failed()) ThrowFailure();
  }
  void Flush();
  // Returns when everything committed so far is done. Throws Failure when the device fails, or as CheckProgress; what `look` throws.
  void Wait();
  // Returns when the task of that number is done; a flush was committed after it. Throws as Wait.
  void WaitForTask(uint64_t task);
  // As Wait, but gives up after so long, and says whether it is. Never throws: a device that failed or is held finishes nothing.
  bool DoneWithin(std::chrono::milliseconds time);
  // The number of the last task that the device has finished.
  uint64_t CompletedTask();
  // What follows is timed; null: no more. The timing must live until what was timed is done, or the queue is stopped.
  void Time(Timing* timing);
  void Hold(bool held);
  bool held() const { return progress_->held(); }
  const std::shared_ptr<Progress>& progress() const { return progress_; }
  // Throws Failure when the device finishes nothing more until a device is resumed, itself or one that it receives from.
  void CheckProgress() const;
  // Any thread: all waits for the device end then, see Timeline.
  void GiveUpAt(Timeline::Clock::time_point time);
  void SetPatience(uint32_t patience_ms);
  // Any thread, several times: ends both threads. drop_tasks: those not begun are not run, and those that the device has are abandoned.
  // Waits until the device has left what was submitted, or the time of GiveUpAt; false when it has not by then.
  bool Stop(bool drop_tasks);
  // Of a stopped one: whether the device has left what was submitted by now.
  bool IsLeft() const;
  // Any thread, of a removed device: its work ends with this failure.
  void Abort(const Failure& why);
  // After Abort; see Context::LetGo.
  void LetGo();

 private:
  // How often a waiting JavaScript thread calls `look`, and how often the queue thread looks whether it is to stop.
  static constexpr auto kLook = std::chrono::milliseconds(100);

  struct Dead {
    uint64_t value;
    std::unique_ptr<Program> program;
    std::unique_ptr<Recording> recording;
    std::unique_ptr<InitialiseWork> initialise;
  };

  bool WaitUntilSubmitted(uint64_t task);
  void AwaitSubmission(uint64_t task);
  void Run();
  void Idle(uint32_t& polls);
  void Process(Task& task);
  void ProcessAfterFailure(Task& task);
  void RunProgram(Program& program, const Address* slots);
  void ReplayTimed(Recording& recording, ReplayWork& work);
  void Replay(Recording& recording, ReplayWork& work);
  void ReadInPieces(LargeRead& read);
  void Receive(const ReceiveWork& work);
  void Send(Task& task);
  void Land(const ReceiveWork& work);
  void FinishExchange();
  void Await(const ReceiveWork& work);
  CopyLane& Lane(std::unique_ptr<CopyLane>& lane);
  void FailPending();
  void Drain();
  void DrainRing();
  void SetFailure(const Failure& failure);
  std::string RunningNames() const;
  // With what was submitted before it.
  std::string UnfinishedNames() const;
  void Submit();
  ID3D12CommandList* CloseOpenList(const ListHead* next = nullptr);
  void ReopenList();
  void ExecuteUnsubmitted();
  void Settle();
  void Execute(ID3D12CommandList* const* lists, uint32_t count);
  void WaitFor(uint64_t value);
  void Reap();
  void PublishSubmitted();
  void Fail(const Failure& failure);
  void CheckRemoved();
  [[noreturn]] void ThrowFailure() const;

  const Context& context_;
  const HeapPool& pool_;
  DescriptorHeaps& heaps_;
  Counters& counters_;
  const Look look_;

  TaskRing<Task, 4096> ring_;
  Timeline timeline_;
  CompletionThread completions_;
  std::unique_ptr<CopyLane> outgoing_, incoming_;  // made by the queue thread, under lanes_mutex_
  mutable std::mutex lanes_mutex_;
  ListRecorder recorder_;
  Event event_, wait_event_, stop_event_;  // the queue thread's, the JavaScript thread's, and Stop's

  // Queue thread.
  OpenLists lists_;
  uint32_t batch_ = 0;
  std::atomic<uint32_t> patience_ms_;
  Timing* timing_ = nullptr;
  uint64_t recorded_ = 0;                        // tasks
  std::vector<ID3D12CommandList*> unsubmitted_;  // closed, and submitted with the open list
  size_t unsubmitted_replays_ = 0;
  std::deque<Dead> dead_;
  std::vector<std::unique_ptr<Completion>> pending_;  // to be told when what is recorded is done
  std::vector<const Program*> running_;               // in the open list or replayed, and not submitted yet: for messages

  // Shared.
  std::atomic<bool> stopping_{false}, drop_{false}, failed_{false}, waiting_{false}, ended_{false};
  const std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  mutable std::mutex mutex_;
  std::condition_variable submitted_;
  std::deque<std::pair<uint64_t, uint64_t>> history_;  // fence value, last task
  uint64_t completed_task_ = 0;
  std::optional<Failure> failure_;
  std::mutex stop_mutex_;
  bool stopped_ = false, finished_ = true;
  std::thread thread_;
};

}  // namespace dxtensor::dml
