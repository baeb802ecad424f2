// Descriptions that CreateOperator and CompileOperator accept, and those that they refuse.
#include "cases/operators.h"
#include "check.h"
#include "describe.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

struct Refused {
  const char* why;
  const char* text;
};

const Refused kRefused[] = {
    {"the sizes differ", "ELEMENT_WISE_ADD ATensor=f32[1,1,4,4] BTensor=f32[1,1,4,8] OutputTensor=f32[1,1,4,4]"},
    {"the data types differ", "ELEMENT_WISE_ADD ATensor=f32[1,1,4,4] BTensor=i32[1,1,4,4] OutputTensor=f32[1,1,4,4]"},
    {"the dimension counts differ", "ELEMENT_WISE_ADD ATensor=f32[1,1,4,4] BTensor=f32[1,4,4] OutputTensor=f32[1,1,4,4]"},
    {"ADD of FLOAT64", "ELEMENT_WISE_ADD ATensor=f64[4] BTensor=f64[4] OutputTensor=f64[4]"},
    {"a required tensor is null", "ELEMENT_WISE_ADD ATensor=f32[4] OutputTensor=f32[4]"},
    {"every tensor is null", "BATCH_NORMALIZATION"},
    {"a size is 0", "ELEMENT_WISE_ADD ATensor=f32[4,0] BTensor=f32[4,0] OutputTensor=f32[4,0]"},
    {"TotalTensorSizeInBytes is too small", "ELEMENT_WISE_ADD ATensor=f32[4,4]#60 BTensor=f32[4,4] OutputTensor=f32[4,4]"},
    {"an output is broadcast", "ELEMENT_WISE_ADD ATensor=f32[4,4] BTensor=f32[4,4] OutputTensor=f32[4,4]/[0,1]"},
    {"an output is OWNED_BY_DML", "ELEMENT_WISE_ADD ATensor=f32[4,4] BTensor=f32[4,4] OutputTensor=f32[4,4]!"},
    {"GEMM: the inner sizes differ", "GEMM ATensor=f32[1,1,4,4] BTensor=f32[1,1,5,4] OutputTensor=f32[1,1,4,4] Alpha=1"},
    {"GEMM of INT8", "GEMM ATensor=i8[1,1,4,4] BTensor=i8[1,1,4,4] OutputTensor=i8[1,1,4,4] Alpha=1"},
    {"GEMM with 5 dimensions", "GEMM ATensor=f32[1,1,1,4,4] BTensor=f32[1,1,1,4,4] OutputTensor=f32[1,1,1,4,4] Alpha=1"},
    {"GEMM: unknown transform", "GEMM ATensor=f32[1,1,4,4] BTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4] TransA=7 Alpha=1"},
    {"GEMM: an operator that is no activation",
     "GEMM ATensor=f32[1,1,4,4] BTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4] Alpha=1 FusedActivation={ELEMENT_WISE_ABS}"},
    {"GEMM: a fused activation with tensors",
     "GEMM ATensor=f32[1,1,4,4] BTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4] Alpha=1 "
     "FusedActivation={ACTIVATION_RELU InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4]}"},
    {"CONVOLUTION: no filter",
     "CONVOLUTION InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4] Strides=[1,1] Dilations=[1,1] StartPadding=[0,0] EndPadding=[0,0] "
     "OutputPadding=[0,0] GroupCount=1"},
    {"CONVOLUTION: GroupCount 0",
     "CONVOLUTION InputTensor=f32[1,1,4,4] FilterTensor=f32[1,1,1,1] OutputTensor=f32[1,1,4,4] Strides=[1,1] Dilations=[1,1] "
     "StartPadding=[0,0] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=0"},
    {"REDUCE: axis out of range", "REDUCE Function=10 InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,1] Axes=[7]"},
    {"REDUCE: unknown function", "REDUCE Function=99 InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,1] Axes=[3]"},
    {"REDUCE: output of other sizes", "REDUCE Function=10 InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4] Axes=[3]"},
    {"SLICE1 outside the input",
     "SLICE1 InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,4] InputWindowOffsets=[0,0,2,0] InputWindowSizes=[1,1,4,4] "
     "InputWindowStrides=[1,1,1,1]"},
    {"SLICE1 with stride 0",
     "SLICE1 InputTensor=f32[4] OutputTensor=f32[4] InputWindowOffsets=[0] InputWindowSizes=[4] InputWindowStrides=[0]"},
    {"GATHER with float indices",
     "GATHER InputTensor=f32[1,1,4,4] IndicesTensor=f32[1,1,1,4] OutputTensor=f32[1,1,4,4] Axis=2 IndexDimensions=1"},
    {"GATHER: axis out of range",
     "GATHER InputTensor=f32[1,1,4,4] IndicesTensor=u32[1,1,1,4] OutputTensor=f32[1,1,4,4] Axis=4 IndexDimensions=1"},
    {"JOIN of none", "JOIN OutputTensor=f32[1,1,4,4] Axis=2"},
    {"JOIN: the sizes do not add up", "JOIN InputTensors=[f32[1,1,4,4],f32[1,1,4,4]] OutputTensor=f32[1,1,7,4] Axis=2"},
    {"SPLIT: another axis differs", "SPLIT InputTensor=f32[1,1,8,4] OutputTensors=[f32[1,1,4,4],f32[1,1,4,3]] Axis=2"},
    {"PADDING1: value of another data type",
     "PADDING1 InputTensor=f32[4] OutputTensor=f32[6] PaddingMode=0 PaddingValueDataType=6 StartPadding=[1] EndPadding=[1]"},
    {"PADDING1: the sizes do not follow",
     "PADDING1 InputTensor=f32[4] OutputTensor=f32[7] PaddingMode=0 PaddingValueDataType=1 StartPadding=[1] EndPadding=[1]"},
    {"FILL_VALUE_CONSTANT: value of another data type", "FILL_VALUE_CONSTANT OutputTensor=f32[4] ValueDataType=6"},
    {"TOP_K1: K over the axis",
     "TOP_K1 InputTensor=f32[1,1,4,4] OutputValueTensor=f32[1,1,4,9] OutputIndexTensor=u32[1,1,4,9] Axis=3 K=9 AxisDirection=1"},
    {"SOFTMAX with three dimensions that are not 1", "ACTIVATION_SOFTMAX InputTensor=f32[1,2,3,4] OutputTensor=f32[1,2,3,4]"},
    {"64-bit integers with a scale", "ELEMENT_WISE_IDENTITY InputTensor=i64[4] OutputTensor=i64[4] ScaleBias=2:1"},
    {"RANDOM_GENERATOR: a state of 5", "RANDOM_GENERATOR InputStateTensor=u32[5] OutputTensor=u32[8]"},
    {"LSTM without anything", "LSTM"},
    {"MULTIHEAD_ATTENTION without anything", "MULTIHEAD_ATTENTION HeadCount=1"},
};

