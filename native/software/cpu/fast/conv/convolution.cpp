#include "convolution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/preparing_kernel.h"
#include "convolution_grid.h"

namespace dxtensor::software::fast {

namespace {

int64_t StrideOf(const schema::TensorDesc& t, uint32_t d) { return t.sizes[d] == 1 ? 0 : t.strides[d]; }

class ConvolutionKernel final : public PreparingKernel {
 public:
  ConvolutionKernel(const schema::OperatorDesc& desc, Activations activations, const ConvolutionEnd& end, const schema::TensorDesc& out);
  size_t ScratchBytes() const override { return scratch_bytes_ + (norm_ ? static_cast<size_t>(2 * shape_.EndStep()) * sizeof(float) : 0); }
  void RunPrepared(const KernelArguments& given, const uint8_t* prepared) const override {
    KernelArguments arguments = given;
    const uint8_t* inputs[] = {given.inputs[0], given.inputs[1], given.inputs[2], nullptr, nullptr, nullptr, nullptr};
    if (shape_.adds) inputs[4] = given.inputs[7];
    if (shape_.holds) {
      inputs[5] = given.inputs[8];
      inputs[6] = given.inputs[9];
    }
    if (norm_) {
      norm_->Prepare(given, shape_.EndStep(), reinterpret_cast<float*>(given.scratch + scratch_bytes_));
      inputs[3] = given.scratch + scratch_bytes_;
    }
    arguments.inputs = inputs;
    for (const ConvolutionGrid& grid : grids_) {
      grid.Run(shape_, arguments, prepared);
      if (prepared) prepared += grid.PreparedBytes();
    }
    if (pads_output_) FillOutputPadding(arguments);
  }
  int PreparedInput() const override { return PreparedBytes() ? 1 : -1; }
  size_t PreparedBytes() const override {
    size_t bytes = 0;
    for (const ConvolutionGrid& grid : grids_) {
      if (grid.ReadsFilter()) return 0;
      bytes += grid.PreparedBytes();
    }
    return bytes;
  }
  void Prepare(const KernelArguments& arguments, uint8_t* to) const override {
    for (const ConvolutionGrid& grid : grids_) {
      grid.Prepare(shape_, arguments, to);
      to += grid.PreparedBytes();
    }
  }

 private:
  void FillOutputPadding(const KernelArguments& arguments) const;

  // Of a BATCH_NORMALIZATION.
  struct Norm {
    explicit Norm(const schema::OperatorDesc& desc) : epsilon(desc.Float("Epsilon")), channels(desc.Inputs()[0]->sizes[1]) {
      for (size_t i = 0; i < 4; ++i) {
        operand[i] = FloatOperand(*desc.Inputs()[i + 1]);
        step[i] = StrideOf(*desc.Inputs()[i + 1], 1);
      }
    }
    // Factor and shift of each channel, as ConvolutionShape::EndsOf gives them.
    void Prepare(const KernelArguments& arguments, int64_t end_step, float* to) const;

    float epsilon;
    int64_t channels;
    FloatOperand operand[4];  // mean, variance, scale, bias
    int64_t step[4];
    std::optional<FloatOperand> bias;
    int64_t bias_step = 0;
  };

