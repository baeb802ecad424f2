// The numbers by which JavaScript names what the addon keeps. None is given twice, so that one that was released is always recognised.
// Integers that a double holds; 0 is none. Those of programs and recordings are a place in a Table and how often the place was used
// before; those of buffers are counted up, see buffers.h.
#pragma once

#include <cstdint>
#include <vector>

namespace dxtensor::addon {

using Handle = uint64_t;

constexpr uint32_t kIndexBits = 24, kMostIndices = 1u << kIndexBits;
// 53 bits in all; a place that was used this often is never used again.
constexpr uint32_t kGenerations = 1u << 29;

constexpr uint32_t IndexOf(Handle handle) { return static_cast<uint32_t>(handle) & (kMostIndices - 1); }
constexpr Handle MakeHandle(uint32_t index, uint32_t generation) { return static_cast<Handle>(generation) << kIndexBits | index; }

// A table of things that have a member `device`, null where the place is free.
template <typename T>
class Table {
 public:
  // Null when it was released, or was never there.
  T* Find(Handle handle) {
    const uint32_t index = IndexOf(handle);
    if (index >= places_.size()) return nullptr;
    Place& place = places_[index];
    return place.value.device && MakeHandle(index, place.generation) == handle ? &place.value : nullptr;
  }
  // 0 when there is no place left.
  Handle Add(const T& value) {
    if (free_.empty()) {
      if (places_.size() >= kMostIndices) return 0;
      free_.push_back(static_cast<uint32_t>(places_.size()));
      places_.emplace_back();
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    places_[index].value = value;
    return MakeHandle(index, places_[index].generation);
  }
  void Remove(Handle handle) { RemoveAt(IndexOf(handle)); }
  template <typename F>
  void RemoveIf(F&& wanted) {
    for (uint32_t i = 1; i < places_.size(); ++i)
      if (places_[i].value.device && wanted(places_[i].value)) RemoveAt(i);
  }

 private:
  struct Place {
    T value;
    uint32_t generation = 0;
  };
  void RemoveAt(uint32_t index) {
    places_[index].value = {};
    if (++places_[index].generation < kGenerations) free_.push_back(index);
  }

  std::vector<Place> places_{1};  // handle 0 is none
  std::vector<uint32_t> free_;
};

}  // namespace dxtensor::addon
