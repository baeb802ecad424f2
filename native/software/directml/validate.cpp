#include "validate.h"

#include <algorithm>
#include <cstring>

#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

uint32_t KnownDataTypes(uint32_t level) {
  uint32_t all = (1u << (DML_TENSOR_DATA_TYPE_INT64 + 1)) - 2;
  return level >= 0x6300 ? all | 1u << DML_TENSOR_DATA_TYPE_UINT4 | 1u << DML_TENSOR_DATA_TYPE_INT4 : all;
}

// DirectML's own approximation: broadcasts, equal strides, and less memory than elements. Other overlaps pass.
bool Overlaps(const TensorDesc& t) {
  uint64_t reach = 1, elements = 1;
  for (uint32_t i = 0; i < t.rank; ++i) {
    if (t.sizes[i] == 1) continue;
    if (t.strides[i] == 0) return true;
    for (uint32_t k = 0; k < i; ++k)
      if (t.sizes[k] > 1 && t.strides[k] == t.strides[i]) return true;
    reach += uint64_t{t.strides[i]} * (t.sizes[i] - 1);
    elements *= t.sizes[i];
  }
  return reach < elements;
}

void CheckTensor(const TensorDesc& t, FieldKind kind, uint32_t level) {
  Require(static_cast<uint32_t>(t.data_type) < 32 && (KnownDataTypes(level) >> t.data_type & 1), "the data type is unknown");
  Require((t.flags & ~uint32_t{DML_TENSOR_FLAG_OWNED_BY_DML}) == 0, "a flag is unknown");
  Require(kind == FieldKind::Input || t.flags == 0, "OWNED_BY_DML is for inputs only");
  Require(t.rank >= 1 && t.rank <= kMaxRank, "DimensionCount is not 1 to 8");
  uint64_t elements = 1;
  for (uint32_t i = 0; i < t.rank; ++i) {
    Require(t.sizes[i] > 0, "a size is 0");
    elements *= t.sizes[i];
    Require(elements <= UINT32_MAX, "the tensor has more than 2^32-1 elements");
  }
  Require(t.alignment == 0 || (t.alignment >= 16 && (t.alignment & (t.alignment - 1)) == 0),
          "GuaranteedBaseOffsetAlignment is not a power of two from 16 on");
  if (t.has_strides && kind == FieldKind::Output) Require(!Overlaps(t), "the output's strides let elements overlap");
  Require(t.size_in_bytes * 8 / BitsPerElement(t.data_type) <= UINT32_MAX, "TotalTensorSizeInBytes is too large");
  Require(t.size_in_bytes >= BufferTensorSize(t.data_type, t.rank, t.sizes.data(), t.has_strides ? t.strides.data() : nullptr),
          "TotalTensorSizeInBytes is too small");
}

// Calls f(tensor) for each tensor of a field.
template <typename F>
void ForTensors(const Field& field, F&& f) {
  if (auto* one = std::get_if<std::optional<TensorDesc>>(&field)) {
    if (*one) f(**one);
  } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&field)) {
    for (const TensorDesc& t : *many) f(t);
  }
}

uint32_t ReduceFunction(const OperatorDesc& desc) { return desc.schema->type == DML_OPERATOR_REDUCE ? desc.UInt("Function") : 32; }

// Data type and rank by the rows of the highest level that the device has.
void CheckSupport(const OperatorDesc& desc, size_t field, uint32_t level) {
  const OperatorSchema& s = *desc.schema;
  const uint32_t function = ReduceFunction(desc);
  auto applies = [&](const SupportRow& row) {
    return row.field == static_cast<int>(field) && row.feature_level <= level &&
           (row.reduce_functions == 0 || (function < 32 && (row.reduce_functions >> function & 1)));
  };
  uint32_t best = 0;
  for (uint32_t i = 0; i < s.support_count; ++i)
    if (applies(s.support[i])) best = std::max(best, s.support[i].feature_level);
  if (best == 0) return;
  ForTensors(desc.fields[field], [&](const TensorDesc& t) {
    bool type = false, rank = false;
    for (uint32_t i = 0; i < s.support_count; ++i) {
      const SupportRow& row = s.support[i];
      if (!applies(row) || row.feature_level != best) continue;
      type = type || row.data_types == 0 || (row.data_types >> t.data_type & 1);
      rank = rank || (t.rank >= row.min_rank && t.rank <= row.max_rank);
    }
    Require(type, "the data type is not supported here");
    Require(rank, "the DimensionCount is not supported here");
  });
}

void CheckSame(const OperatorDesc& desc, const SameGroup& group) {
  const TensorDesc* first = nullptr;
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    if (!(group.fields >> i & 1)) continue;
    ForTensors(desc.fields[i], [&](const TensorDesc& t) {
      if (!first) {
        first = &t;
        return;
      }
      switch (group.kind) {
        case SameKind::DataType: Require(t.data_type == first->data_type, "the data types differ"); break;
        case SameKind::DimensionCount: Require(t.rank == first->rank, "the dimension counts differ"); break;
        case SameKind::Sizes:
          Require(t.rank == first->rank && std::equal(t.sizes.begin(), t.sizes.begin() + t.rank, first->sizes.begin()), "the sizes differ");
          break;
      }
    });
  }
}

