// The scalar function of an elementwise activation, as a separate operator or fused into another one.
//
// Immutable and small: copy it freely, call it from any thread.
#pragma once

#include <optional>

#include "schema/schema.h"

namespace dxtensor::software {

struct ActivationFunction {
  DML_OPERATOR_TYPE type = DML_OPERATOR_ACTIVATION_IDENTITY;
  float alpha = 0;            // the operator's first float attribute; CLIP: Min
  float beta = 0;             // its second; CLIP: Max
  float scale = 1, bias = 0;  // CLIP's ScaleBias

  bool IsIdentity() const { return type == DML_OPERATOR_ACTIVATION_IDENTITY; }
  float operator()(float x) const;
};

// Nothing for an operator that is no function of one float (SOFTMAX, PARAMETERIZED_RELU).
std::optional<ActivationFunction> FindActivation(const schema::OperatorDesc& desc);

// The FusedActivation field of `host`: the identity when it is null or missing. Throws std::invalid_argument for one that is no
// function of one float; only GEMM accepts such (see FusesSoftmax).
ActivationFunction FusedActivation(const schema::OperatorDesc& host);
// Whether the FusedActivation is SOFTMAX or SOFTMAX1; *axes is then the mask of the dimensions it runs over.
bool FusesSoftmax(const schema::OperatorDesc& host, uint32_t rank, uint32_t* axes);

}  // namespace dxtensor::software
