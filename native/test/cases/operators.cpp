#include "operators.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "../describe.h"
#include "../reference.h"

namespace dxtensor::test {

using namespace schema;

namespace {

// T: the data type that varies; @: its number; $: the scalar 2 in it.
struct Row {
  const char* text;
  Tolerance f32{1e-4, 1e-5}, f16{5e-3, 2e-3};
};

constexpr Tolerance kExact{0, 0}, kSum32{1e-4, 1e-4}, kSum16{1e-2, 3e-2};

const Row kRows[] = {
    {"ELEMENT_WISE_IDENTITY InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_IDENTITY InputTensor=T[3,7] OutputTensor=T[3,7] ScaleBias=2:1"},
    {"ELEMENT_WISE_IDENTITY InputTensor=T[2,1,3,1,2,2,1,3] OutputTensor=T[2,1,3,1,2,2,1,3]", kExact, kExact},
    {"ELEMENT_WISE_ADD ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_ADD ATensor=T[33] BTensor=T[33] OutputTensor=T[33]"},
    {"ELEMENT_WISE_ADD1 ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_ADD1 ATensor=T[3,5] BTensor=T[3,5] OutputTensor=T[3,5] FusedActivation={ACTIVATION_RELU}"},
    {"ELEMENT_WISE_SUBTRACT ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_MULTIPLY ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_DIVIDE ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_POW InputTensor=T[2,3,4,5] ExponentTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_CONSTANT_POW InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Exponent=2"},
    {"ELEMENT_WISE_MAX ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_MIN ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_ABS InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_NEGATE InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_SIGN InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_EXP InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_EXP InputTensor=T[2,3] OutputTensor=T[2,3] ScaleBias=0.5:-1"},
    {"ELEMENT_WISE_LOG InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_SQRT InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_RECIP InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_TANH InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_ERF InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_SIN InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", {1e-3, 1e-4}},
    {"ELEMENT_WISE_COS InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", {1e-3, 1e-4}},
    {"ELEMENT_WISE_FLOOR InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_CEIL InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ELEMENT_WISE_ROUND InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] RoundingMode=0", kExact, kExact},
    {"ELEMENT_WISE_ROUND InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] RoundingMode=1", kExact, kExact},
    {"ELEMENT_WISE_ROUND InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] RoundingMode=2", kExact, kExact},
    {"ELEMENT_WISE_CLIP InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Min=1 Max=3", kExact, kExact},
    {"ELEMENT_WISE_BIT_AND ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_BIT_OR ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_BIT_XOR ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_BIT_SHIFT_LEFT ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_BIT_SHIFT_RIGHT ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_AND ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_OR ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_XOR ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_NOT InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_EQUALS ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=u8[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=u8[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=u32[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=u8[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=u8[2,3,4,5]"},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=u8[2,3,4,5]"},
    {"ELEMENT_WISE_IF ConditionTensor=u8[2,3,4,5] ATensor=T[2,3,4,5] BTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=f32[2,3,4,5]", kExact, kExact},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=f16[2,3,4,5]", kExact, kExact},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=i64[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=u64[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=i32[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=u32[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=i16[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=u16[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=i8[2,3,4,5]"},
    {"CAST InputTensor=T[2,3,4,5] OutputTensor=u8[2,3,4,5]"},
    {"ACTIVATION_RELU InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]", kExact, kExact},
    {"ACTIVATION_RELU_GRAD InputTensor=T[2,3,4,5] InputGradientTensor=T[2,3,4,5] OutputGradientTensor=T[2,3,4,5]", kExact, kExact},
    {"ACTIVATION_SIGMOID InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ACTIVATION_TANH InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ACTIVATION_LEAKY_RELU InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Alpha=0.25"},
    {"ACTIVATION_LINEAR InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Alpha=2 Beta=0.5"},
    {"ACTIVATION_ELU InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Alpha=2"},
    {"ACTIVATION_GELU InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5]"},
    {"ACTIVATION_SOFTPLUS InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Steepness=2"},
    {"ACTIVATION_SOFTMAX InputTensor=T[1,1,5,7] OutputTensor=T[1,1,5,7]"},
    {"ACTIVATION_LOG_SOFTMAX InputTensor=T[1,1,5,7] OutputTensor=T[1,1,5,7]"},
    {"ACTIVATION_SOFTMAX1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Axes=[1]"},
    {"ACTIVATION_SOFTMAX1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Axes=[1,3]"},
    {"ACTIVATION_LOG_SOFTMAX1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Axes=[3]"},
    {"ACTIVATION_LOG_SOFTMAX1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Axes=[0,2]"},
    {"GEMM ATensor=T[1,2,5,4] BTensor=T[1,2,4,7] OutputTensor=T[1,2,5,7] Alpha=1", kSum32, kSum16},
    {"GEMM ATensor=T[5,4] BTensor=T[7,4] CTensor=T[5,7] OutputTensor=T[5,7] TransB=1 Alpha=0.5 Beta=2", kSum32, kSum16},
    {"GEMM ATensor=T[2,4,5] BTensor=T[2,4,7] OutputTensor=T[2,5,7] TransA=1 Alpha=1 FusedActivation={ACTIVATION_RELU}", kSum32, kSum16},
    {"GEMM ATensor=T[2,3,4,5] BTensor=T[2,3,7,4] CTensor=T[2,3,5,7] OutputTensor=T[2,3,5,7] TransA=1 TransB=1 Alpha=1 Beta=1 "
     "FusedActivation={ACTIVATION_SIGMOID}",
     kSum32, kSum16},
    {"GEMM ATensor=T[1,1,33,65] BTensor=T[1,1,65,47] OutputTensor=T[1,1,33,47] Alpha=1", kSum32, {1e-2, 0.1}},
    {"CONVOLUTION InputTensor=T[2,4,7,6] FilterTensor=T[6,4,3,2] BiasTensor=T[1,6,1,1] OutputTensor=T[2,6,7,5] Mode=1 Direction=0 "
     "Strides=[1,1] Dilations=[1,1] StartPadding=[1,0] EndPadding=[1,0] OutputPadding=[0,0] GroupCount=1",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[2,4,7,8] FilterTensor=T[6,2,3,2] OutputTensor=T[2,6,4,4] Mode=0 Direction=0 Strides=[2,2] "
     "Dilations=[1,2] StartPadding=[1,1] EndPadding=[1,1] OutputPadding=[0,0] GroupCount=2 FusedActivation={ACTIVATION_RELU}",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[1,4,6,5] FilterTensor=T[4,1,3,3] BiasTensor=T[1,4,1,1] OutputTensor=T[1,4,6,5] Mode=1 Direction=0 "
     "Strides=[1,1] Dilations=[1,1] StartPadding=[1,1] EndPadding=[1,1] OutputPadding=[0,0] GroupCount=4",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[2,4,3,4] FilterTensor=T[4,3,3,2] BiasTensor=T[1,6,1,1] OutputTensor=T[2,6,5,9] Mode=1 Direction=1 "
     "Strides=[2,2] Dilations=[1,2] StartPadding=[1,0] EndPadding=[1,0] OutputPadding=[0,0] GroupCount=2",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[1,3,4,4] FilterTensor=T[3,2,2,2] OutputTensor=T[1,2,5,5] Mode=0 Direction=1 Strides=[1,1] "
     "Dilations=[1,1] StartPadding=[0,0] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=1",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[1,2,4,5,6] FilterTensor=T[3,2,2,3,2] BiasTensor=T[1,3,1,1,1] OutputTensor=T[1,3,3,5,5] Mode=1 "
     "Direction=0 Strides=[1,1,1] Dilations=[1,1,1] StartPadding=[0,1,0] EndPadding=[0,1,0] OutputPadding=[0,0,0] GroupCount=1",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[2,2,9] FilterTensor=T[4,2,3] OutputTensor=T[2,4,4] Mode=1 Direction=0 Strides=[2] Dilations=[1] "
     "StartPadding=[0] EndPadding=[0] OutputPadding=[0] GroupCount=1",
     kSum32, kSum16},
    {"CONVOLUTION InputTensor=T[2,3,6,6] FilterTensor=T[4,3,3,3]! BiasTensor=T[1,4,1,1]! OutputTensor=T[2,4,4,4] Mode=1 Direction=0 "
     "Strides=[1,1] Dilations=[1,1] StartPadding=[0,0] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=1",
     kSum32, kSum16},
    {"REDUCE Function=0 InputTensor=T[2,3,4,5] OutputTensor=u32[2,1,4,1] Axes=[1,3]"},
    {"REDUCE Function=1 InputTensor=T[2,3,4,5] OutputTensor=i32[2,3,4,1] Axes=[3]"},
    {"REDUCE Function=2 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"REDUCE Function=3 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"REDUCE Function=4 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"REDUCE Function=5 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"REDUCE Function=6 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"REDUCE Function=7 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kExact, kExact},
    {"REDUCE Function=8 InputTensor=T[2,3,4,5] OutputTensor=T[1,3,1,5] Axes=[0,2]", kExact, kExact},
    {"REDUCE Function=9 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,5] Axes=[1]", kSum32, kSum16},
    {"REDUCE Function=10 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"REDUCE Function=10 InputTensor=T[2,3,4,5] OutputTensor=T[1,1,1,1] Axes=[0,1,2,3]", kSum32, {1e-2, 0.2}},
    {"REDUCE Function=10 InputTensor=T[1500] OutputTensor=T[1] Axes=[0]", {1e-4, 1e-2}, {1e-2, 1}},
    {"REDUCE Function=11 InputTensor=T[2,3,4,5] OutputTensor=T[2,1,4,1] Axes=[1,3]", kSum32, kSum16},
    {"ARGMAX InputTensor=T[2,3,4,5] OutputTensor=u32[2,1,4,1] Axes=[1,3] AxisDirection=0"},
    {"ARGMAX InputTensor=T[2,3,4,5] OutputTensor=i64[2,3,4,1] Axes=[3] AxisDirection=1"},
    {"ARGMIN InputTensor=T[2,3,4,5] OutputTensor=i32[2,3,1,5] Axes=[2] AxisDirection=1"},
    {"AVERAGE_POOLING InputTensor=T[2,3,7,6] OutputTensor=T[2,3,4,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
     "EndPadding=[1,0] IncludePadding=1",
     kSum32, kSum16},
    {"AVERAGE_POOLING InputTensor=T[2,3,7,6] OutputTensor=T[2,3,4,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
     "EndPadding=[1,0] IncludePadding=0",
     kSum32, kSum16},
    {"AVERAGE_POOLING1 InputTensor=T[2,3,7,6] OutputTensor=T[2,3,3,4] Strides=[2,1] WindowSize=[3,2] StartPadding=[1,0] "
     "EndPadding=[1,0] Dilations=[2,2] IncludePadding=0",
     kSum32, kSum16},
    {"AVERAGE_POOLING1 InputTensor=T[1,2,4,5,6] OutputTensor=T[1,2,3,4,3] Strides=[1,1,2] WindowSize=[2,2,2] StartPadding=[0,0,0] "
     "EndPadding=[0,0,0] Dilations=[1,1,1] IncludePadding=0",
     kSum32, kSum16},
    {"AVERAGE_POOLING_GRAD InputGradientTensor=T[2,3,4,3] OutputGradientTensor=T[2,3,7,6] Strides=[2,2] WindowSize=[3,2] "
     "StartPadding=[1,0] EndPadding=[1,0] IncludePadding=0",
     kSum32, kSum16},
    {"AVERAGE_POOLING_GRAD InputGradientTensor=T[2,3,4,3] OutputGradientTensor=T[2,3,7,6] Strides=[2,2] WindowSize=[3,2] "
     "StartPadding=[1,0] EndPadding=[1,0] IncludePadding=1",
     kSum32, kSum16},
    {"MAX_POOLING InputTensor=T[2,3,7,6] OutputTensor=T[2,3,4,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] EndPadding=[1,0]",
     kExact, kExact},
    {"MAX_POOLING1 InputTensor=T[2,3,7,6] OutputTensor=T[2,3,4,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] EndPadding=[1,0]",
     kExact, kExact},
    {"MAX_POOLING1 InputTensor=T[1,3,7,6] OutputTensor=T[1,3,4,3] OutputIndicesTensor=u32[1,3,4,3] Strides=[2,2] WindowSize=[3,2] "
     "StartPadding=[1,0] EndPadding=[1,0]",
     kExact, kExact},
    {"MAX_POOLING2 InputTensor=T[1,3,7,6] OutputTensor=T[1,3,3,4] OutputIndicesTensor=u32[1,3,3,4] Strides=[2,1] WindowSize=[3,2] "
     "StartPadding=[1,0] EndPadding=[1,0] Dilations=[2,2]",
     kExact, kExact},
    {"MAX_POOLING2 InputTensor=T[2,2,4,5,6] OutputTensor=T[2,2,3,4,3] Strides=[1,1,2] WindowSize=[2,2,2] StartPadding=[0,0,0] "
     "EndPadding=[0,0,0] Dilations=[1,1,1]",
     kExact, kExact},
    {"MAX_POOLING_GRAD InputTensor=T[2,3,7,6] InputGradientTensor=T[2,3,4,3] OutputGradientTensor=T[2,3,7,6] Strides=[2,2] "
     "WindowSize=[3,2] StartPadding=[1,0] EndPadding=[1,0] Dilations=[1,1]",
     kSum32, kSum16},
    {"SLICE1 InputTensor=T[2,3,5,6] OutputTensor=T[1,3,3,2] InputWindowOffsets=[1,0,0,1] InputWindowSizes=[1,3,5,4] "
     "InputWindowStrides=[1,1,2,3]",
     kExact, kExact},
    {"SLICE1 InputTensor=T[2,3,5,6] OutputTensor=T[2,3,3,6] InputWindowOffsets=[0,0,0,0] InputWindowSizes=[2,3,5,6] "
     "InputWindowStrides=[1,-1,2,-1]",
     kExact, kExact},
    {"SLICE1 InputTensor=T[40] OutputTensor=T[7] InputWindowOffsets=[3] InputWindowSizes=[7] InputWindowStrides=[1]", kExact, kExact},
    {"SLICE_GRAD InputGradientTensor=T[1,3,3,2] OutputGradientTensor=T[2,3,5,6] InputWindowOffsets=[1,0,0,1] "
     "InputWindowSizes=[1,3,5,4] InputWindowStrides=[1,1,2,-3]",
     kExact, kExact},
    {"SPLIT InputTensor=T[2,3,7,4] OutputTensors=[T[2,3,2,4],T[2,3,4,4],T[2,3,1,4]] Axis=2", kExact, kExact},
    {"JOIN InputTensors=[T[2,3,2,4],T[2,3,4,4],T[2,3,1,4]] OutputTensor=T[2,3,7,4] Axis=2", kExact, kExact},
    {"JOIN InputTensors=[T[5],T[3]] OutputTensor=T[8] Axis=0", kExact, kExact},
    {"PADDING InputTensor=T[2,3,4,5] OutputTensor=T[2,4,7,5] PaddingMode=0 PaddingValue=3 StartPadding=[0,1,1,0] EndPadding=[0,0,2,0]",
     kExact, kExact},
    {"PADDING1 InputTensor=T[2,3,4,5] OutputTensor=T[2,4,7,5] PaddingMode=0 PaddingValueDataType=@ PaddingValue=$ "
     "StartPadding=[0,1,1,0] EndPadding=[0,0,2,0]",
     kExact, kExact},
    {"PADDING1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,7,8] PaddingMode=1 PaddingValueDataType=@ StartPadding=[0,0,1,3] "
     "EndPadding=[0,0,2,0]",
     kExact, kExact},
    {"PADDING1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,7,8] PaddingMode=2 PaddingValueDataType=@ StartPadding=[0,0,1,3] "
     "EndPadding=[0,0,2,0]",
     kExact, kExact},
    {"PADDING1 InputTensor=T[2,3,4,5] OutputTensor=T[2,3,7,8] PaddingMode=3 PaddingValueDataType=@ StartPadding=[0,0,1,3] "
     "EndPadding=[0,0,2,0]",
     kExact, kExact},
    {"TILE InputTensor=T[1,2,3,4] OutputTensor=T[2,2,9,4] Repeats=[2,1,3,1]", kExact, kExact},
    {"GATHER InputTensor=T[1,2,5,6] IndicesTensor=u32[1,1,1,3] OutputTensor=T[1,2,3,6] Axis=2 IndexDimensions=1", kExact, kExact},
    {"GATHER InputTensor=T[1,2,5,6] IndicesTensor=i64[1,1,1,3] OutputTensor=T[1,2,5,3] Axis=3 IndexDimensions=1", kExact, kExact},
    {"GATHER InputTensor=T[1,1,9,6] IndicesTensor=i32[1,1,4,3] OutputTensor=T[1,4,3,6] Axis=2 IndexDimensions=2", kExact, kExact},
    {"ONE_HOT IndicesTensor=u32[2,3,1,5] ValuesTensor=T[1,1,1,2] OutputTensor=T[2,3,6,5] Axis=2", kExact, kExact},
    {"ONE_HOT IndicesTensor=i64[7,1] ValuesTensor=T[1,2] OutputTensor=T[7,5] Axis=1", kExact, kExact},
    {"FILL_VALUE_CONSTANT OutputTensor=T[2,3,4,5] ValueDataType=@ Value=$", kExact, kExact},
    {"FILL_VALUE_SEQUENCE OutputTensor=T[3,11] ValueDataType=@ ValueStart=$ ValueDelta=$"},
    {"RANDOM_GENERATOR InputStateTensor=u32[1,1,1,6] OutputTensor=u32[2,3,4,7] OutputStateTensor=u32[1,1,1,6] Type=0"},
    {"RANDOM_GENERATOR InputStateTensor=u32[6] OutputTensor=u32[13] Type=0"},
    {"BATCH_NORMALIZATION InputTensor=T[2,3,4,5] MeanTensor=T[1,3,1,1] VarianceTensor=T[1,3,1,1] ScaleTensor=T[1,3,1,1] "
     "BiasTensor=T[1,3,1,1] OutputTensor=T[2,3,4,5] Spatial=1 Epsilon=0.001",
     kSum32, kSum16},
    {"BATCH_NORMALIZATION InputTensor=T[2,3,4,5] MeanTensor=T[1,3,1,1] VarianceTensor=T[1,3,1,1] ScaleTensor=T[1,3,1,1] "
     "BiasTensor=T[1,3,1,1] OutputTensor=T[2,3,4,5] Spatial=1 Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
     kSum32, kSum16},
    {"BATCH_NORMALIZATION_TRAINING InputTensor=T[2,3,4,5] ScaleTensor=T[1,3,1,1] BiasTensor=T[1,3,1,1] OutputTensor=T[2,3,4,5] "
     "OutputMeanTensor=T[1,3,1,1] OutputVarianceTensor=T[1,3,1,1] Epsilon=0.001",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"BATCH_NORMALIZATION_TRAINING InputTensor=T[2,3,4,5] ScaleTensor=T[1,3,1,1] BiasTensor=T[1,3,1,1] FusedAddTensor=T[2,3,4,5] "
     "OutputTensor=T[2,3,4,5] OutputMeanTensor=T[1,3,1,1] OutputVarianceTensor=T[1,3,1,1] Epsilon=0.001 "
     "FusedActivation={ACTIVATION_RELU}",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"BATCH_NORMALIZATION_GRAD InputTensor=T[2,3,4,5] InputGradientTensor=T[2,3,4,5] MeanTensor=T[1,3,1,1] VarianceTensor=T[1,3,1,1] "
     "ScaleTensor=T[1,3,1,1] OutputGradientTensor=T[2,3,4,5] OutputScaleGradientTensor=T[1,3,1,1] "
     "OutputBiasGradientTensor=T[1,3,1,1] Epsilon=0.001",
     {1e-3, 1e-4},
     {2e-2, 2e-1}},
    {"BATCH_NORMALIZATION_TRAINING_GRAD InputTensor=T[2,3,4,5] InputGradientTensor=T[2,3,4,5] MeanTensor=T[1,3,1,1] "
     "VarianceTensor=T[1,3,1,1] ScaleTensor=T[1,3,1,1] OutputGradientTensor=T[2,3,4,5] OutputScaleGradientTensor=T[1,3,1,1] "
     "OutputBiasGradientTensor=T[1,3,1,1] Epsilon=0.001",
     {1e-3, 1e-4},
     {2e-2, 2e-1}},
    {"RNN InputTensor=T[1,4,3,6] WeightTensor=T[1,2,5,6] RecurrenceTensor=T[1,2,5,5] BiasTensor=T[1,1,2,10] "
     "HiddenInitTensor=T[1,2,3,5] SequenceLengthsTensor=u32[1,1,1,3] OutputSequenceTensor=T[4,2,3,5] "
     "OutputSingleTensor=T[1,2,3,5] ActivationDescs=[{ACTIVATION_TANH},{ACTIVATION_RELU}] Direction=2",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"LSTM InputTensor=T[1,4,3,6] WeightTensor=T[1,2,20,6] RecurrenceTensor=T[1,2,20,5] BiasTensor=T[1,1,2,40] "
     "HiddenInitTensor=T[1,2,3,5] CellMemInitTensor=T[1,2,3,5] SequenceLengthsTensor=u32[1,1,1,3] PeepholeTensor=T[1,1,2,15] "
     "OutputSequenceTensor=T[4,2,3,5] OutputSingleTensor=T[1,2,3,5] OutputCellSingleTensor=T[1,2,3,5] "
     "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH},{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH}] "
     "Direction=2",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"LSTM InputTensor=T[1,3,2,4] WeightTensor=T[1,1,20,4] RecurrenceTensor=T[1,1,20,5] OutputSequenceTensor=T[3,1,2,5] "
     "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH}] Direction=1",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"GRU InputTensor=T[1,4,3,6] WeightTensor=T[1,2,15,6] RecurrenceTensor=T[1,2,15,5] BiasTensor=T[1,1,2,30] "
     "HiddenInitTensor=T[1,2,3,5] SequenceLengthsTensor=u32[1,1,1,3] OutputSequenceTensor=T[4,2,3,5] "
     "OutputSingleTensor=T[1,2,3,5] "
     "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_SIGMOID},{ACTIVATION_TANH}] Direction=2 "
     "LinearBeforeReset=1",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"GRU InputTensor=T[1,4,3,6] WeightTensor=T[1,1,15,6] RecurrenceTensor=T[1,1,15,5] BiasTensor=T[1,1,1,30] "
     "OutputSequenceTensor=T[4,1,3,5] ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH}] Direction=0 "
     "LinearBeforeReset=0",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"MULTIHEAD_ATTENTION QueryTensor=T[2,3,8] KeyTensor=T[2,3,8] ValueTensor=T[2,3,12] BiasTensor=T[28] "
     "MaskTensor=i32[2,4,3,9] RelativePositionBiasTensor=T[2,4,3,9] PastKeyTensor=T[2,4,6,2] PastValueTensor=T[2,4,6,3] "
     "OutputTensor=T[2,3,12] OutputPresentKeyTensor=T[2,4,9,2] OutputPresentValueTensor=T[2,4,9,3] Scale=1 "
     "MaskFilterValue=-4 HeadCount=4 MaskType=4",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"MULTIHEAD_ATTENTION1 QueryTensor=T[2,3,8] KeyTensor=T[2,5,4] ValueTensor=T[2,5,6] OutputTensor=T[2,3,12] Scale=0.5 "
     "QueryHeadCount=4 KeyValueHeadCount=2 MaskType=0",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"UPSAMPLE_2D InputTensor=T[1,2,3,4] OutputTensor=T[1,2,9,8] ScaleSize=2x3 InterpolationMode=1", kSum32, kSum16},
    {"RESAMPLE InputTensor=T[1,2,3,4] OutputTensor=T[1,2,6,8] InterpolationMode=1 Scales=[1,1,2,2]", kSum32, kSum16},
    {"RESAMPLE InputTensor=f32[1,2,5,6] OutputTensor=f32[1,2,13,4] InterpolationMode=0 Scales=[1,1,2.625,0.75]", kSum32, kSum16},
    {"RESAMPLE1 InputTensor=f32[3,4,5] OutputTensor=f32[6,3,8] InterpolationMode=1 Scales=[2,0.75,1.625] "
     "InputPixelOffsets=[0.25,0,0.5] OutputPixelOffsets=[0,-0.125,-0.5]",
     kSum32, kSum16},
    {"RESAMPLE2 InputTensor=T[1,2,3,4] OutputTensor=T[1,2,8,9] InterpolationMode=0 RoundingDirection=0 Scales=[1,1,2.5,2.25] "
     "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
     kSum32, kSum16},
    {"RESAMPLE3 InputTensor=T[1,2,3,4] OutputTensor=T[1,2,6,8] InterpolationMode=1 RoundingDirection=1 Scales=[1,1,2,2] "
     "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
     kSum32, kSum16},
    {"RESAMPLE_GRAD InputGradientTensor=T[1,2,7,9] OutputGradientTensor=T[1,2,5,6] InterpolationMode=1 Scales=[1,1,1.5,1.5] "
     "InputPixelOffsets=[-0.5,-0.5,-0.5,-0.5] OutputPixelOffsets=[0.5,0.5,0.5,0.5]",
     kSum32, kSum16},
    {"RESAMPLE_GRAD1 InputGradientTensor=T[1,2,8,9] OutputGradientTensor=T[1,2,3,4] InterpolationMode=0 RoundingDirection=1 "
     "Scales=[1,1,2.5,2.25] InputPixelOffsets=[0,0,0,0] OutputPixelOffsets=[0,0,0,0]",
     kSum32, kSum16},
    {"ROI_ALIGN InputTensor=T[2,3,5,6] ROITensor=T[4,4] BatchIndicesTensor=u32[4] OutputTensor=T[4,3,2,3] "
     "ReductionFunction=2 InterpolationMode=1 SpatialScaleX=1 SpatialScaleY=1 MinimumSamplesPerOutput=2 "
     "MaximumSamplesPerOutput=2",
     kSum32, kSum16},
    {"ROI_ALIGN1 InputTensor=T[2,3,5,6] ROITensor=T[4,4] BatchIndicesTensor=u32[4] OutputTensor=T[4,3,2,3] "
     "ReductionFunction=2 InterpolationMode=1 SpatialScaleX=0.75 SpatialScaleY=1.5 InputPixelOffset=0.25 "
     "OutputPixelOffset=-0.125 MinimumSamplesPerOutput=3 MaximumSamplesPerOutput=3",
     kSum32, kSum16},
    {"ROI_ALIGN_GRAD InputGradientTensor=T[4,3,2,3] ROITensor=T[4,4] BatchIndicesTensor=u32[4] "
     "OutputGradientTensor=T[2,3,5,6] ReductionFunction=2 InterpolationMode=1 SpatialScaleX=0.75 SpatialScaleY=1.5 "
     "InputPixelOffset=0.25 OutputPixelOffset=-0.125 MinimumSamplesPerOutput=2 MaximumSamplesPerOutput=2",
     kSum32, kSum16},
    {"ROI_POOLING InputTensor=T[2,3,5,6] ROITensor=T[1,1,4,5] OutputTensor=T[4,3,3,2] SpatialScale=1.5 PooledSize=2x3", kExact, kExact},
    {"FOLD InputTensor=T[2,18,15] OutputTensor=T[2,3,5,6] WindowSizes=[2,3] Strides=[2,1] Dilations=[2,1] StartPadding=[1,0] "
     "EndPadding=[2,1]",
     kSum32, kSum16},
    {"UNFOLD InputTensor=T[2,3,5,6] OutputTensor=T[2,18,15] WindowSizes=[2,3] Strides=[2,1] Dilations=[2,1] "
     "StartPadding=[1,0] EndPadding=[2,1]",
     kExact, kExact},
    {"LOCAL_RESPONSE_NORMALIZATION InputTensor=T[2,7,4,5] OutputTensor=T[2,7,4,5] CrossChannel=1 LocalSize=4 Alpha=0.5 "
     "Beta=0.75 Bias=2",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"LOCAL_RESPONSE_NORMALIZATION InputTensor=T[2,3,6,5] OutputTensor=T[2,3,6,5] CrossChannel=0 LocalSize=3 Alpha=1 "
     "Beta=0.75 Bias=1",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD InputTensor=T[2,7,4,5] InputGradientTensor=T[2,7,4,5] "
     "OutputGradientTensor=T[2,7,4,5] CrossChannel=1 LocalSize=3 Alpha=0.5 Beta=0.75 Bias=2",
     {1e-3, 1e-4},
     {2e-2, 5e-2}},
    {"LP_NORMALIZATION InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Axis=3 Epsilon=0.5 P=1", {1e-3, 1e-4}, {2e-2, 5e-2}},
    {"LP_NORMALIZATION InputTensor=T[2,3,4,5] OutputTensor=T[2,3,4,5] Axis=1 Epsilon=0.001 P=2", {1e-3, 1e-4}, {2e-2, 5e-2}},
    {"LP_POOLING InputTensor=T[1,2,5,6] OutputTensor=T[1,2,3,3] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
     "EndPadding=[1,0] P=3",
     kSum32, kSum16},
    {"LP_POOLING1 InputTensor=T[1,2,5,6] OutputTensor=T[1,2,2,2] Strides=[2,2] WindowSize=[3,2] StartPadding=[1,0] "
     "EndPadding=[1,0] Dilations=[2,3] P=2",
     kSum32, kSum16},
    {"MAX_UNPOOLING InputTensor=T[2,3,2,3] IndicesTensor=u32[2,3,2,3] OutputTensor=T[2,3,4,7]", kExact, kExact},
    {"ELEMENT_WISE_QUANTIZE_LINEAR InputTensor=f32[2,3,4,5] ScaleTensor=f32[2,3,4,5] ZeroPointTensor=T[2,3,4,5] "
     "OutputTensor=T[2,3,4,5]",
     kExact, kExact},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR InputTensor=T[2,3,4,5] ScaleTensor=f32[2,3,4,5] ZeroPointTensor=T[2,3,4,5] "
     "OutputTensor=f32[2,3,4,5]",
     kSum32, kSum16},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD ATensor=T[2,3,4,5] AScaleTensor=f32[1,1,1,1] AZeroPointTensor=T[1,1,1,1] "
     "BTensor=i8[2,3,4,5] BScaleTensor=f32[1,1,1,1] BZeroPointTensor=i8[1,1,1,1] OutputScaleTensor=f32[1,1,1,1] "
     "OutputZeroPointTensor=T[1,1,1,1] OutputTensor=T[2,3,4,5]",
     kExact, kExact},
    {"DYNAMIC_QUANTIZE_LINEAR InputTensor=f32[2,3,4,5] OutputTensor=T[2,3,4,5] OutputScaleTensor=f32[1,1,1,1] "
     "OutputZeroPointTensor=T[1,1,1,1]",
     kExact, kExact},
    {"QUANTIZE InputTensor=f32[2,3,8] QuantizationType=2 QuantizationTensors=[f32[1,3,2],T[1,3,2]] OutputTensor=T[2,3,8]", kExact, kExact},
    {"DEQUANTIZE InputTensor=T[2,3,8] QuantizationType=2 QuantizationTensors=[f32[1,3,2],T[1,3,2]] OutputTensor=f32[2,3,8]", kSum32,
     kSum16},
    {"MATRIX_MULTIPLY_INTEGER ATensor=T[2,3,5] AZeroPointTensor=T[3,1] BTensor=i8[2,5,4] BZeroPointTensor=i8[1,4] "
     "OutputTensor=i32[2,3,4]",
     kExact, kExact},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT ATensor=T[2,3,5] AScaleTensor=f32[3,1] AZeroPointTensor=T[3,1] BTensor=T[2,5,4] "
     "BScaleTensor=f32[1,4] BZeroPointTensor=T[1,4] BiasTensor=f32[2,3,4] OutputTensor=f32[2,3,4]",
     kSum32, kSum16},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY ATensor=T[2,3,5] AScaleTensor=f32[3,1] AZeroPointTensor=T[3,1] BTensor=i8[2,5,4] "
     "BScaleTensor=f32[1,4] BZeroPointTensor=i8[1,4] OutputScaleTensor=f32[1,1] OutputZeroPointTensor=T[1,1] "
     "OutputTensor=T[2,3,4]",
     kExact, kExact},
    {"CONVOLUTION_INTEGER InputTensor=T[2,4,5,6] InputZeroPointTensor=T[1,1,1,1] FilterTensor=i8[6,2,3,2] "
     "FilterZeroPointTensor=i8[1,6,1,1] OutputTensor=i32[2,6,3,3] Strides=[2,2] Dilations=[1,1] StartPadding=[1,0] "
     "EndPadding=[1,0] GroupCount=2",
     kExact, kExact},
    {"QUANTIZED_LINEAR_CONVOLUTION InputTensor=T[2,4,5,6] InputScaleTensor=f32[1,1,1,1] InputZeroPointTensor=T[1,1,1,1] "
     "FilterTensor=i8[6,2,3,2] FilterScaleTensor=f32[1,6,1,1] FilterZeroPointTensor=i8[1,6,1,1] BiasTensor=i32[1,6,1,1] "
     "OutputScaleTensor=f32[1,1,1,1] OutputZeroPointTensor=T[1,1,1,1] OutputTensor=T[2,6,3,3] Strides=[2,2] Dilations=[1,1] "
     "StartPadding=[1,0] EndPadding=[1,0] GroupCount=2",
     kExact, kExact},
    {"QUANTIZED_LINEAR_AVERAGE_POOLING InputTensor=T[1,2,5,6] InputScaleTensor=f32[1,1,1,1] InputZeroPointTensor=T[1,1,1,1] "
     "OutputScaleTensor=f32[1,1,1,1] OutputZeroPointTensor=T[1,1,1,1] OutputTensor=T[1,2,4,5] Strides=[1,1] WindowSize=[2,2] "
     "StartPadding=[0,0] EndPadding=[0,0] Dilations=[1,1] IncludePadding=0",
     kExact, kExact},
};

