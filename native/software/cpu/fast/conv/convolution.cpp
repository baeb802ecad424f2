#include "convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/prepacking_kernel.h"
#include "convolution_strategies.h"

namespace dxtensor::software::fast {

namespace {

int64_t StrideOf(const schema::TensorDesc& t, uint32_t d) { return t.sizes[d] == 1 ? 0 : t.strides[d]; }

class ConvolutionKernel final : public PrepackingKernel {
 public:
  ConvolutionKernel(const schema::OperatorDesc& desc, Activations activations, const ConvolutionEpilogue& epilogue,
                    const schema::TensorDesc& out, std::string_view only);
  bool fits() const { return fits_; }  // else it must not run
  const std::vector<std::string_view>& names() const { return names_; }
  size_t ScratchBytes() const override {
    return scratch_bytes_ + (norm_ ? static_cast<size_t>(2 * problem_.ScaleShiftStride()) * sizeof(float) : 0);
  }
  void RunPrepacked(const KernelArguments& given, const uint8_t* prepacked) const override {
    KernelArguments arguments = given;
    const uint8_t* inputs[] = {given.inputs[0], given.inputs[1], given.inputs[2], nullptr, nullptr, nullptr, nullptr};
    if (problem_.has_residual) inputs[4] = given.inputs[7];
    if (problem_.clamps) {
      inputs[5] = given.inputs[8];
      inputs[6] = given.inputs[9];
    }
    if (norm_) {
      norm_->Compute(given, problem_.ScaleShiftStride(), reinterpret_cast<float*>(given.scratch + scratch_bytes_));
      inputs[3] = given.scratch + scratch_bytes_;
    }
    arguments.inputs = inputs;
    for (const auto& strategy : strategies_) {
      strategy->Run(problem_, arguments, prepacked);
      if (prepacked) prepacked += strategy->PrepackedBytes();
    }
    if (pads_output_) FillOutputPadding(arguments);
  }
  int PrepackedInput() const override { return PrepackedBytes() ? 1 : -1; }
  size_t PrepackedBytes() const override {
    size_t bytes = 0;
    for (const auto& strategy : strategies_) bytes += strategy->PrepackedBytes();
    return reads_filter_ ? 0 : bytes;
  }
  void Prepack(const KernelArguments& arguments, uint8_t* to) const override {
    for (const auto& strategy : strategies_) {
      strategy->Prepack(problem_, arguments, to);
      to += strategy->PrepackedBytes();
    }
  }

 private:
  void FillOutputPadding(const KernelArguments& arguments) const;

  // Of a BATCH_NORMALIZATION.
  struct Norm {
    explicit Norm(const schema::OperatorDesc& desc) : epsilon(desc.Float("Epsilon")), channels(desc.Inputs()[0]->sizes[1]) {
      for (size_t i = 0; i < 4; ++i) {
        operand[i] = FloatOperand(*desc.Inputs()[i + 1]);
        channel_stride[i] = StrideOf(*desc.Inputs()[i + 1], 1);
      }
    }
    // Factor and shift of each channel, as ConvolutionProblem::ScaleShiftOf gives them.
    void Compute(const KernelArguments& arguments, int64_t scale_shift_stride, float* to) const;

    float epsilon;
    int64_t channels;
    FloatOperand operand[4];  // mean, variance, scale, bias
    int64_t channel_stride[4];
    std::optional<FloatOperand> bias;
    int64_t bias_channel_stride = 0;
  };

