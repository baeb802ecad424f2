#include "validate_rules.h"

namespace dxtensor::software {

ShapeRule FindPoolingRule(DML_OPERATOR_TYPE) { return nullptr; }

}  // namespace dxtensor::software