std::string NameOf(const char* text) { return std::string(text, std::strcspn(text, " ")); }

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

std::string WithType(const char* text, DML_TENSOR_DATA_TYPE type) {
  const std::string name = ShortName(type);
  std::string scalar = name + ":2";
  if (type == DML_TENSOR_DATA_TYPE_FLOAT16) scalar = "f16:16384";
  std::string out = text;
  for (const char* before : {"=", "[", ","}) out = Replace(out, std::string(before) + "T[", before + name + "[");
  return Replace(Replace(out, "=@", "=" + std::to_string(static_cast<int>(type))), "=$", "=" + scalar);
}

template <typename F>
void ForTensors(OperatorDesc& desc, FieldKind kind, F&& f) {
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    if (desc.schema->fields[i].kind != kind) continue;
    if (auto* one = std::get_if<std::optional<TensorDesc>>(&desc.fields[i])) {
      if (*one) f(**one, desc.schema->fields[i].name);
    } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&desc.fields[i])) {
      for (TensorDesc& t : *many) f(t, desc.schema->fields[i].name);
    }
  }
}

void SetStrides(TensorDesc& t, const std::array<uint32_t, kMaxRank>& strides) {
  t.has_strides = true;
  t.strides = strides;
  t.size_in_bytes = BufferTensorSize(t.data_type, t.rank, t.sizes.data(), t.strides.data());
}

