// Shared by kernels of quantized numbers: scales and zero points, and integers read by their data type.
//
// Immutable; any thread.
#pragma once

#include <cstdint>

#include "software/cpu/kernel.h"

namespace dxtensor::software {

// "{side}ScaleTensor" and "{side}ZeroPointTensor" of an operator; a scale of 1 and a zero point of 0 where it has none.
class Rescale {
 public:
  Rescale(const schema::OperatorDesc& desc, const char* side);
  // At an offset in elements of the tensor.
  float Scale(const KernelArguments& a, uint64_t offset) const;
  int64_t Zero(const KernelArguments& a, uint64_t offset) const;

 private:
  int scale_slot_ = -1, zero_slot_ = -1;
  DML_TENSOR_DATA_TYPE zero_type_ = DML_TENSOR_DATA_TYPE_UINT8;
  bool half_scale_ = false;
};

// An integer of up to 32 bits.
int64_t LoadInteger(DML_TENSOR_DATA_TYPE type, const uint8_t* base, uint64_t index);
// As UINT8 or INT8, clamped to the type's range; NaN is 0.
void StoreQuantized(DML_TENSOR_DATA_TYPE type, uint8_t* base, uint64_t index, float value);

}  // namespace dxtensor::software
