// Convolutions by Winograd's F(4 x 4, 3 x 3), compared with exact sums: their error in parts of the largest sum of magnitudes, and that of
// sums in order.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "software/cpu/kernel.h"
#include "cases/operators.h"
#include "describe.h"
#include "kernel_run.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

constexpr double kMaxError = 1e-6;

void Allow(bool allowed) {
#ifdef _WIN32
  _putenv_s("DXTENSOR_SOFTWARE_WINOGRAD", allowed ? "" : "0");
#else
  setenv("DXTENSOR_SOFTWARE_WINOGRAD", allowed ? "1" : "0", 1);
#endif
}

struct Denied {
  Denied() { Allow(false); }
  ~Denied() { Allow(true); }
};

std::vector<std::string> Descriptions() {
  const std::string rest = " Strides=[1,1] Dilations=[1,1] OutputPadding=[0,0] GroupCount=1 ";
  const std::string pads = "StartPadding=[1,1] EndPadding=[1,1]", none = "StartPadding=[0,0] EndPadding=[0,0]";
  return {
      // Whole tiles; parts of tiles, channels and rows that fill no vector; no border; a border on one side, wider than the filter reaches.
      "CONVOLUTION InputTensor=f32[2,16,12,16] FilterTensor=f32[32,16,3,3] OutputTensor=f32[2,32,12,16] Mode=1 Direction=0" + rest + pads,
      "CONVOLUTION InputTensor=f32[3,35,13,10] FilterTensor=f32[45,35,3,3] BiasTensor=f32[1,45,1,1] OutputTensor=f32[3,45,13,10] Mode=1 "
      "Direction=0" +
          rest + pads,
      "CONVOLUTION InputTensor=f32[5,40,9,15] FilterTensor=f32[17,40,3,3] OutputTensor=f32[5,17,7,13] Mode=0 Direction=0" + rest + none,
      "CONVOLUTION InputTensor=f32[1,64,14,14] FilterTensor=f32[64,64,3,3] OutputTensor=f32[1,64,16,17] Mode=1 Direction=0" + rest +
          "StartPadding=[3,0] EndPadding=[1,5]",
      // Memory with gaps; images one in the other; an activation.
      "CONVOLUTION InputTensor=f32[2,24,11,12]/[5000,180,14,1] FilterTensor=f32[33,24,3,3]/[300,12,4,1] "
      "OutputTensor=f32[2,33,11,12]/[140,400,12,1] Mode=1 Direction=0 FusedActivation={ACTIVATION_RELU}" +
          rest + pads,
      // Data gradients, and a filter of halves.
      "CONVOLUTION InputTensor=f32[4,30,12,12] FilterTensor=f32[30,40,3,3] OutputTensor=f32[4,40,12,12] Mode=1 Direction=1" + rest + pads,
      "CONVOLUTION InputTensor=f32[9,48,7,7] FilterTensor=f32[48,48,3,3] BiasTensor=f32[1,48,1,1] OutputTensor=f32[9,48,9,9] Mode=0 "
      "Direction=1" +
          rest + none,
      // Gradients of weights: few tiles, parts of tiles with rows and channels that fill no vector, a border of one, none, more rows of
      // tiles
      // than are computed together.
      "CONVOLUTION InputTensor=f32[33,14,4,4]/[16,528,4,1] FilterTensor=f32[29,14,4,4]/[16,464,4,1] "
      "OutputTensor=f32[33,29,3,3]/[9,297,3,1] Mode=1 Direction=0" +
          rest + pads,
      "CONVOLUTION InputTensor=f32[61,5,13,10]/[130,7930,10,1] FilterTensor=f32[37,5,13,10]/[130,4810,10,1] "
      "OutputTensor=f32[61,37,3,3]/[9,549,3,1] Mode=1 Direction=0" +
          rest + pads,
      "CONVOLUTION InputTensor=f32[16,7,15,17] FilterTensor=f32[64,7,13,15] OutputTensor=f32[16,64,3,3] Mode=1 Direction=0" + rest + none,
      "CONVOLUTION InputTensor=f32[32,12,4,256]/[1024,32768,256,1] FilterTensor=f32[16,12,4,256]/[1024,16384,256,1] "
      "OutputTensor=f32[32,16,3,3]/[9,288,3,1] Mode=1 Direction=0" +
          rest + pads,
      // More rows of tiles than are computed together.
      "CONVOLUTION InputTensor=f32[2,16,50,130] FilterTensor=f32[16,16,3,3] OutputTensor=f32[2,16,50,130] Mode=1 Direction=0" + rest + pads,
  };
}

std::vector<Bytes> Data(const schema::OperatorDesc& desc, uint32_t seed, bool magnitudes) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Bytes> data;
  for (const schema::TensorDesc* t : desc.Inputs())
    data.push_back(t ? Filled(*t,
                              [&](size_t) {
                                const double value = normal(random);
                                return magnitudes ? std::abs(static_cast<double>(static_cast<float>(value))) : value;
                              })
                     : Bytes());
  return data;
}

// In parts of the largest magnitude: an output that sees few taps, at a border, has the error of its tile, whose others see all.
double WorstOf(const Values& got, const Values& exact, const Values& magnitude) {
  double worst = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got.AsReal(i) - exact.AsReal(i));
    if (!(error <= worst)) worst = error;
    largest = std::max(largest, magnitude.AsReal(i));
  }
  return worst / largest;
}

void Error(Suite& suite) {
  double worst = 0, worst_of_sums = 0;
  const std::vector<std::string> descriptions = Descriptions();
  for (size_t k = 0; k < descriptions.size(); k += suite.every) {
    const std::string& text = descriptions[k];
    const schema::OperatorDesc desc = Parse(text);
    const std::vector<Bytes> inputs = Data(desc, suite.seed, false);
    const schema::TensorDesc& out = *desc.Outputs()[0];
    const Values exact = Expected(desc, inputs)[0], magnitude = Expected(desc, Data(desc, suite.seed, true))[0];
    const auto kernel = software::MakeFastKernel(desc);
    const Values got = Unpack(RunKernel(*kernel, desc, inputs)[0], out);
    if (Unpack(RunKernel(*kernel, desc, inputs, true)[0], out).real != got.real)
      throw Failure{"with a prepacked filter it gives something else: " + text};
    const Denied denied;
    const Values sums = Unpack(RunKernel(*software::MakeFastKernel(desc), desc, inputs)[0], out);
    if (sums.real == got.real) throw Failure{"it was made by sums in order: " + text};
    const double error = WorstOf(got, exact, magnitude);
    if (!(error <= kMaxError)) throw Failure{"an error of " + std::to_string(error * 1e6) + " millionths: " + text};
    worst = std::max(worst, error);
    worst_of_sums = std::max(worst_of_sums, WorstOf(sums, exact, magnitude));
  }
  std::printf("Winograd: errors up to %.2e of the largest sum of magnitudes, sums in order %.2e\n", worst, worst_of_sums);
}

const bool kRegistered = [] {
  Register("Winograd against exact sums", Error);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
