// ONE_HOT whose new axis is contiguous: rows of the "off" value with one element of the other.
#include <algorithm>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/indices.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

namespace {

template <typename T>
class OneHotKernel final : public Kernel {
 public:
  OneHotKernel(const schema::OperatorDesc& desc, RowSplit rows)
      : index_type_(desc.Inputs()[0]->data_type), size_(desc.Outputs()[0]->sizes[desc.UInt("Axis")]), rows_(std::move(rows)) {
    // The "on" value is the second element along the last dimension that has one.
    const schema::TensorDesc& values = *desc.Inputs()[1];
    for (uint32_t d = values.rank; d-- > 0 && on_stride_ == 0;)
      if (values.sizes[d] > 1) on_stride_ = values.strides[d];
  }
  void Run(const KernelArguments& a) const override {
    const auto* values = reinterpret_cast<const T*>(a.inputs[1]);
    const T off = values[0], on = values[on_stride_];
    auto* out = reinterpret_cast<T*>(a.outputs[0]);
    ThreadPool::Get().ParallelFor(0, rows_.count(), std::max<int64_t>(1, kTaskElements / size_), [&](int64_t first, int64_t last, int) {
      for (int64_t row = first; row < last; ++row) {
        const RowSplit::Offsets at = rows_.Start(row);
        T* to = out + at[1];
        std::fill(to, to + size_, off);
        int64_t index = ReadIndex(index_type_, a.inputs[0], at[0]);
        if (index < 0) index += size_;
        if (index >= 0 && index < size_) to[index] = on;
      }
    });
  }

 private:
  DML_TENSOR_DATA_TYPE index_type_;
  int64_t size_, on_stride_ = 0;
  RowSplit rows_;
};

}  // namespace

std::unique_ptr<Kernel> MakeOneHotKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &indices = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  if (out.sizes[axis] < 2 || out.strides[axis] != 1) return nullptr;
  RowSplit rows(out, 1u << axis, {BroadcastStrides(indices), BroadcastStrides(out)}, true);
  switch (schema::BytesPerElement(out.data_type)) {
    case 1: return std::make_unique<OneHotKernel<uint8_t>>(desc, std::move(rows));
    case 2: return std::make_unique<OneHotKernel<uint16_t>>(desc, std::move(rows));
    case 4: return std::make_unique<OneHotKernel<uint32_t>>(desc, std::move(rows));
    case 8: return std::make_unique<OneHotKernel<uint64_t>>(desc, std::move(rows));
    default: return nullptr;
  }
}

}  // namespace dxtensor::software::fast