void PadStrides(TensorDesc& t) {
  std::array<uint32_t, kMaxRank> strides{};
  uint32_t stride = 1;
  for (uint32_t d = t.rank; d-- > 0;) {
    strides[d] = stride;
    stride = stride * t.sizes[d] + (d + 1 == t.rank ? 3 : 1);
  }
  SetStrides(t, strides);
}

void TransposeStrides(TensorDesc& t) {
  std::array<uint32_t, kMaxRank> strides{};
  uint32_t stride = 1;
  for (uint32_t d = 0; d < t.rank; ++d) {
    strides[d] = stride;
    stride *= t.sizes[d];
  }
  SetStrides(t, strides);
}

// One value for the whole first dimension that has several.
void BroadcastStrides(TensorDesc& t) {
  TensorDesc packed = t;
  Pack(packed);
  for (uint32_t d = 0; d < t.rank; ++d)
    if (packed.sizes[d] > 1) {
      packed.strides[d] = 0;
      break;
    }
  SetStrides(t, packed.strides);
}

// A number generator that is the same everywhere.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed * 2654435761u + 12345u) {}
  uint32_t Next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  int64_t Between(int64_t low, int64_t high) { return low + static_cast<int64_t>(Next() % static_cast<uint32_t>(high - low + 1)); }

 private:
  uint32_t state_;
};

