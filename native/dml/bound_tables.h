// The binding tables and the views of a program's runs, each kept with the addresses that it is bound to: a loop whose allocator hands out
// the same buffers again writes no descriptors.
//
// Owned by the program, used by the queue thread alone (a recording has a set of its own). A set's descriptors may be written
// again once the last list that used them has finished.
#pragma once

#include <memory>
#include <vector>

#include "descriptor_heaps.h"
#include "heap_pool.h"
#include "program.h"

namespace dxtensor::dml {

// One binding table, or a shader's views, for each dispatch of a program, bound over one set of slots.
class BoundSet {
 public:
  BoundSet(const Context& context, DescriptorHeaps& heaps, const Program& program);
  ~BoundSet();
  BoundSet(const BoundSet&) = delete;
  BoundSet& operator=(const BoundSet&) = delete;

  void Bind(const HeapPool& pool, const Address* slots);
  bool IsBoundTo(const Address* slots, uint32_t epoch) const;
  // Null for a shader.
  IDMLBindingTable* table(size_t dispatch) const { return tables_[dispatch].get(); }
  D3D12_GPU_DESCRIPTOR_HANDLE views(size_t dispatch) const { return regions_[dispatch].gpu; }
  ID3D12DescriptorHeap* heap(size_t dispatch) const { return regions_[dispatch].heap; }
  const std::vector<Address>& slots() const { return slots_; }
  // See Context::LetGo.
  void LetGo() { tables_.clear(); }

  uint64_t last_use = 0;  // fence value

 private:
  void BindDispatch(const HeapPool& pool, size_t index);
  void BindViews(const HeapPool& pool, const DispatchStep& step, const DescriptorHeaps::Region& region) const;

  const Context& context_;
  DescriptorHeaps& heaps_;
  const Program& program_;
  std::vector<DescriptorHeaps::Region> regions_;
  std::vector<ComPtr<IDMLBindingTable>> tables_;
  std::vector<Address> slots_;
  uint32_t epoch_ = 0;
};

class BoundTables {
 public:
  // A set bound to these slots: an old one, or one written now (*written), whose descriptors no list up to `completed` uses any
  // longer. Null when all sets are in use: then the caller submits, waits and asks again.
  BoundSet* Get(const Context& context, DescriptorHeaps& heaps, const HeapPool& pool, const Program& program, const Address* slots,
                uint64_t completed, bool* written);
  // The fence value at which the oldest set is free.
  uint64_t OldestUse() const { return sets_[next_]->last_use; }

 private:
  static constexpr size_t kMaxDescriptors = 1024, kMaxSets = 256, kFewSets = 16;
  static uint32_t Hash(const Address* slots, size_t count);
  void Forget(uint32_t set);
  void Remember(uint32_t set);

  std::vector<std::unique_ptr<BoundSet>> sets_;
  std::vector<uint32_t> hash_of_;
  std::vector<uint32_t> index_;  // open addressing by hash, set + 1
  uint32_t last_ = 0, next_ = 0;
};

}  // namespace dxtensor::dml
