#include "block_allocator.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace dxtensor::dml {

namespace {

int HighestBit(uint32_t value) {
#if defined(_MSC_VER) && !defined(__clang__)
  unsigned long index;
  _BitScanReverse(&index, value);
  return static_cast<int>(index);
#else
  return 31 - __builtin_clz(value);
#endif
}

int LowestBit(uint32_t value) { return HighestBit(value & (~value + 1)); }

}  // namespace

BlockAllocator::BlockAllocator() {
  for (auto& row : heads_) row.fill(kNone);
}

// Sizes below 2^kSecondBits units have a list each; above, each power of two is divided into kSecond lists.
void BlockAllocator::ListOf(uint32_t units, int& first, int& second) {
  int high = HighestBit(units);
  if (high < kSecondBits) {
    first = 0;
    second = static_cast<int>(units);
  } else {
    first = high - kSecondBits + 1;
    second = static_cast<int>(units >> (high - kSecondBits)) - kSecond;
  }
}

uint32_t BlockAllocator::NewBlock() {
  if (!unused_records_.empty()) {
    uint32_t block = unused_records_.back();
    unused_records_.pop_back();
    return block;
  }
  blocks_.emplace_back();
  return static_cast<uint32_t>(blocks_.size() - 1);
}

void BlockAllocator::Insert(uint32_t block) {
  int first, second;
  ListOf(blocks_[block].units, first, second);
  uint32_t& head = heads_[first][second];
  blocks_[block].free = true;
  blocks_[block].previous_free = kNone;
  blocks_[block].next_free = head;
  if (head != kNone) blocks_[head].previous_free = block;
  head = block;
  first_bits_ |= 1u << first;
  second_bits_[first] |= 1u << second;
}

void BlockAllocator::Remove(uint32_t block) {
  Block& b = blocks_[block];
  int first, second;
  ListOf(b.units, first, second);
  if (b.previous_free != kNone) blocks_[b.previous_free].next_free = b.next_free;
  else heads_[first][second] = b.next_free;
  if (b.next_free != kNone) blocks_[b.next_free].previous_free = b.previous_free;
  if (heads_[first][second] == kNone) {
    second_bits_[first] &= ~(1u << second);
    if (!second_bits_[first]) first_bits_ &= ~(1u << first);
  }
  b.free = false;
}

uint32_t BlockAllocator::FindFree(uint32_t units) {
  int first, second;
  ListOf(units, first, second);
  // The list of this size may hold smaller ones; so a few of it are looked at, then the first of the next list will do.
  int looked = 0;
  for (uint32_t b = heads_[first][second]; b != kNone && looked < 8; b = blocks_[b].next_free, ++looked)
    if (blocks_[b].units >= units) return b;
  uint32_t bits = second + 1 < kSecond ? second_bits_[first] & (~0u << (second + 1)) : 0;
  if (!bits) {
    uint32_t above = first + 1 < kFirst ? first_bits_ & (~0u << (first + 1)) : 0;
    if (!above) return kNone;
    first = LowestBit(above);
    bits = second_bits_[first];
  }
  return heads_[first][LowestBit(bits)];
}

void BlockAllocator::AddChunk(uint32_t chunk, uint64_t size) {
  uint32_t block = NewBlock();
  blocks_[block] = {MakeAddress(chunk, 0), static_cast<uint32_t>(size / kUnit), kNone, kNone, kNone, kNone, true};
  Insert(block);
}

uint32_t BlockAllocator::Allocate(uint64_t size) {
  uint64_t wanted = size ? (size + kUnit - 1) / kUnit : 1;
  if (wanted > UINT32_MAX) return kNone;
  auto units = static_cast<uint32_t>(wanted);
  if (units <= kQuickUnits && !quick_[units].empty()) {
    uint32_t block = quick_[units].back();
    quick_[units].pop_back();
    return block;
  }
  uint32_t block = FindFree(units);
  if (block == kNone) return kNone;
  Remove(block);
  if (blocks_[block].units > units) {
    uint32_t rest = NewBlock();
    Block& b = blocks_[block];
    blocks_[rest] = {b.address + uint64_t{units} * kUnit, b.units - units, block, b.next, kNone, kNone, true};
    if (b.next != kNone) blocks_[b.next].previous = rest;
    b.next = rest;
    b.units = units;
    Insert(rest);
  }
  return block;
}

void BlockAllocator::Free(uint32_t block) {
  uint32_t units = blocks_[block].units;
  if (units <= kQuickUnits) quick_[units].push_back(block);
  else FreeToLists(block);
}

void BlockAllocator::FreeToLists(uint32_t block) {
  uint32_t next = blocks_[block].next;
  if (next != kNone && blocks_[next].free) {
    Remove(next);
    blocks_[block].units += blocks_[next].units;
    blocks_[block].next = blocks_[next].next;
    if (blocks_[next].next != kNone) blocks_[blocks_[next].next].previous = block;
    unused_records_.push_back(next);
  }
  uint32_t previous = blocks_[block].previous;
  if (previous != kNone && blocks_[previous].free) {
    Remove(previous);
    blocks_[previous].units += blocks_[block].units;
    blocks_[previous].next = blocks_[block].next;
    if (blocks_[block].next != kNone) blocks_[blocks_[block].next].previous = previous;
    unused_records_.push_back(block);
    block = previous;
  }
  Insert(block);
}

void BlockAllocator::Coalesce() {
  for (auto& list : quick_) {
    for (uint32_t block : list) FreeToLists(block);
    list.clear();
  }
}

std::vector<uint32_t> BlockAllocator::TakeEmptyChunks(const std::function<bool(uint32_t chunk)>& takes) {
  std::vector<uint32_t> chunks, empty;
  for (auto& row : heads_)
    for (uint32_t head : row)
      for (uint32_t b = head; b != kNone; b = blocks_[b].next_free)
        if (blocks_[b].previous == kNone && blocks_[b].next == kNone && takes(ChunkOf(blocks_[b].address))) empty.push_back(b);
  for (uint32_t b : empty) {
    Remove(b);
    chunks.push_back(ChunkOf(blocks_[b].address));
    unused_records_.push_back(b);
  }
  return chunks;
}

}  // namespace dxtensor::dml