bool Contains(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

// A value for a tensor of that name: floats in eighths, so that every format holds them.
double RealFor(const OperatorDesc& desc, const char* tensor, size_t i, Numbers& n) {
  const char* name = desc.schema->name;
  if (Contains(tensor, "Scale") && (Contains(name, "QUANTIZE") || Contains(name, "INTEGER")))
    return std::ldexp(1.0, -static_cast<int>(n.Between(0, 2)));
  if (Contains(tensor, "Quantization")) return std::ldexp(1.0, -static_cast<int>(n.Between(0, 2)));
  if (Contains(tensor, "Weight") || Contains(tensor, "Recurrence")) return static_cast<double>(n.Between(-2, 2)) / 8;
  if (Contains(tensor, "ROI")) {
    const size_t width = Contains(name, "POOLING") ? 5 : 4, column = i % width;
    if (width == 5 && column == 0) return static_cast<double>(n.Between(0, 1));
    return static_cast<double>(column % width < width - 2 ? n.Between(0, 8) : n.Between(16, 32)) / 8;
  }
  // A range of 255 eighths: quotients are exact.
  if (!std::strcmp(name, "DYNAMIC_QUANTIZE_LINEAR"))
    return static_cast<double>(i % 60 == 0 ? -55 : i % 60 == 1 ? 200 : n.Between(-55, 200)) / 8;
  if (Contains(name, "LOG") && !Contains(name, "LOGICAL") && !Contains(name, "SOFTMAX")) return static_cast<double>(n.Between(1, 32)) / 8;
  if (Contains(name, "SQRT") || Contains(name, "RECIP") || Contains(tensor, "Variance")) return static_cast<double>(n.Between(2, 32)) / 8;
  if (Contains(name, "DIVIDE") && Contains(tensor, "B")) return static_cast<double>(n.Between(4, 32)) / 8;
  if (!std::strcmp(name, "ELEMENT_WISE_POW"))
    return Contains(tensor, "Exponent") ? static_cast<double>(n.Between(-2, 3)) : static_cast<double>(n.Between(2, 16)) / 8;
  if (!std::strcmp(name, "CAST")) {
    const DML_TENSOR_DATA_TYPE to = desc.Outputs()[0]->data_type;
    return static_cast<double>(n.Between(IsFloat(to) || IsSigned(to) ? -800 : 0, 800)) / 8;
  }
  if (!std::strcmp(name, "REDUCE") && desc.UInt("Function") == DML_REDUCE_FUNCTION_LOG_SUM)
    return static_cast<double>(n.Between(1, 16)) / 8;
  return static_cast<double>(n.Between(-16, 16)) / 8;
}

int64_t WholeFor(const OperatorDesc& desc, const char* tensor, const TensorDesc& t, size_t i, Numbers& n) {
  const char* name = desc.schema->name;
  if (Contains(name, "UNPOOLING") && Contains(tensor, "Indices")) return static_cast<int64_t>(3 * i + 1);
  if (Contains(tensor, "BatchIndices") && Contains(name, "GRAD") && desc.Outputs()[0])
    return n.Between(0, std::max<int64_t>(1, int64_t{desc.Outputs()[0]->sizes[0]} - 1));
  if (Contains(tensor, "BatchIndices") || Contains(tensor, "Mask")) return n.Between(0, 1);
  if (Contains(tensor, "SequenceLengths")) return n.Between(1, desc.Inputs()[0]->sizes[1]);
  if (Contains(name, "QUANTIZE") || Contains(name, "INTEGER")) return n.Between(IsSigned(t.data_type) ? -9 : 0, 9);
  const uint32_t bits = BitsPerElement(t.data_type);
  const bool is_signed = IsSigned(t.data_type);
  if (Contains(tensor, "Indices") && (Contains(name, "GATHER") || Contains(name, "ONE_HOT"))) {
    const bool gather = Contains(name, "GATHER");
    const TensorDesc& axis_of = gather ? *desc.Inputs()[0] : *desc.Outputs()[0];
    const int64_t size = axis_of.sizes[desc.UInt("Axis")];
    return n.Between(is_signed && gather ? -size : 0, size - 1);
  }
  if (Contains(tensor, "Condition")) return n.Between(0, 1);
  if (Contains(tensor, "State")) return static_cast<int64_t>(n.Next()) << 8 | n.Next() % 256;
  if (Contains(name, "SHIFT") && Contains(tensor, "B")) return n.Between(0, bits - 1);
  if (Contains(name, "DIVIDE") && Contains(tensor, "B")) return n.Between(1, 100);
  if (Contains(name, "POW")) return Contains(tensor, "Exponent") ? n.Between(0, 2) : n.Between(is_signed ? -5 : 0, 5);
  if (Contains(name, "LOGICAL_AND") || Contains(name, "LOGICAL_OR") || Contains(name, "LOGICAL_XOR") || Contains(name, "LOGICAL_NOT"))
    return n.Between(0, 1) ? n.Between(1, 100) : 0;
  if (Contains(name, "LOGICAL")) return n.Between(0, 3) + (bits == 64 && n.Next() % 2 ? (int64_t{1} << 62) : 0);
  if (!std::strcmp(name, "CAST")) {
    const DML_TENSOR_DATA_TYPE to = desc.Outputs()[0]->data_type;
    // 64-bit integers past 2^53 keep every bit among themselves.
    if (bits == 64 && BitsPerElement(to) == 64) return (int64_t{1} << 60) + static_cast<int64_t>(n.Next());
    return n.Between(is_signed && (IsFloat(to) || IsSigned(to)) ? -100 : 0, 100);
  }
  const bool whole_range = Contains(name, "ADD") || Contains(name, "SUBTRACT") || Contains(name, "MULTIPLY") || Contains(name, "DIVIDE") ||
                           Contains(name, "BIT_") || Contains(name, "MAX") || Contains(name, "MIN") || Contains(name, "IF") ||
                           Contains(name, "SLICE") || Contains(name, "JOIN") || Contains(name, "SPLIT") || Contains(name, "PADDING") ||
                           Contains(name, "GATHER") || Contains(name, "TILE") || Contains(name, "ONE_HOT");
  if (bits == 64 && (whole_range || Contains(name, "IDENTITY") || Contains(name, "NEGATE") || Contains(name, "REDUCE"))) {
    // Odd numbers past 2^53, not all of one sign.
    const int64_t large = (int64_t{1} << 55) + static_cast<int64_t>(n.Next()) * 2 + 1;
    return is_signed && n.Next() % 2 ? -large : large;
  }
  if (whole_range && !Contains(name, "IDENTITY")) {
    const int64_t value = static_cast<int64_t>(n.Next()) << 16 ^ n.Next();
    return Wrap(t.data_type, value);
  }
  return n.Between(is_signed ? -9 : 0, 9);
}

}  // namespace

