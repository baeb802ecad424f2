// CONVOLUTION in both directions, on the blocked product.
//
// Output position o of a dimension reads input position o * step + offset(tap) for each of its taps. Forward, a tap is a cell of the
// filter; backward, the output is cut into one grid for each remainder of its positions by the stride, and each grid reads those
// cells that meet it. So one packing of the input serves both, and weight gradients too, where filter and output have changed
// places and taps are many.
#pragma once

#include <memory>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// What happens to the result before it is stored, in this order.
struct ConvolutionEnd {
  // A BATCH_NORMALIZATION of the result: its statistics, scale and bias are inputs 3 to 6 of the kernel.
  const schema::OperatorDesc* norm = nullptr;
  // Input 7 is added, which lies as the result does.
  bool adds = false;
  // Instructions on it.
  Activations after;
  // The result becomes the nearer one of inputs 8 and 9, numbers, where it is beyond; NaN stays. Nothing else comes after it.
  bool holds = false;
  // How it is stored; null: as the operator's output.
  const schema::TensorDesc* stored = nullptr;
  // Whether memory up to whole vectors of kMaxWidth belongs to each pixel of the input, of the result.
  bool input_has_room = false, output_has_room = false;
};

// Null for what it does not cover.
std::unique_ptr<Kernel> MakeConvolutionKernel(const schema::OperatorDesc& desc, const ConvolutionEnd& end = {});

}  // namespace dxtensor::software::fast
