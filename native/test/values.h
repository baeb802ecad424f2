// Tensors as plain numbers: elements in row-major order of the sizes, whatever the strides in memory.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "../schema/schema.h"

namespace dxtensor::test {

using Bytes = std::vector<uint8_t>;

bool IsFloat(DML_TENSOR_DATA_TYPE type);
bool IsSigned(DML_TENSOR_DATA_TYPE type);
// The value as the integer type keeps it: low bits, sign extended for signed types.
int64_t Wrap(DML_TENSOR_DATA_TYPE type, int64_t value);
float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(double value);

struct Values {
  DML_TENSOR_DATA_TYPE type = DML_TENSOR_DATA_TYPE_UNKNOWN;
  std::vector<uint32_t> sizes;
  std::vector<double> real;    // of floats
  std::vector<int64_t> whole;  // of integers; UINT64 as its bits

  size_t size() const;
  bool is_float() const { return IsFloat(type); }
  double AsReal(size_t i) const;
  bool Truth(size_t i) const { return is_float() ? real[i] != 0 : whole[i] != 0; }
  void Set(size_t i, double value);  // of floats
  void SetWhole(size_t i, int64_t value) { whole[i] = Wrap(type, value); }
  void Copy(size_t i, const Values& from, size_t k);  // of the same type
};

Values Blank(const schema::TensorDesc& tensor);
Values Unpack(const Bytes& bytes, const schema::TensorDesc& tensor);
// Memory of the tensor with every element set by `next`; elements that broadcast strides share get one value.
Bytes Filled(const schema::TensorDesc& tensor, const std::function<double(size_t)>& next);
Bytes FilledWhole(const schema::TensorDesc& tensor, const std::function<int64_t(size_t)>& next);

// All coordinates of the sizes in row-major order; f(coordinates, flat index).
void ForEach(const std::vector<uint32_t>& sizes, const std::function<void(const std::vector<uint32_t>&, size_t)>& f);
size_t Flat(const std::vector<uint32_t>& coordinates, const std::vector<uint32_t>& sizes);
std::vector<uint32_t> SizesOf(const schema::TensorDesc& tensor);

struct Tolerance {
  double relative = 0, absolute = 0;
};
// Empty when they agree; else the first difference. NaN agrees with NaN, infinities with themselves.
std::string Difference(const Values& actual, const Values& expected, const Tolerance& tolerance);

}  // namespace dxtensor::test