void CheckEnum(const FieldSchema& f, uint32_t value, uint32_t level) {
  Require(value < 32 && (f.enum_mask >> value & 1), "an enum's value is unknown");
  if (!std::strcmp(f.enum_name, "DML_PADDING_MODE") && value == DML_PADDING_MODE_WRAP)
    Require(level >= 0x6400, "WRAP needs feature level 6.4");
  if (!std::strcmp(f.enum_name, "DML_TENSOR_DATA_TYPE")) Require(KnownDataTypes(level) >> value & 1, "the data type is unknown");
}

bool HasTensor(const OperatorDesc& desc) {
  for (const Field& field : desc.fields) {
    bool any = false;
    ForTensors(field, [&](const TensorDesc&) { any = true; });
    if (any) return true;
  }
  return false;
}

void CheckActivation(const OperatorDesc& activation, const OperatorSchema& host, uint32_t level) {
  Require(activation.schema->feature_level <= level, "the fused activation needs a higher feature level");
  Require(MayFuse(activation, host, level), "the operator cannot be fused here");
  Require(!HasTensor(activation), "a fused activation's tensors are not null");
}

void CheckField(const OperatorDesc& desc, size_t index, uint32_t level) {
  const FieldSchema& f = desc.schema->fields[index];
  const Field& field = desc.fields[index];
  if (f.type == FieldType::Tensor) {
    bool optional = f.optional && (f.optional_level == 0 || level >= f.optional_level);
    Require(optional || std::get<std::optional<TensorDesc>>(field).has_value(), "a required tensor is null");
  }
  ForTensors(field, [&](const TensorDesc& t) { CheckTensor(t, f.kind, level); });
  if (auto* scale_bias = std::get_if<std::optional<DML_SCALE_BIAS>>(&field))
    if (*scale_bias)
      for (const TensorDesc* t : desc.Inputs())
        Require(!t || BitsPerElement(t->data_type) < 64, "64-bit data types take no scale and bias");
  if (f.enum_name) CheckEnum(f, std::get<uint32_t>(field), level);
  if (auto* inner = std::get_if<std::shared_ptr<const OperatorDesc>>(&field))
    if (*inner) CheckActivation(**inner, *desc.schema, level);
  if (auto* list = std::get_if<std::vector<OperatorDesc>>(&field))
    for (const OperatorDesc& inner : *list) CheckActivation(inner, *desc.schema, level);
}

ShapeRule FindRule(DML_OPERATOR_TYPE type) {
  for (auto find : {FindMatrixRule, FindPoolingRule, FindMovementRule, FindIndexRule, FindNormalizeRule, FindSequenceRule})
    if (ShapeRule rule = find(type)) return rule;
  return nullptr;
}

}  // namespace

bool EqualSizes(const TensorDesc& a, const TensorDesc& b) {
  return a.rank == b.rank && std::equal(a.sizes.begin(), a.sizes.begin() + a.rank, b.sizes.begin());
}

bool EqualSizesBut(const TensorDesc& a, const TensorDesc& b, uint32_t axis) {
  if (a.rank != b.rank) return false;
  for (uint32_t i = 0; i < a.rank; ++i)
    if (i != axis && a.sizes[i] != b.sizes[i]) return false;
  return true;
}

void RequireAxis(uint32_t axis, uint32_t rank) { Require(axis < rank, "the axis is out of range"); }

void RequireAxes(const std::vector<uint32_t>& axes, uint32_t rank) {
  for (uint32_t axis : axes) RequireAxis(axis, rank);
}

void RequireBroadcastable(const TensorDesc& t, const TensorDesc& full) {
  Require(t.rank == full.rank, "the dimension counts differ");
  for (uint32_t i = 0; i < t.rank; ++i) Require(t.sizes[i] == 1 || t.sizes[i] == full.sizes[i], "a size is neither 1 nor the input's");
}

uint32_t EffectiveRank(const TensorDesc& t) {
  uint32_t skip = 0;
  while (skip + 1 < t.rank && t.sizes[skip] == 1) ++skip;
  return t.rank - skip;
}

bool MayFuse(const OperatorDesc& activation, const OperatorSchema& host, uint32_t level) {
  if (!activation.schema->fusable_activation) return false;
  switch (activation.type()) {
    case DML_OPERATOR_ELEMENT_WISE_CLIP:
      return level >= 0x6000 && (host.type == DML_OPERATOR_CONVOLUTION || host.type == DML_OPERATOR_GEMM);
    case DML_OPERATOR_ACTIVATION_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_SOFTMAX1: return level >= 0x6100 && host.type == DML_OPERATOR_GEMM;
    default: return true;
  }
}

HRESULT Validate(const OperatorDesc& desc, uint32_t level, std::string* why) {
  size_t field = desc.fields.size();
  try {
    Require(desc.schema->feature_level <= level, "the operator needs a higher feature level");
    for (field = 0; field < desc.fields.size(); ++field) CheckField(desc, field, level);
    for (field = 0; field < desc.fields.size(); ++field) CheckSupport(desc, field, level);
    for (uint32_t i = 0; i < desc.schema->same_count; ++i) CheckSame(desc, desc.schema->same[i]);
    if (ShapeRule rule = FindRule(desc.type())) rule(desc, level);
    return S_OK;
  } catch (const Invalid& invalid) {
    if (why) {
      *why = desc.schema->name;
      if (field < desc.fields.size()) *why += std::string(".") + desc.schema->fields[field].name;
      *why += ": " + invalid.why;
    }
    return E_INVALIDARG;
  }
}

}  // namespace dxtensor::software
