// BATCH_NORMALIZATION, its training form and the gradients of both, channel by channel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <cstring>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kBlock 0.94 at 1/4, 0.94 at 1/2.
constexpr int64_t kBlock = 1024;

uint32_t BroadcastMask(const schema::TensorDesc& statistics) {
  uint32_t mask = 0;
  for (uint32_t d = 0; d < statistics.rank; ++d)
    if (statistics.sizes[d] == 1) mask |= 1u << d;
  return mask;
}

// Calls body(offsets, n) for blocks of all runs of a row.
template <typename Body>
void ForBlocks(const RowSplit& rows, const RowSplit::Offsets& start, int operands, const Body& body) {
  rows.ForRuns(start, [&](const RowSplit::Offsets& run, int64_t) {
    for (int64_t i = 0; i < rows.run_length(); i += kBlock) {
      RowSplit::Offsets at = run;
      for (int o = 0; o < operands; ++o) at[static_cast<size_t>(o)] += i * rows.element_stride(o);
      body(at, std::min(kBlock, rows.run_length() - i));
    }
  });
}

template <typename Body>
void ForRows(const RowSplit& rows, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, kTaskElements / rows.length());
  ThreadPool::Get().ParallelFor(0, rows.count(), grain, [&](int64_t first, int64_t last, int) {
    for (int64_t row = first; row < last; ++row) body(rows.Start(row));
  });
}

// y = act((x - mean) * factor + bias (+ added)) for one block.
struct Affine {
  FloatOperand x, y, added;
  bool adds = false;
  Activations activations;

  void operator()(const KernelArguments& a, int64_t x_at, int64_t x_stride, int64_t y_at, int64_t y_stride, int64_t added_at,
                  int64_t residual_stride, int64_t n, float mean, float factor, float bias) const {
    alignas(64) float x_buffer[kBlock], residual_buffer[kBlock], result[kBlock + kMaxWidth];
    const float* from = x.Read(a.inputs[0], x_at, x_stride, n, x_buffer);
    const float* more = adds ? added.Read(a.inputs[3], added_at, residual_stride, n, residual_buffer) : nullptr;
    float* to = activations.empty() ? y.Target(a.outputs[0], y_at, y_stride, result) : result;
    Table().normalize(to, from, mean, factor, 0, nullptr, bias, more, n);
    Activate(activations, to, n);
    y.Write(a.outputs[0], y_at, y_stride, n, to);
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
        rows_(*desc.Inputs()[0], mask,
              {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Outputs()[0]), BroadcastStrides(*desc.Inputs()[1]),
               BroadcastStrides(*desc.Inputs()[2]), BroadcastStrides(*desc.Inputs()[3]), BroadcastStrides(*desc.Inputs()[4])},
              false) {
    affine_.x = FloatOperand(*desc.Inputs()[0]);
    affine_.y = FloatOperand(*desc.Outputs()[0]);
    affine_.activations = std::move(activations);
  }
  void Run(const KernelArguments& a) const override {
    ForRows(rows_, [&](const RowSplit::Offsets& start) {
      const float mean = mean_.Read(a.inputs[1], start[2]), bias = bias_.Read(a.inputs[4], start[5]);
      const double variance = variance_.Read(a.inputs[2], start[3]);
      const auto factor = static_cast<float>(scale_.Read(a.inputs[3], start[4]) / std::sqrt(variance + epsilon_));
      ForBlocks(rows_, start, 2, [&](const RowSplit::Offsets& at, int64_t n) {
        affine_(a, at[0], rows_.element_stride(0), at[1], rows_.element_stride(1), 0, 0, n, mean, factor, bias);
      });
    });
  }

 private:
  FloatOperand mean_, variance_, scale_, bias_;
  float epsilon_;
  RowSplit rows_;
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
        rows_(*desc.Inputs()[0], BroadcastMask(*desc.Inputs()[1]),
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
    ForRows(rows_, [&](const RowSplit::Offsets& start) {
      alignas(64) float buffer[kBlock];
      const IsaTable& table = Table();
      Moments moments;
      ForBlocks(rows_, start, 1, [&](const RowSplit::Offsets& at, int64_t n) {
        table.moments(affine_.x.Read(a.inputs[0], at[0], rows_.element_stride(0), n, buffer), n, &moments);
      });
      const auto center = static_cast<float>(moments.mean);
      const double variance = moments.squares / moments.count;
      const auto factor = static_cast<float>(scale_.Read(a.inputs[1], start[3]) / std::sqrt(variance + epsilon_));
      const float bias = bias_.Read(a.inputs[2], start[4]);
      ForBlocks(rows_, start, 3, [&](const RowSplit::Offsets& at, int64_t n) {
        affine_(a, at[0], rows_.element_stride(0), at[1], rows_.element_stride(1), at[2], rows_.element_stride(2), n, center, factor, bias);
      });
      mean_.Write(a.outputs[1], start[5], center);
      variance_.Write(a.outputs[2], start[6], static_cast<float>(variance));
    });
  }

