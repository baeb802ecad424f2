// Sizes at which fast kernels divide their work: blocks of a GEMM, parts for threads, tiles of a convolution. The random
// descriptions are too small for that.
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <thread>

#include "software/cpu/host/abandon.h"
#include "cases/operators.h"
#include "describe.h"
#include "kernel_run.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

const char* const kConvolution = " Mode=1 Direction=0 Strides=[1,1] Dilations=[1,1] OutputPadding=[0,0] ";

std::vector<std::string> Descriptions() {
  const std::string conv = kConvolution;
  const std::string pads = "StartPadding=[1,1] EndPadding=[1,1]", none = "StartPadding=[0,0] EndPadding=[0,0]";
  const std::string wide = " Strides=[1,1] WindowSize=[9,9] StartPadding=[4,4] EndPadding=[4,4]";
  const std::string row_sums =
      " ReductionFunction=2 InterpolationMode=0 SpatialScaleX=0.01 SpatialScaleY=0.01 InputPixelOffset=0 "
      "OutputPixelOffset=0 MinimumSamplesPerOutput=1 MaximumSamplesPerOutput=1 AlignRegionsToCorners=0";
  const std::string halves = " Strides=[2,2] WindowSize=[3,2] StartPadding=[1,1] EndPadding=[1,1]";
  return {
      // Rows for each thread, several blocks of columns and of depth.
      "GEMM ATensor=f32[1,1,300,500] BTensor=f32[1,1,500,700] CTensor=f32[1,1,300,700]/[0,0,0,1] OutputTensor=f32[1,1,300,700] Alpha=0.5 "
      "Beta=2",
      "GEMM ATensor=f32[1,1,230,410] BTensor=f32[1,1,330,410] OutputTensor=f32[1,1,230,330] Alpha=1 TransB=1",
      "GEMM ATensor=f32[1,1,410,230] BTensor=f32[1,1,410,90] OutputTensor=f32[1,1,230,90] Alpha=1 TransA=1",
      // Sums that are kept until they can be rounded; one A for a batch; few rows.
      "GEMM ATensor=f16[1,1,130,800] BTensor=f16[1,1,800,290] OutputTensor=f16[1,1,130,290] Alpha=1",
      "GEMM ATensor=f32[1,3,70,400]/[0,0,400,1] BTensor=f32[1,3,400,90] OutputTensor=f32[1,3,70,90] Alpha=1",
      "GEMM ATensor=f32[1,1,7,900] BTensor=f32[1,1,900,1030] OutputTensor=f32[1,1,7,1030] Alpha=1",
      // A matrix times a vector: along its rows and across them, in parts of k, in batches; vectors that are not contiguous float32.
      "GEMM ATensor=f32[1,1,1030,517] BTensor=f32[1,1,517,1] CTensor=f32[1,1,1030,1] OutputTensor=f32[1,1,1030,1] Alpha=0.5 Beta=2 "
      "FusedActivation={ACTIVATION_RELU}",
      "GEMM ATensor=f32[1,1,1,5003] BTensor=f32[1,1,5003,130] OutputTensor=f32[1,1,1,130] Alpha=1",
      "GEMM ATensor=f32[1,1,1,300] BTensor=f32[1,1,300,9001] CTensor=f32[1,1,1,9001]/[0,0,0,0] OutputTensor=f32[1,1,1,9001] Alpha=1 Beta=1",
      "GEMM ATensor=f32[1,1,3,70001] BTensor=f32[1,1,70001,1] OutputTensor=f32[1,1,3,1] Alpha=1",
      "GEMM ATensor=f32[2,3,400,120] BTensor=f32[2,3,400,1]/[3600,1200,3,1] OutputTensor=f32[2,3,120,1] Alpha=1 TransA=1",
      "GEMM ATensor=f32[1,4,1,90] BTensor=f32[1,4,77,90] OutputTensor=f32[1,4,1,77]/[400,100,100,1] Alpha=2 TransB=1",
      "GEMM ATensor=f32[1,40,1,90] BTensor=f32[1,40,90,50]/[0,0,50,1] CTensor=f32[1,40,1,50] OutputTensor=f32[1,40,1,50] Alpha=1 Beta=1",
      "GEMM ATensor=f32[1,1,1,1] BTensor=f32[1,1,1,70] OutputTensor=f32[1,1,1,70] Alpha=1",
      // Skinny GEMM (small M) with K-contiguous weights: partial tiles, in parts of K, in batches, copied.
      "GEMM ATensor=f32[1,1,2,517] BTensor=f32[1,1,1030,517] CTensor=f32[1,1,2,1030]/[0,0,0,1] OutputTensor=f32[1,1,2,1030] TransB=1 "
      "Alpha=0.5 Beta=2 FusedActivation={ACTIVATION_RELU}",
      "GEMM ATensor=f32[1,1,3,70001] BTensor=f32[1,1,5,70001] OutputTensor=f32[1,1,3,5] TransB=1 Alpha=1",
      "GEMM ATensor=f32[2,3,5,290]/[4500,1500,300,1] BTensor=f32[2,3,77,290] CTensor=f32[2,3,5,77]/[0,0,1,0] "
      "OutputTensor=f32[2,3,5,77]/[1500,500,80,1] TransB=1 Alpha=1 Beta=1",
      "GEMM ATensor=f32[1,4,260,11] BTensor=f32[1,4,70,260]/[0,30000,270,1] OutputTensor=f32[1,4,11,70] TransA=1 TransB=1 Alpha=1",
      "GEMM ATensor=f32[1,1,16,300] BTensor=f32[1,1,400,300] OutputTensor=f32[1,1,16,400] TransB=1 Alpha=1",
      // Operands that are read where they lie: few columns, and a small B.
      "GEMM ATensor=f32[1,1,61,900] BTensor=f32[1,1,900,50] OutputTensor=f32[1,1,61,50] Alpha=1",
      "GEMM ATensor=f32[3,2,64,64]/[9000,4500,70,1] BTensor=f32[3,2,64,64] OutputTensor=f32[3,2,64,64] Alpha=1",
      "GEMM ATensor=f32[1,1,800,230] BTensor=f32[1,1,800,333] CTensor=f32[1,1,230,333]/[0,0,0,1] OutputTensor=f32[1,1,230,333] TransA=1 "
      "Alpha=1 Beta=1 FusedActivation={ACTIVATION_THRESHOLDED_RELU Alpha=0}",
      "GEMM ATensor=f32[2,3,203,40] BTensor=f32[2,3,77,40] CTensor=f32[2,3,203,77]/[0,0,90,1] OutputTensor=f32[2,3,203,77] TransB=1 "
      "Alpha=1 "
      "Beta=1",
      "GEMM ATensor=f32[2,3,65,400] BTensor=f32[2,3,400,520] CTensor=f32[2,3,65,520]/[400000,110000,600,1] "
      "OutputTensor=f32[2,3,65,520]/[400000,120000,530,1] Alpha=0.5 Beta=1",
      "GEMM ATensor=f32[1,1,130,50] BTensor=f32[1,1,50,270] CTensor=f32[1,1,130,270]/[0,0,1,0] OutputTensor=f32[1,1,130,270] Alpha=1 "
      "Beta=1 "
      "FusedActivation={ACTIVATION_THRESHOLDED_RELU Alpha=0}",
      "GEMM ATensor=f16[1,1,230,800] BTensor=f16[1,1,800,77] CTensor=f16[1,1,230,77] OutputTensor=f16[1,1,230,77] Alpha=1 Beta=1",
      // No wider than a vector: with and without something to end, of rows that lie apart, of a batch, in halves.
      "GEMM ATensor=f32[1,1,1003,37] BTensor=f32[1,1,37,16] OutputTensor=f32[1,1,1003,16] Alpha=1",
      "GEMM ATensor=f32[1,1,700,16]/[0,0,19,1] BTensor=f32[1,1,16,16] CTensor=f32[1,1,700,16]/[0,0,0,1] OutputTensor=f32[1,1,700,16] "
      "TransB=1 Alpha=1 Beta=1 FusedActivation={ACTIVATION_THRESHOLDED_RELU Alpha=0}",
      "GEMM ATensor=f32[2,3,70,130] BTensor=f32[2,3,130,4] CTensor=f32[2,3,70,4] OutputTensor=f32[2,3,70,4] Alpha=1 Beta=0.5 "
      "FusedActivation={ACTIVATION_TANH}",
      "GEMM ATensor=f32[1,5,65,700] BTensor=f32[1,5,10,700]/[0,0,700,1] OutputTensor=f32[1,5,65,10]/[0,800,12,1] TransB=1 Alpha=1",
      // Much deeper than high and wide: in parts of the depth, with and without something to end.
      "GEMM ATensor=f32[1,1,9001,20] BTensor=f32[1,1,9001,43] OutputTensor=f32[1,1,20,43] TransA=1 Alpha=1",
      "GEMM ATensor=f32[1,1,70,7000] BTensor=f32[1,1,33,7000] CTensor=f32[1,1,70,33] OutputTensor=f32[1,1,70,33] TransB=1 Alpha=0.5 Beta=2 "
      "FusedActivation={ACTIVATION_SIGMOID}",
      "GEMM ATensor=f16[1,1,30,7000] BTensor=f16[1,1,7000,50] OutputTensor=f16[1,1,30,50] Alpha=1",
      "CONVOLUTION InputTensor=f32[1,130,7,7] FilterTensor=f32[75,130,3,3] OutputTensor=f32[1,75,7,7]" + conv + pads + " GroupCount=1",
      // Recurrent networks whose weights are kept as panels: in several blocks of depth, both ways, with the reset gate's own GEMM.
      "RNN InputTensor=f32[1,3,19,30] WeightTensor=f32[1,1,400,30] RecurrenceTensor=f32[1,1,400,400] OutputSequenceTensor=f32[3,1,19,400] "
      "OutputSingleTensor=f32[1,1,19,400] ActivationDescs=[{ACTIVATION_TANH}] Direction=0",
      "LSTM InputTensor=f32[1,4,20,33] WeightTensor=f32[1,2,280,33] RecurrenceTensor=f32[1,2,280,70] BiasTensor=f32[1,1,2,560] "
      "HiddenInitTensor=f32[1,2,20,70] CellMemInitTensor=f32[1,2,20,70] OutputSequenceTensor=f32[4,2,20,70] "
      "OutputSingleTensor=f32[1,2,20,70] OutputCellSingleTensor=f32[1,2,20,70] "
      "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH},{ACTIVATION_SIGMOID},{ACTIVATION_TANH},{ACTIVATION_TANH}] "
      "Direction=2",
      "GRU InputTensor=f32[1,3,5,17]/[300,100,19,1] WeightTensor=f32[1,1,159,17] RecurrenceTensor=f32[1,1,159,53] "
      "OutputSequenceTensor=f32[3,1,5,53] ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH}] Direction=1 LinearBeforeReset=0",
      "GRU InputTensor=f16[1,3,18,17] WeightTensor=f16[1,1,159,17] RecurrenceTensor=f16[1,1,159,53] OutputSingleTensor=f16[1,1,18,53] "
      "ActivationDescs=[{ACTIVATION_SIGMOID},{ACTIVATION_TANH}] Direction=0 LinearBeforeReset=1",
      // Sums over rows: in pieces of rows, of runs, and of wide rows.
      "REDUCE Function=10 InputTensor=f32[700,515] OutputTensor=f32[1,515] Axes=[0]",
      "REDUCE Function=2 InputTensor=f16[9,70,301] OutputTensor=f16[1,1,301] Axes=[0,1]",
      "REDUCE Function=10 InputTensor=f32[60,3,70,37] OutputTensor=f32[1,3,1,37] Axes=[0,2]",
      "REDUCE Function=10 InputTensor=f32[33,5001] OutputTensor=f32[1,5001] Axes=[0]",
      // Short rows, some at once: with and without a tail, far apart, as the runs of rows, written far apart.
      "REDUCE Function=2 InputTensor=f32[45,196] OutputTensor=f32[45,1] Axes=[1]",
      "REDUCE Function=10 InputTensor=f32[130,32]/[37,1] OutputTensor=f32[130,1]/[3,1] Axes=[1]",
      "REDUCE Function=3 InputTensor=f32[70,7] OutputTensor=f32[70,1] Axes=[1]",
      "REDUCE Function=4 InputTensor=f32[9,70,49] OutputTensor=f32[1,70,1] Axes=[0,2]",
      "REDUCE Function=11 InputTensor=f32[100,3,35]/[140,40,1] OutputTensor=f32[1,3,1] Axes=[0,2]",
      "REDUCE Function=7 InputTensor=f32[5,130,20] OutputTensor=f32[1,130,1] Axes=[0,2]",
      "REDUCE Function=8 InputTensor=f32[3,21,1000]/[40000,1500,1] OutputTensor=f32[3,21,1] Axes=[2]",
      "TOP_K1 InputTensor=f32[3,70,37]/[4000,40,1] OutputValueTensor=f32[3,70,1]/[70,1,1] OutputIndexTensor=u64[3,70,1] Axis=2 K=1 "
      "AxisDirection=1",
      "TOP_K1 InputTensor=f32[131,8] OutputValueTensor=f32[131,1]/[2,1] OutputIndexTensor=u32[131,1] Axis=1 K=1 AxisDirection=0",
      // Running maxima: of rows, of single ones, of rows in strips, along a leading axis.
      "MAX_POOLING2 InputTensor=u32[22,1,300,1] OutputTensor=u32[22,1,300,1] Strides=[1,1] WindowSize=[300,1] StartPadding=[299,0] "
      "EndPadding=[0,0] Dilations=[1,1]",
      "MAX_POOLING2 InputTensor=i64[3,1,70,1] OutputTensor=i64[3,1,70,1] Strides=[1,1] WindowSize=[100,1] StartPadding=[99,0] "
      "EndPadding=[0,0] Dilations=[1,1]",
      "MAX_POOLING2 InputTensor=u64[2,3,20,1100] OutputTensor=u64[2,3,20,1100] Strides=[1,1] WindowSize=[20,1] StartPadding=[19,0] "
      "EndPadding=[0,0] Dilations=[1,1]",
      "MAX_POOLING1 InputTensor=i32[2,3,20,90] OutputTensor=i32[2,3,20,90] Strides=[1,1] WindowSize=[1,90] StartPadding=[0,89] "
      "EndPadding=[0,0]",
      // Extremes of rows in blocks, with a tail; of half precision in parts of a row.
      "REDUCE Function=7 InputTensor=f32[37,2077] OutputTensor=f32[37,1] Axes=[1]",
      "REDUCE Function=8 InputTensor=f16[3,300001] OutputTensor=f16[3,1] Axes=[1]",
      "ARGMAX InputTensor=f32[37,2077] OutputTensor=u32[37,1] Axes=[1] AxisDirection=0",
      "GEMM ATensor=f32[1,1,1,4096] BTensor=f32[1,1,4096,300] OutputTensor=f32[1,1,1,300] Alpha=1",
      "TOP_K1 InputTensor=f32[1,700001] OutputValueTensor=f32[1,1] OutputIndexTensor=u32[1,1] Axis=1 K=1 AxisDirection=1",
      "TOP_K1 InputTensor=f32[2,300001] OutputValueTensor=f32[2,1] OutputIndexTensor=u64[2,1] Axis=1 K=1 AxisDirection=0",
      // Operands whose rows are read where they lie: blocks within a row, over its end, and over several ones.
      "ELEMENT_WISE_ADD ATensor=f32[70,1000] BTensor=f32[70,1000]/[0,1] OutputTensor=f32[70,1000]",
      "ELEMENT_WISE_MULTIPLY ATensor=f32[9,4100]/[4200,1] BTensor=f32[9,4100]/[1,0] OutputTensor=f32[9,4100]",
      "ELEMENT_WISE_ADD ATensor=i64[7,3001]/[3003,1] BTensor=i64[7,3001] OutputTensor=i64[7,3001]/[3002,1]",
      "ELEMENT_WISE_IF ConditionTensor=u8[5,2048]/[2050,1] ATensor=f32[5,2048]/[0,1] BTensor=f32[5,2048]/[2049,1] "
      "OutputTensor=f32[5,2048]",
      "ACTIVATION_RELU InputTensor=f32[3,5,1024]/[6000,1100,1] OutputTensor=f32[3,5,1024]/[6001,1101,1]",
      // Columns in the pitch of the input, with and without a copy; a single image, cut into pieces.
      "CONVOLUTION InputTensor=f32[9,5,30,33] FilterTensor=f32[14,5,3,3] BiasTensor=f32[1,14,1,1] OutputTensor=f32[9,14,28,31]" + conv +
          none + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[9,5,30,33] FilterTensor=f32[14,5,3,3] OutputTensor=f32[9,14,30,33]" + conv + pads + " GroupCount=1",
      "CONVOLUTION InputTensor=f16[9,6,30,33] FilterTensor=f16[14,3,3,3] OutputTensor=f16[9,14,30,33]" + conv + pads + " GroupCount=2",
      "CONVOLUTION InputTensor=f32[1,3,41,43] FilterTensor=f32[8,3,3,3] OutputTensor=f32[1,8,41,43]" + conv + pads + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[1,3,41,43] FilterTensor=f32[8,3,3,3] OutputTensor=f32[1,8,39,41]" + conv + none + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[2,10,25,27] FilterTensor=f32[10,1,3,3] OutputTensor=f32[2,10,25,27]" + conv + pads + " GroupCount=10",
      // Weight gradients for few channels: strides and dilations; rows that fill no vector; more outputs of a row than a tile has; a
      // reach
      // that no number holds.
      "CONVOLUTION InputTensor=f32[1,1,8,8] FilterTensor=f32[4,1,2,8] OutputTensor=f32[1,4,1,1] Mode=1 Direction=0 Strides=[1,1] "
      "Dilations=[4294967295,1073741824] StartPadding=[2147483648,4294967295] EndPadding=[2147483640,3221225466] OutputPadding=[0,0] "
      "GroupCount=1",
      "CONVOLUTION InputTensor=f32[1,9,28,29]/[812,812,29,1] FilterTensor=f32[16,9,28,29]/[812,12992,29,1] "
      "OutputTensor=f32[1,16,5,5]/[25,25,5,1] Mode=1 Direction=0 Strides=[1,1] Dilations=[1,1] StartPadding=[2,2] EndPadding=[2,2] "
      "OutputPadding=[0,0] GroupCount=1",
      "CONVOLUTION InputTensor=f32[3,5,61,64]/[3904,11712,64,1] FilterTensor=f32[21,5,31,32]/[992,20832,32,1] "
      "OutputTensor=f32[3,21,7,7]/[49,147,7,1] Mode=1 Direction=0 Strides=[1,1] Dilations=[2,2] StartPadding=[3,3] EndPadding=[3,2] "
      "OutputPadding=[0,0] GroupCount=1",
      "CONVOLUTION InputTensor=f32[2,70,14,24] FilterTensor=f32[5,70,12,16] OutputTensor=f32[2,5,3,9]" + conv + none + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[3,5,90,41] FilterTensor=f32[70,5,80,30] OutputTensor=f32[3,70,11,12]" + conv + none +
          " GroupCount=1 FusedActivation={ACTIVATION_SIGMOID}",
      "CONVOLUTION InputTensor=f32[1,130,30,3000] FilterTensor=f32[4,130,30,500] OutputTensor=f32[1,4,1,6] Mode=1 Direction=0 "
      "Strides=[1,500] "
      "Dilations=[1,1] StartPadding=[0,0] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=1",
      // Much to do with each of many columns.
      "CONVOLUTION InputTensor=f32[3,41,33,35] FilterTensor=f32[64,41,3,3] OutputTensor=f32[3,64,17,18] Mode=1 Direction=0 Strides=[2,2] "
      "Dilations=[1,1] StartPadding=[1,1] EndPadding=[1,1] OutputPadding=[0,0] GroupCount=1",
      // Every second position: phases of the input; one channel for one, by whole planes and by tiles of one image.
      "CONVOLUTION InputTensor=f32[2,3,61,64] FilterTensor=f32[20,3,7,7] BiasTensor=f32[1,20,1,1] OutputTensor=f32[2,20,31,32] Mode=1 "
      "Direction=0 Strides=[2,2] Dilations=[1,1] StartPadding=[3,3] EndPadding=[3,3] OutputPadding=[0,0] GroupCount=1 "
      "FusedActivation={ACTIVATION_RELU}",
      "CONVOLUTION InputTensor=f16[9,4,29,40] FilterTensor=f16[6,2,3,2] OutputTensor=f16[9,6,14,14] Mode=1 Direction=0 Strides=[2,3] "
      "Dilations=[1,1] StartPadding=[0,2] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=2",
      "CONVOLUTION InputTensor=f32[3,16,30,30] FilterTensor=f32[24,16,1,1] OutputTensor=f32[3,24,15,15] Mode=1 Direction=0 Strides=[2,2] "
      "Dilations=[1,1] StartPadding=[0,0] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=1",
      "CONVOLUTION InputTensor=f32[2,48,57,31] FilterTensor=f32[48,1,3,3] BiasTensor=f32[1,48,1,1] OutputTensor=f32[2,48,29,16] Mode=1 "
      "Direction=0 Strides=[2,2] Dilations=[1,1] StartPadding=[1,1] EndPadding=[1,1] OutputPadding=[0,0] GroupCount=48 "
      "FusedActivation={ACTIVATION_SIGMOID}",
      "CONVOLUTION InputTensor=f32[1,2,130,70] FilterTensor=f32[2,1,5,5] OutputTensor=f32[1,2,130,70]" + conv +
          "StartPadding=[2,2] EndPadding=[2,2] GroupCount=2",
      "CONVOLUTION InputTensor=f16[3,20,19,23] FilterTensor=f16[20,1,3,3] OutputTensor=f16[3,20,19,23]/[8740,1,460,20]" + conv + pads +
          " GroupCount=20",
      // Weight gradients: by parts of the batch, and with more rows and columns than that is good for.
      "CONVOLUTION InputTensor=f32[2,13,20,20]/[400,800,20,1] FilterTensor=f32[19,13,16,16]/[256,4864,16,1] "
      "OutputTensor=f32[2,19,5,5]/[25,50,5,1]" +
          conv + none + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[20,3,22,22]/[484,9680,22,1] FilterTensor=f32[30,3,22,22]/[484,14520,22,1] "
      "OutputTensor=f32[20,30,3,3]/[9,180,3,1]" +
          conv + pads + " GroupCount=1",
      // The same of 1 x 1 filters: by parts of the depth; contiguous rows, or rows read with stride 2.
      "CONVOLUTION InputTensor=f32[40,3,28,30]/[840,33600,30,1] FilterTensor=f32[21,3,28,30]/[840,17640,30,1] "
      "OutputTensor=f32[40,21,1,1]/[1,40,1,1]" +
          conv + none + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[70,4,28,28]/[784,54880,28,1] FilterTensor=f32[90,4,14,14]/[196,17640,14,1] "
      "OutputTensor=f32[70,90,1,1]/[1,70,1,1] Mode=1 Direction=0 Strides=[1,1] Dilations=[2,2] OutputPadding=[0,0] StartPadding=[0,0] "
      "EndPadding=[0,0] GroupCount=1",
      "CONVOLUTION InputTensor=f16[40,3,28,30] FilterTensor=f16[21,3,28,30] OutputTensor=f16[40,21,1,1]" + conv + none + " GroupCount=1",
      // The same of an outputs' gradient that is one number, as that of a sum: taps that all read one element.
      "CONVOLUTION InputTensor=f32[40,3,5,40]/[200,8000,40,1] FilterTensor=f32[21,3,5,40]/[0,0,0,0] "
      "OutputTensor=f32[40,21,1,1]/[1,40,1,1]" +
          conv + none + " GroupCount=1",
      "CONVOLUTION InputTensor=f32[4,2,28,28] FilterTensor=f32[8,2,28,28]/[0,0,0,0] OutputTensor=f32[4,8,3,3]" + conv + pads +
          " GroupCount=1",
      "CONVOLUTION InputTensor=f32[1,12,28,28] FilterTensor=f32[6,2,28,28]/[0,0,0,0] OutputTensor=f32[1,6,3,3]" + conv + pads +
          " GroupCount=6",
      "CONVOLUTION InputTensor=f16[4,2,28,28] FilterTensor=f16[8,2,14,14]/[0,0,0,0] OutputTensor=f16[4,8,3,3] Mode=1 Direction=0 "
      "Strides=[1,1] Dilations=[2,2] OutputPadding=[0,0] StartPadding=[1,1] EndPadding=[0,0] GroupCount=1",
      // The same of depthwise filters: strides and dilations, several rows and images, rows shorter than a vector, a fused
      // addition.
      "CONVOLUTION InputTensor=f32[1,15,28,28] FilterTensor=f32[5,3,28,28] OutputTensor=f32[1,5,3,3]" + conv + pads + " GroupCount=5",
      "CONVOLUTION InputTensor=f32[1,40,29,31]/[35960,899,31,1] FilterTensor=f32[20,2,15,16]/[240,4800,16,1] "
      "OutputTensor=f32[1,20,3,3]/[1,9,3,1] Mode=1 Direction=0 Strides=[1,1] Dilations=[2,2] OutputPadding=[0,0] StartPadding=[1,1] "
      "EndPadding=[1,1] GroupCount=20",
      "CONVOLUTION InputTensor=f32[2,9,41,70] FilterTensor=f32[6,3,38,66] OutputTensor=f32[2,6,3,5] Mode=1 Direction=0 Strides=[2,3] "
      "Dilations=[1,1] OutputPadding=[0,0] StartPadding=[1,4] EndPadding=[0,5] GroupCount=3 FusedActivation={ACTIVATION_RELU}",
      "CONVOLUTION InputTensor=f32[1,6,31,5] FilterTensor=f32[3,2,11,4] OutputTensor=f32[1,3,5,2] Mode=1 Direction=0 Strides=[2,1] "
      "Dilations=[3,1] OutputPadding=[0,0] StartPadding=[4,0] EndPadding=[4,0] GroupCount=3",
      "CONVOLUTION InputTensor=f32[1,2,8,40] FilterTensor=f32[1,2,2,8] OutputTensor=f32[1,1,1,1] Mode=1 Direction=0 Strides=[1,1] "
      "Dilations=[4294967295,1073741824] StartPadding=[2147483648,4294967295] EndPadding=[2147483640,3221225434] OutputPadding=[0,0] "
      "GroupCount=1",
      // Rows of more than one piece; few long rows, cut into parts of one run and into runs.
      "MEAN_VARIANCE_NORMALIZATION1 InputTensor=f32[7,9001] ScaleTensor=f32[1,9001] BiasTensor=f32[1,9001] OutputTensor=f32[7,9001] "
      "Axes=[1] NormalizeVariance=1 Epsilon=0.001",
      "MEAN_VARIANCE_NORMALIZATION1 InputTensor=f32[2,150001] ScaleTensor=f32[1,150001] OutputTensor=f32[2,150001] Axes=[1] "
      "NormalizeVariance=1 Epsilon=0.001",
      "MEAN_VARIANCE_NORMALIZATION2 InputTensor=f32[300,2,5,83] BiasTensor=f32[1,2,1,83] OutputTensor=f32[300,2,5,83] Axes=[0,2,3] "
      "UseMean=0 UseVariance=1 Epsilon=0.001 FusedActivation={ACTIVATION_RELU}",
      "BATCH_NORMALIZATION_TRAINING InputTensor=f32[5,3,50,53] ScaleTensor=f32[1,3,1,1] BiasTensor=f32[1,3,1,1] "
      "FusedAddTensor=f32[5,3,50,53] OutputTensor=f32[5,3,50,53] OutputMeanTensor=f32[1,3,1,1] OutputVarianceTensor=f32[1,3,1,1] "
      "Epsilon=0.001",
      "BATCH_NORMALIZATION_TRAINING_GRAD InputTensor=f32[5,3,50,53] InputGradientTensor=f32[5,3,50,53] MeanTensor=f32[1,3,1,1] "
      "VarianceTensor=f32[1,3,1,1] ScaleTensor=f32[1,3,1,1] OutputGradientTensor=f32[5,3,50,53] OutputScaleGradientTensor=f32[1,3,1,1] "
      "OutputBiasGradientTensor=f32[1,3,1,1] Epsilon=0.001",
      // More elements than one block; strides of two, rows of more than one vector.
      "MAX_POOLING InputTensor=f32[1,3,40,41] OutputTensor=f32[1,3,40,41]" + wide,
      "MAX_POOLING_GRAD InputTensor=f32[1,3,40,41] InputGradientTensor=f32[1,3,40,41] OutputGradientTensor=f32[1,3,40,41]" + wide,
      "AVERAGE_POOLING InputTensor=f32[1,3,40,41] OutputTensor=f32[1,3,40,41] IncludePadding=0" + wide,
      "AVERAGE_POOLING InputTensor=f16[2,3,45,71] OutputTensor=f16[2,3,23,36] IncludePadding=1" + halves,
      "AVERAGE_POOLING InputTensor=f32[5,3,21,37] OutputTensor=f32[5,3,1,1] IncludePadding=0 Strides=[21,37] WindowSize=[21,37] "
      "StartPadding=[0,0] EndPadding=[0,0]",
      "MAX_POOLING2 InputTensor=f32[2,3,45,71] OutputTensor=f32[2,3,15,24] Dilations=[2,3] Strides=[3,3] WindowSize=[3,2] "
      "StartPadding=[1,1] EndPadding=[1,1]",
      "MAX_POOLING InputTensor=f32[2,3,45,71] OutputTensor=f32[2,3,23,36]" + halves,
      "MAX_POOLING1 InputTensor=f32[2,3,45,71] OutputTensor=f32[2,3,23,36] OutputIndicesTensor=u32[2,3,23,36]" + halves,
      "MAX_POOLING_GRAD InputTensor=f32[2,3,45,71] InputGradientTensor=f32[2,3,23,36] OutputGradientTensor=f32[2,3,45,71]" + halves,
      // Rows that all threads sort: whole, in part, and a few of them; many equal keys, and keys of 64 bits.
      "TOP_K1 InputTensor=f32[90001] OutputValueTensor=f32[90001] OutputIndexTensor=u32[90001] Axis=0 K=90001 AxisDirection=0",
      "TOP_K1 InputTensor=f16[3,50003]/[1,3] OutputValueTensor=f16[3,20000] OutputIndexTensor=u32[3,20000] Axis=1 K=20000 AxisDirection=1",
      "TOP_K1 InputTensor=f32[280001] OutputValueTensor=f32[700] OutputIndexTensor=u32[700] Axis=0 K=700 AxisDirection=0",
      "TOP_K1 InputTensor=f32[5,3001] OutputValueTensor=f32[5,20] OutputIndexTensor=u32[5,20] Axis=1 K=20 AxisDirection=0",
      "TOP_K1 InputTensor=f32[5,3001] OutputValueTensor=f32[5,20] OutputIndexTensor=u32[5,20] Axis=1 K=20 AxisDirection=1",
      "TOP_K1 InputTensor=u8[70001,1] OutputValueTensor=u8[70001,1] OutputIndexTensor=u32[70001,1] Axis=0 K=70001 AxisDirection=1",
      "TOP_K1 InputTensor=i64[50001] OutputValueTensor=i64[50001] OutputIndexTensor=u32[50001] Axis=0 K=50001 AxisDirection=1",
      "TOP_K1 InputTensor=f32[70,4001] OutputValueTensor=f32[70,32] OutputIndexTensor=u32[70,32] Axis=1 K=32 AxisDirection=1",
      "TOP_K InputTensor=f32[1,1,700,40] OutputValueTensor=f32[1,1,700,40] OutputIndexTensor=u32[1,1,700,40] Axis=2 K=700",
      // Padding: rows in pieces, on all sides of planes, pads longer than the row, along other dimensions than the last one,
      // rows whose constant padding continues into the next row.
      "PADDING1 InputTensor=f32[3,70001] OutputTensor=f32[5,70013] PaddingMode=2 PaddingValueDataType=1 StartPadding=[1,5] "
      "EndPadding=[1,7]",
      "PADDING1 InputTensor=u8[2,50001] OutputTensor=u8[3,150007] PaddingMode=4 PaddingValueDataType=7 StartPadding=[0,50003] "
      "EndPadding=[1,50003]",
      "PADDING1 InputTensor=f16[3,5,40,57] OutputTensor=f16[4,6,43,63] PaddingMode=3 PaddingValueDataType=2 StartPadding=[1,0,2,4] "
      "EndPadding=[0,1,1,2]",
      "PADDING1 InputTensor=i64[3,65,20,21] OutputTensor=i64[3,65,24,22]/[34320,1,1430,65] PaddingMode=1 PaddingValueDataType=9 "
      "StartPadding=[0,0,3,1] EndPadding=[0,0,1,0]",
      "PADDING1 InputTensor=f32[9,5,40,51] OutputTensor=f32[9,8,43,51] PaddingMode=0 PaddingValueDataType=1 PaddingValue=f32:2.5 "
      "StartPadding=[0,1,2,0] EndPadding=[0,2,1,0]",
      // Copies backwards and of every second element, of all widths; rows that end inside a vector.
      "SLICE1 InputTensor=f32[40,3001] OutputTensor=f32[40,3001] InputWindowOffsets=[0,0] InputWindowSizes=[40,3001] "
      "InputWindowStrides=[1,-1]",
      "SLICE1 InputTensor=f16[40,301] OutputTensor=f16[40,299] InputWindowOffsets=[0,1] InputWindowSizes=[40,299] "
      "InputWindowStrides=[1,-1]",
      "SLICE1 InputTensor=u8[40,301] OutputTensor=u8[40,299] InputWindowOffsets=[0,1] InputWindowSizes=[40,299] InputWindowStrides=[1,-1]",
      "SLICE1 InputTensor=i64[40,301] OutputTensor=i64[40,299] InputWindowOffsets=[0,1] InputWindowSizes=[40,299] "
      "InputWindowStrides=[1,-1]",
      "SLICE1 InputTensor=f32[40,3001] OutputTensor=f32[40,1500] InputWindowOffsets=[0,1] InputWindowSizes=[40,3000] "
      "InputWindowStrides=[1,2]",
      "JOIN InputTensors=[f32[300,1021],f32[300,3],f32[300,90]] OutputTensor=f32[300,1114] Axis=1",
      // Gathering by elements: rows in pieces, along the axis and across it.
      "GATHER_ELEMENTS InputTensor=f32[3,70001] IndicesTensor=i32[3,70003] OutputTensor=f32[3,70003] Axis=1",
      "GATHER_ELEMENTS InputTensor=f16[50,700] IndicesTensor=i64[170,700] OutputTensor=f16[170,700] Axis=0",
      "GATHER InputTensor=f32[200,3,301] IndicesTensor=i32[1,1,400] OutputTensor=f32[200,3,400] Axis=2 IndexDimensions=1",
      "GATHER InputTensor=f32[70,90000] IndicesTensor=i64[1,4] OutputTensor=f32[4,90000] Axis=0 IndexDimensions=1",
      // Running sums and products: rows in strips, rows together and in parts, partial blocks.
      "CUMULATIVE_SUMMATION InputTensor=f32[50,3,1301] OutputTensor=f32[50,3,1301] Axis=0 AxisDirection=1 HasExclusiveSum=0",
      "CUMULATIVE_PRODUCT InputTensor=f16[5,60,701] OutputTensor=f16[5,60,701] Axis=1 AxisDirection=0 HasExclusiveProduct=1",
      "CUMULATIVE_SUMMATION InputTensor=i32[70,1100] OutputTensor=i32[70,1100] Axis=0 AxisDirection=0 HasExclusiveSum=1",
      "CUMULATIVE_SUMMATION InputTensor=f32[203,701] OutputTensor=f32[203,701] Axis=1 AxisDirection=1 HasExclusiveSum=1",
      "CUMULATIVE_PRODUCT InputTensor=f32[13,2701] OutputTensor=f32[13,2701] Axis=1 AxisDirection=0 HasExclusiveProduct=0",
      "CUMULATIVE_SUMMATION InputTensor=f32[1,300001] OutputTensor=f32[1,300001] Axis=1 AxisDirection=0 HasExclusiveSum=1",
      "CUMULATIVE_SUMMATION InputTensor=i64[2,150001] OutputTensor=i64[2,150001] Axis=1 AxisDirection=1 HasExclusiveSum=0",
      "CUMULATIVE_SUMMATION InputTensor=f16[3,90001]/[1,3] OutputTensor=f16[3,90001] Axis=1 AxisDirection=1 HasExclusiveSum=1",
      // Resampling whose vectors read within one, and some that do not; gradients.
      "RESAMPLE1 InputTensor=f32[3,5,28,45] OutputTensor=f32[3,5,56,90] InterpolationMode=1 Scales=[1,1,2,2] "
      "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
      "RESAMPLE1 InputTensor=f32[3,5,28,45] OutputTensor=f32[3,5,28,77] InterpolationMode=1 Scales=[1,1,1,1.71111] "
      "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
      "RESAMPLE1 InputTensor=f32[3,5,28,145] OutputTensor=f32[3,5,20,58] InterpolationMode=1 Scales=[1,1,0.71,0.4] "
      "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
      "RESAMPLE1 InputTensor=f32[3,5,8,13] OutputTensor=f32[3,5,24,39] InterpolationMode=0 Scales=[1,1,3,3] "
      "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
      "RESAMPLE_GRAD InputGradientTensor=f32[3,5,56,90] OutputGradientTensor=f32[3,5,28,45] InterpolationMode=1 Scales=[1,1,2,2] "
      "InputPixelOffsets=[0.5,0.5,0.5,0.5] OutputPixelOffsets=[-0.5,-0.5,-0.5,-0.5]",
      // Sums of rows, and of single numbers.
      "ROI_ALIGN_GRAD InputGradientTensor=f32[1500,90,1,1] ROITensor=f32[1500,4]/[0,0] BatchIndicesTensor=u32[1500] "
      "OutputGradientTensor=f32[2,90,1,1]" +
          row_sums,
      "ROI_ALIGN_GRAD InputGradientTensor=f32[60000,1,1,1] ROITensor=f32[60000,4]/[0,0] BatchIndicesTensor=u32[60000] "
      "OutputGradientTensor=f32[9000000,1,1,1]" +
          row_sums,
      // Rows with few regions; indices of distant numbers, and of adjacent ones only.
      "ROI_ALIGN_GRAD InputGradientTensor=f32[3000,601,1,1] ROITensor=f32[3000,4]/[0,0] BatchIndicesTensor=u32[3000] "
      "OutputGradientTensor=f32[2001,601,1,1]/[610,1,1,1]" +
          row_sums,
      "ROI_ALIGN_GRAD InputGradientTensor=f32[60000,1,1,1] ROITensor=f32[60000,4]/[0,0] BatchIndicesTensor=u32[60000] "
      "OutputGradientTensor=f32[30001,1,1,1]/[2,1,1,1]" +
          row_sums,
      "ROI_ALIGN_GRAD InputGradientTensor=f32[60000,1,1,1] ROITensor=f32[60000,4]/[0,0] BatchIndicesTensor=u32[60000] "
      "OutputGradientTensor=f32[9001,1,1,1]" +
          row_sums,
  };
}

