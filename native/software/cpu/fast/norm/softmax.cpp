// SOFTMAX and LOG_SOFTMAX over one or several axes.
#include <algorithm>
#include <cmath>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(const schema::TensorDesc& in, const schema::TensorDesc& out, uint32_t axes, bool logarithm)
      : in_(in), out_(out), logarithm_(logarithm), rows_(in, axes, {BroadcastStrides(in), BroadcastStrides(out)}, false) {
    // Contiguous float32 rows are read and written directly; others go through scratch memory.
    direct_ = in.data_type == DML_TENSOR_DATA_TYPE_FLOAT32 && rows_.runs() == 1 &&
              ((rows_.element_stride(0) == 1 && rows_.element_stride(1) == 1) || rows_.length() == 1);
    padded_ = (rows_.length() + kMaxWidth - 1) / kMaxWidth * kMaxWidth;
  }
  size_t ScratchBytes() const override { return direct_ ? 0 : static_cast<size_t>(padded_ * 2 * ThreadPool::Get().size()) * sizeof(float); }
  void Run(const KernelArguments& a) const override {
    const int64_t grain = std::max<int64_t>(1, kTaskElements / rows_.length());
    ThreadPool::Get().ParallelFor(0, rows_.count(), grain, [&](int64_t first, int64_t last, int slot) {
      float* own = reinterpret_cast<float*>(a.scratch) + slot * padded_ * 2;
      for (int64_t row = first; row < last; ++row) {
        const RowSplit::Offsets start = rows_.Start(row);
        if (direct_) {
          Row(reinterpret_cast<const float*>(a.inputs[0]) + start[0], reinterpret_cast<float*>(a.outputs[0]) + start[1]);
          continue;
        }
        float *x = own, *y = own + padded_;
        const int64_t n = rows_.run_length();
        rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t position) {
          Table().load(in_.type, reinterpret_cast<uint8_t*>(x + position), a.inputs[0] + at[0] * in_.bytes, rows_.element_stride(0), n);
        });
        Row(x, y);
        rows_.ForRuns(start, [&](const RowSplit::Offsets& at, int64_t position) {
          out_.Write(a.outputs[0], at[1], rows_.element_stride(1), n, y + position);
        });
      }
    });
  }

 private:
  void Row(const float* x, float* y) const {
    const IsaTable& table = Table();
    const int64_t n = rows_.length();
    const float largest = table.max(x, n);
    if (logarithm_) {
      const double sum = table.exp_sum(nullptr, x, largest, n);
      // Two steps: the largest may be far larger than the logarithm.
      table.scale_shift(y, x, 1, -largest, n);
      table.scale_shift(y, y, 1, -static_cast<float>(std::log(sum)), n);
      return;
    }
    const double sum = table.exp_sum(y, x, largest, n);
    table.scale_shift(y, y, static_cast<float>(1 / sum), 0, n);
  }

  FloatOperand in_, out_;
  bool logarithm_, direct_;
  int64_t padded_;
  RowSplit rows_;
};

}  // namespace

std::unique_ptr<Kernel> MakeSoftmaxKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  if (!IsFloatType(in.data_type)) return nullptr;
  uint32_t axes = 1u << (in.rank - 1);
  if (desc.Has("Axes")) {
    axes = 0;
    for (uint32_t axis : desc.UInts("Axes")) axes |= 1u << axis;
  }
  const bool logarithm = desc.type() == DML_OPERATOR_ACTIVATION_LOG_SOFTMAX || desc.type() == DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1;
  return std::make_unique<SoftmaxKernel>(in, out, axes, logarithm);
}

}  // namespace dxtensor::software::fast