 private:
  FloatOperand scale_, bias_, mean_, variance_;
  float epsilon_;
  RowSplit rows_;
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
        rows_(*desc.Inputs()[0], BroadcastMask(*desc.Inputs()[2]),
              {BroadcastStrides(*desc.Inputs()[0]), BroadcastStrides(*desc.Inputs()[1]), BroadcastStrides(*desc.Outputs()[0]),
               BroadcastStrides(*desc.Inputs()[2]), BroadcastStrides(*desc.Inputs()[3]), BroadcastStrides(*desc.Inputs()[4]),
               BroadcastStrides(*desc.Outputs()[1]), BroadcastStrides(*desc.Outputs()[2])},
              false) {}
  void Run(const KernelArguments& a) const override {
    ForRows(rows_, [&](const RowSplit::Offsets& start) {
      alignas(64) float x_buffer[kBlock], dy_buffer[kBlock], result[kBlock];
      const IsaTable& table = Table();
      const float mean = mean_.Read(a.inputs[2], start[3]);
      const double rate = 1 / std::sqrt(static_cast<double>(variance_.Read(a.inputs[3], start[4])) + epsilon_);
      const double scale = scale_.Read(a.inputs[4], start[5]);
      NormSums sums;
      ForBlocks(rows_, start, 2, [&](const RowSplit::Offsets& at, int64_t n) {
        const float* x = x_.Read(a.inputs[0], at[0], rows_.element_stride(0), n, x_buffer);
        table.norm_gradient_sums(dy_.Read(a.inputs[1], at[1], rows_.element_stride(1), n, dy_buffer), x, mean, n, &sums);
      });
      const auto count = static_cast<double>(rows_.length());
      const auto dy_mean = static_cast<float>(training_ ? sums.dy / count : 0);
      // What only the mean's rounding leaves of the distances from it would be multiplied by the mean of dy.
      const bool is_rounding =
          std::fabs(sums.distance) <= count * std::fabs(static_cast<double>(mean)) * std::numeric_limits<float>::epsilon();
      const double product = sums.product - (is_rounding ? dy_mean * sums.distance : 0);
      const double slope = training_ ? product / count * rate * rate : 0;
      const auto of_x = static_cast<float>(-slope * scale * rate), of_dy = static_cast<float>(scale * rate);
      ForBlocks(rows_, start, 3, [&](const RowSplit::Offsets& at, int64_t n) {
        const float* x = x_.Read(a.inputs[0], at[0], rows_.element_stride(0), n, x_buffer);
        const float* dy = dy_.Read(a.inputs[1], at[1], rows_.element_stride(1), n, dy_buffer);
        float* to = dx_.Target(a.outputs[0], at[2], rows_.element_stride(2), result);
        table.norm_gradient(to, dy, x, mean, dy_mean, of_dy, of_x, n);
        dx_.Write(a.outputs[0], at[2], rows_.element_stride(2), n, to);
      });
      dscale_.Write(a.outputs[1], start[6], static_cast<float>(sums.product * rate));
      dbias_.Write(a.outputs[2], start[7], static_cast<float>(sums.dy));
    });
  }

 private:
  FloatOperand x_, dy_, mean_, variance_, scale_, dx_, dscale_, dbias_;
  float epsilon_;
  bool training_;
  RowSplit rows_;
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
  // One factor for a row: rows run along the dimensions in which all four statistics have size 1.
  uint32_t mask = ~0u;
  for (size_t i = 1; i < 5; ++i) mask &= BroadcastMask(*desc.Inputs()[i]);
  for (uint32_t d = 0; d < desc.Inputs()[0]->rank; ++d)
    if (desc.Inputs()[0]->sizes[d] == 1) mask |= 1u << d;
  return std::make_unique<NormKernel>(desc, mask, std::move(*activations));
}

}  // namespace dxtensor::software::fast