void LargeSizes(Suite& suite) {
  const std::vector<std::string> descriptions = Descriptions();
  for (size_t k = 0; k < descriptions.size(); k += suite.every) {
    const std::string& text = descriptions[k];
    const schema::OperatorDesc desc = Parse(text);
    bool compared = false;
    const std::string difference = CompareKernels(desc, InputsFor(desc, suite.seed), &compared);
    if (!difference.empty()) throw Failure{difference + ": " + text};
    if (!compared) throw Failure{"no fast kernel: " + text};
  }
}

// Whether the kernel was left before its end. after: microseconds until its work is abandoned, from which point any thread may leave it.
bool IsLeft(const software::Kernel& kernel, const schema::OperatorDesc& desc, const std::vector<Bytes>& inputs, int after) {
  std::atomic<bool> is_abandoned{after == 0};
  std::thread other([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(after);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    is_abandoned = true;
  });
  bool is_left = false;
  try {
    const software::AbandonScope scope(&is_abandoned, true);
    RunKernel(kernel, desc, inputs);
  } catch (const software::Abandoned&) {
    is_left = true;
  }
  other.join();
  return is_left;
}

// Work that is abandoned ends at once, at any moment, and leaves nothing behind: the next run is right.
void AbandonedWork(Suite& suite) {
  unsigned plain_left = 0, fast_left = 0, count = 0;
  const std::vector<std::string> descriptions = Descriptions();
  for (size_t k = 0; k < descriptions.size(); k += suite.every) {
    const std::string& text = descriptions[k];
    const schema::OperatorDesc desc = Parse(text);
    const std::vector<Bytes> inputs = InputsFor(desc, suite.seed);
    const auto plain = software::MakePlainKernel(desc), fast = software::MakeFastKernel(desc);
    const std::vector<Bytes> expected = RunKernel(*fast, desc, inputs);
    plain_left += IsLeft(*plain, desc, inputs, 0);
    fast_left += IsLeft(*fast, desc, inputs, 0);
    for (const int after : {20, 200}) IsLeft(*fast, desc, inputs, after);
    if (RunKernel(*fast, desc, inputs) != expected) throw Failure{"after work that was abandoned it gives something else: " + text};
    ++count;
  }
  std::printf("abandoned at once: %u of %u plain kernels and %u fast ones end before they are done\n", plain_left, count, fast_left);
  CHECK(plain_left > count * 3 / 4);
  CHECK(fast_left > count / 2);
}