std::vector<std::string> ExecutedOperators() {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    std::string name = NameOf(row.text);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool TableAllows(const OperatorDesc& desc, uint32_t level) {
  const OperatorSchema& s = *desc.schema;
  if (s.feature_level > level) return false;
  const uint32_t function = s.type == DML_OPERATOR_REDUCE ? desc.UInt("Function") : 0;
  for (size_t f = 0; f < desc.fields.size(); ++f) {
    std::vector<const TensorDesc*> tensors;
    if (auto* one = std::get_if<std::optional<TensorDesc>>(&desc.fields[f])) {
      if (*one) tensors.push_back(&**one);
    } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&desc.fields[f])) {
      for (const TensorDesc& t : *many) tensors.push_back(&t);
    }
    for (const TensorDesc* t : tensors) {
      uint32_t best = 0;
      bool allowed = false;
      for (int i = 0; i < s.support_count; ++i) {
        const SupportRow& row = s.support[i];
        if (row.field != static_cast<int>(f) || row.feature_level > level) continue;
        if (row.reduce_functions && !(row.reduce_functions >> function & 1)) continue;
        const bool holds = (row.data_types >> t->data_type & 1) && t->rank >= row.min_rank && t->rank <= row.max_rank;
        if (row.feature_level > best) {
          best = row.feature_level;
          allowed = holds;
        } else if (row.feature_level == best) {
          allowed = allowed || holds;
        }
      }
      if (!allowed) return false;
    }
  }
  return true;
}

