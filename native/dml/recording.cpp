#include "recording.h"

#include <algorithm>

#include "failure.h"

namespace dxtensor::dml {

Recording::Recording(const Context& context, DescriptorHeaps& heaps, const HeapPool& pool, ListRecorder& recorder, Program& program,
                     const std::vector<Address>& slots, uint32_t lists)
    : program_(program), bound_(context, heaps, program) {
  bound_.Bind(pool, slots.data());
  recorder.counts.tables += program.dispatches.size();
  lists_.resize(lists);
  for (List& list : lists_) {
    Check(context.d3d->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), list.allocator.put_void()),
          "ID3D12Device::CreateCommandAllocator");
    Check(context.d3d->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, list.allocator.get(), nullptr,
                                         __uuidof(ID3D12GraphicsCommandList), list.list.put_void()),
          "ID3D12Device::CreateCommandList");
    recorder.Begin(list.list.get());
    recorder.Run(program, slots.data(), bound_);
    recorder.End();
    Check(list.list->Close(), "ID3D12GraphicsCommandList::Close", program.name.c_str());
  }
  head_ = recorder.head();
  for (uint32_t chunk : recorder.touched()) {
    resources_.push_back(pool.BackingOf(chunk).resource);
    resource_heaps_.push_back(pool.BackingOf(chunk).heap);
  }
}

void Recording::LetGo() {
  lists_.clear();
  bound_.LetGo();
  resources_.clear();
  resource_heaps_.clear();
}

uint64_t Recording::last_use() const {
  uint64_t last = 0;
  for (const List& list : lists_) last = std::max(last, list.last_use);
  return last;
}

}  // namespace dxtensor::dml
