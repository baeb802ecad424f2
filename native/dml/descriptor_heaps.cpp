#include "descriptor_heaps.h"

#include <algorithm>

#include "../abi/abi_calls.h"
#include "failure.h"

namespace dxtensor::dml {

namespace {

constexpr uint32_t kFirstHeap = 1u << 14, kLargestHeap = 1000000;  // tier 1 hardware allows a million

}  // namespace

void DescriptorHeaps::AddHeap(uint32_t min_size) {
  auto heap = std::make_unique<Heap>();
  uint32_t doubled = heaps_.empty() ? kFirstHeap : std::min(heaps_.back()->size * 2, kLargestHeap);
  heap->size = std::max(doubled, min_size);
  D3D12_DESCRIPTOR_HEAP_DESC desc{};
  desc.Type = D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV;
  desc.NumDescriptors = heap->size;
  desc.Flags = D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE;
  Check(context_.d3d->CreateDescriptorHeap(&desc, __uuidof(ID3D12DescriptorHeap), heap->heap.put_void()),
        "ID3D12Device::CreateDescriptorHeap");
  heap->cpu = CpuStart(heap->heap.get());
  heap->gpu = GpuStart(heap->heap.get());
  increment_ = context_.d3d->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
  heaps_.push_back(std::move(heap));
}

bool DescriptorHeaps::TakeFrom(uint32_t index, uint32_t count, Region* region) {
  Heap& heap = *heaps_[index];
  auto free = heap.free.find(count);
  uint32_t first;
  if (free != heap.free.end() && !free->second.empty()) {
    first = free->second.back();
    free->second.pop_back();
  } else if (heap.size - heap.used >= count) {
    first = heap.used;
    heap.used += count;
  } else {
    return false;
  }
  *region = {heap.heap.get(), index, first, count, heap.cpu, heap.gpu};
  region->cpu.ptr += static_cast<SIZE_T>(first) * increment_;
  region->gpu.ptr += static_cast<UINT64>(first) * increment_;
  return true;
}

DescriptorHeaps::Region DescriptorHeaps::Allocate(uint32_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  count = std::max(count, 1u);
  Region region;
  // The newest heap first: a list that mixes heaps has to switch between them.
  for (size_t i = heaps_.size(); i-- > 0;)
    if (TakeFrom(static_cast<uint32_t>(i), count, &region)) return region;
  AddHeap(count);
  TakeFrom(static_cast<uint32_t>(heaps_.size() - 1), count, &region);
  return region;
}

void DescriptorHeaps::Free(const Region& region) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (region.heap) heaps_[region.heap_index]->free[region.count].push_back(region.first);
}

}  // namespace dxtensor::dml
