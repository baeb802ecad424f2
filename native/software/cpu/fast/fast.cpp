// Which operators have a fast kernel.
#include <cstdlib>

#include "software/cpu/fast/conv/convolution.h"
#include "software/cpu/fast/elementwise/elementwise.h"
#include "software/cpu/fast/gemm/gemm.h"
#include "software/cpu/fast/gemm/packed_matrix.h"
#include "software/cpu/kernel.h"
#include "families.h"

namespace dxtensor::software {

std::unique_ptr<Kernel> MakeFastKernel(const schema::OperatorDesc& desc) {
  switch (desc.type()) {
    case DML_OPERATOR_GEMM: return fast::MakeGemmKernel(desc);
    case DML_OPERATOR_DEQUANTIZE: return fast::MakeDequantizeKernel(desc);
    case DML_OPERATOR_CONVOLUTION: return fast::MakeConvolutionKernel(desc);
    case DML_OPERATOR_REDUCE:
    case DML_OPERATOR_ARGMIN:
    case DML_OPERATOR_ARGMAX: return fast::MakeReduceKernel(desc);
    case DML_OPERATOR_ACTIVATION_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_SOFTMAX1:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1: return fast::MakeSoftmaxKernel(desc);
    case DML_OPERATOR_AVERAGE_POOLING:
    case DML_OPERATOR_AVERAGE_POOLING1:
    case DML_OPERATOR_AVERAGE_POOLING_GRAD:
    case DML_OPERATOR_MAX_POOLING:
    case DML_OPERATOR_MAX_POOLING1:
    case DML_OPERATOR_MAX_POOLING2:
    case DML_OPERATOR_MAX_POOLING_GRAD: return fast::MakePoolingKernel(desc);
    case DML_OPERATOR_BATCH_NORMALIZATION:
    case DML_OPERATOR_BATCH_NORMALIZATION_GRAD:
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING:
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD: return fast::MakeBatchNormKernel(desc);
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION:
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1:
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2: return fast::MakeMeanVarianceKernel(desc);
    case DML_OPERATOR_SLICE:
    case DML_OPERATOR_SLICE1:
    case DML_OPERATOR_SLICE_GRAD:
    case DML_OPERATOR_SPLIT:
    case DML_OPERATOR_JOIN: return fast::MakeMovementKernel(desc);
    case DML_OPERATOR_PADDING1: return fast::MakePaddingKernel(desc);
    case DML_OPERATOR_GATHER: return fast::MakeGatherKernel(desc);
    case DML_OPERATOR_GATHER_ELEMENTS: return fast::MakeGatherElementsKernel(desc);
    case DML_OPERATOR_CUMULATIVE_SUMMATION:
    case DML_OPERATOR_CUMULATIVE_PRODUCT: return fast::MakeCumulativeKernel(desc);
    case DML_OPERATOR_ONE_HOT: return fast::MakeOneHotKernel(desc);
    case DML_OPERATOR_RESAMPLE:
    case DML_OPERATOR_RESAMPLE1:
    case DML_OPERATOR_RESAMPLE2:
    case DML_OPERATOR_RESAMPLE3:
    case DML_OPERATOR_RESAMPLE_GRAD:
    case DML_OPERATOR_RESAMPLE_GRAD1: return fast::MakeResampleKernel(desc);
    case DML_OPERATOR_ROI_ALIGN_GRAD: return fast::MakeRegionKernel(desc);
    case DML_OPERATOR_TOP_K:
    case DML_OPERATOR_TOP_K1: return fast::MakeTopKKernel(desc);
    case DML_OPERATOR_RANDOM_GENERATOR: return fast::MakeRandomKernel(desc);
    case DML_OPERATOR_RNN:
    case DML_OPERATOR_LSTM:
    case DML_OPERATOR_GRU:
    case DML_OPERATOR_MULTIHEAD_ATTENTION:
    case DML_OPERATOR_MULTIHEAD_ATTENTION1: return fast::MakeComposedKernel(desc);
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY:
      if (auto kernel = fast::MakeMovementKernel(desc)) return kernel;
      return fast::MakeElementwise(desc);
    default: return fast::MakeElementwise(desc);
  }
}

std::unique_ptr<Kernel> MakeKernel(const schema::OperatorDesc& desc) {
  static const bool plain_only = [] {
    const char* text = std::getenv("DXTENSOR_SOFTWARE_PLAIN");
    return text && text[0] == '1';
  }();
  if (!plain_only)
    if (auto kernel = MakeFastKernel(desc)) return kernel;
  return MakePlainKernel(desc);
}

}  // namespace dxtensor::software
