// GATHER_ELEMENTS, and GATHER of elements that are no row: by rows of the output's memory.
#include "gather_elements.h"

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/tensor/row_chunks.h"
#include "software/cpu/fast/tensor/row_split.h"

namespace dxtensor::software::fast {

namespace {

// `T` stores the elements, `Index` the indices.
template <typename T, typename Index>
class ElementGatherKernel final : public Kernel {
 public:
  ElementGatherKernel(const schema::TensorDesc& in, uint32_t axis, RowSplit rows)
      : size_(in.sizes[axis]), stride_(static_cast<uint64_t>(in.strides[axis])), rows_(std::move(rows)) {
    for (uint32_t d = 0; d < in.rank; ++d) last_ += (in.sizes[d] - 1) * static_cast<uint64_t>(in.strides[d]);
  }
  void Run(const KernelArguments& a) const override {
    ForRowChunks(rows_.count(), rows_.length(), [&](int64_t row, int64_t first, int64_t last) { Gather(a, row, first, last); });
  }

 private:
  void Gather(const KernelArguments& a, int64_t row, int64_t first, int64_t last) const {
    const RowSplit::Offsets start = rows_.Start(row);
    const int64_t to_stride = rows_.element_stride(1), index_stride = rows_.element_stride(2), size = size_;
    const auto from_stride = static_cast<uint64_t>(rows_.element_stride(0));
    const uint64_t element_stride = stride_, end = last_;
    const auto* indices = reinterpret_cast<const Index*>(a.inputs[1]) + start[2];
    const auto* from = reinterpret_cast<const T*>(a.inputs[0]);
    T* to = reinterpret_cast<T*>(a.outputs[0]) + start[1];
    for (int64_t i = first; i < last; ++i) {
      auto index = static_cast<int64_t>(indices[i * index_stride]);
      if (index < 0) index += size;
      const uint64_t at =
          static_cast<uint64_t>(start[0]) + static_cast<uint64_t>(i) * from_stride + static_cast<uint64_t>(index) * element_stride;
      // Out of range: what lies at the address, and 0 outside the tensor.
      to[i * to_stride] = at <= end ? from[at] : T(0);
    }
  }

  int64_t size_;
  uint64_t stride_, last_ = 0;
  RowSplit rows_;
};

template <typename T>
std::unique_ptr<Kernel> ByIndex(DML_TENSOR_DATA_TYPE index, const schema::TensorDesc& in, uint32_t axis, RowSplit rows) {
  switch (index) {
    case DML_TENSOR_DATA_TYPE_INT32: return std::make_unique<ElementGatherKernel<T, int32_t>>(in, axis, std::move(rows));
    case DML_TENSOR_DATA_TYPE_UINT32: return std::make_unique<ElementGatherKernel<T, uint32_t>>(in, axis, std::move(rows));
    // An unsigned one past 2^63 is out of range either way.
    default: return std::make_unique<ElementGatherKernel<T, int64_t>>(in, axis, std::move(rows));
  }
}

}  // namespace

std::unique_ptr<Kernel> MakeElementGather(const schema::TensorDesc& in, const schema::TensorDesc& indices, const schema::TensorDesc& out,
                                          uint32_t axis, const Extents& from_in, const Extents& from_indices) {
  // Rows run along the dimension whose elements lie closest in the output.
  uint32_t along = out.rank - 1;
  for (uint32_t d = out.rank; d-- > 0;)
    if (out.sizes[d] != 1 && (out.sizes[along] == 1 || out.strides[d] < out.strides[along])) along = d;
  RowSplit rows(out, 1u << along, {from_in, BroadcastStrides(out), from_indices}, true);
  switch (schema::BytesPerElement(in.data_type)) {
    case 1: return ByIndex<uint8_t>(indices.data_type, in, axis, std::move(rows));
    case 2: return ByIndex<uint16_t>(indices.data_type, in, axis, std::move(rows));
    case 4: return ByIndex<uint32_t>(indices.data_type, in, axis, std::move(rows));
    case 8: return ByIndex<uint64_t>(indices.data_type, in, axis, std::move(rows));
    default: return nullptr;
  }
}

std::unique_ptr<Kernel> MakeGatherElementsKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  Extents from_in = BroadcastStrides(in);
  from_in[axis] = 0;
  return MakeElementGather(in, indices, out, axis, from_in, BroadcastStrides(indices));
}

}  // namespace dxtensor::software::fast
