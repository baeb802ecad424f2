// One device as the addon sees it: memory, programs, recordings, copies between host and device, and waiting.
//
// Owned by one JavaScript environment; only that thread may call its methods, except Quiesce and LetGo. Work goes to the queue thread and
// returns at once, unless the name says that it waits. Throws Failure.
//
// Direct3D returns the same removed device again while the process holds references to it. So Open makes the other threads' removed devices
// of that adapter release it; those have failed already, and stay failed until their threads close them.
#pragma once

#include <functional>
#include <memory>
#include <unordered_set>

#include "compiler.h"
#include "guards.h"
#include "profiler.h"
#include "queue.h"
#include "staging_pool.h"

namespace dxtensor::dml {

// Device memory that the host uses in place.
struct HostMemory {
  void* bytes = nullptr;    // null: the host cannot
  ComPtr<IUnknown> keeper;  // the bytes stay while somebody has it
};

class Device {
 public:
  struct Options {
    uint64_t limit_in_bytes = 0;     // 0: what the adapter has
    uint32_t patience_ms = 600'000;  // how long the device may finish nothing while it has work; see timeline.h
    bool guards = false;             // see guards.h
    Look look;                       // called every so often where this thread waits; what it throws ends the wait and is rethrown
  };
  static std::unique_ptr<Device> Open(RuntimeKind kind, uint32_t adapter, const Options& options);
  // Other limits from now on.
  void SetOptions(const Options& options);
  // Work not begun is dropped, what the device has is abandoned, where it can be; waits for the rest, but not longer than kExitMs.
  ~Device();

  const Context& context() const { return *context_; }
  Counters& counters() { return counters_; }
  HeapPool& pool() { return *pool_; }
  // Of the host's memory that the device reads and writes: what uploads and reads go through.
  uint64_t staging_in_bytes() const { return uploads_->SizeInBytes() + readbacks_->SizeInBytes(); }
  uint64_t program_in_bytes() const { return program_in_bytes_; }
  bool failed() const { return queue_->failed(); }
  void CheckAlive() const {
    queue_->CheckAlive();
    if (guards_) CheckGuards();
  }

  // Begins to make a shader's pipeline on another thread; CreateProgram takes it. Of the description its bytes, and how many views and
  // constants it has.
  void PreparePipeline(const ShaderDesc& desc);
  Program* CreateProgram(ProgramDesc desc);
  void ReleaseProgram(Program* program);
  // slots: inputs, outputs, scratch, and one unset slot for the temporary memory.
  void Run(Program& program, Address* slots);

  // cuts: groups behind which a part of the recording ends, ascending.
  Recording* Record(Program& program, const std::vector<Address>& slots, uint32_t lists, const std::vector<uint32_t>& cuts = {});
  // See profiler.h. Waits for all work before.
  ProfileTimes Profile(const Recording& recording);
  // See timing.h. Waits for all work before; one at a time.
  void StartTiming();
  // Waits for all work.
  TimingResult StopTiming();
  void Replay(Recording& recording, std::unique_ptr<ReplayWork> work);
  void ReleaseRecording(Recording* recording);

  void Copy(Address from, Address to, uint64_t size);
  void Upload(Address to, const void* bytes, uint64_t size);
  // The same with bytes of another device of this thread's, through the host's memory: one device reads while the other writes. Waits for
  // what was queued on that one.
  void Receive(Device& sender, Address from, Address to, uint64_t size);
  // The same without waiting, in the order of both queues; a sender that fails ends this device's work, too.
  void ReceiveLater(Device& sender, Address from, Address to, uint64_t size);
  // Bytes of one device for another one of this thread's.
  struct Shipment {
    Device* sender;
    Device* receiver;
    Address from, to;
    uint64_t size;
    // Whose last replay made them, and in which part; null: all that was queued before.
    const Recording* maker;
    uint32_t part;
    // The receiver's recording from whose last replay on no work uses the memory at `to`; null: it is in use by what was queued before.
    const Recording* free_before;
  };
  // Queues copies that run with the work of both devices, all directions at once. What is queued afterwards on any of the devices sees
  // them, and may write what was sent. A sender that fails ends the receiver's work, too.
  static void Exchange(const std::vector<Shipment>& shipments);
  // Waits for bytes that a part of the maker's last replay makes, not for what follows it; null: for all that was queued before.
  void ReadMade(Address from, void* to, uint64_t size, const Recording* maker, uint32_t part);
  // `done` runs on another thread once the bytes are at `to`, or with the failure.
  void Read(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done);
  void ReadAndWait(Address from, void* to, uint64_t size);
  // Where an adapter works in the host's memory: the software one. No work that is queued may use these bytes while the host does.
  HostMemory InHostMemory(Address at, uint64_t size);

