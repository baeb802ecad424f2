// CONVOLUTION in both directions, on the blocked product.
//
// Output position o of a dimension reads input position o * step + offset(tap) for each of its taps. Forward, a tap is a cell of the
// filter; backward, the output is cut into one grid for each remainder of its positions by the stride, and each grid reads those
// cells that meet it. So one packing of the input serves both, and weight gradients too, where filter and output have changed
// places and taps are many.
#pragma once

#include <memory>

#include "../kernel.h"
#include "epilogue.h"

namespace dxtensor::software::fast {

// Null for what it does not cover. `after`: instructions on the result, which is then stored as `stored` describes it.
std::unique_ptr<Kernel> MakeConvolutionKernel(const schema::OperatorDesc& desc, const Activations& after = {},
                                              const schema::TensorDesc* stored = nullptr);

}  // namespace dxtensor::software::fast
