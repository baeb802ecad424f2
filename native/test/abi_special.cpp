// Infinities, NaN, zeros of both signs, the ends of formats, and integers past 2^53.
#include <cmath>

#include "check.h"
#include "describe.h"
#include "gpu.h"
#include "values.h"

namespace dxtensor::test {

namespace {

constexpr double kInf = INFINITY, kNaN = NAN;

struct Special {
  const char* text;
  std::vector<std::vector<double>> inputs;
  std::vector<double> expected;
};

const Special kSpecials[] = {
    {"ELEMENT_WISE_ADD ATensor=T[5] BTensor=T[5] OutputTensor=T[5]",
     {{kInf, -kInf, kInf, kNaN, 1}, {1, 1, -kInf, 1, -kInf}},
     {kInf, -kInf, kNaN, kNaN, -kInf}},
    {"ELEMENT_WISE_MULTIPLY ATensor=T[4] BTensor=T[4] OutputTensor=T[4]",
     {{kInf, -kInf, 0, kNaN}, {2, 2, kInf, 0}},
     {kInf, -kInf, kNaN, kNaN}},
    {"ELEMENT_WISE_DIVIDE ATensor=T[4] BTensor=T[4] OutputTensor=T[4]", {{1, -1, 0, 1}, {0, 0, 0, kInf}}, {kInf, -kInf, kNaN, 0}},
    {"ELEMENT_WISE_MAX ATensor=T[3] BTensor=T[3] OutputTensor=T[3]", {{kInf, -kInf, 3}, {1, 1, kInf}}, {kInf, 1, kInf}},
    {"ELEMENT_WISE_MIN ATensor=T[3] BTensor=T[3] OutputTensor=T[3]", {{kInf, -kInf, 3}, {1, 1, kInf}}, {1, -kInf, 3}},
    {"ELEMENT_WISE_ABS InputTensor=T[4] OutputTensor=T[4]", {{-kInf, kNaN, -0.0, -2}}, {kInf, kNaN, 0, 2}},
    {"ELEMENT_WISE_NEGATE InputTensor=T[3] OutputTensor=T[3]", {{kInf, kNaN, -2}}, {-kInf, kNaN, 2}},
    {"ELEMENT_WISE_EXP InputTensor=T[4] OutputTensor=T[4]", {{kInf, -kInf, kNaN, 0}}, {kInf, 0, kNaN, 1}},
    {"ELEMENT_WISE_LOG InputTensor=T[4] OutputTensor=T[4]", {{0, -1, kInf, 1}}, {-kInf, kNaN, kInf, 0}},
    {"ELEMENT_WISE_SQRT InputTensor=T[4] OutputTensor=T[4]", {{-1, kInf, 0, 4}}, {kNaN, kInf, 0, 2}},
    {"ELEMENT_WISE_RECIP InputTensor=T[4] OutputTensor=T[4]", {{0, kInf, -kInf, 2}}, {kInf, 0, 0, 0.5}},
    {"ELEMENT_WISE_TANH InputTensor=T[4] OutputTensor=T[4]", {{kInf, -kInf, 30, -30}}, {1, -1, 1, -1}},
    {"ELEMENT_WISE_ERF InputTensor=T[4] OutputTensor=T[4]", {{kInf, -kInf, 10, 0}}, {1, -1, 1, 0}},
    {"ACTIVATION_SIGMOID InputTensor=T[4] OutputTensor=T[4]", {{kInf, -kInf, 100, -100}}, {1, 0, 1, 0}},
    {"ACTIVATION_RELU InputTensor=T[3] OutputTensor=T[3]", {{kInf, -kInf, -0.5}}, {kInf, 0, 0}},
    {"ELEMENT_WISE_FLOOR InputTensor=T[4] OutputTensor=T[4]", {{kInf, -kInf, kNaN, -0.5}}, {kInf, -kInf, kNaN, -1}},
    {"ELEMENT_WISE_ROUND InputTensor=T[6] OutputTensor=T[6] RoundingMode=0", {{kInf, 0.5, 1.5, 2.5, -0.5, -1.5}}, {kInf, 0, 2, 2, 0, -2}},
    {"ELEMENT_WISE_CLIP InputTensor=T[3] OutputTensor=T[3] Min=-1 Max=2", {{kInf, -kInf, 0.5}}, {2, -1, 0.5}},
    {"ELEMENT_WISE_LOGICAL_EQUALS ATensor=T[4] BTensor=T[4] OutputTensor=u8[4]",
     {{kNaN, kInf, 0, 1}, {kNaN, kInf, -0.0, kNaN}},
     {0, 1, 1, 0}},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN ATensor=T[4] BTensor=T[4] OutputTensor=u8[4]",
     {{kNaN, kInf, 0, 1}, {0, 5, -kInf, kNaN}},
     {0, 1, 1, 0}},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL ATensor=T[4] BTensor=T[4] OutputTensor=u8[4]",
     {{kNaN, kInf, 0, -kInf}, {0, kInf, -kInf, 1}},
     {0, 1, 0, 1}},
    {"ELEMENT_WISE_IS_NAN InputTensor=T[4] OutputTensor=u8[4]", {{kNaN, kInf, 0, -kInf}}, {1, 0, 0, 0}},
    {"ELEMENT_WISE_IDENTITY InputTensor=T[4] OutputTensor=T[4]", {{kNaN, kInf, -kInf, 1}}, {kNaN, kInf, -kInf, 1}},
    {"REDUCE Function=10 InputTensor=T[2,3] OutputTensor=T[2,1] Axes=[1]", {{1, kInf, 2, 1, kNaN, 2}}, {kInf, kNaN}},
    {"REDUCE Function=7 InputTensor=T[2,3] OutputTensor=T[2,1] Axes=[1]", {{1, kInf, 2, -kInf, -kInf, -kInf}}, {kInf, -kInf}},
    {"REDUCE Function=8 InputTensor=T[2,3] OutputTensor=T[2,1] Axes=[1]", {{1, -kInf, 2, kInf, kInf, kInf}}, {-kInf, kInf}},
    // LOG_SUM_EXP does not shift by the largest element.
    {"REDUCE Function=6 InputTensor=f32[2,3] OutputTensor=f32[2,1] Axes=[1]",
     {{1000, 1000, -1000, 0, 0, -5000}},
     {kInf, 0.69314718055994529}},
    {"ACTIVATION_SOFTMAX InputTensor=T[2,3] OutputTensor=T[2,3]", {{1000, 0, -1000, -kInf, 0, -kInf}}, {1, 0, 0, 0, 1, 0}},
    {"ACTIVATION_LOG_SOFTMAX InputTensor=f32[1,3] OutputTensor=f32[1,3]",
     {{1000, 1000, -1000}},
     {-0.69314718055994529, -0.69314718055994529, -2000.6931471805599}},
    {"MAX_POOLING InputTensor=T[1,1,1,4] OutputTensor=T[1,1,1,2] Strides=[1,2] WindowSize=[1,2] StartPadding=[0,0] EndPadding=[0,0]",
     {{-kInf, -3, kInf, 1}},
     {-3, kInf}},
    {"CAST InputTensor=f32[4] OutputTensor=f16[4]",
     {{kInf, kNaN, -65504, 5.9604644775390625e-08}},
     {kInf, kNaN, -65504, 5.9604644775390625e-08}},
    {"CAST InputTensor=f16[4] OutputTensor=f32[4]",
     {{kInf, kNaN, 65504, 5.9604644775390625e-08}},
     {kInf, kNaN, 65504, 5.9604644775390625e-08}},
    {"CAST InputTensor=f32[4] OutputTensor=i32[4]", {{1.9, -1.9, 0.5, -0.5}}, {1, -1, 0, 0}},
    {"ELEMENT_WISE_POW InputTensor=f32[4] ExponentTensor=f32[4] OutputTensor=f32[4]", {{2, 4, 1, 0}, {-1, 0.5, 100, 2}}, {0.5, 2, 1, 0}},
};

