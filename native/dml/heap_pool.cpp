#include "heap_pool.h"

#include <algorithm>
#include <utility>

#include "failure.h"

namespace dxtensor::dml {

namespace {

constexpr uint64_t kPlacement = D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT;
constexpr uint64_t kFirstChunk = 16ull << 20, kLargestChunk = 128ull << 20;
constexpr uint64_t kWorthIt = 32ull << 20;  // bytes that may stay idle

// A quarter of what is held: small enough that some chunk is empty when much is idle.
uint64_t NextChunk(uint64_t pooled) { return std::clamp(RoundUp(pooled / 4, kPlacement), kFirstChunk, kLargestChunk); }

}  // namespace

HeapPool::HeapPool(const Context& context, Gate& gate, AllocationFaults& faults, uint64_t limit_in_bytes, std::function<bool()> drain)
    : context_(context),
      gate_(gate),
      faults_(faults),
      limit_(limit_in_bytes),
      drain_(std::move(drain)),
      backings_(new std::atomic<Backing*>[kMaxChunks]),
      next_chunk_size_(kFirstChunk) {
  for (uint32_t i = 0; i < kMaxChunks; ++i) backings_[i].store(nullptr, std::memory_order_relaxed);
}

HeapPool::~HeapPool() {
  for (uint32_t i = 0; i < kMaxChunks; ++i) delete backings_[i].load(std::memory_order_relaxed);
}

uint32_t HeapPool::Take(uint64_t size, Use use) {
  uint32_t block = blocks_[static_cast<uint32_t>(use)].Allocate(size);
  if (block == BlockAllocator::kNone) return block;
  if (use == Use::Program) block |= kProgramBit;
  allocated_ += SizeOf(block);
  peak_ = std::max(peak_, allocated_);
  return block;
}

uint32_t HeapPool::Allocate(uint64_t size, Use use) {
  if (guard_) return AllocateGuarded(size, use);
  if (!faults_.any()) {
    uint32_t block = Take(size, use);
    if (block != BlockAllocator::kNone) return block;
  }
  return AllocateSlow(size, use);
}

uint32_t HeapPool::AllocateGuarded(uint64_t size, Use use) {
  const uint64_t whole = std::max<uint64_t>(size, 1) + 2 * guard_;
  uint32_t block = faults_.any() ? BlockAllocator::kNone : Take(whole, use);
  if (block == BlockAllocator::kNone) block = AllocateSlow(whole, use);
  on_allocate_(block, size);
  return block;
}

uint32_t HeapPool::AllocateSlow(uint64_t size, Use use) {
  Gate::Entry entry(gate_);
  HRESULT hr = S_OK;
  uint64_t min_size = RoundUp(std::max<uint64_t>(size, 1), kPlacement);
  if (faults_.Take()) ThrowOutOfMemory(size, E_OUTOFMEMORY);
  if (faults_.TakeFromDevice()) {
    uint64_t usual = std::exchange(next_chunk_size_, min_size);  // one attempt, not a second smaller one
    bool added = AddChunk(min_size, use, &hr);
    next_chunk_size_ = usual;
    if (!added) ThrowOutOfMemory(size, hr);
  } else {
    // Adjacent free blocks may do; else unused chunks are freed for the new one.
    blocks_[static_cast<uint32_t>(use)].Coalesce();
    uint32_t block = Take(size, use);
    if (block != BlockAllocator::kNone) return block;
    if (!AddChunk(min_size, use, &hr) && (Trim() == 0 || !AddChunk(min_size, use, &hr))) ThrowOutOfMemory(size, hr);
  }
  uint32_t block = Take(size, use);
  if (block == BlockAllocator::kNone)
    throw Failure(FailureKind::Internal, "allocator: a new chunk does not hold the block it was made for");
  return block;
}

void HeapPool::SetLimit(uint64_t bytes) {
  limit_ = bytes;
  if (pooled_ > limit_) Trim(limit_);
}

bool HeapPool::AddChunk(uint64_t min_size, Use use, HRESULT* hr) {
  uint64_t available = limit_ > pooled_ ? limit_ - pooled_ : 0;
  if (left_) available = std::min(available, left_());
  available = available / kPlacement * kPlacement;
  if (min_size > available || (free_numbers_.empty() && next_number_ >= kMaxChunks)) return false;
  uint64_t size = std::min(std::max(min_size, next_chunk_size_), available);
  auto backing = std::make_unique<Backing>();
  auto create = [&]() {
    D3D12_HEAP_DESC desc{};
    desc.SizeInBytes = size;
    desc.Properties.Type = D3D12_HEAP_TYPE_DEFAULT;
    desc.Properties.CreationNodeMask = desc.Properties.VisibleNodeMask = 1;
    desc.Alignment = kPlacement;
    desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
    *hr = context_.d3d->CreateHeap(&desc, __uuidof(ID3D12Heap), backing->heap.put_void());
    if (FAILED(*hr)) return false;
    D3D12_RESOURCE_DESC buffer = BufferDesc(size, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
    *hr = context_.d3d->CreatePlacedResource(backing->heap.get(), 0, &buffer, D3D12_RESOURCE_STATE_COMMON, nullptr,
                                             __uuidof(ID3D12Resource), backing->resource.put_void());
    return SUCCEEDED(*hr);
  };
  if (!create()) {
    if (size == min_size || IsRemoval(*hr)) return false;
    size = min_size;
    if (!create()) return false;
  }
  backing->size = size;
  uint32_t number;
  if (free_numbers_.empty()) {
    number = next_number_++;
  } else {
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  backings_[number].store(backing.release(), std::memory_order_release);
  pooled_ += size;
  next_chunk_size_ = NextChunk(pooled_);
  blocks_[static_cast<uint32_t>(use)].AddChunk(number, size);
  return true;
}

void HeapPool::LetGo() {
  for (uint32_t i = 0; i < next_number_; ++i)
    if (Backing* backing = backings_[i].load(std::memory_order_acquire)) {
      backing->resource.Reset();
      backing->heap.Reset();
    }
}

uint64_t HeapPool::Trim(uint64_t keep) {
  Gate::Entry entry(gate_);
  for (BlockAllocator& blocks : blocks_) blocks.Coalesce();
  if (!drain_()) return 0;
  uint64_t before = pooled_;
  for (BlockAllocator& blocks : blocks_) {
    auto takes = [&](uint32_t number) {
      uint64_t size = BackingOf(number).size;
      if (pooled_ - size < keep) return false;
      pooled_ -= size;
      return true;
    };
    for (uint32_t number : blocks.TakeEmptyChunks(takes)) {
      delete backings_[number].exchange(nullptr);
      free_numbers_.push_back(number);
    }
  }
  if (before != pooled_) {
    epoch_.fetch_add(1, std::memory_order_release);
    next_chunk_size_ = NextChunk(pooled_);
  }
  return before - pooled_;
}

uint64_t HeapPool::Settle() {
  // A half more, since blocks do not fit together without gaps.
  uint64_t keep = std::exchange(peak_, allocated_) / 2 * 3;
  return pooled_ > keep + kWorthIt ? Trim(keep) : 0;
}

void HeapPool::ThrowOutOfMemory(uint64_t size, HRESULT hr) const {
  std::string state = "allocating " + std::to_string(size) + " bytes with " + std::to_string(allocated_) + " in use, " +
                      std::to_string(pooled_) + " held, a limit of " + std::to_string(limit_) +
                      (left_ ? ", " + std::to_string(left_()) + " left" : "") + " on '" + context_.adapter_name + "'";
  if (IsRemoval(hr)) throw Failure(hr, "ID3D12Device::CreateHeap", "", state);
  if (FAILED(hr)) throw Failure(E_OUTOFMEMORY, "ID3D12Device::CreateHeap", "", state + ", device answers " + HresultText(hr));
  throw Failure(FailureKind::OutOfMemory, "out of memory: " + state);
}

}  // namespace dxtensor::dml