  ConvolutionProblem problem_;
  std::optional<Norm> norm_;
  std::vector<std::unique_ptr<ConvStrategy>> strategies_;  // one for each grid
  std::vector<std::string_view> names_;                    // of the strategies
  bool fits_ = true;
  size_t scratch_bytes_ = 0;
  bool reads_filter_ = false;  // a strategy reads the filter without packing
  bool pads_output_ = false;
  std::array<int64_t, kSpatial> out_size_{1, 1, 1}, computed_{1, 1, 1}, out_stride_{};
};

void ConvolutionKernel::Norm::Compute(const KernelArguments& arguments, int64_t scale_shift_stride, float* to) const {
  constexpr int64_t kBlock = 256;
  alignas(64) float buffer[5][kBlock];
  for (int64_t c = 0; c < channels; c += kBlock) {
    const int64_t n = std::min(kBlock, channels - c);
    auto read = [&](size_t i) { return operand[i].Read(arguments.inputs[3 + i], c * channel_stride[i], channel_stride[i], n, buffer[i]); };
    const NormChannels of = {read(0), read(1), read(2), read(3),
                             bias ? bias->Read(arguments.inputs[2], c * bias_channel_stride, bias_channel_stride, n, buffer[4]) : nullptr};
    Table().norm_scale_shift(to + c, to + scale_shift_stride + c, of, epsilon, n);
  }
  for (int64_t i = 0; i < 2; ++i) std::fill(to + i * scale_shift_stride + channels, to + (i + 1) * scale_shift_stride, 0.0f);
}

ConvolutionKernel::ConvolutionKernel(const schema::OperatorDesc& desc, Activations activations, const ConvolutionEpilogue& epilogue,
                                     const schema::TensorDesc& out, std::string_view only) {
  const schema::TensorDesc &in = *desc.Tensor("InputTensor"), &filter = *desc.Tensor("FilterTensor");
  const bool backward = desc.UInt("Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD;
  const bool flips = desc.UInt("Mode") == DML_CONVOLUTION_MODE_CONVOLUTION;
  ConvolutionProblem& s = problem_;
  s.in_type = in.data_type;
  s.filter_type = filter.data_type;
  s.out_type = out.data_type;
  s.in_bytes = static_cast<int>(schema::BytesPerElement(s.in_type));
  s.filter_bytes = static_cast<int>(schema::BytesPerElement(s.filter_type));
  s.out_bytes = static_cast<int>(schema::BytesPerElement(s.out_type));
  s.groups = desc.UInt("GroupCount");
  s.batch = out.sizes[0];
  s.co = out.sizes[1] / s.groups;
  s.ci = in.sizes[1] / s.groups;
  s.in_batch_stride = StrideOf(in, 0);
  s.in_channel_stride = StrideOf(in, 1);
  s.filter_co_stride = StrideOf(filter, backward ? 1 : 0);
  s.filter_ci_stride = StrideOf(filter, backward ? 0 : 1);
  s.filter_group_stride = (backward ? s.ci : s.co) * StrideOf(filter, 0);
  s.out_batch_stride = StrideOf(out, 0);
  s.out_channel_stride = StrideOf(out, 1);
  s.has_bias = desc.Tensor("BiasTensor").has_value();
  s.bias_stride = s.has_bias ? StrideOf(*desc.Tensor("BiasTensor"), 1) : 0;
  s.has_residual = epilogue.has_residual;
  s.input_is_padded = epilogue.input_is_padded;
  s.output_is_padded = epilogue.output_is_padded;
  s.activations = std::move(activations);
  s.clamps = epilogue.clamps;
  if (IsFloat32(s.out_type)) s.clamp = ClampOf(s.activations);
  if (epilogue.norm) {
    norm_.emplace(*epilogue.norm);
    if (s.has_bias) {
      norm_->bias = FloatOperand(*desc.Tensor("BiasTensor"));
      norm_->bias_channel_stride = s.bias_stride;
    }
    s.has_bias = false;
    s.normalizes = true;
  }

  const uint32_t spatial = desc.UInt("DimensionCount");
  // The grids of each dimension: one forward; backward one for each remainder by the convolution stride.
  struct Choice {
    GridDimension dimension;
    int64_t out_start;
  };
  std::array<std::vector<Choice>, kSpatial> choices;
  for (int d = 0; d < kSpatial; ++d) {
    const int axis = d - (kSpatial - static_cast<int>(spatial));
    if (axis < 0) {
      choices[static_cast<size_t>(d)].push_back({GridDimension(), 0});
      continue;
    }
    const auto a = static_cast<uint32_t>(axis), t = a + 2;
    const int64_t stride = desc.UInts("Strides")[a], dilation = desc.UInts("Dilations")[a], padding = desc.UInts("StartPadding")[a];
    const int64_t tap_count = filter.sizes[t], tap_stride = StrideOf(filter, t);
    const int64_t computed = static_cast<int64_t>(out.sizes[t]) - desc.UInts("OutputPadding")[a];
    out_size_[static_cast<size_t>(d)] = out.sizes[t];
    computed_[static_cast<size_t>(d)] = computed;
    out_stride_[static_cast<size_t>(d)] = StrideOf(out, t);
    pads_output_ |= computed != out.sizes[t];
    auto filter_offset = [&](int64_t k) { return (flips ? tap_count - 1 - k : k) * tap_stride; };
    // A remainder past the last output has no grid; strides may be as large as 2^32 - 1.
    const int64_t remainders = backward ? std::min(stride, computed) : 1;
    for (int64_t remainder = 0; remainder < remainders; ++remainder) {
      GridDimension g;
      g.in_size = in.sizes[t];
      g.in_stride = StrideOf(in, t);
      g.taps.clear();
      if (backward) {
        g.count = computed > remainder ? (computed - 1 - remainder) / stride + 1 : 0;
        g.out_stride = StrideOf(out, t) * stride;
        for (int64_t k = 0; k < tap_count; ++k) {
          const int64_t at = remainder + padding - k * dilation;
          if (at % stride == 0) g.taps.push_back({filter_offset(k), at / stride});
        }
      } else {
        g.count = std::max<int64_t>(computed, 0);
        g.conv_stride = stride;
        g.out_stride = StrideOf(out, t);
        for (int64_t k = 0; k < tap_count; ++k) g.taps.push_back({filter_offset(k), k * dilation - padding});
      }
      // Taps in the order of the filter's memory. A broadcast filter keeps their own order, since rows of taps read inputs at one distance.
      std::stable_sort(g.taps.begin(), g.taps.end(), [](const Tap& x, const Tap& y) { return x.filter_offset < y.filter_offset; });
      if (g.count > 0) choices[static_cast<size_t>(d)].push_back({g, remainder * StrideOf(out, t)});
    }
  }
  for (const Choice& z : choices[0])
    for (const Choice& y : choices[1])
      for (const Choice& x : choices[2]) {
        const GridDimension dimensions[kSpatial] = {z.dimension, y.dimension, x.dimension};
        const ConvolutionGrid grid(problem_, dimensions, z.out_start + y.out_start + x.out_start);
        auto [name, strategy] = PlanConvolution(problem_, grid, only);
        fits_ &= strategy != nullptr;
        if (!strategy) continue;
        scratch_bytes_ = std::max(scratch_bytes_, strategy->WorkspaceBytes());
        reads_filter_ |= grid.depth > 0 && strategy->PrepackedBytes() == 0;
        strategies_.push_back(std::move(strategy));
        names_.push_back(name);
      }
}

// Microsoft's library computes nothing there: no sum, no bias, but the activation of 0.
void ConvolutionKernel::FillOutputPadding(const KernelArguments& arguments) const {
  alignas(64) float value[kMaxWidth] = {};
  problem_.Activate(arguments, value, 1);
  for (int64_t n = 0; n < problem_.batch; ++n)
    for (int64_t c = 0; c < problem_.groups * problem_.co; ++c)
      for (int64_t z = 0; z < out_size_[0]; ++z)
        for (int64_t y = 0; y < out_size_[1]; ++y)
          for (int64_t x = 0; x < out_size_[2]; ++x) {
            if (z < computed_[0] && y < computed_[1] && x < computed_[2]) continue;
            const int64_t at = n * problem_.out_batch_stride + c * problem_.out_channel_stride + z * out_stride_[0] + y * out_stride_[1] +
                               x * out_stride_[2];
            Table().store(problem_.out_type, arguments.outputs[0] + at * problem_.out_bytes, reinterpret_cast<const uint8_t*>(value), 1, 1);
          }
}

std::unique_ptr<ConvolutionKernel> Make(const schema::OperatorDesc& desc, const ConvolutionEpilogue& epilogue, std::string_view only) {
  if (desc.type() != DML_OPERATOR_CONVOLUTION) return nullptr;
  const schema::TensorDesc& out = epilogue.stored ? *epilogue.stored : *desc.Tensor("OutputTensor");
  auto is_float = [](DML_TENSOR_DATA_TYPE t) { return t == DML_TENSOR_DATA_TYPE_FLOAT32 || t == DML_TENSOR_DATA_TYPE_FLOAT16; };
  if (!is_float(desc.Tensor("InputTensor")->data_type) || !is_float(out.data_type)) return nullptr;
  if (desc.UInt("DimensionCount") > kSpatial || desc.UInt("DimensionCount") + 2 != out.rank) return nullptr;
  auto activations = FusedActivations(desc);
  if (!activations) return nullptr;
  activations->insert(activations->end(), epilogue.after.begin(), epilogue.after.end());
  if (epilogue.clamps && (!activations->empty() || out.data_type != DML_TENSOR_DATA_TYPE_FLOAT32)) return nullptr;
  auto kernel = std::make_unique<ConvolutionKernel>(desc, std::move(*activations), epilogue, out, only);
  return kernel->fits() ? std::move(kernel) : nullptr;
}

}  // namespace

std::unique_ptr<Kernel> MakeConvolutionKernel(const schema::OperatorDesc& desc, const ConvolutionEpilogue& epilogue) {
  return Make(desc, epilogue, {});
}

std::unique_ptr<Kernel> MakeConvolutionKernelBy(std::string_view strategy, const schema::OperatorDesc& desc,
                                                const ConvolutionEpilogue& epilogue) {
  return Make(desc, epilogue, strategy);
}

std::vector<std::string_view> ConvStrategyNames() {
  std::vector<std::string_view> names;
  for (const ConvStrategyEntry& entry : ConvStrategies()) names.push_back(entry.name);
  return names;
}

std::vector<std::string_view> ConvStrategiesOf(const schema::OperatorDesc& desc, const ConvolutionEpilogue& epilogue) {
  const auto kernel = Make(desc, epilogue, {});
  return kernel ? kernel->names() : std::vector<std::string_view>();
}

}  // namespace dxtensor::software::fast
