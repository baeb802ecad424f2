// Device memory: a block of zeroed pages, and the count of bytes that an adapter has allocated.
//
// A block is shared by a heap, the resources placed in it, the binding tables and the work that use it. Its owners are heap, resources and
// who uses it in place: when the caller has released the last of them, pages and account are given back, even if a table still knows the
// addresses. Any thread.
#pragma once

#include "com.h"
#include "profile.h"

namespace dxtensor::software {

class Memory final : public Counted {
 public:
  // Null when the profile's memory or the machine's is used up.
  static Held<Memory> Allocate(const Profile& profile, uint64_t size);

  uint8_t* data() const { return data_; }
  uint64_t size() const { return size_; }
  void AddOwner() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveOwner();
  // Unlike the address in this process; no two live blocks share any of it.
  uint64_t gpu_address() const { return gpu_address_; }

 private:
  Memory(const LUID& luid, uint8_t* data, uint64_t size);
  ~Memory() override;

  void GiveBack();

  const LUID luid_;
  std::atomic<uint32_t> owners_{0};
  std::atomic<bool> released_{false};
  uint8_t* const data_;
  const uint64_t size_;
  uint64_t gpu_address_;
};

// Bytes in all live blocks of an adapter.
uint64_t AllocatedBytes(const LUID& luid);

}  // namespace dxtensor::software