  ConvolutionShape shape_;
  std::optional<Norm> norm_;
  std::vector<ConvolutionGrid> grids_;
  size_t scratch_bytes_ = 0;
  bool pads_output_ = false;
  std::array<int64_t, kSpatial> out_size_{1, 1, 1}, computed_{1, 1, 1}, out_stride_{};
};

void ConvolutionKernel::Norm::Prepare(const KernelArguments& arguments, int64_t end_step, float* to) const {
  constexpr int64_t kBlock = 256;
  alignas(64) float room[5][kBlock];
  for (int64_t c = 0; c < channels; c += kBlock) {
    const int64_t n = std::min(kBlock, channels - c);
    auto read = [&](size_t i) { return operand[i].Read(arguments.inputs[3 + i], c * step[i], step[i], n, room[i]); };
    const NormChannels of = {read(0), read(1), read(2), read(3),
                             bias ? bias->Read(arguments.inputs[2], c * bias_step, bias_step, n, room[4]) : nullptr};
    Table().norm_ends(to + c, to + end_step + c, of, epsilon, n);
  }
  for (int64_t i = 0; i < 2; ++i) std::fill(to + i * end_step + channels, to + (i + 1) * end_step, 0.0f);
}

ConvolutionKernel::ConvolutionKernel(const schema::OperatorDesc& desc, Activations activations, const ConvolutionEnd& end,
                                     const schema::TensorDesc& out) {
  const schema::TensorDesc &in = *desc.Tensor("InputTensor"), &filter = *desc.Tensor("FilterTensor");
  const bool backward = desc.UInt("Direction") == DML_CONVOLUTION_DIRECTION_BACKWARD;
  const bool flips = desc.UInt("Mode") == DML_CONVOLUTION_MODE_CONVOLUTION;
  ConvolutionShape& s = shape_;
  s.in_type = in.data_type;
  s.filter_type = filter.data_type;
  s.out_type = out.data_type;
  s.in_bytes = static_cast<int>(schema::BytesPerElement(s.in_type));
  s.filter_bytes = static_cast<int>(schema::BytesPerElement(s.filter_type));
  s.out_bytes = static_cast<int>(schema::BytesPerElement(s.out_type));
  s.groups = desc.UInt("GroupCount");
  s.images = out.sizes[0];
  s.rows = out.sizes[1] / s.groups;
  s.channels = in.sizes[1] / s.groups;
  s.in_image = StrideOf(in, 0);
  s.in_channel = StrideOf(in, 1);
  s.filter_row = StrideOf(filter, backward ? 1 : 0);
  s.filter_channel = StrideOf(filter, backward ? 0 : 1);
  s.filter_group = (backward ? s.channels : s.rows) * StrideOf(filter, 0);
  s.out_image = StrideOf(out, 0);
  s.out_row = StrideOf(out, 1);
  s.has_bias = desc.Tensor("BiasTensor").has_value();
  s.bias_row = s.has_bias ? StrideOf(*desc.Tensor("BiasTensor"), 1) : 0;
  s.adds = end.adds;
  s.input_has_room = end.input_has_room;
  s.output_has_room = end.output_has_room;
  s.activations = std::move(activations);
  s.holds = end.holds;
  if (IsFloat32(s.out_type)) s.limits = LimitsOf(s.activations);
  if (end.norm) {
    norm_.emplace(*end.norm);
    if (s.has_bias) {
      norm_->bias = FloatOperand(*desc.Tensor("BiasTensor"));
      norm_->bias_step = s.bias_row;
    }
    s.has_bias = false;
    s.normalizes = true;
  }

  const uint32_t spatial = desc.UInt("DimensionCount");
  // For each dimension its grids: one, or backward one for each remainder by the stride.
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
    const int64_t cells = filter.sizes[t], cell_stride = StrideOf(filter, t);
    const int64_t computed = static_cast<int64_t>(out.sizes[t]) - desc.UInts("OutputPadding")[a];
    out_size_[static_cast<size_t>(d)] = out.sizes[t];
    computed_[static_cast<size_t>(d)] = computed;
    out_stride_[static_cast<size_t>(d)] = StrideOf(out, t);
    pads_output_ |= computed != out.sizes[t];
    auto cell = [&](int64_t k) { return (flips ? cells - 1 - k : k) * cell_stride; };
    // A remainder behind the last output has none; strides may be as large as 2^32 - 1.
    const int64_t remainders = backward ? std::min(stride, computed) : 1;
    for (int64_t remainder = 0; remainder < remainders; ++remainder) {
      GridDimension g;
      g.in_size = in.sizes[t];
      g.in_stride = StrideOf(in, t);
      g.taps.clear();
      if (backward) {
        g.count = computed > remainder ? (computed - 1 - remainder) / stride + 1 : 0;
        g.out_stride = StrideOf(out, t) * stride;
        for (int64_t k = 0; k < cells; ++k) {
          const int64_t at = remainder + padding - k * dilation;
          if (at % stride == 0) g.taps.push_back({cell(k), at / stride});
        }
      } else {
        g.count = std::max<int64_t>(computed, 0);
        g.in_step = stride;
        g.out_stride = StrideOf(out, t);
        for (int64_t k = 0; k < cells; ++k) g.taps.push_back({cell(k), k * dilation - padding});
      }
      // In the order of the filter's memory; of one that is broadcast in their own, since lines of taps read inputs at one distance.
      std::stable_sort(g.taps.begin(), g.taps.end(), [](const Tap& x, const Tap& y) { return x.cell < y.cell; });
      if (g.count > 0) choices[static_cast<size_t>(d)].push_back({g, remainder * StrideOf(out, t)});
    }
  }
  for (const Choice& z : choices[0])
    for (const Choice& y : choices[1])
      for (const Choice& x : choices[2]) {
        const GridDimension dimensions[kSpatial] = {z.dimension, y.dimension, x.dimension};
        grids_.emplace_back(shape_, dimensions, z.out_start + y.out_start + x.out_start);
        scratch_bytes_ = std::max(scratch_bytes_, grids_.back().ScratchBytes());
      }
}

// Microsoft's library computes nothing there: no sum, no bias, but the activation of 0.
void ConvolutionKernel::FillOutputPadding(const KernelArguments& arguments) const {
  alignas(64) float value[kMaxWidth] = {};
  shape_.Activate(arguments, value, 1);
  for (int64_t n = 0; n < shape_.images; ++n)
    for (int64_t c = 0; c < shape_.groups * shape_.rows; ++c)
      for (int64_t z = 0; z < out_size_[0]; ++z)
        for (int64_t y = 0; y < out_size_[1]; ++y)
          for (int64_t x = 0; x < out_size_[2]; ++x) {
            if (z < computed_[0] && y < computed_[1] && x < computed_[2]) continue;
            const int64_t at = n * shape_.out_image + c * shape_.out_row + z * out_stride_[0] + y * out_stride_[1] + x * out_stride_[2];
            Table().store(shape_.out_type, arguments.outputs[0] + at * shape_.out_bytes, reinterpret_cast<const uint8_t*>(value), 1, 1);
          }
}

}  // namespace

std::unique_ptr<Kernel> MakeConvolutionKernel(const schema::OperatorDesc& desc, const ConvolutionEnd& end) {
  if (desc.type() != DML_OPERATOR_CONVOLUTION) return nullptr;
  const schema::TensorDesc& out = end.stored ? *end.stored : *desc.Tensor("OutputTensor");
  auto is_float = [](DML_TENSOR_DATA_TYPE t) { return t == DML_TENSOR_DATA_TYPE_FLOAT32 || t == DML_TENSOR_DATA_TYPE_FLOAT16; };
  if (!is_float(desc.Tensor("InputTensor")->data_type) || !is_float(out.data_type)) return nullptr;
  if (desc.UInt("DimensionCount") > kSpatial || desc.UInt("DimensionCount") + 2 != out.rank) return nullptr;
  auto activations = FusedActivations(desc);
  if (!activations) return nullptr;
  activations->insert(activations->end(), end.after.begin(), end.after.end());
  if (end.holds && (!activations->empty() || out.data_type != DML_TENSOR_DATA_TYPE_FLOAT32)) return nullptr;
  return std::make_unique<ConvolutionKernel>(desc, std::move(*activations), end, out);
}

}  // namespace dxtensor::software::fast
