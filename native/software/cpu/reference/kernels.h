// The families of plain kernels. Each Make… is given a validated description and returns null for a data type it does not have.
// The table from operator to family is in plain.cpp.
#pragma once

#include <memory>

#include "software/cpu/kernel.h"

namespace dxtensor::software {

using Factory = std::unique_ptr<Kernel> (*)(const schema::OperatorDesc&);

std::unique_ptr<Kernel> MakeUnary(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeActivation(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeClip(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeBinary(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakePow(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeLogical(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeBits(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeIf(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeCast(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeSoftmax(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeGemm(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeConvolution(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeReduce(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeArgument(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeAveragePooling(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeAveragePoolingGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeMaxPooling(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeMaxPoolingGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeSlice(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeSliceGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeSplit(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeJoin(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakePadding(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeTile(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeDepthSpace(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeReverse(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeGather(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeGatherElements(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeGatherNd(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeScatterElements(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeScatterNd(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeOneHot(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeFill(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeDiagonal(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRandom(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeCumulative(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeTopK(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeNonzero(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeBatchNorm(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeBatchNormTraining(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeBatchNormGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeMeanVariance(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeValueScale(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeAdam(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeResample(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeResampleGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeLocalResponse(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeLocalResponseGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeLpNormalization(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeFold(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeUnfold(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRoiPooling(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRoiAlign(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRoiAlignGrad(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeRecurrent(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeAttention(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeQuantize(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeDequantize(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeDynamicQuantize(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeQuantizedAdd(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeIntegerMatmul(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeIntegerConvolution(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeLpPooling(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeQuantizedPooling(const schema::OperatorDesc& desc);
std::unique_ptr<Kernel> MakeMaxUnpooling(const schema::OperatorDesc& desc);

}  // namespace dxtensor::software
