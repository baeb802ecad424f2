// Prepacked inputs of kernels, kept while nothing writes to the inputs: the packed weights of a network that only runs.
//
// DirectML's drivers do this where an input is OWNED_BY_DML. Here the queue knows which bytes every command writes, so no flag of the
// caller is needed. An input is noted when it is first read, packed when it is read again without a write in between, and dropped with the
// first write to any of its bytes. One object for the process; queue threads use it, any thread may drop entries.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "prepacking_kernel.h"

namespace dxtensor::software {

class PrepackedInputs {
 public:
  static PrepackedInputs& Get();

  // The prepacked input at `source` for a run of this kernel, to be kept during the run; null: the kernel packs it itself.
  std::shared_ptr<const uint8_t> Take(const PrepackingKernel& kernel, const KernelArguments& arguments, const uint8_t* source,
                                      uint64_t size);
  // These bytes are about to be written, or are given back.
  void Written(const uint8_t* begin, const uint8_t* end) {
    if (count_.load(std::memory_order_relaxed)) Drop(begin, end);
  }
  bool IsEmpty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // The kernel goes.
  void Forget(const PrepackingKernel& kernel);

 private:
  struct Entry {
    const PrepackingKernel* kernel;
    uint64_t size;
    std::shared_ptr<uint8_t> form;
    uint64_t number;  // never given twice
  };
  using Entries = std::multimap<const uint8_t*, Entry>;  // by the first byte

  PrepackedInputs() = default;
  void Drop(const uint8_t* begin, const uint8_t* end);
  Entries::iterator Find(const PrepackingKernel& kernel, const uint8_t* source);
  void Erase(Entries::iterator entry);

  std::mutex mutex_;
  std::atomic<size_t> count_{0};
  Entries entries_;
  uint64_t longest_ = 0, made_ = 0;
};

}  // namespace dxtensor::software
