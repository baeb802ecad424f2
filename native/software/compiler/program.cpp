#include "program.h"

#include "software/cpu/prepared_inputs.h"

namespace dxtensor::software {

Program::~Program() {
  for (const ProgramStep& step : steps)
    if (const PreparingKernel* preparing = PreparingKernel::Of(step.kernel.get())) PreparedInputs::Get().Forget(*preparing);
}

}  // namespace dxtensor::software