OperatorDesc WithLayout(const OperatorDesc& desc, int layout) {
  OperatorDesc out = desc;
  auto change = [&](FieldKind kind, void (*set)(TensorDesc&)) {
    ForTensors(out, kind, [&](TensorDesc& t, const char*) {
      if (t.flags == 0) set(t);
    });
  };
  if (layout == 1) {
    change(FieldKind::Input, PadStrides);
    change(FieldKind::Output, TransposeStrides);
  } else if (layout == 2) {
    change(FieldKind::Input, TransposeStrides);
    change(FieldKind::Output, PadStrides);
  } else if (layout == 3) {
    change(FieldKind::Input, BroadcastStrides);
  }
  return out;
}

std::vector<OperatorCase> CasesOf(const std::string& operator_name, uint32_t level) {
  static const char* const kLayoutNames[] = {"packed", "padded in, transposed out", "transposed in, padded out", "broadcast in"};
  std::vector<OperatorCase> cases;
  for (const Row& row : kRows) {
    if (NameOf(row.text) != operator_name) continue;
    const bool varies = std::string(row.text).find("T[") != std::string::npos;
    for (uint32_t type = 1; type <= DML_TENSOR_DATA_TYPE_INT64; ++type) {
      if (!varies && type > 1) break;
      const DML_TENSOR_DATA_TYPE data_type = static_cast<DML_TENSOR_DATA_TYPE>(type);
      OperatorDesc desc = Parse(varies ? WithType(row.text, data_type) : std::string(row.text));
      if (!TableAllows(desc, level)) continue;
      const auto* scaled = desc.Has("ScaleBias") ? &desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias") : nullptr;
      // Integers round the scaled value in a way that is written nowhere; 64-bit types take no scale.
      if (scaled && *scaled && (!IsFloat(data_type) || data_type == DML_TENSOR_DATA_TYPE_FLOAT64)) continue;
      const auto* fused = desc.Has("FusedActivation") ? &desc.Get<std::shared_ptr<const OperatorDesc>>("FusedActivation") : nullptr;
      if (fused && *fused && !IsFloat(data_type)) continue;
      Tolerance tolerance = kExact;
      for (const TensorDesc* t : desc.Outputs())
        if (t && IsFloat(t->data_type)) tolerance = t->data_type == DML_TENSOR_DATA_TYPE_FLOAT16 ? row.f16 : row.f32;
      const bool state = operator_name == "RANDOM_GENERATOR" || operator_name.find("FILL_") == 0;
      for (int layout = 0; layout < kLayouts; ++layout) {
        if (layout == 3 && state) continue;
        cases.push_back({kLayoutNames[layout], WithLayout(desc, layout), tolerance});
      }
    }
  }
  return cases;
}

