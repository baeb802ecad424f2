// The reference of DirectML's operators: simple loops over float64 numbers or 64-bit integers.
//
// Written from the operator table's text alone, independent of the kernels.
#pragma once

#include "values.h"

namespace dxtensor::test {

struct Evaluation {
  const schema::OperatorDesc& desc;
  const std::vector<Values>& inputs;  // by slot; empty where the tensor is absent
  std::vector<Values>& outputs;       // blank, by slot
};

// False: the reference does not know the operator.
bool Evaluate(const Evaluation& e);

// The families.
bool EvaluateElements(const Evaluation& e);   // reference_elements.cpp
bool EvaluateMatrix(const Evaluation& e);     // reference_matrix.cpp: GEMM, CONVOLUTION, pooling
bool EvaluateMovement(const Evaluation& e);   // reference_movement.cpp
bool EvaluateNormalize(const Evaluation& e);  // reference_normalize.cpp: reductions, softmax, batch normalisation
bool EvaluateSequence(const Evaluation& e);   // reference_sequence.cpp: recurrent networks, attention
bool EvaluateSampling(const Evaluation& e);   // reference_sampling.cpp: resampling, regions, unfolding, neighbourhoods
bool EvaluateQuantized(const Evaluation& e);  // reference_quantized.cpp

// A fused activation of one number.
double Activate(const schema::OperatorDesc& activation, double x);

// Philox 4x32-10: the numbers of `count` elements for the state {counter 0..3, key 4..5}, and the state after them.
void Philox(const std::vector<int64_t>& state, size_t count, std::vector<int64_t>& numbers, std::vector<int64_t>& after);

}  // namespace dxtensor::test
