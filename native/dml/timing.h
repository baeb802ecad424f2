// How long a device takes for what it is asked to do, by its own timestamps, while it does it: each dispatch runs alone between two.
//
// Made and read by the JavaScript thread, while the queue thread has none; in between it is the queue thread's.
#pragma once

#include <chrono>
#include <vector>

#include "kernel_times.h"
#include "program.h"

namespace dxtensor::dml {

// Times in milliseconds since the timing began.
struct DispatchTime {
  uint32_t work = 0;      // number of the run or replay
  uint32_t dispatch = 0;  // in the program's order
  // Of the whole run or replay on the queue thread.
  double queue_begin = 0, queue_end = 0;
  double device_begin = 0, device_end = 0;
};

struct ProgramKernels {
  uint32_t work = 0;                             // one of the program's
  std::vector<std::vector<KernelTime>> kernels;  // by operator
};

struct TimingResult {
  std::vector<DispatchTime> dispatches;
  std::vector<ProgramKernels> programs;
};

class Timing {
 public:
  using Clock = std::chrono::steady_clock;

  // The queue must be idle. Throws Failure when the device has no timestamps.
  explicit Timing(const Context& context);
  ~Timing();

  // The queue thread's: what is stamped until the next call belongs to this program.
  void Begin(const Program& program);
  void End();
  // Before and after each dispatch.
  void Stamp(ID3D12GraphicsCommandList* list);
  // Before the list is closed.
  void Resolve(ID3D12GraphicsCommandList* list);
  // It is about to be destroyed.
  void Forget(const Program* program);
  // The same after the device has failed, which is asked nothing any more.
  void Drop(const Program* program);
  // The device is done with what was stamped. No program is known afterwards: the queue thread tells of none that is destroyed.
  void ForgetAll();
  void DropAll();

  // After ForgetAll.
  TimingResult Result();

 private:
  struct Chunk {
    ComPtr<ID3D12QueryHeap> stamps;
    ComPtr<ID3D12Resource> results;
  };
  struct Work {
    size_t stamp = 0, stamps = 0;
    Clock::time_point begin, end;
  };
  struct Seen {
    const Program* program = nullptr;
    uint32_t work = 0;
  };
  void AddChunk();
  double Ms(Clock::time_point time) const { return std::chrono::duration<double, std::milli>(time - start_).count(); }
  std::vector<UINT64> Ticks() const;
  std::vector<std::vector<KernelTime>> KernelsOfProgram(const Program& program) const;

  const Context& context_;
  UINT64 frequency_ = 0, device_start_ = 0;
  Clock::time_point start_;
  std::vector<Chunk> chunks_;
  size_t stamps_ = 0, resolved_ = 0;
  std::vector<Work> works_;
  std::vector<Seen> seen_;
  TimingResult result_;
};

}  // namespace dxtensor::dml
