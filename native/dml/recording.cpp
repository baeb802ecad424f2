#include "recording.h"

#include <algorithm>

#include "failure.h"

namespace dxtensor::dml {

Recording::Recording(const Context& context, DescriptorHeaps& heaps, const HeapPool& pool, ListRecorder& recorder, Program& program,
                     const std::vector<Address>& slots, uint32_t lists, const std::vector<uint32_t>& cuts)
    : program_(program), bound_(context, heaps, program) {
  bound_.Bind(pool, slots.data());
  recorder.counts.tables += program.dispatches.size();
  lists_.resize(lists);
  std::vector<uint32_t> ends = cuts;
  ends.push_back(static_cast<uint32_t>(program.groups.size()));
  part_values.assign(ends.size(), 0);
  std::vector<uint32_t> touched;
  for (List& list : lists_) {
    Check(context.d3d->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), list.allocator.put_void()),
          "ID3D12Device::CreateCommandAllocator");
    for (uint32_t begin = 0; uint32_t end : ends) {
      ComPtr<ID3D12GraphicsCommandList>& part = list.parts.emplace_back();
      Check(context.d3d->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, list.allocator.get(), nullptr,
                                           __uuidof(ID3D12GraphicsCommandList), part.put_void()),
            "ID3D12Device::CreateCommandList");
      recorder.Begin(part.get());
      recorder.Run(program, slots.data(), bound_, begin, end);
      recorder.End();
      Check(part->Close(), "ID3D12GraphicsCommandList::Close", program.name.c_str());
      if (!begin) head_ = recorder.head();
      touched.insert(touched.end(), recorder.touched().begin(), recorder.touched().end());
      begin = end;
    }
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (uint32_t chunk : touched) {
    chunks_.push_back(chunk);
    resources_.push_back(pool.BackingOf(chunk).resource);
    resource_heaps_.push_back(pool.BackingOf(chunk).heap);
  }
}

bool Recording::IsBackedBy(const HeapPool& pool) const {
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const HeapPool::Backing* backing = pool.FindBacking(chunks_[i]);
    if (!backing || backing->resource.get() != resources_[i].get()) return false;
  }
  return true;
}

void Recording::LetGo() {
  lists_.clear();
  chunks_.clear();
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
