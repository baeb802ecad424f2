// Runs the software adapter's kernels on plain memory.
#pragma once

#include "software/cpu/kernel.h"
#include "values.h"

namespace dxtensor::test {

// Memory of exactly the tensor's bytes, 16-byte aligned, so that a sanitizer sees accesses outside it.
class ExactBytes {
 public:
  explicit ExactBytes(size_t size);
  ExactBytes(ExactBytes&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
  ExactBytes& operator=(ExactBytes&&) = delete;
  ~ExactBytes();
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_;
  size_t size_;
};

// Outputs by slot; memory that the kernel does not write stays 0xcd. `prepacks`: the kernel gets its input prepacked, which is
// overwritten before it runs.
std::vector<Bytes> RunKernel(const software::Kernel& kernel, const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs,
                             bool prepacks = false);

// How much results of two kernels for one description may differ.
Tolerance KernelTolerance(const schema::OperatorDesc& desc, DML_TENSOR_DATA_TYPE output);

}  // namespace dxtensor::test
