// The families of fast kernels other than elementwise operators, GEMM and CONVOLUTION. Each factory returns null for a description that it
// does not support.
#pragma once

#include <memory>

#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

std::unique_ptr<Kernel> MakeReduceKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeSoftmaxKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakePoolingKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRunningMaximumKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeBatchNormKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeMeanVarianceKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeMovementKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakePaddingKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeGatherKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeGatherElementsKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeCumulativeKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeOneHotKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRegionKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeTopKKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRandomKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeResampleKernel(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeComposedKernel(const schema::OperatorDesc& desc);  // RNN, LSTM, GRU, attention

}  // namespace dxtensor::software::fast