const char* const kAccepted[] = {
    "ELEMENT_WISE_ADD ATensor=f32[2,3,4] BTensor=f32[2,3,4] OutputTensor=f32[2,3,4]",
    "GEMM ATensor=f32[2,3,4] BTensor=f32[2,4,5] OutputTensor=f32[2,3,5] Alpha=1",
    "REDUCE Function=10 InputTensor=f32[1,1,4,4] OutputTensor=f32[1,1,4,1] Axes=[3,3]",
    // Sizes that do not follow from the window.
    ("CONVOLUTION InputTensor=f32[1,1,4,4] FilterTensor=f32[1,1,3,3] OutputTensor=f32[1,1,4,4] Strides=[1,1] Dilations=[1,1] "
     "StartPadding=[0,0] EndPadding=[0,0] OutputPadding=[0,0] GroupCount=1"),
    "ELEMENT_WISE_ADD ATensor=f32[4,4]#66 BTensor=f32[4,4]#1024 OutputTensor=f32[4,4]",
};

}  // namespace

TEST(create_refuses) {
  Gpu& gpu = suite.gpu();
  for (const Refused& refused : kRefused) {
    Ref<IDMLOperator> op;
    HRESULT hr = gpu.Create(Parse(refused.text), op);
    if (hr != E_INVALIDARG || op)
      throw Failure{std::string(refused.why) + ": " + std::to_string(static_cast<uint32_t>(hr)) + ": " + refused.text};
  }
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
}