  // Gives memory back that was not needed at any time since the last call; returns the bytes of the device's.
  uint64_t Settle() {
    Gate::Entry entry(gate_);
    uploads_->Settle();
    readbacks_->Settle();
    return pool_->Settle();
  }
  void Flush() { queue_->Flush(); }
  void Synchronize(std::function<void(const Failure*)> done);
  void Wait();
  // Whether all work is done, or is within that time.
  bool DoneWithin(std::chrono::milliseconds time);
  void Hold(bool held) { queue_->Hold(held); }
  void RemoveForTest();
  void HangForTest();
  void FailNextAllocationForTest();
  // See AllocationFaults::Plan.
  uint64_t FailAllocationsForTest(uint64_t succeed, uint64_t fail);

  // How long the end of a process or of a thread waits for what was submitted.
  static constexpr uint32_t kExitMs = 750;
  // The same for Finish.
  static constexpr uint32_t kFinishMs = 5'000;
  // Any thread: all waits for the device end then.
  void GiveUpAt(Timeline::Clock::time_point time) { queue_->GiveUpAt(time); }
  // Any thread: stops the device's threads, and abandons its work; it can only be destroyed after that. For the end of the process.
  void Quiesce() { queue_->Stop(true); }
  // Runs what is queued, but not longer than kFinishMs, then stops.
  void Finish();

 private:
  Device(const Runtime& runtime, const Adapter& adapter, const Options& options);
  bool IsRemovedOf(RuntimeKind kind, const Adapter& adapter) const;
  void LetGo();
  template <typename F>
  auto WithInterfaces(F&& use);
  template <typename F>
  void WithInterfacesOf(Device& other, F&& use);
  void SetGuards();
  void CheckGuards() const;
  // What the guard areas have found counts as a failure of what is waited for.
  std::function<void(const Failure*)> WithGuards(std::function<void(const Failure*)> done);
  void ReadGuard(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done);
  void InitialiseProgram(Program& program);
  // Reads in pieces, several of them at once; each is taken on this thread, in their order.
  void ReadPieces(Address from, uint64_t size, const std::function<void(uint64_t at, const uint8_t* memory, uint64_t part)>& take);
  void ReceivePiece(Device& sender, Address from, Address to, uint64_t size);
  void Send(const Shipment& shipment);
  void SendPiece(const Shipment& shipment, uint64_t at, uint64_t size);
  void Land();
  void ForgetExpected();
  // By one piece of the pool of staging memory.
  void ReadPiece(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done);
  void ReadLarge(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done);
  void DropOwner(Program* program);
  Task* NextForRelease();
  void InjectFault(uint32_t fault);
  void RequireSoftware() const;
  // 0: what the adapter has.
  void SetMemoryLimit(uint64_t bytes);

  // Tells who waits to open the adapter when all of this device is gone; so it is destroyed last.
  struct Departure {
    ~Departure();
  } departure_;
  const RuntimeKind kind_;
  const uint64_t luid_;
  const Adapter& adapter_;
  uint32_t patience_ms_;
  const Look look_;
  Gate gate_;
  AllocationFaults faults_;
  std::unique_ptr<Context> context_;
  Counters counters_;
  std::shared_ptr<Guards> guards_;  // null: there are none
  std::unique_ptr<HeapPool> pool_;
  std::unique_ptr<DescriptorHeaps> heaps_;
  std::unique_ptr<StagingPool> uploads_, readbacks_;
  ComPtr<ID3D12Resource> copy_staging_;
  std::unique_ptr<Timing> timing_;  // the queue's while it is set
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<ListRecorder> recorder_;  // for recordings
  std::unique_ptr<ShaderCache> shaders_;
  std::unordered_set<Program*> programs_;
  std::unordered_set<Recording*> recordings_;
  uint64_t program_in_bytes_ = 0;
  // What was sent to this device and is still to be landed.
  struct Expected {
    std::unique_ptr<ReceiveWork> work;
    StagingPool::Page* page;  // pinned
  };
  std::vector<Expected> expected_;
};

// Before the process ends: stops the threads of all devices that are still open, all within Device::kExitMs. Any thread.
void QuiesceAllDevices();

}  // namespace dxtensor::dml
