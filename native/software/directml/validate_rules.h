// Shared by the files of the validation: a failed rule, and the lookup of each family's rule.
#pragma once

#include <string>

#include "schema/schema.h"

namespace dxtensor::software {

struct Invalid {
  std::string why;
};

inline void Require(bool holds, const char* why) {
  if (!holds) throw Invalid{why};
}

// Checks what the table cannot say. Called when every generic rule holds; throws Invalid.
using ShapeRule = void (*)(const schema::OperatorDesc& desc, uint32_t feature_level);

// Null where the family has no rule for the type.
ShapeRule FindMatrixRule(DML_OPERATOR_TYPE type);     // validate_matrix.cpp: convolution and GEMMs, quantised ones too
ShapeRule FindPoolingRule(DML_OPERATOR_TYPE type);    // validate_pooling.cpp: pooling, regions of interest, resampling
ShapeRule FindMovementRule(DML_OPERATOR_TYPE type);   // validate_movement.cpp: slices, joins, padding, tiles, fills
ShapeRule FindIndexRule(DML_OPERATOR_TYPE type);      // validate_index.cpp: gather, scatter, top-k, one-hot
ShapeRule FindNormalizeRule(DML_OPERATOR_TYPE type);  // validate_normalize.cpp: reductions, softmax, normalisation
ShapeRule FindSequenceRule(DML_OPERATOR_TYPE type);   // validate_sequence.cpp: recurrent networks and attention

inline const schema::TensorDesc& TensorOf(const schema::OperatorDesc& desc, const char* name) { return *desc.Tensor(name); }
inline const schema::TensorDesc* OptionalTensor(const schema::OperatorDesc& desc, const char* name) {
  const std::optional<schema::TensorDesc>& t = desc.Tensor(name);
  return t ? &*t : nullptr;
}

bool EqualSizes(const schema::TensorDesc& a, const schema::TensorDesc& b);
// Equal sizes but on `axis`.
bool EqualSizesBut(const schema::TensorDesc& a, const schema::TensorDesc& b, uint32_t axis);
void RequireAxis(uint32_t axis, uint32_t rank);
// Axes below `rank`, none twice.
void RequireAxes(const std::vector<uint32_t>& axes, uint32_t rank);
// Every size is 1 or that of `full`.
void RequireBroadcastable(const schema::TensorDesc& t, const schema::TensorDesc& full);
// The rank without leading ones, at least 1.
uint32_t EffectiveRank(const schema::TensorDesc& t);

// Activations that may be fused into `host`.
bool MayFuse(const schema::OperatorDesc& activation, const schema::OperatorSchema& host, uint32_t feature_level);

}  // namespace dxtensor::software
