#include "staging_pool.h"

#include <algorithm>
#include <utility>

#include "address.h"
#include "failure.h"

namespace dxtensor::dml {

namespace {

constexpr uint64_t kPage = 1ull << 20, kMaxIdle = 64ull << 20, kPieceAlignment = 64;

}  // namespace

StagingPool::StagingPool(const Context& context, D3D12_HEAP_TYPE type, AllocationFaults& faults, std::function<uint64_t()> completed,
                         std::function<void()> free_memory)
    : context_(context), type_(type), faults_(faults), completed_(std::move(completed)), free_memory_(std::move(free_memory)) {}

StagingPool::~StagingPool() {
  for (auto& page : pages_)
    if (page->resource) page->resource->Unmap(0, nullptr);
}

bool StagingPool::IsIdle(const Page& page, uint64_t completed) const {
  return page.pins.load(std::memory_order_acquire) == 0 && page.last_task <= completed;
}

bool StagingPool::IsFull(uint64_t size) const {
  uint64_t completed = completed_(), held = 0;
  for (const auto& page : pages_) {
    if (page.get() != current_ && page->size >= size && IsIdle(*page, completed)) return false;
    held += page->size;
  }
  return held + size > kMaxIdle;
}

uint64_t StagingPool::OldestTask() const {
  uint64_t completed = completed_(), oldest = 0;
  for (const auto& page : pages_)
    if (page->last_task > completed && (!oldest || page->last_task < oldest)) oldest = page->last_task;
  return oldest;
}

void StagingPool::Settle() {
  uint64_t completed = completed_();
  for (size_t i = 0; i < pages_.size();) {
    Page& page = *pages_[i];
    if (std::exchange(page.is_used, false) || !IsIdle(page, completed)) {
      ++i;
      continue;
    }
    if (&page == current_) current_ = nullptr;
    page.resource->Unmap(0, nullptr);
    pages_.erase(pages_.begin() + static_cast<ptrdiff_t>(i));
  }
}

void StagingPool::DropIdle() {
  uint64_t completed = completed_();
  for (size_t i = 0; i < pages_.size();) {
    Page& page = *pages_[i];
    if (&page == current_ || !IsIdle(page, completed)) {
      ++i;
      continue;
    }
    page.resource->Unmap(0, nullptr);
    pages_.erase(pages_.begin() + static_cast<ptrdiff_t>(i));
  }
}

StagingPool::Piece StagingPool::Allocate(uint64_t size) {
  if (faults_.Take()) throw Failure(E_OUTOFMEMORY, "ID3D12Device::CreateCommittedResource");
  size = RoundUp(std::max<uint64_t>(size, 1), kPieceAlignment);
  if (current_ && current_->size - current_->used >= size) {
    Piece piece{current_, current_->used};
    current_->used += size;
    current_->is_used = true;
    return piece;
  }
  // The smallest page that is idle and large enough; large ones beyond the limit are given back on the way.
  uint64_t completed = completed_(), idle = 0;
  Page* best = nullptr;
  for (size_t i = 0; i < pages_.size();) {
    Page& page = *pages_[i];
    if (&page == current_ || !IsIdle(page, completed)) {
      ++i;
    } else if (page.size >= size && (!best || page.size < best->size)) {
      best = &page;
      ++i;
    } else if ((idle += page.size) > kMaxIdle) {
      page.resource->Unmap(0, nullptr);
      pages_.erase(pages_.begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (!best) {
    auto page = std::make_unique<Page>();
    page->size = std::max(kPage, RoundUp(size, 1ull << 16));
    try {
      page->resource = context_.CreateBuffer(type_, page->size);
    } catch (const Failure& failure) {
      if (failure.kind() != FailureKind::OutOfMemory) throw;
      free_memory_();
      DropIdle();
      page->resource = context_.CreateBuffer(type_, page->size);
    }
    D3D12_RANGE nothing = {0, 0};
    void* memory = nullptr;
    Check(page->resource->Map(0, type_ == D3D12_HEAP_TYPE_UPLOAD ? &nothing : nullptr, &memory), "ID3D12Resource::Map");
    page->memory = static_cast<uint8_t*>(memory);
    best = page.get();
    pages_.push_back(std::move(page));
  }
  best->used = size;
  best->is_used = true;
  // Later pieces do not go into a page that one large piece fills.
  if (best->size == kPage || !current_) current_ = best;
  return {best, 0};
}

}  // namespace dxtensor::dml