void RunSpecial(Gpu& gpu, const std::string& text, const Special& s) {
  schema::OperatorDesc desc = Parse(text);
  std::vector<Bytes> inputs;
  size_t slot = 0;
  for (const schema::TensorDesc* t : desc.Inputs()) inputs.push_back(Filled(*t, [&](size_t i) { return s.inputs[slot][i]; })), ++slot;
  const schema::TensorDesc& output = *desc.Outputs()[0];
  Values expected = Blank(output);
  for (size_t i = 0; i < s.expected.size(); ++i) {
    if (expected.is_float()) expected.real[i] = s.expected[i];
    else expected.whole[i] = static_cast<int64_t>(s.expected[i]);
  }
  const bool half = output.data_type == DML_TENSOR_DATA_TYPE_FLOAT16;
  std::string difference = Difference(Unpack(gpu.Run(desc, inputs)[0], output), expected, {half ? 2e-3 : 1e-5, half ? 1e-7 : 1e-9});
  if (!difference.empty()) throw Failure{text + ": " + difference};
}

std::string WithType(std::string text, const std::string& type) {
  for (size_t at = 0; (at = text.find("=T[", at)) != std::string::npos; ++at) text.replace(at, 3, "=" + type + "[");
  return text;
}

}  // namespace

TEST(special_values) {
  Gpu& gpu = suite.gpu();
  std::string failures;
  for (const Special& s : kSpecials) {
    const bool varies = std::string(s.text).find("=T[") != std::string::npos;
    for (const char* type : {"f32", "f16"}) {
      if (!varies && std::string(type) == "f16") continue;
      try {
        RunSpecial(gpu, WithType(s.text, type), s);
      } catch (const Failure& failure) {
        failures += "\n    " + failure.text;
      }
    }
  }
  if (!failures.empty()) throw Failure{failures};
}

