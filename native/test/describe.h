// Descriptions of operators as short texts, for the tests' tables.
//
//   "GEMM ATensor=f32[1,1,2,3] BTensor=f32[1,1,3,4]/[0,0,1,3] OutputTensor=f32[1,1,2,4] Alpha=1 FusedActivation={ACTIVATION_RELU}"
//
// A field that is not named is null, 0 or empty; a count field follows from its arrays. Tensors: type[sizes]/[strides], with `!`
// for OWNED_BY_DML and `#64` for a TotalTensorSizeInBytes other than the minimum; arrays [1,2]; tensor arrays and operator arrays
// [f32[1],f32[2]]; operators {NAME Field=...}; sizes 2x3 (width x height); scale and bias 2:1; scalars f32:1.5 or i64:-7.
#pragma once

#include <string>
#include <vector>

#include "../schema/schema.h"

namespace dxtensor::test {

// Throws std::runtime_error where the text is wrong: a mistake of the test.
schema::OperatorDesc Parse(const std::string& text);
// The text from which Parse makes the description again.
std::string Text(const schema::OperatorDesc& desc);

schema::TensorDesc MakeTensor(DML_TENSOR_DATA_TYPE type, const std::vector<uint32_t>& sizes, const std::vector<uint32_t>& strides = {});
DML_TENSOR_DATA_TYPE ParseType(const std::string& name);  // "f32"
const char* ShortName(DML_TENSOR_DATA_TYPE type);

// Sets each count field to the length of its arrays.
void SetCounts(schema::OperatorDesc& desc);
// Packed strides and the minimum size in bytes.
void Pack(schema::TensorDesc& tensor);
// An operator with every field null, 0 or empty.
schema::OperatorDesc Empty(const schema::OperatorSchema& schema);

}  // namespace dxtensor::test
