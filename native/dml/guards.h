// Guard areas for DXTENSOR_GUARD: bytes of a pattern in front of and behind each block of a device's memory, and between the values in a
// program's scratch memory. They are compared after each program and each replay, and when a block is freed.
//
// All but Found() is called by the JavaScript thread. What was overwritten is told by every later call of the device.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "address.h"
#include "failure.h"
#include "program.h"

namespace dxtensor::dml {

class Guards {
 public:
  // In front of a block, and at least so many behind it.
  static constexpr uint64_t kBytes = 256;
  // Both are work of the device's queue. `done` runs on another thread.
  using Write = std::function<void(Address to, const void* bytes, uint64_t size)>;
  using Read = std::function<void(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done)>;

  Guards(Write write, Read read) : write_(std::move(write)), read_(std::move(read)), state_(std::make_shared<State>()) {}

  // size: what was asked for; capacity: bytes up to the guard area behind a whole block.
  void Allocated(Address address, uint64_t size, uint64_t capacity);
  void Freed(Address address);
  // Finds the parts of the scratch memory that no step uses.
  static std::vector<SlotRange> GapsOf(const Program& program);
  // Before a program's first run over this memory.
  void FillGaps(const Program& program, Address scratch);
  // After it.
  void Check(const Program& program, const Address* slots);

  // Any thread: what was overwritten first.
  std::optional<Failure> Found() const;
  // Waits until all that the device has read is compared. When the device has finished.
  void Settle() const;

 private:
  struct State {
    mutable std::mutex mutex;
    mutable std::condition_variable compared;
    uint64_t pending = 0;
    std::optional<Failure> found;
  };
  struct Block {
    uint64_t size, capacity;
  };

  void Fill(Address at, uint64_t size);
  void Compare(Address at, uint64_t size, const std::string& work, const std::string& where);
  void CheckBlock(Address address, const Block& block, const std::string& work);

  Write write_;
  Read read_;
  std::shared_ptr<State> state_;
  std::map<Address, Block> blocks_;
};

}  // namespace dxtensor::dml
