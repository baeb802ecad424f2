// GATHER of whole rows; others are gathered by elements.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/fast/tensor/indices.h"
#include "software/cpu/fast/tensor/row_split.h"
#include "software/cpu/fast/tensor/task_size.h"
#include "software/cpu/host/thread_pool.h"
#include "gather_elements.h"

namespace dxtensor::software::fast {

namespace {

// Speed (suite, 1 thread, AVX-512): kMinRow: within 5 % from 1/4 to 4 times.
constexpr int64_t kMinRow = 4;

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const schema::OperatorDesc& desc, int64_t row, RowSplit slices)
      : index_type_(desc.Inputs()[1]->data_type),
        bytes_(static_cast<int>(schema::BytesPerElement(desc.Inputs()[0]->data_type))),
        row_(row),
        rows_(std::move(slices)) {
    const schema::TensorDesc& in = *desc.Inputs()[0];
    const uint32_t axis = desc.UInt("Axis");
    size_ = in.sizes[axis];
    stride_ = in.strides[axis];
    for (uint32_t d = 0; d < in.rank; ++d) last_ += (in.sizes[d] - 1) * static_cast<uint64_t>(in.strides[d]);
  }
  void Run(const KernelArguments& a) const override {
    ThreadPool::Get().ParallelFor(0, rows_.count(), std::max<int64_t>(1, kTaskElements / row_), [&](int64_t first, int64_t last, int) {
      for (int64_t slice = first; slice < last; ++slice) {
        const RowSplit::Offsets start = rows_.Start(slice);
        int64_t index = ReadIndex(index_type_, a.inputs[1], start[2]);
        if (index < 0) index += size_;
        const uint64_t from = static_cast<uint64_t>(start[0]) + static_cast<uint64_t>(index) * static_cast<uint64_t>(stride_);
        uint8_t* to = a.outputs[0] + start[1] * bytes_;
        if (from <= last_ && last_ - from >= static_cast<uint64_t>(row_ - 1)) {
          Table().copy_bytes(to, a.inputs[0] + from * static_cast<uint64_t>(bytes_), row_ * bytes_);
          continue;
        }
        // Out of range: what lies at the address, and 0 outside the tensor.
        for (int64_t i = 0; i < row_; ++i) {
          const uint64_t at = from + static_cast<uint64_t>(i);
          if (at <= last_) std::memcpy(to + i * bytes_, a.inputs[0] + at * static_cast<uint64_t>(bytes_), static_cast<size_t>(bytes_));
          else std::memset(to + i * bytes_, 0, static_cast<size_t>(bytes_));
        }
      }
    });
  }

 private:
  DML_TENSOR_DATA_TYPE index_type_;
  int bytes_;
  int64_t row_, size_ = 0, stride_ = 0;
  uint64_t last_ = 0;
  RowSplit rows_;
};

}  // namespace

std::unique_ptr<Kernel> MakeGatherKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis"), rank = out.rank, index_rank = desc.UInt("IndexDimensions");
  const uint32_t after = rank - 1 - axis;
  if (after + index_rank > rank || schema::BytesPerElement(in.data_type) == 0) return nullptr;
  const uint32_t first_index = rank - after - index_rank;
  const Extents in_strides = BroadcastStrides(in), index_strides = BroadcastStrides(indices), out_strides = BroadcastStrides(out);
  Extents from_in{}, from_indices{};
  for (uint32_t d = 0; d < first_index + index_rank; ++d) {
    if (d < first_index) {
      if (d + index_rank >= 1) from_in[d] = in_strides[d + index_rank - 1];
    } else {
      from_indices[d] = index_strides[rank - index_rank + (d - first_index)];
    }
  }
  // Where the dimensions behind the axis are one row on both sides, it is copied.
  int64_t row = 1;
  bool is_row = true;
  for (uint32_t d = rank; d-- > rank - after; row *= out.sizes[d]) {
    is_row &= out.sizes[d] == 1 || (out.strides[d] == row && in.strides[d] == row);
    from_in[d] = in_strides[d];
  }
  if (!is_row || row < kMinRow) return MakeElementGather(in, indices, out, axis, from_in, from_indices);
  uint32_t along = 0;
  for (uint32_t d = rank - after; d < rank; ++d) {
    along |= 1u << d;
    from_in[d] = 0;
  }
  return std::make_unique<GatherKernel>(desc, row, RowSplit(out, along, {from_in, out_strides, from_indices}, true));
}

}  // namespace dxtensor::software::fast
