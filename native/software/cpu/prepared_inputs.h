// Forms that kernels made of inputs, kept while nothing writes to those: the packed weights of a network that only runs.
//
// DirectML's drivers do this where an input is OWNED_BY_DML; here it is known which bytes every command writes, so that no caller has to
// promise anything. An input is remembered when it is first read, its form is made when it is read again and was not written since, and
// dropped with the first write to any of its bytes. One for the process; queue threads use it, any thread may forget.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "preparing_kernel.h"

namespace dxtensor::software {

class PreparedInputs {
 public:
  static PreparedInputs& Get();

  // The form of the input at `source` for a run of this kernel, to be held while that lasts; null when the kernel shall make it itself.
  std::shared_ptr<const uint8_t> Take(const PreparingKernel& kernel, const KernelArguments& arguments, const uint8_t* source,
                                      uint64_t size);
  // These bytes are about to be written, or are given back.
  void Written(const uint8_t* begin, const uint8_t* end) {
    if (count_.load(std::memory_order_relaxed)) Drop(begin, end);
  }
  bool IsEmpty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // The kernel goes.
  void Forget(const PreparingKernel& kernel);

 private:
  struct Entry {
    const PreparingKernel* kernel;
    uint64_t size;
    std::shared_ptr<uint8_t> form;
    uint64_t number;  // never given twice
  };
  using Entries = std::multimap<const uint8_t*, Entry>;  // by the first byte

  PreparedInputs() = default;
  void Drop(const uint8_t* begin, const uint8_t* end);
  Entries::iterator Find(const PreparingKernel& kernel, const uint8_t* source);
  void Erase(Entries::iterator entry);

  std::mutex mutex_;
  std::atomic<size_t> count_{0};
  Entries entries_;
  uint64_t longest_ = 0, made_ = 0;
};

}  // namespace dxtensor::software
