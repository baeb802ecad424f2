// Regions of shader-visible descriptor heaps. One large heap as a rule; when it is full another of twice the size is added, and
// regions stay where they are.
//
// Any thread, under a lock: a region is taken when a binding table is made, not for each dispatch.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "context.h"

namespace dxtensor::dml {

class DescriptorHeaps {
 public:
  struct Region {
    ID3D12DescriptorHeap* heap = nullptr;
    uint32_t heap_index = 0, first = 0, count = 0;
    D3D12_CPU_DESCRIPTOR_HANDLE cpu{};
    D3D12_GPU_DESCRIPTOR_HANDLE gpu{};
  };

  explicit DescriptorHeaps(const Context& context) : context_(context) {}
  // Throws Failure when the device has no memory for another heap.
  Region Allocate(uint32_t count);
  void Free(const Region& region);
  // See Context::LetGo.
  void LetGo() {
    for (auto& heap : heaps_) heap->heap.Reset();
  }

 private:
  struct Heap {
    ComPtr<ID3D12DescriptorHeap> heap;
    D3D12_CPU_DESCRIPTOR_HANDLE cpu{};
    D3D12_GPU_DESCRIPTOR_HANDLE gpu{};
    uint32_t size = 0, used = 0;
    std::unordered_map<uint32_t, std::vector<uint32_t>> free;  // first descriptors by region size
  };
  void AddHeap(uint32_t min_size);
  bool TakeFrom(uint32_t index, uint32_t count, Region* region);

  const Context& context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Heap>> heaps_;
  uint32_t increment_ = 0;
};

}  // namespace dxtensor::dml
