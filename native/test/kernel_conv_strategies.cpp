// Convolution strategies: which one a shape takes, and each that fits a shape against the plain loops.
#include <cstdio>
#include <map>
#include <string_view>

#include "software/cpu/fast/conv/convolution.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "cases/operators.h"
#include "describe.h"
#include "kernel_run.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using software::fast::ConvStrategiesOf;

enum Pass { Forward, DataGradient, WeightGradient };
const char* const kPassNames[] = {"forward", "data gradient", "weight gradient"};

// A layer of images; NHWC: of the input and the output.
struct Layer {
  uint32_t n, ci, co, height, width, kernel_h, kernel_w, stride = 1, padding = 0, dilation = 1, groups = 1;
  bool has_bias = false, is_nhwc = false, is_half = false;

  uint32_t OutputOf(uint32_t size, uint32_t kernel) const { return (size + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1; }
};

std::string List(const std::vector<uint32_t>& values) {
  std::string text;
  for (uint32_t v : values) text += (text.empty() ? "[" : ",") + std::to_string(v);
  return text + "]";
}
std::string Pair(uint32_t v) { return List({v, v}); }

// The operator that computes a pass of a layer, as src/ops/conv lowers it: a weight gradient is a convolution of the input with the
// outputs' gradient, where the batch is summed over.
std::string TextOf(const Layer& l, Pass pass) {
  const uint32_t oh = l.OutputOf(l.height, l.kernel_h), ow = l.OutputOf(l.width, l.kernel_w), ci = l.ci / l.groups;
  const std::string type = l.is_half ? "f16" : "f32";
  auto image = [&](uint32_t c, uint32_t h, uint32_t w) {
    return type + List({l.n, c, h, w}) + (l.is_nhwc ? "/" + List({h * w * c, 1, w * c, c}) : "");
  };
  const std::string input = image(l.ci, l.height, l.width), output = image(l.co, oh, ow);
  const std::string filter = type + List({l.co, ci, l.kernel_h, l.kernel_w});
  auto text = [&](const std::string& from, const std::string& by, const std::string& to, uint32_t bias, uint32_t stride,
                  uint32_t dilation) {
    return "CONVOLUTION InputTensor=" + from + " FilterTensor=" + by + " OutputTensor=" + to +
           (bias ? " BiasTensor=" + type + List({1, bias, 1, 1}) : "") + " Mode=1 Direction=" + (pass == DataGradient ? "1" : "0") +
           " Strides=" + Pair(stride) + " Dilations=" + Pair(dilation) + " StartPadding=" + Pair(l.padding) +
           " EndPadding=" + Pair(l.padding) + " OutputPadding=[0,0] GroupCount=" + std::to_string(l.groups);
  };
  if (pass == Forward) return text(input, filter, output, l.has_bias ? l.co : 0, l.stride, l.dilation);
  if (pass == DataGradient) return text(output, filter, input, l.has_bias ? l.ci : 0, l.stride, l.dilation);
  const uint32_t in_plane = l.height * l.width, out_plane = oh * ow, taps = l.kernel_h * l.kernel_w;
  const std::string batch_as_channels =
      type + List({ci, l.groups * l.n, l.height, l.width}) + (l.groups == 1 ? "/" + List({in_plane, ci * in_plane, l.width, 1}) : "");
  return text(batch_as_channels, type + List({l.co, l.n, oh, ow}) + "/" + List({out_plane, l.co * out_plane, ow, 1}),
              type + List({ci, l.co, l.kernel_h, l.kernel_w}) + "/" + List({taps, ci * taps, l.kernel_w, 1}), 0, l.dilation, l.stride);
}

std::string NamesOf(const schema::OperatorDesc& desc) {
  std::string text;
  for (std::string_view name : ConvStrategiesOf(desc))
    if (text.find(name) == std::string::npos) text += (text.empty() ? "" : " ") + std::string(name);
  return text;
}

struct Pinned {
  const char* what;
  Layer layer;
  // By pass; in the order of the grids. After " | ": where GEMM tiles have under 8 rows. After " / ": where they have under 32 columns.
  const char* names[3];
};

// Layers of the bench suite's networks, and what they leave out.
std::vector<Pinned> PinnedLayers() {
  auto nhwc = [](Layer l) {
    l.is_nhwc = true;
    return l;
  };
  auto half = [](Layer l) {
    l.is_half = true;
    return l;
  };
  return {
      {"3x3, 64 channels", {8, 64, 64, 56, 56, 3, 3, 1, 1}, {"winograd", "winograd", "winograd_weight_gradient"}},
      {"3x3, 64 channels, one image", {1, 64, 64, 56, 56, 3, 3, 1, 1}, {"winograd", "winograd", "winograd_weight_gradient"}},
      {"3x3, 512 channels of 7 x 7", {1, 512, 512, 7, 7, 3, 3, 1, 1}, {"implicit_gemm_nhwc", "implicit_gemm_nhwc", "im2col_gemm"}},
      {"3x3, 512 channels of 7 x 7, eight images", {8, 512, 512, 7, 7, 3, 3, 1, 1}, {"winograd", "winograd", "winograd_weight_gradient"}},
      {"1x1, 256 to 64", {8, 256, 64, 56, 56, 1, 1}, {"implicit_gemm_nchw", "implicit_gemm_nchw", "im2col_gemm"}},
      {"1x1, 960 to 160 of 7 x 7", {1, 960, 160, 7, 7, 1, 1}, {"implicit_gemm_nhwc", "implicit_gemm_nhwc", "im2col_gemm"}},
      {"1x1 stride 2, 256 to 512", {4, 256, 512, 56, 56, 1, 1, 2}, {"implicit_gemm_nhwc", "implicit_gemm_nchw no_taps", "im2col_gemm"}},
      {"7x7 stride 2, 3 to 64", {8, 3, 64, 224, 224, 7, 7, 2, 3}, {"implicit_gemm_nhwc", "implicit_gemm_nchw", "im2col_gemm"}},
      {"3x3 stride 2, 128 channels",
       {8, 128, 128, 56, 56, 3, 3, 2, 1},
       {"implicit_gemm_nhwc", "implicit_gemm_nchw im2col_gemm", "im2col_gemm"}},
      {"3x3 stride 2, 3 to 32", {8, 3, 32, 224, 224, 3, 3, 2, 1}, {"implicit_gemm_nchw", "implicit_gemm_nchw im2col_gemm", "im2col_gemm"}},
      {"depthwise 3x3, 256 channels",
       {8, 256, 256, 56, 56, 3, 3, 1, 1, 1, 256},
       {"depthwise_nchw", "depthwise_nchw", "depthwise_weight_gradient"}},
      {"depthwise 3x3 stride 2, 96 channels",
       {8, 96, 96, 112, 112, 3, 3, 2, 1, 1, 96},
       {"depthwise_nchw", "depthwise_nchw", "depthwise_weight_gradient"}},
      {"LeNet's first layer", {64, 1, 6, 28, 28, 5, 5, 1, 2}, {"implicit_gemm_nchw", "implicit_gemm_nchw", "implicit_gemm_nchw"}},
      {"LeNet's second layer", {64, 6, 16, 14, 14, 5, 5}, {"implicit_gemm_nchw", "implicit_gemm_nchw", "implicit_gemm_nhwc"}},
      {"ResNet-18's stem of 32 x 32", {16, 3, 64, 32, 32, 3, 3, 1, 1}, {"implicit_gemm_nchw", "implicit_gemm_nchw", "im2col_gemm"}},
      {"ResNet-18, 512 channels of 4 x 4", {16, 512, 512, 4, 4, 3, 3, 1, 1}, {"winograd", "winograd", "winograd_weight_gradient"}},
      {"NHWC, 3x3, 64 channels", nhwc({1, 64, 64, 56, 56, 3, 3, 1, 1}), {"winograd", "winograd", nullptr}},
      {"NHWC, 1x1, 256 to 64", nhwc({1, 256, 64, 56, 56, 1, 1}), {"implicit_gemm_nhwc", "implicit_gemm_nhwc", nullptr}},
      {"NHWC, 3x3 stride 2, 128 channels", nhwc({1, 128, 128, 56, 56, 3, 3, 2, 1}), {"implicit_gemm_nhwc", "implicit_gemm_nhwc", nullptr}},
      {"NHWC, depthwise 3x3, 96 channels",
       nhwc({1, 96, 96, 56, 56, 3, 3, 1, 1, 1, 96}),
       {"implicit_gemm_nhwc", "implicit_gemm_nhwc", nullptr}},
      {"NHWC, depthwise 5x5 stride 2, 96 channels",
       nhwc({1, 96, 96, 56, 56, 5, 5, 2, 2, 1, 96}),
       {"implicit_gemm_nhwc", "implicit_gemm_nhwc", nullptr}},
      {"float16, 3x3, 64 channels", half({2, 64, 64, 28, 28, 3, 3, 1, 1}), {"implicit_gemm_nchw", "implicit_gemm_nchw", "im2col_gemm"}},
      {"dilated 3x3, 32 channels",
       {2, 32, 32, 33, 33, 3, 3, 1, 2, 2},
       {"implicit_gemm_nchw | implicit_gemm_nhwc", "implicit_gemm_nchw | implicit_gemm_nhwc", "im2col_gemm"}},
      {"3x3 in 32 groups, 128 channels",
       {2, 128, 128, 28, 28, 3, 3, 1, 1, 1, 32},
       {"implicit_gemm_nchw", "implicit_gemm_nchw", "implicit_gemm_nchw"}},
      {"3x3 in 4 groups, 128 channels",
       {2, 128, 128, 28, 28, 3, 3, 1, 1, 1, 4},
       {"implicit_gemm_nchw", "implicit_gemm_nchw", "im2col_gemm"}},
      {"one output position, 64 images",
       {64, 16, 120, 5, 5, 5, 5},
       {"im2col_gemm", "implicit_gemm_nhwc", "im2col_gemm / implicit_gemm_nchw"}},
      {"depthwise conv1d of 3 taps",
       {8, 256, 256, 1, 512, 1, 3, 1, 0, 1, 256},
       {"depthwise_nchw", "depthwise_nchw", "depthwise_weight_gradient"}},
      {"depthwise 1x1", {8, 64, 64, 56, 56, 1, 1, 1, 0, 1, 64}, {"depthwise_nchw", "depthwise_nchw", "depthwise_weight_gradient"}},
      {"conv1d of 9 taps",
       {4, 16, 32, 1, 1000, 1, 9, 1, 0},
       {"implicit_gemm_nchw | implicit_gemm_nhwc", "implicit_gemm_nchw | implicit_gemm_nhwc", "im2col_gemm / implicit_gemm_nchw"}},
  };
}

// Further layers that one strategy or another could compute.
std::vector<Layer> OddLayers() {
  return {
      {1, 1, 1, 1, 1, 1, 1},                        // one number
      {1, 3, 2, 5, 1, 2, 1},                        // one column
      {2, 3, 5, 9, 10, 3, 2, 1, 1, 1, 1, true},     // rows and columns of different taps
      {2, 5, 7, 11, 13, 3, 3, 2, 1, 1, 1, true},    // a convolution stride
      {3, 4, 6, 12, 17, 3, 3, 3, 2, 1, 2},          // a larger one, in groups
      {2, 4, 4, 15, 14, 3, 3, 1, 2, 2},             // dilation
      {2, 4, 6, 17, 16, 3, 3, 2, 2, 2, 2},          // dilation and stride, in groups
      {1, 16, 16, 8, 8, 3, 3, 1, 4},                // padding wider than the filter
      {2, 9, 40, 7, 6, 1, 1, 1, 0, 1, 1, true},     // 1 x 1
      {2, 9, 20, 9, 9, 1, 1, 2},                    // 1 x 1 with a convolution stride: grids without taps
      {2, 9, 20, 9, 9, 1, 1, 2, 0, 1, 1, true},     // and an epilogue
      {2, 32, 32, 9, 10, 3, 3, 1, 1, 1, 32, true},  // depthwise
      {2, 16, 16, 13, 12, 5, 5, 2, 2, 1, 16},       // with 5 x 5 taps and a convolution stride
      {2, 16, 48, 10, 9, 3, 3, 1, 1, 1, 16, true},  // with a multiplier
      {2, 12, 8, 9, 11, 3, 3, 1, 1, 1, 4, true},    // few channels in a group
      {1, 32, 64, 10, 10, 3, 3, 1, 1, 1, 2, true},  // many
      {2, 3, 4, 1, 40, 1, 5, 1, 0, 1, 1, true},     // of rows, as conv1d has
      {1, 20, 17, 3, 3, 3, 3},                      // one output position
      {9, 20, 17, 3, 3, 3, 3},
      {1, 1, 4, 30, 30, 7, 7, 2, 3},  // one input channel
  };
}

// Three spatial dimensions; several batches in one memory; broadcast filters; an activation.
std::vector<std::string> OddDescriptions() {
  const std::string rest = " Mode=1 Direction=0 OutputPadding=[0,0,0] GroupCount=1";
  return {
      "CONVOLUTION InputTensor=f32[2,3,5,6,7] FilterTensor=f32[4,3,3,3,3] OutputTensor=f32[2,4,5,6,7] Strides=[1,1,1] Dilations=[1,1,1] "
      "StartPadding=[1,1,1] EndPadding=[1,1,1]" +
          rest,
      "CONVOLUTION InputTensor=f32[1,4,6,7,8] FilterTensor=f32[6,4,2,3,2] BiasTensor=f32[1,6,1,1,1] OutputTensor=f32[1,6,3,4,4] "
      "Strides=[2,2,2] Dilations=[1,1,1] StartPadding=[0,1,0] EndPadding=[0,1,0] FusedActivation={ACTIVATION_RELU}" +
          rest,
      "CONVOLUTION InputTensor=f32[2,6,3,4,4] FilterTensor=f32[6,4,2,3,2] OutputTensor=f32[2,4,6,7,8] Strides=[2,2,2] Dilations=[1,1,1] "
      "StartPadding=[0,1,0] EndPadding=[0,1,0] Mode=1 Direction=1 OutputPadding=[0,0,0] GroupCount=1",
      "CONVOLUTION InputTensor=f32[1,4,5,6,7] FilterTensor=f32[4,1,3,3,3] OutputTensor=f32[1,4,5,6,7] Mode=1 Direction=0 Strides=[1,1,1] "
      "Dilations=[1,1,1] StartPadding=[1,1,1] EndPadding=[1,1,1] OutputPadding=[0,0,0] GroupCount=4",
      "CONVOLUTION InputTensor=f32[4,2,9,9] FilterTensor=f32[8,2,5,5]/[0,0,0,0] OutputTensor=f32[4,8,5,5] Mode=0 Direction=0 "
      "Strides=[1,1] Dilations=[1,1] OutputPadding=[0,0] StartPadding=[0,0] EndPadding=[0,0] GroupCount=1",
  };
}

std::vector<std::string> AllDescriptions() {
  std::vector<std::string> all = OddDescriptions();
  auto add = [&](const Layer& l) {
    for (Pass pass : {Forward, DataGradient, WeightGradient})
      if (!l.is_nhwc || pass != WeightGradient) all.push_back(TextOf(l, pass));
  };
  for (const Pinned& p : PinnedLayers()) {
    Layer small = p.layer;  // the plain loops take long
    small.n = std::min(small.n, 2u);
    const uint32_t min_size = (small.kernel_h - 1) * small.dilation + 6;
    small.height = std::min(small.height, std::max(min_size, 20u));
    small.width = std::min(small.width, std::max(min_size, 20u));
    if (small.groups == 1) {
      small.ci = std::min(small.ci, 64u);
      small.co = std::min(small.co, 64u);
    }
    add(small);
  }
  for (const Layer& l : OddLayers()) add(l);
  return all;
}

void Choice(Suite&) {
  std::string wrong;
  for (const Pinned& p : PinnedLayers())
    for (Pass pass : {Forward, DataGradient, WeightGradient}) {
      if (!p.names[pass]) continue;
      const std::string names = NamesOf(Parse(TextOf(p.layer, pass)));
      const std::string expected = p.names[pass];
      const size_t at = std::min(expected.find(" | "), expected.find(" / "));
      const auto& table = software::fast::Table();
      const bool is_second = at != std::string::npos && (expected[at + 1] == '|' ? table.tile_rows < 8 : table.tile_columns < 32);
      if (names != (is_second ? expected.substr(at + 3) : expected.substr(0, at)))
        wrong += std::string("\n") + p.what + ", " + kPassNames[pass] + ": " + names + ", expected " + p.names[pass];
    }
  if (!wrong.empty()) throw Failure{"convolutions take other strategies:" + wrong};
}

// Every strategy that fits, not only the first.
void Results(Suite& suite) {
  std::map<std::string_view, unsigned> runs;
  for (std::string_view name : software::fast::ConvStrategyNames()) runs[name] = 0;
  for (const std::string& text : AllDescriptions()) {
    const schema::OperatorDesc desc = Parse(text);
    const schema::TensorDesc& out = *desc.Outputs()[0];
    const std::vector<Bytes> inputs = InputsFor(desc, suite.seed);
    const auto plain = software::MakePlainKernel(desc);
    const Values expected = Unpack(RunKernel(*plain, desc, inputs)[0], out);
    for (std::string_view name : ConvStrategiesOf(desc)) runs[name] += name == "no_taps";
    for (std::string_view name : software::fast::ConvStrategyNames()) {
      const auto kernel = software::fast::MakeConvolutionKernelBy(name, desc);
      if (!kernel) continue;
      for (const bool prepacks : {false, true}) {
        const std::string difference =
            Difference(Unpack(RunKernel(*kernel, desc, inputs, prepacks)[0], out), expected, KernelTolerance(desc, out.data_type));
        if (!difference.empty()) throw Failure{std::string(name) + (prepacks ? ", prepacked: " : ": ") + difference + ": " + text};
      }
      runs[name] += name != "no_taps";
    }
  }
  for (const auto& [name, count] : runs) {
    std::printf("%s: %u convolutions\n", std::string(name).c_str(), count);
    if (count < 3) throw Failure{"nothing is computed by " + std::string(name)};
  }
}

const bool kRegistered = [] {
  Register("convolution strategies: choice", Choice);
  Register("convolution strategies: results", Results);
  return true;
}();

}  // namespace

}  // namespace dxtensor::test
