// BATCH_NORMALIZATION, its training form and the gradients of both, channel by channel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <cstring>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/lines.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

constexpr int64_t kBlock = 1024;
constexpr int64_t kPiece = 1 << 15;

uint32_t BroadcastMask(const schema::TensorDesc& statistics) {
  uint32_t mask = 0;
  for (uint32_t d = 0; d < statistics.rank; ++d)
    if (statistics.sizes[d] == 1) mask |= 1u << d;
  return mask;
}

// Calls body(offsets, n) for blocks of all runs of a line.
template <typename Body>
void ForBlocks(const Lines& lines, const Lines::Offsets& start, int operands, const Body& body) {
  lines.ForRuns(start, [&](const Lines::Offsets& run, int64_t) {
    for (int64_t i = 0; i < lines.run_length(); i += kBlock) {
      Lines::Offsets at = run;
      for (int o = 0; o < operands; ++o) at[static_cast<size_t>(o)] += i * lines.step(o);
      body(at, std::min(kBlock, lines.run_length() - i));
    }
  });
}

template <typename Body>
void ForLines(const Lines& lines, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kPiece / lines.length());
  ThreadPool::Get().ParallelFor(0, lines.count(), grain, [&](int64_t first, int64_t last, int) {
    for (int64_t line = first; line < last; ++line) body(lines.Start(line));
  });
}

// y = act((x - mean) * factor + bias (+ added)) for one block.
struct Affine {
  FloatOperand x, y, added;
  bool adds = false;
  Activations activations;

  void operator()(const KernelArguments& a, int64_t x_at, int64_t x_step, int64_t y_at, int64_t y_step, int64_t added_at,
                  int64_t added_step, int64_t n, float mean, float factor, float bias) const {
    alignas(64) float x_room[kBlock], added_room[kBlock], result[kBlock + kMaxWidth];
    const float* from = x.Read(a.inputs[0], x_at, x_step, n, x_room);
    const float* more = adds ? added.Read(a.inputs[3], added_at, added_step, n, added_room) : nullptr;
    float* to = activations.empty() ? y.Room(a.outputs[0], y_at, y_step, result) : result;
    Table().normalize(to, from, mean, factor, 0, nullptr, bias, more, n);
    Activate(activations, to, n);
    y.Write(a.outputs[0], y_at, y_step, n, to);
  }
};

class NormKernel final : public Kernel {
 public:
  NormKernel(const schema::OperatorDesc& desc, uint32_t mask, Activations activations)
      : mean_(*desc.Inputs()[1]),
        variance_(*desc.Inputs()[2]),
        scale_(*desc.Inputs()[3]),
        bias_(*desc.Inputs()[4]),
        epsilon_(desc.Float("Epsilon")),
        lines_(*desc.Inputs()[0], mask,
               {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Outputs()[0]), BroadcastStrides(*desc.Inputs()[1]),
                BroadcastStrides(*desc.Inputs()[2]), BroadcastStrides(*desc.Inputs()[3]), BroadcastStrides(*desc.Inputs()[4])},
               false) {
    affine_.x = FloatOperand(*desc.Inputs()[0]);
    affine_.y = FloatOperand(*desc.Outputs()[0]);
    affine_.activations = std::move(activations);
  }
  void Run(const KernelArguments& a) const override {
    ForLines(lines_, [&](const Lines::Offsets& start) {
      const float mean = mean_.Read(a.inputs[1], start[2]), bias = bias_.Read(a.inputs[4], start[5]);
      const double variance = variance_.Read(a.inputs[2], start[3]);
      const auto factor = static_cast<float>(scale_.Read(a.inputs[3], start[4]) / std::sqrt(variance + epsilon_));
      ForBlocks(lines_, start, 2, [&](const Lines::Offsets& at, int64_t n) {
        affine_(a, at[0], lines_.step(0), at[1], lines_.step(1), 0, 0, n, mean, factor, bias);
      });
    });
  }

 private:
  FloatOperand mean_, variance_, scale_, bias_;
  float epsilon_;
  Lines lines_;
  Affine affine_;
};

class NormTrainingKernel final : public Kernel {
 public:
  NormTrainingKernel(const schema::OperatorDesc& desc, Activations activations)
      : scale_(*desc.Inputs()[1]),
        bias_(*desc.Inputs()[2]),
        mean_(*desc.Outputs()[1]),
        variance_(*desc.Outputs()[2]),
        epsilon_(desc.Float("Epsilon")),
        lines_(*desc.Inputs()[0], BroadcastMask(*desc.Inputs()[1]),
               {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Outputs()[0]),
                desc.Inputs()[3] ? BroadcastStrides(*desc.Inputs()[3]) : BroadcastStrides(*desc.Inputs()[0]),
                BroadcastStrides(*desc.Inputs()[1]), BroadcastStrides(*desc.Inputs()[2]), BroadcastStrides(*desc.Outputs()[1]),
                BroadcastStrides(*desc.Outputs()[2])},
               false) {
    affine_.x = FloatOperand(*desc.Inputs()[0]);
    affine_.y = FloatOperand(*desc.Outputs()[0]);
    affine_.adds = desc.Inputs()[3] != nullptr;
    if (affine_.adds) affine_.added = FloatOperand(*desc.Inputs()[3]);
    affine_.activations = std::move(activations);
  }
  void Run(const KernelArguments& a) const override {
    ForLines(lines_, [&](const Lines::Offsets& start) {
      alignas(64) float room[kBlock];
      const IsaTable& table = Table();
      Moments moments;
      ForBlocks(lines_, start, 1, [&](const Lines::Offsets& at, int64_t n) {
        table.moments(affine_.x.Read(a.inputs[0], at[0], lines_.step(0), n, room), n, &moments);
      });
      const auto center = static_cast<float>(moments.mean);
      const double variance = moments.squares / moments.count;
      const auto factor = static_cast<float>(scale_.Read(a.inputs[1], start[3]) / std::sqrt(variance + epsilon_));
      const float bias = bias_.Read(a.inputs[2], start[4]);
      ForBlocks(lines_, start, 3, [&](const Lines::Offsets& at, int64_t n) {
        affine_(a, at[0], lines_.step(0), at[1], lines_.step(1), at[2], lines_.step(2), n, center, factor, bias);
      });
      mean_.Write(a.outputs[1], start[5], center);
      variance_.Write(a.outputs[2], start[6], static_cast<float>(variance));
    });
  }

 private:
  FloatOperand scale_, bias_, mean_, variance_;
  float epsilon_;
  Lines lines_;
  Affine affine_;
};

