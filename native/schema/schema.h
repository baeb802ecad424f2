// The table of DirectML operators, and a description of an operator that owns its data.
//
// The table (operator_table.generated.inc, made from directml.json by npm run generate) is read three times: the
// addon converts JavaScript values by it, the software adapter validates by it, the TypeScript builders are generated from the
// same JSON. Everything here is plain data without state; any thread may use it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "../abi/abi.h"

namespace dxtensor::schema {

constexpr uint32_t kMaxRank = 8;

enum class FieldKind : uint8_t { Input, Output, Attribute };

enum class FieldType : uint8_t {
  Tensor,         // const DML_TENSOR_DESC*, null when absent
  TensorArray,    // const DML_TENSOR_DESC*, length in count_field
  Operator,       // const DML_OPERATOR_DESC*, null when absent
  OperatorArray,  // const DML_OPERATOR_DESC*, length in count_field
  UInt32,         // UINT, enums too
  UInt32Array,
  Int32,
  Int32Array,
  Float32,
  Float32Array,
  Bool,         // BOOL, 32 bits
  ScaleBias,    // const DML_SCALE_BIAS*, null when absent
  Size2D,       // DML_SIZE_2D by value
  ScalarUnion,  // DML_SCALAR_UNION by value
};

struct FieldSchema {
  const char* name;
  FieldKind kind;
  FieldType type;
  bool optional;
  uint32_t optional_level;  // feature level from which the field is optional; 0 when `optional` says it all
  int8_t count_field;       // index of the field that holds this array's length, -1 for none
  const char* enum_name;    // "DML_REDUCE_FUNCTION", null for a plain number
  uint32_t enum_mask;       // valid values of the enum as bits (value < 32)
};

// Data types and dimension counts that one tensor may have from a feature level on. The rows of the highest level not above the
// device's apply; of them those whose condition holds.
struct SupportRow {
  uint32_t feature_level;
  int8_t field;
  uint8_t min_rank, max_rank;
  uint32_t data_types;        // bit i: DML_TENSOR_DATA_TYPE i; 0: the sources list none
  uint32_t reduce_functions;  // bit i: only with DML_REDUCE_FUNCTION i; 0: always
};

// A group of tensor fields that must agree in something.
enum class SameKind : uint8_t { DataType, DimensionCount, Sizes };
struct SameGroup {
  SameKind kind;
  uint32_t fields;  // bit i: field i
};

struct OperatorSchema {
  const char* name;  // "GEMM"
  DML_OPERATOR_TYPE type;
  uint32_t feature_level;
  bool supports_in_place;  // false where the sources do not say
  bool fusable_activation;
  bool accepts_fused_activation;
  uint8_t field_count;
  const FieldSchema* fields;
  uint16_t support_count;
  const SupportRow* support;
  uint8_t same_count;
  const SameGroup* same;
};

// Null for a number that is no operator.
const OperatorSchema* FindOperator(uint32_t type);
const std::vector<const OperatorSchema*>& AllOperators();
// 0x5000 for "5.0".
constexpr uint32_t kHighestFeatureLevel = 0x6400;

struct TensorDesc {
  DML_TENSOR_DATA_TYPE data_type = DML_TENSOR_DATA_TYPE_UNKNOWN;
  uint32_t flags = 0;  // DML_TENSOR_FLAGS
  uint32_t rank = 0;
  std::array<uint32_t, kMaxRank> sizes{};
  std::array<uint32_t, kMaxRank> strides{};  // in elements; packed ones when has_strides is false
  bool has_strides = false;
  uint64_t size_in_bytes = 0;  // TotalTensorSizeInBytes
  uint32_t alignment = 0;      // GuaranteedBaseOffsetAlignment

  uint64_t ElementCount() const;
  bool IsPacked() const;  // each element behind the one before
  bool operator==(const TensorDesc& other) const;
};

// 0 for sub-byte and unknown types; see BitsPerElement.
uint32_t BytesPerElement(DML_TENSOR_DATA_TYPE type);
uint32_t BitsPerElement(DML_TENSOR_DATA_TYPE type);
const char* DataTypeName(DML_TENSOR_DATA_TYPE type);  // "FLOAT32"
// DMLCalcBufferTensorSize's formula; strides may be null (packed).
uint64_t BufferTensorSize(DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t* sizes, const uint32_t* strides);

struct OperatorDesc;
using Field = std::variant<std::optional<TensorDesc>,            // Tensor
                           std::vector<TensorDesc>,              // TensorArray
                           std::shared_ptr<const OperatorDesc>,  // Operator, may be null
                           std::vector<OperatorDesc>,            // OperatorArray
                           uint32_t,                             // UInt32
                           std::vector<uint32_t>,                // UInt32Array
                           int32_t,                              // Int32
                           std::vector<int32_t>,                 // Int32Array
                           float,                                // Float32
                           std::vector<float>,                   // Float32Array
                           bool,                                 // Bool
                           std::optional<DML_SCALE_BIAS>,        // ScaleBias
                           DML_SIZE_2D,                          // Size2D
                           DML_SCALAR_UNION>;                    // ScalarUnion
// The order of Field's alternatives is FieldType's order.

struct OperatorDesc {
  const OperatorSchema* schema = nullptr;
  std::vector<Field> fields;  // one for each of schema->fields

  DML_OPERATOR_TYPE type() const { return schema->type; }
  // The field of that name; the name and T must fit the schema.
  template <typename T>
  const T& Get(const char* name) const {
    return std::get<T>(fields[IndexOf(name)]);
  }
  template <typename T>
  void Set(const char* name, T value) {
    std::get<T>(fields[IndexOf(name)]) = std::move(value);
  }
  bool Has(const char* name) const { return TryIndexOf(name) >= 0; }
  const std::optional<TensorDesc>& Tensor(const char* name) const { return Get<std::optional<TensorDesc>>(name); }
  uint32_t UInt(const char* name) const { return Get<uint32_t>(name); }
  float Float(const char* name) const { return Get<float>(name); }
  const std::vector<uint32_t>& UInts(const char* name) const { return Get<std::vector<uint32_t>>(name); }
  // Inputs and outputs in slot order: tensor arrays take one slot an element, absent optional tensors keep theirs (null).
  std::vector<const TensorDesc*> Inputs() const { return Slots(FieldKind::Input); }
  std::vector<const TensorDesc*> Outputs() const { return Slots(FieldKind::Output); }

 private:
  int TryIndexOf(const char* name) const;
  size_t IndexOf(const char* name) const;
  std::vector<const TensorDesc*> Slots(FieldKind kind) const;
};

// Why a DML_OPERATOR_DESC cannot be read at all. Deeper validation is the software adapter's.
struct ReadError {
  std::string text;
};

// Copies what `desc` points to. `inner`: a fused activation, whose tensors are null.
std::variant<OperatorDesc, ReadError> Read(const DML_OPERATOR_DESC& desc);

// Builds a DML_OPERATOR_DESC over memory that this object owns; it must outlive the use of the description.
class DmlDesc {
 public:
  explicit DmlDesc(const OperatorDesc& desc);
  DmlDesc(const DmlDesc&) = delete;
  DmlDesc& operator=(const DmlDesc&) = delete;
  const DML_OPERATOR_DESC* get() const { return &desc_; }

 private:
  DML_OPERATOR_DESC Build(const OperatorDesc& desc);
  const DML_TENSOR_DESC* Tensors(const TensorDesc* first, size_t count);
  void* Allocate(size_t bytes);

  std::deque<std::vector<uint64_t>> memory_;
  DML_OPERATOR_DESC desc_{};
};

}  // namespace dxtensor::schema
