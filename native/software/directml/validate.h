// DirectML's own check of an operator's description, for all operator types: CreateOperator returns E_INVALIDARG for a description that
// fails.
//
// Rules that hold for every operator come from the operator table; the shapes and ranges of each family are in validate_*.cpp.
// Pure functions; any thread may call them.
#pragma once

#include <string>

#include "schema/schema.h"

namespace dxtensor::software {

// S_OK or E_INVALIDARG; *why (may be null) then says what is wrong.
HRESULT Validate(const schema::OperatorDesc& desc, uint32_t feature_level, std::string* why);

}  // namespace dxtensor::software
