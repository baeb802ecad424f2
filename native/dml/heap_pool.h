// Device memory: chunks (a default heap with one placed buffer over all of it), divided by a BlockAllocator. Freed blocks may be
// taken again at once, since all work runs in the order of one queue.
//
// Owns the heaps. Allocate, Free and Trim are the JavaScript thread's; Resource may be called by any thread for an address that
// it was given. Must outlive all work on the device that uses its memory.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "allocation_faults.h"
#include "block_allocator.h"
#include "context.h"
#include "gate.h"

namespace dxtensor::dml {

class HeapPool {
 public:
  struct Backing {
    ComPtr<ID3D12Heap> heap;
    ComPtr<ID3D12Resource> resource;
    uint64_t size = 0;
  };

  // `drain` waits until the device has finished all work queued so far; it answers false where it can't wait. `gate`: entered
  // before the device is asked for memory.
  HeapPool(const Context& context, Gate& gate, AllocationFaults& faults, uint64_t limit_in_bytes, std::function<bool()> drain);
  ~HeapPool();

  // `left`: how many bytes the device would give now; asked before every chunk.
  void SetBudget(std::function<uint64_t()> left) { left_ = std::move(left); }

  // So many bytes in front of and behind each block from now on, and who is told of blocks: see guards.h. Before any is allocated.
  void SetGuards(uint64_t bytes, std::function<void(uint32_t block, uint64_t size)> allocated, std::function<void(uint32_t block)> freed) {
    guard_ = bytes;
    on_allocate_ = std::move(allocated);
    on_free_ = std::move(freed);
  }

  // What a block is for. Buffers of programs have chunks of their own: a copy between them and tensors is then between two
  // resources, as Direct3D requires, without a detour.
  enum class Use : uint32_t { Tensor, Program };

  // Throws Failure of kind OutOfMemory.
  uint32_t Allocate(uint64_t size, Use use = Use::Tensor);
  void Free(uint32_t block) {
    if (guard_) on_free_(block);
    allocated_ -= SizeOf(block);
    Of(block).Free(block & ~kProgramBit);
  }
  Address AddressOf(uint32_t block) const { return Of(block).AddressOf(block & ~kProgramBit) + guard_; }
  uint64_t SizeOf(uint32_t block) const { return Of(block).SizeOf(block & ~kProgramBit) - 2 * guard_; }

  ID3D12Resource* Resource(uint32_t chunk) const { return backings_[chunk].load(std::memory_order_acquire)->resource.get(); }
  // null: the chunk was given back.
  const Backing* FindBacking(uint32_t chunk) const { return backings_[chunk].load(std::memory_order_acquire); }
  const Backing& BackingOf(uint32_t chunk) const { return *backings_[chunk].load(std::memory_order_acquire); }
  // See Context::LetGo. Blocks can be freed afterwards as before.
  void LetGo();
  // Changes when a chunk's number may mean another resource than before.
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }

  // Gives chunks without a live block back to the device, but for so many bytes of all; returns those that went. Waits for the device.
  uint64_t Trim(uint64_t keep = 0);
  // Gives back what was not needed at any time since the last call, when it is worth it.
  uint64_t Settle();

  uint64_t pooled_in_bytes() const { return pooled_; }
  uint64_t idle_in_bytes() const { return pooled_ - allocated_; }
  uint64_t limit_in_bytes() const { return limit_; }
  // Gives back what is free and beyond it; blocks in use stay, and count.
  void SetLimit(uint64_t bytes);

 private:
  static constexpr uint32_t kProgramBit = 1u << 31;  // in a block's number

  BlockAllocator& Of(uint32_t block) { return blocks_[block >> 31]; }
  const BlockAllocator& Of(uint32_t block) const { return blocks_[block >> 31]; }
  // kNone when no free block is large enough.
  uint32_t Take(uint64_t size, Use use);
  uint32_t AllocateSlow(uint64_t size, Use use);
  uint32_t AllocateGuarded(uint64_t size, Use use);
  // False when the device has no memory or the limit stands against it.
  bool AddChunk(uint64_t min_size, Use use, HRESULT* hr);
  [[noreturn]] void ThrowOutOfMemory(uint64_t size, HRESULT hr) const;

  const Context& context_;
  Gate& gate_;
  AllocationFaults& faults_;
  uint64_t limit_;
  std::function<bool()> drain_;
  uint64_t guard_ = 0;  // a multiple of the allocator's unit
  std::function<void(uint32_t, uint64_t)> on_allocate_;
  std::function<void(uint32_t)> on_free_;
  std::function<uint64_t()> left_;        // empty: nobody knows
  std::array<BlockAllocator, 2> blocks_;  // by Use
  std::unique_ptr<std::atomic<Backing*>[]> backings_;
  std::vector<uint32_t> free_numbers_;
  uint32_t next_number_ = 1;
  uint64_t next_chunk_size_;
  uint64_t pooled_ = 0, allocated_ = 0;
  uint64_t peak_ = 0;  // that was allocated at once since the last Settle()
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace dxtensor::dml
