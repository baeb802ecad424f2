// Changes of one thing in an operator's description: a size, a data type, a null tensor, an attribute.
//
// A count field is only changed together with its arrays, since DirectML reads as many elements as it says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../schema/schema.h"

namespace dxtensor::test {

struct Mutant {
  std::string name;  // "FilterTensor sizes[1] 0"
  schema::OperatorDesc desc;
};

std::vector<Mutant> Mutants(const schema::OperatorDesc& good);

}  // namespace dxtensor::test