// What is infinite is in the sums that read it, and in no other, although planes are multiplied across the ends of their rows.
void InfiniteElements(Suite& suite) {
  const schema::OperatorDesc desc = Parse(
      "CONVOLUTION InputTensor=f32[1,6,9,12] FilterTensor=f32[3,2,9,12] OutputTensor=f32[1,3,3,3] Mode=1 Direction=0 Strides=[1,1] "
      "Dilations=[1,1] OutputPadding=[0,0] StartPadding=[1,1] EndPadding=[1,1] GroupCount=3");
  for (const size_t at : {0, 11, 12, 8 * 12, 9 * 12 - 1})
    for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<Bytes> inputs = InputsFor(desc, suite.seed);
      std::memcpy(inputs[0].data() + at * sizeof(float), &value, sizeof(float));
      bool compared = false;
      const std::string difference = CompareKernels(desc, inputs, &compared);
      if (!compared) throw Failure{"no fast kernel"};
      if (!difference.empty()) throw Failure{difference + ": index " + std::to_string(at) + " is " + std::to_string(value)};
    }
}

// Indices that are out of range give what lies at their address, and 0 outside of the tensor.
void IndicesOutOfRange(Suite& suite) {
  for (const char* text : {"GATHER_ELEMENTS InputTensor=f32[6,9] IndicesTensor=i32[6,40] OutputTensor=f32[6,40] Axis=1",
                           "GATHER_ELEMENTS InputTensor=f32[6,9] IndicesTensor=i64[40,9] OutputTensor=f32[40,9] Axis=0",
                           "GATHER_ELEMENTS InputTensor=u8[6,9] IndicesTensor=u32[40,9] OutputTensor=u8[40,9]/[1,40] Axis=0",
                           "GATHER InputTensor=f16[6,9] IndicesTensor=i32[1,40] OutputTensor=f16[6,40] Axis=1 IndexDimensions=1",
                           "GATHER InputTensor=f32[6,9] IndicesTensor=i32[1,40] OutputTensor=f32[40,9] Axis=0 IndexDimensions=1"}) {
    const schema::OperatorDesc desc = Parse(text);
    std::vector<Bytes> inputs = InputsFor(desc, suite.seed);
    const size_t bytes = schema::BytesPerElement(desc.Inputs()[1]->data_type);
    const int64_t odd[] = {-1, 9, -9, -10, 53, 54, 60, -60, 1 << 30, -(1 << 30), std::numeric_limits<int32_t>::min()};
    for (size_t i = 0; (i + 1) * bytes <= inputs[1].size(); i += 3)
      std::memcpy(inputs[1].data() + i * bytes, &odd[i % std::size(odd)], bytes);
    bool compared = false;
    const std::string difference = CompareKernels(desc, inputs, &compared);
    if (!compared) throw Failure{std::string("no fast kernel: ") + text};
    if (!difference.empty()) throw Failure{difference + ": " + text};
  }
}

