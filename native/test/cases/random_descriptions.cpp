#include "random_descriptions.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "../describe.h"

namespace dxtensor::test {

using namespace schema;

namespace {

using Sizes = std::vector<uint32_t>;

class Maker {
 public:
  explicit Maker(std::mt19937& random) : random_(random) {}

  uint32_t Up(uint32_t low, uint32_t high) { return std::uniform_int_distribution<uint32_t>(low, high)(random_); }
  bool Chance(uint32_t in) { return Up(1, in) == 1; }
  const char* Pick(std::initializer_list<const char*> list) { return list.begin()[Up(0, static_cast<uint32_t>(list.size()) - 1)]; }
  // Sizes with a limited number of elements.
  Sizes Any(uint32_t min_rank, uint32_t max_rank, uint32_t limit = 6000) {
    Sizes sizes(Up(min_rank, max_rank));
    uint32_t count = 1;
    for (uint32_t& size : sizes) {
      size = Chance(4) ? 1 : Chance(6) ? Up(17, 130) : Up(1, 9);
      while (uint64_t{count} * size > limit) size = std::max(1u, size / 2);
      count *= size;
    }
    std::shuffle(sizes.begin(), sizes.end(), random_);
    return sizes;
  }
  static std::string List(const Sizes& list) {
    std::string out = "[";
    for (uint32_t value : list) out += (out.size() > 1 ? "," : "") + std::to_string(value);
    return out + "]";
  }
  static std::string Tensor(const char* name, const std::string& type, const Sizes& sizes) {
    return std::string(" ") + name + "=" + type + List(sizes);
  }
  std::string Activation(bool maybe = true) {
    if (maybe && Chance(2)) return "";
    return std::string(" FusedActivation={") +
           Pick({"ACTIVATION_RELU", "ACTIVATION_SIGMOID", "ACTIVATION_TANH", "ACTIVATION_LEAKY_RELU Alpha=0.25", "ACTIVATION_ELU Alpha=1",
                 "ACTIVATION_LINEAR Alpha=2 Beta=0.5", "ACTIVATION_SOFTPLUS Steepness=1", "ACTIVATION_GELU"}) +
           "}";
  }