TEST(create_accepts) {
  Gpu& gpu = suite.gpu();
  for (const char* text : kAccepted) {
    Ref<IDMLOperator> op;
    HRESULT hr = gpu.Create(Parse(text), op);
    if (FAILED(hr)) throw Failure{std::to_string(static_cast<uint32_t>(hr)) + ": " + text};
  }
}

TEST(create_odd_descriptions) {
  Gpu& gpu = suite.gpu();
  schema::OperatorDesc add = Parse("ELEMENT_WISE_ADD ATensor=f32[4] BTensor=f32[4] OutputTensor=f32[4]");
  Ref<IDMLOperator> op;
  auto with = [&](auto change) {
    schema::OperatorDesc desc = add;
    change(*std::get<std::optional<schema::TensorDesc>>(desc.fields[0]));
    return gpu.Create(desc, op);
  };
  CHECK_HR(with([](schema::TensorDesc& t) { t.data_type = static_cast<DML_TENSOR_DATA_TYPE>(99); }), E_INVALIDARG);
  CHECK_HR(with([](schema::TensorDesc& t) { t.flags = 0x80; }), E_INVALIDARG);
  CHECK_HR(with([](schema::TensorDesc& t) { t.alignment = 4; }), E_INVALIDARG);
  CHECK_HR(with([](schema::TensorDesc& t) { t.alignment = 48; }), E_INVALIDARG);
  CHECK_OK(with([](schema::TensorDesc& t) { t.alignment = 256; }));
  schema::DmlDesc raw(add);
  DML_OPERATOR_DESC desc = *raw.get();
  desc.Type = static_cast<DML_OPERATOR_TYPE>(9999);
  CHECK_HR(gpu.dml()->CreateOperator(&desc, __uuidof(IDMLOperator), op.out_void()), E_INVALIDARG);
  desc.Type = DML_OPERATOR_INVALID;
  CHECK_HR(gpu.dml()->CreateOperator(&desc, __uuidof(IDMLOperator), op.out_void()), E_INVALIDARG);
  CHECK_HR(gpu.dml()->CreateOperator(raw.get(), __uuidof(ID3D12Device), op.out_void()), E_NOINTERFACE);
}

TEST(newer_operators_are_refused) {
  Gpu& gpu = suite.gpu();
  if (gpu.feature_level() >= 0x6300) throw Skip{"the feature level has MEAN_VARIANCE_NORMALIZATION2"};
  Ref<IDMLOperator> op;
  CHECK_HR(gpu.Create(Parse("MEAN_VARIANCE_NORMALIZATION2 InputTensor=f32[2,3,4,5] OutputTensor=f32[2,3,4,5] Axes=[3] UseMean=1 "
                            "UseVariance=1 Epsilon=0.001"),
                      op),
           E_INVALIDARG);
}

TEST(operators_outlive_their_description) {
  Gpu& gpu = suite.gpu();
  Ref<IDMLOperator> op;
  { CHECK_OK(gpu.Create(Parse("ACTIVATION_RELU InputTensor=f32[4] OutputTensor=f32[4]"), op)); }
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.dml()->CompileOperator(op.get(), DML_EXECUTION_FLAG_NONE, __uuidof(IDMLCompiledOperator), compiled.out_void()));
  op = Ref<IDMLOperator>();
  Ref<IDMLDevice> device;
  CHECK_OK(compiled->GetDevice(__uuidof(IDMLDevice), device.out_void()));
  CHECK(device.get() == gpu.dml());
  for (DML_EXECUTION_FLAGS flags : {DML_EXECUTION_FLAG_DISABLE_META_COMMANDS, DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE,
                                    DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION})
    CHECK_OK(gpu.Compile(Parse("ACTIVATION_RELU InputTensor=f32[4] OutputTensor=f32[4]"), compiled, flags));
}

}  // namespace dxtensor::test
