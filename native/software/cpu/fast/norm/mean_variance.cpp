// MEAN_VARIANCE_NORMALIZATION over given axes: layer, instance and group normalisation.
#include <algorithm>
#include <cmath>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

// Speed (no workload, 1 thread, AVX-512): kBlock 0.95 at 1/4, 1.06 at 4.
constexpr int64_t kBlock = 1024;

enum Slot { kX, kScale, kBias, kY, kSlots };

class MeanVarianceKernel final : public Kernel {
 public:
  MeanVarianceKernel(const schema::OperatorDesc& desc, uint32_t axes, Activations activations)
      : epsilon_(desc.Float("Epsilon")),
        centers_(desc.Has("UseMean") ? desc.Get<bool>("UseMean") : true),
        scales_(desc.Get<bool>(desc.Has("UseVariance") ? "UseVariance" : "NormalizeVariance")),
        activations_(std::move(activations)),
        rows_(*desc.Inputs()[kX], axes,
              {BroadcastStrides(*desc.Inputs()[kX]), StridesOf(desc.Inputs()[kScale]), StridesOf(desc.Inputs()[kBias]),
               BroadcastStrides(*desc.Outputs()[0])},
              false) {
    const schema::TensorDesc* tensors[kSlots] = {desc.Inputs()[kX], desc.Inputs()[kScale], desc.Inputs()[kBias], desc.Outputs()[0]};
    for (int slot = 0; slot < kSlots; ++slot) {
      has_[slot] = tensors[slot] != nullptr;
      if (has_[slot]) operand_[slot] = FloatOperand(*tensors[slot]);
    }
  }
  void Run(const KernelArguments& a) const override {
    const int64_t grain = std::max<int64_t>(1, kTaskElements / rows_.length());
    ThreadPool::Get().ParallelFor(0, rows_.count(), grain, [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; ++row) {
        const RowSplit::Offsets start = rows_.Start(row);
        Apply(a, start, Measure(a, start));
      }
    });
  }

 private:
  static Extents StridesOf(const schema::TensorDesc* t) { return t ? BroadcastStrides(*t) : Extents{}; }

  RowSplit::Offsets Moved(RowSplit::Offsets at, int64_t elements) const {
    for (int slot = 0; slot < kSlots; ++slot) at[static_cast<size_t>(slot)] += elements * rows_.element_stride(slot);
    return at;
  }
  // Contiguous float32 is used without a copy, whatever its length.
  bool IsDirect(int slot) const { return operand_[slot].type == DML_TENSOR_DATA_TYPE_FLOAT32 && rows_.element_stride(slot) == 1; }

  Moments Measure(const KernelArguments& a, const RowSplit::Offsets& start) const {
    alignas(64) float buffer[kBlock];
    const IsaTable& table = Table();
    Moments moments;
    const int64_t length = rows_.run_length();
    rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t) {
      const int64_t block = IsDirect(kX) ? length : kBlock;
      for (int64_t i = 0; i < length; i += block) {
        const int64_t n = std::min(block, length - i);
        table.moments(operand_[kX].Read(a.inputs[kX], at[kX] + i * rows_.element_stride(kX), rows_.element_stride(kX), n, buffer), n,
                      &moments);
      }
    });
    return moments;
  }

  void Apply(const KernelArguments& a, const RowSplit::Offsets& start, const Moments& moments) const {
    const double mean = centers_ ? moments.mean : 0;
    const double variance = moments.squares / moments.count + (centers_ ? 0 : moments.mean * moments.mean);
    const double rate = scales_ ? 1 / std::sqrt(variance + epsilon_) : 1;
    const auto center = static_cast<float>(mean);
    const int64_t length = rows_.run_length();
    rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t) {
      // A scale or bias that is constant along the segment is a number.
      const bool scale_varies = has_[kScale] && rows_.element_stride(kScale) != 0 && length > 1;
      const bool bias_varies = has_[kBias] && rows_.element_stride(kBias) != 0 && length > 1;
      double factor = rate;
      if (has_[kScale] && !scale_varies) factor *= operand_[kScale].Read(a.inputs[kScale], at[kScale]);
      const float shift = has_[kBias] && !bias_varies ? operand_[kBias].Read(a.inputs[kBias], at[kBias]) : 0;
      const auto offset = static_cast<float>((static_cast<double>(center) - mean) * factor);
      const bool direct =
          activations_.empty() && IsDirect(kX) && IsDirect(kY) && (!scale_varies || IsDirect(kScale)) && (!bias_varies || IsDirect(kBias));
      const int64_t block = direct ? length : kBlock;
      for (int64_t i = 0; i < length; i += block)
        Write(a, Moved(at, i), std::min(block, length - i), center, static_cast<float>(factor), offset, scale_varies, shift, bias_varies);
    });
  }

  void Write(const KernelArguments& a, const RowSplit::Offsets& at, int64_t n, float center, float factor, float offset, bool scale_varies,
             float shift, bool bias_varies) const {
    alignas(64) float buffers[kSlots][kBlock + kMaxWidth];
    auto read = [&](int slot) {
      return operand_[slot].Read(a.inputs[slot], at[static_cast<size_t>(slot)], rows_.element_stride(slot), n, buffers[slot]);
    };
    float* to = activations_.empty() ? operand_[kY].Target(a.outputs[0], at[kY], rows_.element_stride(kY), buffers[kY]) : buffers[kY];
    Table().normalize(to, read(kX), center, factor, offset, scale_varies ? read(kScale) : nullptr, shift,
                      bias_varies ? read(kBias) : nullptr, n);
    Activate(activations_, to, n);
    operand_[kY].Write(a.outputs[0], at[kY], rows_.element_stride(kY), n, to);
  }

  float epsilon_;
  bool centers_, scales_;
  Activations activations_;
  RowSplit rows_;
  FloatOperand operand_[kSlots];
  bool has_[kSlots] = {};
};

}  // namespace

std::unique_ptr<Kernel> MakeMeanVarianceKernel(const schema::OperatorDesc& desc) {
  for (const schema::TensorDesc* t : desc.Inputs())
    if (t && !IsFloatType(t->data_type)) return nullptr;
  auto activations = FusedActivations(desc);
  if (!activations) return nullptr;
  uint32_t axes = 0;
  if (!desc.Has("Axes")) axes = desc.Get<bool>("CrossChannel") ? 0b1110 : 0b1100;
  else
    for (uint32_t axis : desc.UInts("Axes")) axes |= 1u << axis;
  return std::make_unique<MeanVarianceKernel>(desc, axes, std::move(*activations));
}

}  // namespace dxtensor::software::fast
