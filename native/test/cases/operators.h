// Operators to execute: descriptions for every data type, in several layouts, with data from a domain that suits them.
#pragma once

#include <string>
#include <vector>

#include "../values.h"

namespace dxtensor::test {

struct OperatorCase {
  std::string layout;  // "packed", "strided", ...
  schema::OperatorDesc desc;
  Tolerance tolerance;
};

// Names of the operator types in the table, each once.
std::vector<std::string> ExecutedOperators();
// Every case of one operator whose data types the operator table allows at the level.
std::vector<OperatorCase> CasesOf(const std::string& operator_name, uint32_t feature_level);
// The operator table's rows allow every tensor of the description.
bool TableAllows(const schema::OperatorDesc& desc, uint32_t feature_level);

// Bytes for each input slot (empty where absent), in the values that the operator is defined for. The same seed gives the same.
std::vector<Bytes> InputsFor(const schema::OperatorDesc& desc, uint32_t seed);
// What the reference says; throws std::runtime_error where it does not know the operator.
std::vector<Values> Expected(const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs);

// The description with other strides: 0 packed, 1 inputs padded and outputs transposed, 2 the other way round, 3 inputs broadcast.
constexpr int kLayouts = 4;
schema::OperatorDesc WithLayout(const schema::OperatorDesc& desc, int layout);

}  // namespace dxtensor::test
