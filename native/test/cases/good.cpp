#include "good.h"

#include <set>

namespace dxtensor::test {

using namespace schema;

namespace {

const char* const kGood[] = {
    "ELEMENT_WISE_IDENTITY InputTensor=i32[1,2,3,4] OutputTensor=i32[1,2,3,4] ScaleBias=2:1",
    "ELEMENT_WISE_CLIP InputTensor=u8[1,2,3,4] OutputTensor=u8[1,2,3,4] ScaleBias=2:1 Max=1",
    "ELEMENT_WISE_POW InputTensor=f32[1,2,3,4] ExponentTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4]",
    "ELEMENT_WISE_QUANTIZE_LINEAR InputTensor=f32[1,2,3,4] ScaleTensor=f32[1,2,3,4] ZeroPointTensor=u8[1,2,3,4] "
    "OutputTensor=u8[1,2,3,4]",
    "ELEMENT_WISE_DEQUANTIZE_LINEAR InputTensor=u8[1,2,3,4] ScaleTensor=f32[1,2,3,4] ZeroPointTensor=u8[1,2,3,4] "
    "OutputTensor=f32[1,2,3,4]",
    "ELEMENT_WISE_IF ConditionTensor=u8[1,2,3,4] ATensor=f32[1,2,3,4] BTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4]",
    "ELEMENT_WISE_ADD1 ATensor=f32[1,2,3,4] BTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4] FusedActivation={ACTIVATION_RELU}",
    "ELEMENT_WISE_ADD1 ATensor=f32[1,2,3,4] BTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4]",
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD ATensor=u8[1,2,3,4] AScaleTensor=f32[1,1,1,1] AZeroPointTensor=u8[1,1,1,1] "
    "BTensor=u8[1,2,3,4] BScaleTensor=f32[1,1,1,1] BZeroPointTensor=u8[1,1,1,1] OutputScaleTensor=f32[1,1,1,1] "
    "OutputZeroPointTensor=u8[1,1,1,1] OutputTensor=u8[1,2,3,4]",
    "CAST InputTensor=f32[1,2,3,4] OutputTensor=i32[1,2,3,4]",
    "ACTIVATION_HARDMAX InputTensor=f32[1,1,3,4] OutputTensor=f32[1,1,3,4]",
    "ACTIVATION_LOG_SOFTMAX InputTensor=f32[1,1,3,4] OutputTensor=f32[1,1,3,4]",
    "ACTIVATION_SOFTMAX InputTensor=f32[1,1,3,4] OutputTensor=f32[1,1,3,4]",
    "ACTIVATION_SOFTMAX1 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4] Axes=[1,3]",
    "ACTIVATION_LOG_SOFTMAX1 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4] Axes=[1,3]",
    "ACTIVATION_HARDMAX1 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4] Axes=[1,3]",
    "CONVOLUTION InputTensor=f32[2,4,5,6] FilterTensor=f32[6,2,3,2] BiasTensor=f32[1,6,1,1] OutputTensor=f32[2,6,3,3] Mode=1 "
    "Direction=0 Strides=[2,2] Dilations=[1,1] StartPadding=[1,0] EndPadding=[1,0] OutputPadding=[0,0] GroupCount=2 "
    "FusedActivation={ACTIVATION_RELU}",
    "CONVOLUTION InputTensor=f32[2,4,5,6] FilterTensor=f32[4,3,3,2] BiasTensor=f32[1,6,1,1] OutputTensor=f32[2,6,9,13] Mode=1 "
    "Direction=1 Strides=[2,2] Dilations=[1,2] StartPadding=[1,0] EndPadding=[1,0] OutputPadding=[0,1] GroupCount=2",
    "CONVOLUTION InputTensor=f16[2,4,5] FilterTensor=f16[6,4,3] OutputTensor=f16[2,6,3] Mode=0 Direction=0 Strides=[1] "
    "Dilations=[1] StartPadding=[0] EndPadding=[0] OutputPadding=[0] GroupCount=1",
    "CONVOLUTION InputTensor=f32[2,4,5,6,7] FilterTensor=f32[6,4,3,2,1] OutputTensor=f32[2,6,3,5,7] Mode=0 Direction=0 "
    "Strides=[1,1,1] Dilations=[1,1,1] StartPadding=[0,0,0] EndPadding=[0,0,0] OutputPadding=[0,0,0] GroupCount=1",
    "GEMM ATensor=f32[1,2,3,4] BTensor=f32[1,2,4,5] CTensor=f32[1,2,3,5] OutputTensor=f32[1,2,3,5] Alpha=1 Beta=1",
    "GEMM ATensor=f32[3,4,3] BTensor=f32[3,5,4] OutputTensor=f32[3,3,5] TransA=1 TransB=1 Alpha=1 FusedActivation={ACTIVATION_RELU}",
    "GEMM ATensor=f16[3,4] BTensor=f16[4,5] OutputTensor=f16[3,5] Alpha=1",
    "REDUCE Function=10 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,1,3,1] Axes=[1,3]",
    "REDUCE Function=0 InputTensor=f32[1,2,3,4] OutputTensor=u32[1,1,3,4] Axes=[1]",
    "ARGMIN InputTensor=f32[1,2,3,4] OutputTensor=u32[1,1,3,1] Axes=[1,3] AxisDirection=0",
    "ARGMAX InputTensor=f32[1,2,3,4] OutputTensor=i64[1,1,3,1] Axes=[1,3] AxisDirection=1",
    "AVERAGE_POOLING InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,3,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
    "EndPadding=[1,0] IncludePadding=1",
    "AVERAGE_POOLING1 InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,2,2] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
    "EndPadding=[1,0] Dilations=[2,3] IncludePadding=0",
    "AVERAGE_POOLING1 InputTensor=f32[1,2,5,6,7] OutputTensor=f32[1,2,3,5,7] Strides=[1,1,1] WindowSize=[3,2,1] "
    "StartPadding=[0,0,0] EndPadding=[0,0,0] Dilations=[1,1,1] IncludePadding=0",
    "LP_POOLING InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,3,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
    "EndPadding=[1,0] P=2",
    "LP_POOLING1 InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,2,2] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
    "EndPadding=[1,0] Dilations=[2,3] P=2",
    "MAX_POOLING InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,3,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
    "EndPadding=[1,0]",
    "MAX_POOLING1 InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,3,3] OutputIndicesTensor=u32[1,2,3,3] Strides=[2,2] "
    "WindowSize=[3,2] StartPadding=[1,0] EndPadding=[1,0]",
    "MAX_POOLING2 InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,2,2] OutputIndicesTensor=u32[1,2,2,2] Strides=[2,2] "
    "WindowSize=[3,2] StartPadding=[1,0] EndPadding=[1,0] Dilations=[2,3]",
    "MAX_UNPOOLING InputTensor=f32[1,2,3,3] IndicesTensor=u32[1,2,3,3] OutputTensor=f32[1,2,6,6]",
    "AVERAGE_POOLING_GRAD InputGradientTensor=f32[1,2,3,3] OutputGradientTensor=f32[1,2,5,6] Strides=[2,2] WindowSize=[3,2] "
    "StartPadding=[1,0] EndPadding=[1,0] IncludePadding=1",
    "MAX_POOLING_GRAD InputTensor=f32[1,2,5,6] InputGradientTensor=f32[1,2,2,2] OutputGradientTensor=f32[1,2,5,6] Strides=[2,2] "
    "WindowSize=[3,2] StartPadding=[1,0] EndPadding=[1,0] Dilations=[2,3]",
    "ROI_POOLING InputTensor=f32[2,3,5,6] ROITensor=f32[1,1,4,5] OutputTensor=f32[4,3,3,2] SpatialScale=1 PooledSize=2x3",
    "SLICE InputTensor=f32[1,2,5,6] OutputTensor=f32[1,1,3,2] Offsets=[0,1,0,1] Sizes=[1,1,3,2] Strides=[1,1,2,3]",
    "SLICE1 InputTensor=f32[1,2,5,6] OutputTensor=f32[1,1,3,2] InputWindowOffsets=[0,1,0,1] InputWindowSizes=[1,1,5,4] "
    "InputWindowStrides=[1,1,2,-3]",
    "SLICE_GRAD InputGradientTensor=f32[1,1,3,2] OutputGradientTensor=f32[1,2,5,6] InputWindowOffsets=[0,1,0,1] "
    "InputWindowSizes=[1,1,5,4] InputWindowStrides=[1,1,2,-3]",
    "SPLIT InputTensor=f32[1,2,5,6] OutputTensors=[f32[1,2,2,6],f32[1,2,3,6]] Axis=2",
    "JOIN InputTensors=[f32[1,2,2,6],f32[1,2,3,6]] OutputTensor=f32[1,2,5,6] Axis=2",
    "PADDING InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,8,7] PaddingMode=0 PaddingValue=1 StartPadding=[0,0,1,0] "
    "EndPadding=[0,0,2,1]",
    "PADDING InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,8,7] PaddingMode=2 StartPadding=[0,0,1,0] EndPadding=[0,0,2,1]",
    "PADDING1 InputTensor=i32[1,2,5,6] OutputTensor=i32[1,2,8,7] PaddingMode=0 PaddingValueDataType=6 PaddingValue=i32:1 "
    "StartPadding=[0,0,1,0] EndPadding=[0,0,2,1]",
    "VALUE_SCALE_2D InputTensor=f32[1,3,5,6] OutputTensor=f32[1,3,5,6] Scale=2 Bias=[1,2,3]",
    "UPSAMPLE_2D InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,9,8] ScaleSize=2x3 InterpolationMode=1",
    "GATHER InputTensor=f32[1,2,5,6] IndicesTensor=u32[1,1,1,3] OutputTensor=f32[1,2,3,6] Axis=2 IndexDimensions=1",
    "GATHER InputTensor=f32[1,1,5,6] IndicesTensor=i32[1,1,2,3] OutputTensor=f32[1,2,3,6] Axis=2 IndexDimensions=2",
    "GATHER_ELEMENTS InputTensor=f32[1,2,5,6] IndicesTensor=u32[1,2,3,6] OutputTensor=f32[1,2,3,6] Axis=2",
    "GATHER_ND InputTensor=f32[1,4,5,6] IndicesTensor=u32[1,1,3,2] OutputTensor=f32[1,1,3,6] InputDimensionCount=3 "
    "IndicesDimensionCount=2",
    "GATHER_ND1 InputTensor=f32[1,3,5,6] IndicesTensor=u32[1,3,4,2] OutputTensor=f32[1,1,3,4] InputDimensionCount=3 "
    "IndicesDimensionCount=3 BatchDimensionCount=1",
    "SCATTER InputTensor=f32[1,2,5,6] IndicesTensor=u32[1,2,3,6] UpdatesTensor=f32[1,2,3,6] OutputTensor=f32[1,2,5,6] "
    "Axis=2",
    "SCATTER_ND InputTensor=f32[1,4,5,6] IndicesTensor=u32[1,1,3,2] UpdatesTensor=f32[1,1,3,6] OutputTensor=f32[1,4,5,6] "
    "InputDimensionCount=3 IndicesDimensionCount=2",
    "SPACE_TO_DEPTH InputTensor=f32[1,2,6,4] OutputTensor=f32[1,8,3,2] BlockSize=2",
    "SPACE_TO_DEPTH1 InputTensor=f32[1,2,6,4] OutputTensor=f32[1,8,3,2] BlockSize=2 Order=1",
    "DEPTH_TO_SPACE InputTensor=f32[1,8,3,2] OutputTensor=f32[1,2,6,4] BlockSize=2",
    "DEPTH_TO_SPACE1 InputTensor=f32[1,8,3,2] OutputTensor=f32[1,2,6,4] BlockSize=2 Order=1",
    "TILE InputTensor=f32[1,2,3,4] OutputTensor=f32[2,2,9,4] Repeats=[2,1,3,1]",
    "TOP_K InputTensor=f32[1,2,5,6] OutputValueTensor=f32[1,2,3,6] OutputIndexTensor=u32[1,2,3,6] Axis=2 K=3",
    "TOP_K1 InputTensor=f32[1,2,5,6] OutputValueTensor=f32[1,2,3,6] OutputIndexTensor=u32[1,2,3,6] Axis=2 K=3 AxisDirection=1",
    "BATCH_NORMALIZATION InputTensor=f32[2,3,4,5] MeanTensor=f32[1,3,1,1] VarianceTensor=f32[1,3,1,1] ScaleTensor=f32[1,3,1,1] "
    "BiasTensor=f32[1,3,1,1] OutputTensor=f32[2,3,4,5] Spatial=1 Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
    "BATCH_NORMALIZATION_GRAD InputTensor=f32[2,3,4,5] InputGradientTensor=f32[2,3,4,5] MeanTensor=f32[1,3,1,1] "
    "VarianceTensor=f32[1,3,1,1] ScaleTensor=f32[1,3,1,1] OutputGradientTensor=f32[2,3,4,5] OutputScaleGradientTensor=f32[1,3,1,1] "
    "OutputBiasGradientTensor=f32[1,3,1,1] Epsilon=0.001",
    "BATCH_NORMALIZATION_TRAINING InputTensor=f32[2,3,4,5] ScaleTensor=f32[1,3,1,1] BiasTensor=f32[1,3,1,1] "
    "FusedAddTensor=f32[2,3,4,5] OutputTensor=f32[2,3,4,5] OutputMeanTensor=f32[1,3,1,1] OutputVarianceTensor=f32[1,3,1,1] "
    "Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
    "BATCH_NORMALIZATION_TRAINING_GRAD InputTensor=f32[2,3,4,5] InputGradientTensor=f32[2,3,4,5] MeanTensor=f32[1,3,1,1] "
    "VarianceTensor=f32[1,3,1,1] ScaleTensor=f32[1,3,1,1] OutputGradientTensor=f32[2,3,4,5] OutputScaleGradientTensor=f32[1,3,1,1] "
    "OutputBiasGradientTensor=f32[1,3,1,1] Epsilon=0.001",
    "MEAN_VARIANCE_NORMALIZATION InputTensor=f32[2,3,4,5] ScaleTensor=f32[1,3,1,1] BiasTensor=f32[1,3,1,1] "
    "OutputTensor=f32[2,3,4,5] CrossChannel=1 NormalizeVariance=1 Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
    "MEAN_VARIANCE_NORMALIZATION1 InputTensor=f32[2,3,4,5] ScaleTensor=f32[1,3,1,1] BiasTensor=f32[1,3,1,1] "
    "OutputTensor=f32[2,3,4,5] Axes=[2,3] NormalizeVariance=1 Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
    "MEAN_VARIANCE_NORMALIZATION2 InputTensor=f32[2,3,4,5] ScaleTensor=f32[1,3,1,1] BiasTensor=f32[1,3,1,1] "
    "OutputTensor=f32[2,3,4,5] Axes=[2,3] UseMean=1 UseVariance=1 Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
    "LOCAL_RESPONSE_NORMALIZATION InputTensor=f32[2,3,4,5] OutputTensor=f32[2,3,4,5] CrossChannel=1 LocalSize=3 Alpha=1 Beta=0.5 "
    "Bias=1",
    "LOCAL_RESPONSE_NORMALIZATION_GRAD InputTensor=f32[2,3,4,5] InputGradientTensor=f32[2,3,4,5] OutputGradientTensor=f32[2,3,4,5] "
    "CrossChannel=1 LocalSize=3 Alpha=1 Beta=0.5 Bias=1",
    "LP_NORMALIZATION InputTensor=f32[2,3,4,5] OutputTensor=f32[2,3,4,5] Axis=1 Epsilon=0.001 P=2",
    "RNN InputTensor=f32[1,3,2,4] WeightTensor=f32[1,1,5,4] RecurrenceTensor=f32[1,1,5,5] BiasTensor=f32[1,1,1,10] "
    "HiddenInitTensor=f32[1,1,2,5] SequenceLengthsTensor=u32[1,1,1,2] OutputSequenceTensor=f32[3,1,2,5] "
    "OutputSingleTensor=f32[1,1,2,5] ActivationDescs=[{ACTIVATION_TANH}] Direction=0",
    "RNN InputTensor=f32[1,3,2,4] WeightTensor=f32[1,2,5,4] RecurrenceTensor=f32[1,2,5,5] OutputSequenceTensor=f32[3,2,2,5] "
    "ActivationDescs=[{ACTIVATION_TANH},{ACTIVATION_RELU}] Direction=2",
    "LSTM InputTensor=f32[1,3,2,4] WeightTensor=f32[1,1,20,4] RecurrenceTensor=f32[1,1,20,5] BiasTensor=f32[1,1,1,40] "
    "HiddenInitTensor=f32[1,1,2,5] CellMemInitTensor=f32[1,1,2,5] SequenceLengthsTensor=u32[1,1,1,2] PeepholeTensor=f32[1,1,1,15] "
    "OutputSequenceTensor=f32[3,1,2,5] OutputSingleTensor=f32[1,1,2,5] OutputCellSingleTensor=f32[1,1,2,5] "
    "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH}] Direction=0 ClipThreshold=1 UseClipThreshold=1",
    "LSTM InputTensor=f32[1,3,2,4] WeightTensor=f32[1,2,20,4] RecurrenceTensor=f32[1,2,20,5] BiasTensor=f32[1,1,2,40] "
    "PeepholeTensor=f32[1,1,2,15] OutputSingleTensor=f32[1,2,2,5] "
    "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH},{ACTIVATION_SIGMOID},{ACTIVATION_TANH},"
    "{ACTIVATION_TANH}] Direction=2",
    "GRU InputTensor=f32[1,3,2,4] WeightTensor=f32[1,1,15,4] RecurrenceTensor=f32[1,1,15,5] BiasTensor=f32[1,1,1,30] "
    "HiddenInitTensor=f32[1,1,2,5] SequenceLengthsTensor=u32[1,1,1,2] OutputSequenceTensor=f32[3,1,2,5] "
    "OutputSingleTensor=f32[1,1,2,5] ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH}] Direction=1 LinearBeforeReset=1",
    "DIAGONAL_MATRIX OutputTensor=f32[1,1,4,5] Offset=1 Value=2",
    "DIAGONAL_MATRIX1 InputTensor=f32[1,1,4,5] OutputTensor=f32[1,1,4,5] ValueDataType=1 Value=f32:2 DiagonalFillBegin=0 "
    "DiagonalFillEnd=2",
    "ONE_HOT IndicesTensor=u32[1,2,1,4] ValuesTensor=f32[1,1,1,2] OutputTensor=f32[1,2,3,4] Axis=2",
    "RESAMPLE InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,6,4] InterpolationMode=1 Scales=[1,1,2,1]",
    "RESAMPLE1 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,6,4] InterpolationMode=1 Scales=[1,1,2,1] "
    "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
    "RESAMPLE2 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,6,4] InterpolationMode=1 RoundingDirection=1 Scales=[1,1,2,1] "
    "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
    "RESAMPLE3 InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,6,4] InterpolationMode=1 RoundingDirection=1 Scales=[1,1,2,1] "
    "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5] Antialiased=0",
    "RESAMPLE_GRAD InputGradientTensor=f32[1,2,6,4] OutputGradientTensor=f32[1,2,3,4] InterpolationMode=1 Scales=[1,1,2,1] "
    "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
    "RESAMPLE_GRAD1 InputGradientTensor=f32[1,2,6,4] OutputGradientTensor=f32[1,2,3,4] InterpolationMode=1 RoundingDirection=1 "
    "Scales=[1,1,2,1] InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
    "FILL_VALUE_CONSTANT OutputTensor=f32[1,2,3,4] ValueDataType=1 Value=f32:2",
    "FILL_VALUE_SEQUENCE OutputTensor=i32[1,2,3,4] ValueDataType=6 ValueStart=i32:2 ValueDelta=i32:3",
    "CUMULATIVE_SUMMATION InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4] Axis=2 AxisDirection=1 HasExclusiveSum=1",
    "CUMULATIVE_PRODUCT InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4] Axis=2 AxisDirection=1 HasExclusiveProduct=1",
    "REVERSE_SUBSEQUENCES InputTensor=f32[1,2,3,4] SequenceLengthsTensor=u32[1,2,1,4] OutputTensor=f32[1,2,3,4] Axis=2",
    "MATRIX_MULTIPLY_INTEGER ATensor=u8[1,1,3,4] AZeroPointTensor=u8[1,1,1,1] BTensor=i8[1,1,4,5] BZeroPointTensor=i8[1,1,1,5] "
    "OutputTensor=i32[1,1,3,5]",
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY ATensor=u8[1,1,3,4] AScaleTensor=f32[1,1,1,1] AZeroPointTensor=u8[1,1,1,1] "
    "BTensor=i8[1,1,4,5] BScaleTensor=f32[1,1,1,5] BZeroPointTensor=i8[1,1,1,5] OutputScaleTensor=f32[1,1,1,1] "
    "OutputZeroPointTensor=u8[1,1,1,1] OutputTensor=u8[1,1,3,5]",
    "CONVOLUTION_INTEGER InputTensor=u8[2,4,5,6] InputZeroPointTensor=u8[1,1,1,1] FilterTensor=i8[6,2,3,2] "
    "FilterZeroPointTensor=i8[1,6,1,1] OutputTensor=i32[2,6,3,3] Strides=[2,2] Dilations=[1,1] StartPadding=[1,0] EndPadding=[1,0] "
    "GroupCount=2",
    "QUANTIZED_LINEAR_CONVOLUTION InputTensor=u8[2,4,5,6] InputScaleTensor=f32[1,1,1,1] InputZeroPointTensor=u8[1,1,1,1] "
    "FilterTensor=i8[6,2,3,2] FilterScaleTensor=f32[1,6,1,1] FilterZeroPointTensor=i8[1,6,1,1] BiasTensor=i32[1,6,1,1] "
    "OutputScaleTensor=f32[1,1,1,1] OutputZeroPointTensor=u8[1,1,1,1] OutputTensor=u8[2,6,3,3] Strides=[2,2] Dilations=[1,1] "
    "StartPadding=[1,0] EndPadding=[1,0] GroupCount=2",
    "QUANTIZED_LINEAR_AVERAGE_POOLING InputTensor=u8[1,2,5,6] InputScaleTensor=f32[1,1,1,1] InputZeroPointTensor=u8[1,1,1,1] "
    "OutputScaleTensor=f32[1,1,1,1] OutputZeroPointTensor=u8[1,1,1,1] OutputTensor=u8[1,2,2,2] Strides=[2,2] WindowSize=[3,2] "
    "StartPadding=[1,0] EndPadding=[1,0] Dilations=[2,3] IncludePadding=0",
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT ATensor=u8[1,1,3,4] AScaleTensor=f32[1,1,1,1] AZeroPointTensor=u8[1,1,1,1] "
    "BTensor=u8[1,1,4,5] BScaleTensor=f32[1,1,1,5] BZeroPointTensor=u8[1,1,1,5] BiasTensor=f32[1,1,3,5] OutputTensor=f32[1,1,3,5]",
    "DYNAMIC_QUANTIZE_LINEAR InputTensor=f32[1,2,3,4] OutputTensor=u8[1,2,3,4] OutputScaleTensor=f32[1,1,1,1] "
    "OutputZeroPointTensor=u8[1,1,1,1]",
    "RANDOM_GENERATOR InputStateTensor=u32[1,1,1,6] OutputTensor=u32[1,2,3,4] OutputStateTensor=u32[1,1,1,6] Type=0",
    "NONZERO_COORDINATES InputTensor=u8[1,1,3,4] OutputCountTensor=u32[1,1,1,1] OutputCoordinatesTensor=u32[1,1,12,2]",
    "ADAM_OPTIMIZER InputParametersTensor=f32[1,2,3,4] InputFirstMomentTensor=f32[1,2,3,4] InputSecondMomentTensor=f32[1,2,3,4] "
    "GradientTensor=f32[1,2,3,4] TrainingStepTensor=u32[1,1,1,1] OutputParametersTensor=f32[1,2,3,4] "
    "OutputFirstMomentTensor=f32[1,2,3,4] OutputSecondMomentTensor=f32[1,2,3,4] LearningRate=0.1 Beta1=0.9 Beta2=0.999 Epsilon=1e-8",
    "ROI_ALIGN InputTensor=f32[2,3,5,6] ROITensor=f32[1,1,4,4] BatchIndicesTensor=u32[1,1,1,4] OutputTensor=f32[4,3,2,3] "
    "ReductionFunction=2 InterpolationMode=1 SpatialScaleX=1 SpatialScaleY=1 MinimumSamplesPerOutput=1 MaximumSamplesPerOutput=4",
    "ROI_ALIGN1 InputTensor=f32[2,3,5,6] ROITensor=f32[1,1,4,4] BatchIndicesTensor=u32[1,1,1,4] OutputTensor=f32[4,3,2,3] "
    "ReductionFunction=2 InterpolationMode=1 SpatialScaleX=1 SpatialScaleY=1 InputPixelOffset=0.5 OutputPixelOffset=-0.5 "
    "MinimumSamplesPerOutput=1 MaximumSamplesPerOutput=4 AlignRegionsToCorners=1",
    "ROI_ALIGN_GRAD InputTensor=f32[2,3,5,6] InputGradientTensor=f32[4,3,2,3] ROITensor=f32[1,1,4,4] "
    "BatchIndicesTensor=u32[1,1,1,4] OutputGradientTensor=f32[2,3,5,6] OutputROIGradientTensor=f32[1,1,4,4] ReductionFunction=2 "
    "InterpolationMode=1 SpatialScaleX=1 SpatialScaleY=1 InputPixelOffset=0.5 OutputPixelOffset=-0.5 MinimumSamplesPerOutput=1 "
    "MaximumSamplesPerOutput=4 AlignRegionsToCorners=1",
    "MULTIHEAD_ATTENTION QueryTensor=f32[2,3,8] KeyTensor=f32[2,5,8] ValueTensor=f32[2,5,12] BiasTensor=f32[28] MaskTensor=i32[1,2] "
    "RelativePositionBiasTensor=f32[2,4,3,5] OutputTensor=f32[2,3,12] Scale=1 MaskFilterValue=-10000 HeadCount=4 MaskType=1",
    "MULTIHEAD_ATTENTION StackedQueryKeyValueTensor=f32[2,3,4,3,2] OutputTensor=f32[2,3,8] Scale=1 HeadCount=4 MaskType=0",
    "MULTIHEAD_ATTENTION QueryTensor=f32[2,3,8] StackedKeyValueTensor=f32[2,5,4,2,2] OutputTensor=f32[2,3,8] Scale=1 HeadCount=4 "
    "MaskType=0",
    "MULTIHEAD_ATTENTION StackedQueryKeyTensor=f32[2,3,4,2,2] ValueTensor=f32[2,3,12] OutputTensor=f32[2,3,12] Scale=1 HeadCount=4 "
    "MaskType=0",
    "MULTIHEAD_ATTENTION QueryTensor=f32[2,3,8] KeyTensor=f32[2,3,8] ValueTensor=f32[2,3,12] PastKeyTensor=f32[2,4,6,2] "
    "PastValueTensor=f32[2,4,6,3] OutputTensor=f32[2,3,12] OutputPresentKeyTensor=f32[2,4,9,2] OutputPresentValueTensor=f32[2,4,9,3] "
    "Scale=1 HeadCount=4 MaskType=0",
    "MULTIHEAD_ATTENTION1 QueryTensor=f32[2,3,8] KeyTensor=f32[2,5,8] ValueTensor=f32[2,5,8] OutputTensor=f32[2,3,8] Scale=1 "
    "MaskFilterValue=-10000 QueryHeadCount=4 KeyValueHeadCount=4 MaskType=0",
    "QUANTIZE InputTensor=f32[1,1,4,6] QuantizationType=2 QuantizationTensors=[f32[1,1,2,3],u8[1,1,2,3]] OutputTensor=u8[1,1,4,6]",
    "DEQUANTIZE InputTensor=u8[1,1,4,6] QuantizationType=1 QuantizationTensors=[f32[1,1,2,3]] OutputTensor=f32[1,1,4,6]",
    "FOLD InputTensor=f32[1,8,6] OutputTensor=f32[1,2,3,4] WindowSizes=[2,2] Strides=[1,1] Dilations=[1,1] StartPadding=[0,0] "
    "EndPadding=[0,0]",
    "UNFOLD InputTensor=f32[1,2,3,4] OutputTensor=f32[1,8,6] WindowSizes=[2,2] Strides=[1,1] Dilations=[1,1] StartPadding=[0,0] "
    "EndPadding=[0,0]",
};

// The first data type of the row that holds for a tensor.
DML_TENSOR_DATA_TYPE FirstType(const OperatorSchema& schema, int field, uint32_t feature_level) {
  uint32_t best = 0, types = 0;
  for (int i = 0; i < schema.support_count; ++i) {
    const SupportRow& row = schema.support[i];
    if (row.field == field && row.feature_level <= feature_level && row.feature_level >= best) {
      best = row.feature_level;
      types = row.data_types;
    }
  }
  for (uint32_t i = 0; i < 32; ++i)
    if (types >> i & 1) return static_cast<DML_TENSOR_DATA_TYPE>(i);
  return DML_TENSOR_DATA_TYPE_FLOAT32;
}

OperatorDesc FromTable(const OperatorSchema& schema, uint32_t feature_level) {
  OperatorDesc desc = Empty(schema);
  for (int i = 0; i < schema.field_count; ++i) {
    const FieldSchema& f = schema.fields[i];
    Field& field = desc.fields[static_cast<size_t>(i)];
    if (f.type == FieldType::Tensor) field = std::optional<TensorDesc>(MakeTensor(FirstType(schema, i, feature_level), {1, 2, 3, 4}));
    else if (f.type == FieldType::Float32) field = 1.0f;
    else if (f.type == FieldType::UInt32 && f.enum_name && std::string(f.enum_name) == "DML_TENSOR_DATA_TYPE")
      field = static_cast<uint32_t>(desc.Outputs().at(0)->data_type);
  }
  return desc;
}

}  // namespace

std::vector<OperatorDesc> GoodDescriptions(uint32_t feature_level) {
  std::vector<OperatorDesc> list;
  std::set<DML_OPERATOR_TYPE> written;
  for (const char* text : kGood) {
    list.push_back(Parse(text));
    written.insert(list.back().type());
  }
  for (const OperatorSchema* schema : AllOperators())
    if (!written.count(schema->type)) list.push_back(FromTable(*schema, feature_level));
  return list;
}

}  // namespace dxtensor::test
