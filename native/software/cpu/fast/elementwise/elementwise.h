// Elementwise operators as instructions of the block engine, one operator at a time or several in one program.
#pragma once

#include <memory>

#include "block_program.h"

namespace dxtensor::software::fast {

// Whether the engine has the operator for these data types.
bool IsElementwise(const schema::OperatorDesc& desc);

// Adds the operator's instructions; inputs[i] is the register of input slot i. Returns the register of the result, which may still
// be wider than the output's data type (see Settle). -1 when the engine does not have it.
int EmitElementwise(ProgramBuilder& builder, const schema::OperatorDesc& desc, const int* inputs);

// An activation of one float, an operator of its own or fused into another. -1 when it is none.
int EmitActivation(ProgramBuilder& builder, const schema::OperatorDesc& desc, int x);

// What reading back a stored value of that type would give: halves rounded, narrow integers wrapped.
int Settle(ProgramBuilder& builder, DML_TENSOR_DATA_TYPE type, int reg);

// The kernel of one operator, null when the engine does not have it.
std::unique_ptr<Kernel> MakeElementwise(const schema::OperatorDesc& desc);

}  // namespace dxtensor::software::fast
