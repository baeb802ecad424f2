// Kernels made of matrix products, over any means: recurrent networks and attention.
#pragma once

#include "software/cpu/kernel.h"
#include "float_product.h"

namespace dxtensor::software {

std::unique_ptr<Kernel> MakeRecurrentWith(const schema::OperatorDesc& desc, const Means& means);
std::unique_ptr<Kernel> MakeAttentionWith(const schema::OperatorDesc& desc, const Means& means);

}  // namespace dxtensor::software