TEST(integers_past_53_bits) {
  Gpu& gpu = suite.gpu();
  const int64_t big = (int64_t{1} << 53) + 1, min = INT64_MIN, max = INT64_MAX;
  struct Case {
    const char* text;
    std::vector<int64_t> a, b, expected;
  };
  const Case cases[] = {
      {"ELEMENT_WISE_ADD ATensor=i64[4] BTensor=i64[4] OutputTensor=i64[4]",
       {big, max, min, -big},
       {2, 1, -1, 1},
       {big + 2, min, max, -big + 1}},
      {"ELEMENT_WISE_SUBTRACT ATensor=u64[3] BTensor=u64[3] OutputTensor=u64[3]", {big, 0, -1}, {1, 1, big}, {big - 1, -1, -1 - big}},
      {"ELEMENT_WISE_MULTIPLY ATensor=i64[3] BTensor=i64[3] OutputTensor=i64[3]",
       {big, -big, int64_t{1} << 32},
       {3, 3, int64_t{1} << 32},
       {3 * big, -3 * big, 0}},
      {"ELEMENT_WISE_DIVIDE ATensor=i64[3] BTensor=i64[3] OutputTensor=i64[3]", {3 * big, -3 * big, 7}, {3, 3, -2}, {big, -big, -3}},
      {"ELEMENT_WISE_DIVIDE ATensor=u64[2] BTensor=u64[2] OutputTensor=u64[2]", {-1, big}, {2, 1}, {max, big}},
      {"ELEMENT_WISE_MAX ATensor=i64[3] BTensor=i64[3] OutputTensor=i64[3]", {big, min, max}, {big - 1, 0, -1}, {big, 0, max}},
      {"ELEMENT_WISE_MIN ATensor=u64[2] BTensor=u64[2] OutputTensor=u64[2]", {-1, big}, {5, big + 1}, {5, big}},
      {"ELEMENT_WISE_BIT_SHIFT_LEFT ATensor=u64[3] BTensor=u64[3] OutputTensor=u64[3]",
       {1, big, 1},
       {63, 2, 40},
       {min, big * 4, int64_t{1} << 40}},
      {"ELEMENT_WISE_BIT_SHIFT_RIGHT ATensor=u64[3] BTensor=u64[3] OutputTensor=u64[3]", {-1, big, min}, {63, 1, 62}, {1, big >> 1, 2}},
  };
  for (const Case& c : cases) {
    schema::OperatorDesc desc = Parse(c.text);
    auto in = desc.Inputs();
    std::vector<Bytes> inputs{FilledWhole(*in[0], [&](size_t i) { return c.a[i]; }), FilledWhole(*in[1], [&](size_t i) { return c.b[i]; })};
    Values expected = Blank(*desc.Outputs()[0]);
    expected.whole = c.expected;
    std::string difference = Difference(Unpack(gpu.Run(desc, inputs)[0], *desc.Outputs()[0]), expected, {});
    if (!difference.empty()) throw Failure{std::string(c.text) + ": " + difference};
  }
}

TEST(narrow_integers_wrap) {
  Gpu& gpu = suite.gpu();
  schema::OperatorDesc desc = Parse("ELEMENT_WISE_ADD ATensor=i8[4] BTensor=i8[4] OutputTensor=i8[4]");
  auto in = desc.Inputs();
  const int64_t a[] = {127, -128, 100, 1}, b[] = {1, -1, 100, 2};
  std::vector<Bytes> inputs{FilledWhole(*in[0], [&](size_t i) { return a[i]; }), FilledWhole(*in[1], [&](size_t i) { return b[i]; })};
  Values expected = Blank(*desc.Outputs()[0]);
  expected.whole = {-128, 127, -56, 3};
  CHECK_EQ(Difference(Unpack(gpu.Run(desc, inputs)[0], *desc.Outputs()[0]), expected, {}), std::string());
}

}  // namespace dxtensor::test
