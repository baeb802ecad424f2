// Divides chunks of address space into blocks of 256-byte units: two-level segregated fit, behind one list of free blocks for each small
// size, so that a loop gets the same few blocks again.
//
// Independent of Direct3D. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "address.h"

namespace dxtensor::dml {

class BlockAllocator {
 public:
  static constexpr uint64_t kUnit = 256;
  static constexpr uint32_t kNone = UINT32_MAX;

  BlockAllocator();
  void AddChunk(uint32_t chunk, uint64_t size);
  // A block of at least this size, kNone when no free one is large enough.
  uint32_t Allocate(uint64_t size);
  void Free(uint32_t block);
  // Gives the small free blocks back to their neighbours.
  void Coalesce();
  // Removes the chunks that are entirely free, as far as `takes` agrees, and returns their numbers. Coalesce first.
  std::vector<uint32_t> TakeEmptyChunks(const std::function<bool(uint32_t chunk)>& takes);

  Address AddressOf(uint32_t block) const { return blocks_[block].address; }
  uint64_t SizeOf(uint32_t block) const { return static_cast<uint64_t>(blocks_[block].units) * kUnit; }

 private:
  struct Block {
    Address address;
    uint32_t units;
    uint32_t previous, next;            // neighbours in the chunk
    uint32_t previous_free, next_free;  // in its list
    bool free;
  };
  static constexpr uint32_t kQuickUnits = 256;  // 64 KiB
  static constexpr int kSecondBits = 4, kSecond = 1 << kSecondBits, kFirst = 32;

  static void ListOf(uint32_t units, int& first, int& second);
  uint32_t NewBlock();
  void Insert(uint32_t block);
  void Remove(uint32_t block);
  uint32_t FindFree(uint32_t units);
  void FreeToLists(uint32_t block);

  std::vector<Block> blocks_;
  std::vector<uint32_t> unused_records_;
  std::array<std::vector<uint32_t>, kQuickUnits + 1> quick_;
  uint32_t first_bits_ = 0;
  std::array<uint32_t, kFirst> second_bits_{};
  std::array<std::array<uint32_t, kSecond>, kFirst> heads_;
};

}  // namespace dxtensor::dml
