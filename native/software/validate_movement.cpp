#include "validate_rules.h"

namespace dxtensor::software {

ShapeRule FindMovementRule(DML_OPERATOR_TYPE) { return nullptr; }

}  // namespace dxtensor::software
