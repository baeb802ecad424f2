// Handles: the numbers by which JavaScript names the addon's objects. No number is used twice, so a released handle is always recognised.
// Integers that a double holds; 0 is none. Those of programs and recordings are a slot in a Table and how often the slot was used
// before; those of buffers are counted up, see buffers.h.
#pragma once

#include <cstdint>
#include <vector>

namespace dxtensor::addon {

using Handle = uint64_t;

constexpr uint32_t kIndexBits = 24, kMaxIndices = 1u << kIndexBits;
// 53 bits in all; a slot that was used this often is never used again.
constexpr uint32_t kGenerations = 1u << 29;

constexpr uint32_t IndexOf(Handle handle) { return static_cast<uint32_t>(handle) & (kMaxIndices - 1); }
constexpr Handle MakeHandle(uint32_t index, uint32_t generation) { return static_cast<Handle>(generation) << kIndexBits | index; }

// A table of things that have a member `device`, null where the slot is free.
template <typename T>
class Table {
 public:
  // Null when it was released, or was never there.
  T* Find(Handle handle) {
    const uint32_t index = IndexOf(handle);
    if (index >= slots_.size()) return nullptr;
    Slot& slot = slots_[index];
    return slot.value.device && MakeHandle(index, slot.generation) == handle ? &slot.value : nullptr;
  }
  // 0 when there is no slot left.
  Handle Add(const T& value) {
    if (free_.empty()) {
      if (slots_.size() >= kMaxIndices) return 0;
      free_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    slots_[index].value = value;
    return MakeHandle(index, slots_[index].generation);
  }
  void Remove(Handle handle) { RemoveAt(IndexOf(handle)); }
  template <typename F>
  void RemoveIf(F&& wanted) {
    for (uint32_t i = 1; i < slots_.size(); ++i)
      if (slots_[i].value.device && wanted(slots_[i].value)) RemoveAt(i);
  }

 private:
  struct Slot {
    T value;
    uint32_t generation = 0;
  };
  void RemoveAt(uint32_t index) {
    slots_[index].value = {};
    if (++slots_[index].generation < kGenerations) free_.push_back(index);
  }

  std::vector<Slot> slots_{1};  // handle 0 is none
  std::vector<uint32_t> free_;
};

}  // namespace dxtensor::addon