// Sums of numbers whose indices are near their own, and of some that have none.
void AdjacentIndices(Suite& suite) {
  const schema::OperatorDesc desc = Parse(
      "ROI_ALIGN_GRAD InputGradientTensor=f32[50000,1,1,1] ROITensor=f32[50000,4]/[0,0] BatchIndicesTensor=u32[50000] "
      "OutputGradientTensor=f32[40000,1,1,1] ReductionFunction=2 InterpolationMode=0 SpatialScaleX=0.01 SpatialScaleY=0.01 "
      "InputPixelOffset=0 "
      "OutputPixelOffset=0 MinimumSamplesPerOutput=1 MaximumSamplesPerOutput=1 AlignRegionsToCorners=0");
  std::vector<Bytes> inputs = InputsFor(desc, suite.seed);
  std::mt19937 random(suite.seed);
  for (uint32_t i = 0; i < 50000; ++i) {
    const uint32_t index = random() % 50 == 0 ? 0xffffffff : i / 1000 * 800 + random() % 1000;
    std::memcpy(inputs[3].data() + i * sizeof index, &index, sizeof index);
  }
  bool compared = false;
  const std::string difference = CompareKernels(desc, inputs, &compared);
  if (!compared) throw Failure{"no fast kernel"};
  if (!difference.empty()) throw Failure{difference};
}

const bool kRegistered = [] {
  Register("fast against plain: sums at adjacent indices", AdjacentIndices);
  Register("fast against plain: indices out of range", IndicesOutOfRange);
  Register("fast against plain: sizes that are divided", LargeSizes);
  Register("fast against plain: infinite elements of planes", InfiniteElements);
  Register("work that is abandoned", AbandonedWork);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
