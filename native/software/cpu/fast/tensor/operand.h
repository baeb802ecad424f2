// Floats of a tensor of float32 or float16, a segment at a time. Stateless.
#pragma once

#include "schema/schema.h"
#include "software/cpu/fast/isa/isa_table.h"

namespace dxtensor::software::fast {

inline bool IsFloatType(DML_TENSOR_DATA_TYPE type) { return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16; }

struct FloatOperand {
  DML_TENSOR_DATA_TYPE type = DML_TENSOR_DATA_TYPE_FLOAT32;
  int bytes = 4;

  FloatOperand() = default;
  explicit FloatOperand(const schema::TensorDesc& t) : type(t.data_type), bytes(static_cast<int>(schema::BytesPerElement(t.data_type))) {}

  // n floats from base + offset on, `step` elements apart: a pointer to the memory itself, or to a copy in `buffer`.
  const float* Read(const uint8_t* base, int64_t offset, int64_t element_stride, int64_t n, float* buffer) const {
    const uint8_t* from = base + offset * bytes;
    if (type == DML_TENSOR_DATA_TYPE_FLOAT32 && (element_stride == 1 || n == 1)) return reinterpret_cast<const float*>(from);
    Table().load(type, reinterpret_cast<uint8_t*>(buffer), from, element_stride, n);
    return buffer;
  }
  float Read(const uint8_t* base, int64_t offset) const {
    float value;
    Table().load(type, reinterpret_cast<uint8_t*>(&value), base + offset * bytes, 1, 1);
    return value;
  }
  // Where to compute n floats for Write: the memory itself, or `buffer`.
  float* Target(uint8_t* base, int64_t offset, int64_t element_stride, float* buffer) const {
    return type == DML_TENSOR_DATA_TYPE_FLOAT32 && element_stride == 1 ? reinterpret_cast<float*>(base) + offset : buffer;
  }
  void Write(uint8_t* base, int64_t offset, int64_t element_stride, int64_t n, const float* from) const {
    uint8_t* to = base + offset * bytes;
    if (reinterpret_cast<const uint8_t*>(from) != to) Table().store(type, to, reinterpret_cast<const uint8_t*>(from), element_stride, n);
  }
  void Write(uint8_t* base, int64_t offset, float value) const { Write(base, offset, 1, 1, &value); }
};

}  // namespace dxtensor::software::fast
