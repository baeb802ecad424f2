// ROI_ALIGN_GRAD over images of one element: rows added by index, each sum in the order of the regions.
#include "software/cpu/fast/families.h"
#include "region_rows.h"

namespace dxtensor::software::fast {

std::unique_ptr<Kernel> MakeRegionKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &dy = *desc.Inputs()[1], *dx = desc.Outputs()[0];
  if (!dx || desc.Outputs()[1] || dy.data_type != DML_TENSOR_DATA_TYPE_FLOAT32) return nullptr;
  if (desc.UInt("ReductionFunction") != DML_REDUCE_FUNCTION_AVERAGE || desc.UInt("MaximumSamplesPerOutput") != 1 ||
      desc.UInt("InterpolationMode") != DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR)
    return nullptr;
  for (const schema::TensorDesc* t : {&dy, dx})
    if (t->sizes[2] != 1 || t->sizes[3] != 1 || (t->sizes[1] != 1 && t->strides[1] != 1)) return nullptr;
  return dy.sizes[1] == 1 ? MakeScatterSums(desc) : MakeScatterRowSums(desc);
}

}  // namespace dxtensor::software::fast
