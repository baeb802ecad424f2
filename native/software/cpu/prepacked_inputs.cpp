#include "prepacked_inputs.h"

#include <algorithm>
#include <new>

#include "software/cpu/host/host_memory.h"

namespace dxtensor::software {

namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kShare = 4;  // one part in so many of the memory that is left may become a form

std::shared_ptr<uint8_t> Allocate(uint64_t size) {
  if (size > QueryHostMemory().available / kShare) return {};
  auto* memory = static_cast<uint8_t*>(::operator new(size, std::align_val_t(kAlignment), std::nothrow));
  if (!memory) return {};
  return {memory, [](uint8_t* p) { ::operator delete(p, std::align_val_t(kAlignment)); }};
}

}  // namespace

PrepackedInputs& PrepackedInputs::Get() {
  static PrepackedInputs* inputs = new PrepackedInputs;  // never destroyed: queues may run until the process ends
  return *inputs;
}

PrepackedInputs::Entries::iterator PrepackedInputs::Find(const PrepackingKernel& kernel, const uint8_t* source) {
  auto [at, last] = entries_.equal_range(source);
  while (at != last && at->second.kernel != &kernel) ++at;
  return at == last ? entries_.end() : at;
}

std::shared_ptr<const uint8_t> PrepackedInputs::Take(const PrepackingKernel& kernel, const KernelArguments& arguments,
                                                     const uint8_t* source, uint64_t size) {
  uint64_t number = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = Find(kernel, source);
    if (found == entries_.end()) {
      entries_.insert({source, {&kernel, size, {}, ++made_}});
      longest_ = std::max(longest_, size);
      count_.store(entries_.size(), std::memory_order_relaxed);
      return {};
    }
    if (found->second.form) return found->second.form;
    number = found->second.number;
  }
  std::shared_ptr<uint8_t> form = Allocate(kernel.PrepackedBytes());
  if (!form) return {};
  kernel.Prepack(arguments, form.get());
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = Find(kernel, source);
  if (found != entries_.end() && found->second.number == number) found->second.form = form;
  return form;
}

void PrepackedInputs::Erase(Entries::iterator entry) {
  entries_.erase(entry);
  if (entries_.empty()) longest_ = 0;
  count_.store(entries_.size(), std::memory_order_relaxed);
}

void PrepackedInputs::Drop(const uint8_t* begin, const uint8_t* end) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto first = reinterpret_cast<uintptr_t>(begin) > longest_ ? begin - longest_ : nullptr;
  for (auto at = entries_.lower_bound(first); at != entries_.end() && at->first < end;) {
    const auto entry = at++;
    if (begin < entry->first + entry->second.size) Erase(entry);
  }
}

void PrepackedInputs::Forget(const PrepackingKernel& kernel) {
  if (IsEmpty()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (entry->second.kernel == &kernel) Erase(entry);
  }
}

}  // namespace dxtensor::software
