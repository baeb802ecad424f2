#include "program.h"

#include "software/cpu/prepacked_inputs.h"

namespace dxtensor::software {

Program::~Program() {
  for (const ProgramStep& step : steps)
    if (const PrepackingKernel* prepacking = PrepackingKernel::Of(step.kernel.get())) PrepackedInputs::Get().Forget(*prepacking);
}

}  // namespace dxtensor::software
