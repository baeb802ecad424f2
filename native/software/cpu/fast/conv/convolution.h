// The kernel of CONVOLUTION: forward and backward (data gradient), and weight gradients, which DirectML runs as convolutions.
//
// Output position o of a dimension reads input position o * conv_stride + offset(tap) for each tap of the filter. Forward has one grid of
// output positions. Backward has one grid for each remainder of the output position by the convolution stride; each grid reads the taps
// that meet it. In a weight gradient the taps are the positions of the outputs' gradient, so there are many. Each grid takes the first
// strategy of convolution_strategies.cpp that fits.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// What is fused into the convolution, in this order.
struct ConvolutionEpilogue {
  // A BATCH_NORMALIZATION of the result; inputs 3 to 6 of the kernel are its statistics, scale and bias.
  const schema::OperatorDesc* norm = nullptr;
  // The residual is added: input 7, in the layout of the result.
  bool has_residual = false;
  // Activations of the result.
  Activations after;
  // The result is clamped to [input 8, input 9], one number each; NaN stays. Nothing comes after it.
  bool clamps = false;
  // The tensor that is stored; null: the operator's output.
  const schema::TensorDesc* stored = nullptr;
  // Whether the channels of each pixel are padded to whole vectors of kMaxWidth, in the input and in the result.
  bool input_is_padded = false, output_is_padded = false;
};

// Null for what it does not cover.
std::unique_ptr<Kernel> MakeConvolutionKernel(const schema::OperatorDesc& desc, const ConvolutionEpilogue& epilogue = {});

// For tests. The kernel with all grids by the strategy of this name (convolution_strategies.cpp), but grids without taps; null where it
// does not fit one of them.
std::unique_ptr<Kernel> MakeConvolutionKernelBy(std::string_view strategy, const schema::OperatorDesc& desc,
                                                const ConvolutionEpilogue& epilogue = {});
// The strategies that the grids take, one name for each grid.
std::vector<std::string_view> ConvStrategiesOf(const schema::OperatorDesc& desc, const ConvolutionEpilogue& epilogue = {});
// All names, in the order in which a grid tries the strategies.
std::vector<std::string_view> ConvStrategyNames();

}  // namespace dxtensor::software::fast