class NormGradKernel final : public Kernel {
 public:
  explicit NormGradKernel(const schema::OperatorDesc& desc)
      : x_(*desc.Inputs()[0]),
        dy_(*desc.Inputs()[1]),
        mean_(*desc.Inputs()[2]),
        variance_(*desc.Inputs()[3]),
        scale_(*desc.Inputs()[4]),
        dx_(*desc.Outputs()[0]),
        dscale_(*desc.Outputs()[1]),
        dbias_(*desc.Outputs()[2]),
        epsilon_(desc.Float("Epsilon")),
        training_(desc.type() == DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD),
        lines_(*desc.Inputs()[0], BroadcastMask(*desc.Inputs()[2]),
               {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Inputs()[1]), BroadcastStrides(*desc.Outputs()[0]),
                BroadcastStrides(*desc.Inputs()[2]), BroadcastStrides(*desc.Inputs()[3]), BroadcastStrides(*desc.Inputs()[4]),
                BroadcastStrides(*desc.Outputs()[1]), BroadcastStrides(*desc.Outputs()[2])},
               false) {}
  void Run(const KernelArguments& a) const override {
    ForLines(lines_, [&](const Lines::Offsets& start) {
      alignas(64) float x_room[kBlock], dy_room[kBlock], result[kBlock];
      const IsaTable& table = Table();
      const float mean = mean_.Read(a.inputs[2], start[3]);
      const double rate = 1 / std::sqrt(static_cast<double>(variance_.Read(a.inputs[3], start[4])) + epsilon_);
      const double scale = scale_.Read(a.inputs[4], start[5]);
      NormSums sums;
      ForBlocks(lines_, start, 2, [&](const Lines::Offsets& at, int64_t n) {
        const float* x = x_.Read(a.inputs[0], at[0], lines_.step(0), n, x_room);
        table.norm_gradient_sums(dy_.Read(a.inputs[1], at[1], lines_.step(1), n, dy_room), x, mean, n, &sums);
      });
      const auto count = static_cast<double>(lines_.length());
      const auto dy_mean = static_cast<float>(training_ ? sums.dy / count : 0);
      // What only the mean's rounding leaves of the distances from it would be multiplied by the mean of dy.
      const bool is_rounding =
          std::fabs(sums.distance) <= count * std::fabs(static_cast<double>(mean)) * std::numeric_limits<float>::epsilon();
      const double product = sums.product - (is_rounding ? dy_mean * sums.distance : 0);
      const double slope = training_ ? product / count * rate * rate : 0;
      const auto of_x = static_cast<float>(-slope * scale * rate), of_dy = static_cast<float>(scale * rate);
      ForBlocks(lines_, start, 3, [&](const Lines::Offsets& at, int64_t n) {
        const float* x = x_.Read(a.inputs[0], at[0], lines_.step(0), n, x_room);
        const float* dy = dy_.Read(a.inputs[1], at[1], lines_.step(1), n, dy_room);
        float* to = dx_.Room(a.outputs[0], at[2], lines_.step(2), result);
        table.norm_gradient(to, dy, x, mean, dy_mean, of_dy, of_x, n);
        dx_.Write(a.outputs[0], at[2], lines_.step(2), n, to);
      });
      dscale_.Write(a.outputs[1], start[6], static_cast<float>(sums.product * rate));
      dbias_.Write(a.outputs[2], start[7], static_cast<float>(sums.dy));
    });
  }

 private:
  FloatOperand x_, dy_, mean_, variance_, scale_, dx_, dscale_, dbias_;
  float epsilon_;
  bool training_;
  Lines lines_;
};

}  // namespace

std::unique_ptr<Kernel> MakeBatchNormKernel(const schema::OperatorDesc& desc) {
  for (const schema::TensorDesc* t : desc.Inputs())
    if (t && !IsFloatType(t->data_type)) return nullptr;
  if (desc.type() == DML_OPERATOR_BATCH_NORMALIZATION_GRAD || desc.type() == DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD)
    return std::make_unique<NormGradKernel>(desc);
  auto activations = FusedActivations(desc);
  if (!activations) return nullptr;
  if (desc.type() == DML_OPERATOR_BATCH_NORMALIZATION_TRAINING) return std::make_unique<NormTrainingKernel>(desc, std::move(*activations));
  // One factor for a line: it runs along the dimensions in which all four statistics have size 1.
  uint32_t mask = ~0u;
  for (size_t i = 1; i < 5; ++i) mask &= BroadcastMask(*desc.Inputs()[i]);
  for (uint32_t d = 0; d < desc.Inputs()[0]->rank; ++d)
    if (desc.Inputs()[0]->sizes[d] == 1) mask |= 1u << d;
  return std::make_unique<NormKernel>(desc, mask, std::move(*activations));
}

}  // namespace dxtensor::software::fast