  std::string Elementwise() {
    static const char* const kUnary[] = {"ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_ABS",  "ELEMENT_WISE_NEGATE", "ELEMENT_WISE_SIGN",
                                         "ELEMENT_WISE_EXP",      "ELEMENT_WISE_LOG",  "ELEMENT_WISE_SQRT",   "ELEMENT_WISE_RECIP",
                                         "ELEMENT_WISE_TANH",     "ELEMENT_WISE_ERF",  "ELEMENT_WISE_SIN",    "ELEMENT_WISE_COS",
                                         "ELEMENT_WISE_FLOOR",    "ELEMENT_WISE_CEIL", "ELEMENT_WISE_ROUND",  "ACTIVATION_RELU",
                                         "ACTIVATION_SIGMOID",    "ACTIVATION_GELU",   "ACTIVATION_TANH"};
    const Sizes sizes = Any(1, 6);
    const std::string type = Pick({"f32", "f32", "f16"});
    return kUnary[Up(0, static_cast<uint32_t>(std::size(kUnary)) - 1)] + Tensor("InputTensor", type, sizes) +
           Tensor("OutputTensor", type, sizes);
  }
  std::string Binary() {
    const Sizes sizes = Any(1, 6);
    const std::string op = Pick({"ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "MAX", "MIN", "MODULUS_FLOOR", "MODULUS_TRUNCATE"});
    const std::string type = Pick({"f32", "f32", "f16", "i32", "u32", "i64", "u64", "i8", "u8", "i16", "u16"});
    return "ELEMENT_WISE_" + op + Tensor("ATensor", type, sizes) + Tensor("BTensor", type, sizes) + Tensor("OutputTensor", type, sizes);
  }
  std::string Logical() {
    const Sizes sizes = Any(1, 6);
    if (Chance(3)) {
      const std::string type = Pick({"f32", "f16", "i32", "i64", "u8", "i8"});
      return "ELEMENT_WISE_IF" + Tensor("ConditionTensor", "u8", sizes) + Tensor("ATensor", type, sizes) + Tensor("BTensor", type, sizes) +
             Tensor("OutputTensor", type, sizes);
    }
    const std::string op = Pick({"EQUALS", "GREATER_THAN", "LESS_THAN", "GREATER_THAN_OR_EQUAL", "LESS_THAN_OR_EQUAL"});
    const std::string type = Pick({"f32", "f16", "i32", "u32", "i64", "u64", "u8"});
    return "ELEMENT_WISE_LOGICAL_" + op + Tensor("ATensor", type, sizes) + Tensor("BTensor", type, sizes) +
           Tensor("OutputTensor", "u8", sizes);
  }
  std::string Cast() {
    const Sizes sizes = Any(1, 6);
    const auto type = [&] { return std::string(Pick({"f32", "f16", "i32", "u32", "i64", "u64", "i8", "u8", "i16", "u16"})); };
    return "CAST" + Tensor("InputTensor", type(), sizes) + Tensor("OutputTensor", type(), sizes);
  }
  std::string Gemm() {
    const bool ta = Chance(2), tb = Chance(2);
    auto side = [&] { return Chance(3) ? Up(1, 8) : Chance(3) ? Up(60, 150) : Up(5, 50); };
    const uint32_t m = side(), n = side(), k = side();
    Sizes batch(Up(0, 2));
    for (uint32_t& size : batch) size = Up(1, 3);
    auto with = [&](uint32_t rows, uint32_t columns) {
      Sizes sizes = batch;
      sizes.push_back(rows);
      sizes.push_back(columns);
      return sizes;
    };
    const std::string type = Pick({"f32", "f32", "f16"});
    return "GEMM" + Tensor("ATensor", type, ta ? with(k, m) : with(m, k)) + Tensor("BTensor", type, tb ? with(n, k) : with(k, n)) +
           (Chance(2) ? Tensor("CTensor", type, with(m, n)) : "") + Tensor("OutputTensor", type, with(m, n)) + (ta ? " TransA=1" : "") +
           (tb ? " TransB=1" : "") + Pick({" Alpha=1", " Alpha=0.5"}) + Pick({" Beta=1", " Beta=0.5"}) + Activation();
  }
  std::string Convolution() {
    const uint32_t spatial = Chance(5) ? 3 : Chance(6) ? 1 : 2;
    const bool backward = Chance(3);
    const uint32_t groups = Chance(2) ? 1 : Up(1, 4), per_narrow = Up(1, Chance(4) ? 20 : 5), per_wide = Chance(3) ? 1 : Up(1, 9);
    const uint32_t batch = Up(1, 3), narrow = groups * per_narrow, wide = groups * per_wide;
    Sizes strides, dilations, start, end, zeros, large{batch, wide}, small{batch, narrow}, filter{narrow, per_wide}, bias{1, 0};
    for (uint32_t d = 0; d < spatial; ++d) {
      const uint32_t kernel = Up(1, spatial == 3 ? 3 : 4), dilation = Chance(3) ? 2 : 1, reach = (kernel - 1) * dilation + 1,
                     stride = Chance(2) ? 1 : Up(1, 3);
      const uint32_t before = Up(0, 2), after = Up(0, 2), positions = Up(1, spatial == 3 ? 4 : 9);
      uint32_t size = (positions - 1) * stride + reach + (backward ? 0 : Up(0, stride - 1));
      if (size <= before + after) size += (before + after + 1 - size + stride - 1) / stride * stride;
      strides.push_back(stride);
      dilations.push_back(dilation);
      start.push_back(before);
      end.push_back(after);
      zeros.push_back(0);
      filter.push_back(kernel);
      large.push_back(size - before - after);
      small.push_back((size - reach) / stride + 1);
      bias.push_back(1);
    }
    bias[1] = backward ? wide : narrow;
    const std::string type = Pick({"f32", "f32", "f16"});
    return "CONVOLUTION" + Tensor("InputTensor", type, backward ? small : large) + Tensor("FilterTensor", type, filter) +
           (Chance(2) ? Tensor("BiasTensor", type, bias) : "") + Tensor("OutputTensor", type, backward ? large : small) +
           " Mode=" + Pick({"0", "1", "1"}) + (backward ? " Direction=1" : " Direction=0") + " Strides=" + List(strides) +
           " Dilations=" + List(dilations) + " StartPadding=" + List(start) + " EndPadding=" + List(end) + " OutputPadding=" + List(zeros) +
           " GroupCount=" + std::to_string(groups) + Activation();
  }
  Sizes Axes(const Sizes& sizes, Sizes& reduced) {
    Sizes axes;
    reduced = sizes;
    for (uint32_t d = 0; d < sizes.size(); ++d)
      if (Chance(2)) axes.push_back(d);
    if (axes.empty()) axes.push_back(Up(0, static_cast<uint32_t>(sizes.size()) - 1));
    for (uint32_t axis : axes) reduced[axis] = 1;
    return axes;
  }
  std::string Reduce() {
    const Sizes sizes = Any(1, 5);
    Sizes reduced;
    const Sizes axes = Axes(sizes, reduced);
    if (Chance(4))
      return std::string(Pick({"ARGMAX", "ARGMIN"})) + Tensor("InputTensor", Pick({"f32", "f16", "i32", "i64", "u8"}), sizes) +
             Tensor("OutputTensor", Pick({"u32", "i32", "i64"}), reduced) + " Axes=" + List(axes) +
             Pick({" AxisDirection=0", " AxisDirection=1"});
    const std::string function = Pick({"2", "3", "4", "7", "8", "10", "10", "11"});
    const bool sums = function == "10" || function == "7" || function == "8";
    const std::string type = sums ? Pick({"f32", "f16", "i32", "u32", "i64", "u64"}) : Pick({"f32", "f16"});
    return "REDUCE Function=" + function + Tensor("InputTensor", type, sizes) + Tensor("OutputTensor", type, reduced) +
           " Axes=" + List(axes);
  }
  std::string Softmax() {
    const Sizes sizes = Any(1, 5);
    Sizes reduced;
    const Sizes axes = Axes(sizes, reduced);
    const std::string type = Pick({"f32", "f32", "f16"});
    return std::string(Pick({"ACTIVATION_SOFTMAX1", "ACTIVATION_LOG_SOFTMAX1"})) + Tensor("InputTensor", type, sizes) +
           Tensor("OutputTensor", type, sizes) + " Axes=" + List(axes);
  }
  std::string Pooling() {
    const uint32_t spatial = Chance(4) ? 3 : 2, kind = Up(0, 4);
    const bool dilated = kind != 2;  // AVERAGE_POOLING_GRAD has no dilations
    Sizes strides, windows, dilations, start, end, large{Up(1, 3), Up(1, 6)}, small{large[0], large[1]};
    for (uint32_t d = 0; d < spatial; ++d) {
      const uint32_t window = Up(1, 3), dilation = dilated && Chance(3) ? 2 : 1, reach = (window - 1) * dilation + 1, stride = Up(1, 3);
      // No window lies in the padding alone.
      const uint32_t before = Up(0, dilation == 1 ? window - 1 : 0), after = Up(0, dilation == 1 ? window - 1 : 0);
      uint32_t size = (Up(1, 8) - 1) * stride + reach + Up(0, stride - 1);
      while (size <= before + after) size += stride;
      strides.push_back(stride);
      windows.push_back(window);
      dilations.push_back(dilation);
      start.push_back(before);
      end.push_back(after);
      large.push_back(size - before - after);
      small.push_back((size - reach) / stride + 1);
    }
    const std::string type = Pick({"f32", "f32", "f16"});
    const std::string shape =
        " Strides=" + List(strides) + " WindowSize=" + List(windows) + " StartPadding=" + List(start) + " EndPadding=" + List(end);
    const std::string dilation = " Dilations=" + List(dilations), padding = Pick({" IncludePadding=0", " IncludePadding=1"});
    switch (kind) {
      case 0:
        return "AVERAGE_POOLING1" + Tensor("InputTensor", type, large) + Tensor("OutputTensor", type, small) + shape + dilation + padding;
      case 1:
        return "MAX_POOLING2" + Tensor("InputTensor", type, large) + Tensor("OutputTensor", type, small) +
               (Chance(2) ? Tensor("OutputIndicesTensor", "u32", small) : "") + shape + dilation;
      case 2:
        return "AVERAGE_POOLING_GRAD" + Tensor("InputGradientTensor", type, small) + Tensor("OutputGradientTensor", type, large) + shape +
               padding;
      case 3:
        return "MAX_POOLING_GRAD" + Tensor("InputTensor", type, large) + Tensor("InputGradientTensor", type, small) +
               Tensor("OutputGradientTensor", type, large) + shape + dilation;
      default: {
        const std::string whole = Pick({"i32", "i8", "u8"});
        return "MAX_POOLING2" + Tensor("InputTensor", whole, large) + Tensor("OutputTensor", whole, small) + shape + dilation;
      }
    }
  }
  std::string Slice() {
    const Sizes large = Any(1, 6);
    Sizes offsets, windows, small;
    std::string strides = "[";
    for (uint32_t size : large) {
      const uint32_t window = Up(1, size), stride = Chance(2) ? 1 : Up(1, 4);
      offsets.push_back(Up(0, size - window));
      windows.push_back(window);
      small.push_back((window - 1) / stride + 1);
      strides += (strides.size() > 1 ? "," : "") + std::string(Chance(4) ? "-" : "") + std::to_string(stride);
    }
    const std::string type = Pick({"f32", "f16", "i64", "u8", "i32"});
    const std::string shape =
        " InputWindowOffsets=" + List(offsets) + " InputWindowSizes=" + List(windows) + " InputWindowStrides=" + strides + "]";
    if (Chance(3)) {
      const std::string real = Pick({"f32", "f16"});
      return "SLICE_GRAD" + Tensor("InputGradientTensor", real, small) + Tensor("OutputGradientTensor", real, large) + shape;
    }
    return "SLICE1" + Tensor("InputTensor", type, large) + Tensor("OutputTensor", type, small) + shape;
  }
  std::string JoinSplit() {
    Sizes sizes = Any(1, 5, 3000);
    const uint32_t axis = Up(0, static_cast<uint32_t>(sizes.size()) - 1), count = Up(1, 4);
    const std::string type = Pick({"f32", "f16", "i64", "u8", "i32"});
    std::string parts = "[";
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
      Sizes part = sizes;
      part[axis] = Up(1, 5);
      sum += part[axis];
      parts += (i ? "," : "") + type + List(part);
    }
    sizes[axis] = sum;
    const bool join = Chance(2);
    return (join ? "JOIN InputTensors=" : "SPLIT OutputTensors=") + parts + "]" +
           Tensor(join ? "OutputTensor" : "InputTensor", type, sizes) + " Axis=" + std::to_string(axis);
  }
  std::string Padding() {
    const Sizes sizes = Any(1, 5, 2000);
    const uint32_t mode = Up(0, 3);
    Sizes start, end, padded;
    for (uint32_t size : sizes) {
      const uint32_t max_pad = mode == 2 ? size - 1 : mode == 3 ? size : 3;
      start.push_back(Up(0, std::min(max_pad, 3u)));
      end.push_back(Up(0, std::min(max_pad, 3u)));
      padded.push_back(size + start.back() + end.back());
    }
    const std::string type = Pick({"f32", "f16", "i64", "u8", "i32"});
    return "PADDING1" + Tensor("InputTensor", type, sizes) + Tensor("OutputTensor", type, padded) + " PaddingMode=" + std::to_string(mode) +
           " PaddingValueDataType=" + std::to_string(static_cast<int>(ParseType(type))) +
           (type == "f32" ? " PaddingValue=f32:2.5" : " PaddingValue=i64:7") + " StartPadding=" + List(start) + " EndPadding=" + List(end);
  }
  std::string BatchNorm() {
    const Sizes sizes = Any(2, 5);
    Sizes scale(sizes.size(), 1);
    scale[1] = sizes[1];
    const std::string type = Pick({"f32", "f32", "f16"});
    auto wide = [&](const char* name) { return Tensor(name, type, sizes); };
    auto narrow = [&](const char* name) { return Tensor(name, type, scale); };
    const std::string epsilon = " Epsilon=0.01";
    switch (Up(0, 3)) {
      case 0:
        return "BATCH_NORMALIZATION" + wide("InputTensor") + narrow("MeanTensor") + narrow("VarianceTensor") + narrow("ScaleTensor") +
               narrow("BiasTensor") + wide("OutputTensor") + " Spatial=1" + epsilon + Activation();
      case 1:
        return "BATCH_NORMALIZATION_TRAINING" + wide("InputTensor") + narrow("ScaleTensor") + narrow("BiasTensor") +
               (Chance(2) ? wide("FusedAddTensor") : "") + wide("OutputTensor") + narrow("OutputMeanTensor") +
               narrow("OutputVarianceTensor") + epsilon + Activation();
      case 2:
        return "BATCH_NORMALIZATION_TRAINING_GRAD" + wide("InputTensor") + wide("InputGradientTensor") + narrow("MeanTensor") +
               narrow("VarianceTensor") + narrow("ScaleTensor") + wide("OutputGradientTensor") + narrow("OutputScaleGradientTensor") +
               narrow("OutputBiasGradientTensor") + epsilon;
      default:
        return "BATCH_NORMALIZATION_GRAD" + wide("InputTensor") + wide("InputGradientTensor") + narrow("MeanTensor") +
               narrow("VarianceTensor") + narrow("ScaleTensor") + wide("OutputGradientTensor") + narrow("OutputScaleGradientTensor") +
               narrow("OutputBiasGradientTensor") + epsilon;
    }
  }
  std::string MeanVariance() {
    Sizes sizes = Any(2, 5);
    const std::string type = Pick({"f32", "f32", "f16"});
    // Scale and bias run along any of the dimensions.
    auto narrow = [&](const char* name) {
      Sizes some = sizes;
      for (uint32_t& size : some)
        if (Chance(2)) size = 1;
      return Tensor(name, type, some);
    };
    std::string rest = " Epsilon=0.01" + Activation();
    if (Chance(4)) {
      sizes.resize(4, 3);
      return "MEAN_VARIANCE_NORMALIZATION" + Tensor("InputTensor", type, sizes) + (Chance(2) ? narrow("ScaleTensor") : "") +
             (Chance(2) ? narrow("BiasTensor") : "") + Tensor("OutputTensor", type, sizes) + Pick({" CrossChannel=0", " CrossChannel=1"}) +
             Pick({" NormalizeVariance=0", " NormalizeVariance=1"}) + rest;
    }
    Sizes reduced;
    const std::string axes = " Axes=" + List(Axes(sizes, reduced));
    const bool second = Chance(2);
    return std::string("MEAN_VARIANCE_NORMALIZATION") + (second ? "2" : "1") + Tensor("InputTensor", type, sizes) +
           (Chance(2) ? narrow("ScaleTensor") : "") + (Chance(2) ? narrow("BiasTensor") : "") + Tensor("OutputTensor", type, sizes) + axes +
           (second ? std::string(Pick({" UseMean=0", " UseMean=1"})) + Pick({" UseVariance=0", " UseVariance=1"})
                   : std::string(Pick({" NormalizeVariance=0", " NormalizeVariance=1"}))) +
           rest;
  }
  std::string Gather() {
    const std::string type = Pick({"f32", "f16", "i64", "u8"}), index = Pick({"u32", "i32", "i64"});
    const uint32_t rows = Up(1, 60), width = Up(1, 70), count = Up(1, 40);
    if (Chance(3)) {
      const Sizes sizes = Any(1, 5);
      const uint32_t axis = Up(0, static_cast<uint32_t>(sizes.size()) - 1);
      Sizes index_sizes = sizes;
      index_sizes[axis] = Up(1, 12);
      return "GATHER_ELEMENTS" + Tensor("InputTensor", type, sizes) + Tensor("IndicesTensor", index, index_sizes) +
             Tensor("OutputTensor", type, index_sizes) + " Axis=" + std::to_string(axis);
    }
    if (Chance(2))
      return "GATHER" + Tensor("InputTensor", type, {rows, width}) + Tensor("IndicesTensor", index, {1, count}) +
             Tensor("OutputTensor", type, {rows, count}) + " Axis=1 IndexDimensions=1";
    return "GATHER" + Tensor("InputTensor", type, {rows, width}) + Tensor("IndicesTensor", index, {1, count}) +
           Tensor("OutputTensor", type, {count, width}) + " Axis=0 IndexDimensions=1";
  }
  std::string Cumulative() {
    const Sizes sizes = Any(1, 5);
    const std::string type = Pick({"f32", "f16", "i32", "u32", "i64", "u64"}), kind = Pick({"SUMMATION", "PRODUCT"});
    return "CUMULATIVE_" + kind + Tensor("InputTensor", type, sizes) + Tensor("OutputTensor", type, sizes) +
           " Axis=" + std::to_string(Up(0, static_cast<uint32_t>(sizes.size()) - 1)) + Pick({" AxisDirection=0", " AxisDirection=1"}) +
           (kind == "PRODUCT" ? " HasExclusiveProduct=" : " HasExclusiveSum=") + Pick({"0", "1"});
  }
  std::string Order() {
    const Sizes sizes = Any(1, 5);
    const uint32_t axis = Up(0, static_cast<uint32_t>(sizes.size()) - 1), k = Chance(3) ? sizes[axis] : Up(1, sizes[axis]);
    Sizes first = sizes;
    first[axis] = k;
    const std::string type = Pick({"f32", "f16", "i32", "u32", "i64", "u64", "i8", "u8", "i16", "u16"});
    return "TOP_K1" + Tensor("InputTensor", type, sizes) + Tensor("OutputValueTensor", type, first) +
           Tensor("OutputIndexTensor", "u32", first) + " Axis=" + std::to_string(axis) + " K=" + std::to_string(k) +
           Pick({" AxisDirection=0", " AxisDirection=1"});
  }
  std::string RowSums() {
    const uint32_t count = Up(1, 90), rows = Up(1, 3), columns = Chance(3) ? 1 : Up(1, 70);
    return "ROI_ALIGN_GRAD" + Tensor("InputGradientTensor", "f32", {count, columns, 1, 1}) + " ROITensor=f32" + List({count, 4}) +
           Pick({"", "/[0,0]"}) + Tensor("BatchIndicesTensor", "u32", {count}) +
           Tensor("OutputGradientTensor", "f32", {rows, columns, 1, 1}) +
           " ReductionFunction=2 InterpolationMode=0 SpatialScaleX=" + Pick({"0.01", "1"}) +
           " SpatialScaleY=0.5 InputPixelOffset=" + Pick({"0", "0", "0.5", "2"}) +
           " OutputPixelOffset=0 MinimumSamplesPerOutput=1 MaximumSamplesPerOutput=1" +
           Pick({" AlignRegionsToCorners=0", " AlignRegionsToCorners=1"});
  }

 private:
  std::mt19937& random_;
};

const char* const kNames[kRandomFamilies] = {"elementwise",
                                             "binary",
                                             "logical",
                                             "CAST",
                                             "GEMM",
                                             "CONVOLUTION",
                                             "REDUCE",
                                             "SOFTMAX",
                                             "pooling",
                                             "slice",
                                             "JOIN and SPLIT",
                                             "PADDING1",
                                             "batch normalisation",
                                             "GATHER",
                                             "mean and variance",
                                             "TOP_K1",
                                             "sums of rows",
                                             "running sums and products"};

}  // namespace

const char* RandomFamilyName(int family) { return kNames[family]; }

OperatorDesc RandomDescription(int family, std::mt19937& random) {
  Maker make(random);
  switch (family) {
    case 0: return Parse(make.Elementwise());
    case 1: return Parse(make.Binary());
    case 2: return Parse(make.Logical());
    case 3: return Parse(make.Cast());
    case 4: return Parse(make.Gemm());
    case 5: return Parse(make.Convolution());
    case 6: return Parse(make.Reduce());
    case 7: return Parse(make.Softmax());
    case 8: return Parse(make.Pooling());
    case 9: return Parse(make.Slice());
    case 10: return Parse(make.JoinSplit());
    case 11: return Parse(make.Padding());
    case 12: return Parse(make.BatchNorm());
    case 13: return Parse(make.Gather());
    case 14: return Parse(make.MeanVariance());
    case 15: return Parse(make.Order());
    case 16: return Parse(make.RowSums());
    default: return Parse(make.Cumulative());
  }
}

void RandomLayout(OperatorDesc& desc, std::mt19937& random) {
  auto change = [&](TensorDesc& t, bool input) {
    const uint32_t kind = random() % 5;
    if (kind < 2) return;
    std::array<uint32_t, kMaxRank> strides{};
    std::vector<uint32_t> order(t.rank);
    std::iota(order.begin(), order.end(), 0u);
    if (kind == 2) std::shuffle(order.begin(), order.end(), random);
    uint32_t stride = 1;
    for (uint32_t i = t.rank; i-- > 0;) {
      strides[order[i]] = stride;
      stride *= t.sizes[order[i]];
      if (kind == 3) stride += random() % 4;
    }
    if (kind == 4) {
      if (!input) return;
      for (uint32_t d = 0; d < t.rank; ++d)
        if (random() % 2) strides[d] = 0;
    }
    // The dimensions of size 1 may have any stride.
    for (uint32_t d = 0; d < t.rank; ++d)
      if (t.sizes[d] == 1 && random() % 4 == 0) strides[d] = 1000;
    t.has_strides = true;
    t.strides = strides;
    t.size_in_bytes = BufferTensorSize(t.data_type, t.rank, t.sizes.data(), t.strides.data());
  };
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    const bool input = desc.schema->fields[i].kind == FieldKind::Input;
    if (auto* one = std::get_if<std::optional<TensorDesc>>(&desc.fields[i])) {
      if (*one) change(**one, input);
    } else if (auto* many = std::get_if<std::vector<TensorDesc>>(&desc.fields[i])) {
      for (TensorDesc& t : *many) change(t, input);
    }
  }
}

}  // namespace dxtensor::test
