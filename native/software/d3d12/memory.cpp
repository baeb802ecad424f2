#include "memory.h"

#include <algorithm>
#include <map>
#ifndef _WIN32
#include <sys/mman.h>
#endif

#include "software/cpu/prepacked_inputs.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kPlacement = 65536;
[[maybe_unused]] constexpr uint64_t kMinForLargePages = 4u << 20;
constexpr uint64_t kFirstGpuAddress = uint64_t{1} << 32;
constexpr uint64_t kLastGpuAddress = uint64_t{1} << 47;

struct Account {
  std::mutex mutex;
  std::map<DWORD, uint64_t> used;           // by the LUID's low part
  std::map<uint64_t, uint64_t> gpu_ranges;  // begin to end
  uint64_t next_gpu_address = kFirstGpuAddress;
};

Account& TheAccount() {
  static Account* account = new Account;
  return *account;
}

uint8_t* MapPages(uint64_t size) {
#ifdef _WIN32
  return static_cast<uint8_t*>(VirtualAlloc(nullptr, static_cast<SIZE_T>(size), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
#else
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  // Rows of a matrix lie a page and more apart: large pages spare the search for each. Where the system has none, nothing changes.
  if (size >= kMinForLargePages) madvise(pages, size, MADV_HUGEPAGE);
#endif
  return static_cast<uint8_t*>(pages);
#endif
}

// The range stays readable and writable, as zeros; its pages go.
void DiscardPages(uint8_t* data, uint64_t size) {
#ifdef _WIN32
  VirtualAlloc(data, static_cast<SIZE_T>(size), MEM_RESET, PAGE_READWRITE);
#else
  madvise(data, size, MADV_DONTNEED);
#endif
}

void UnmapPages(uint8_t* data, uint64_t size) {
#ifdef _WIN32
  (void)size;
  VirtualFree(data, 0, MEM_RELEASE);
#else
  munmap(data, size);
#endif
}

}  // namespace

Held<Memory> Memory::Allocate(const Profile& profile, uint64_t size) {
  if (!size || size > uint64_t{1} << 46) return {};
  size = (size + kPlacement - 1) / kPlacement * kPlacement;
  uint64_t limit = profile.dedicated_bytes + profile.shared_bytes;
  Account& account = TheAccount();
  {
    std::lock_guard<std::mutex> lock(account.mutex);
    uint64_t& used = account.used[profile.luid.LowPart];
    if (size > limit || used > limit - size) return {};
    used += size;
  }
  uint8_t* data = MapPages(size);
  if (!data) {
    std::lock_guard<std::mutex> lock(account.mutex);
    account.used[profile.luid.LowPart] -= size;
    return {};
  }
  return Held<Memory>::Adopt(new Memory(profile.luid, data, size));
}

Memory::Memory(const LUID& luid, uint8_t* data, uint64_t size) : luid_(luid), data_(data), size_(size) {
  Account& account = TheAccount();
  std::lock_guard<std::mutex> lock(account.mutex);
  uint64_t at = account.next_gpu_address;
  if (at + size > kLastGpuAddress) {  // the search has passed the whole space: the first gap from the start
    at = kFirstGpuAddress;
    for (auto& range : account.gpu_ranges) {
      if (range.first >= at && range.first - at >= size + kPlacement) break;
      at = std::max(at, range.second + kPlacement);
    }
  }
  account.next_gpu_address = at + size + kPlacement;
  gpu_address_ = at;
  account.gpu_ranges[at] = at + size;
}

Memory::~Memory() {
  GiveBack();
  UnmapPages(data_, size_);
  Account& account = TheAccount();
  std::lock_guard<std::mutex> lock(account.mutex);
  account.gpu_ranges.erase(gpu_address_);
}

void Memory::RemoveOwner() {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  PrepackedInputs::Get().Written(data_, data_ + size_);
  DiscardPages(data_, size_);
  GiveBack();
}

void Memory::GiveBack() {
  if (released_.exchange(true)) return;
  Account& account = TheAccount();
  std::lock_guard<std::mutex> lock(account.mutex);
  account.used[luid_.LowPart] -= size_;
}

uint64_t AllocatedBytes(const LUID& luid) {
  Account& account = TheAccount();
  std::lock_guard<std::mutex> lock(account.mutex);
  auto found = account.used.find(luid.LowPart);
  return found == account.used.end() ? 0 : found->second;
}

}  // namespace dxtensor::software