std::vector<Bytes> InputsFor(const OperatorDesc& desc, uint32_t seed) {
  Numbers numbers(seed);
  std::vector<Bytes> inputs;
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    if (desc.schema->fields[i].kind != FieldKind::Input) continue;
    const char* name = desc.schema->fields[i].name;
    auto add = [&](const TensorDesc& t) {
      inputs.push_back(IsFloat(t.data_type) ? Filled(t, [&](size_t k) { return RealFor(desc, name, k, numbers); })
                                            : FilledWhole(t, [&](size_t k) { return WholeFor(desc, name, t, k, numbers); }));
    };
    if (auto* one = std::get_if<std::optional<TensorDesc>>(&desc.fields[i])) {
      if (*one) add(**one);
      else inputs.emplace_back();
    } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&desc.fields[i])) {
      for (const TensorDesc& t : *many) add(t);
    }
  }
  return inputs;
}

std::vector<Values> Expected(const OperatorDesc& desc, const std::vector<Bytes>& inputs) {
  std::vector<Values> in, out;
  std::vector<const TensorDesc*> slots = desc.Inputs();
  for (size_t i = 0; i < slots.size(); ++i) in.push_back(slots[i] ? Unpack(inputs.at(i), *slots[i]) : Values());
  for (const TensorDesc* t : desc.Outputs()) out.push_back(t ? Blank(*t) : Values());
  if (!Evaluate({desc, in, out})) throw std::runtime_error(std::string("the reference does not know ") + desc.schema->name);
  return out;
}

}  // namespace dxtensor::test
