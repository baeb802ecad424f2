// Elements chosen by tensors of indices: GATHER and its variants, SCATTER, ONE_HOT.
//
// Negative indices count from the end. A read with an index out of range gives the element at that address, or 0 if the address is outside
// the tensor, as in Direct3D; a write and a one-hot value are skipped.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// Reads indices of any of the four integer types as int64.
struct IndexReader {
  DML_TENSOR_DATA_TYPE type;

  int64_t operator()(const uint8_t* base, uint64_t at) const {
    switch (type) {
      case DML_TENSOR_DATA_TYPE_INT32: return Load<int32_t>(base, at);
      case DML_TENSOR_DATA_TYPE_UINT32: return Load<uint32_t>(base, at);
      default: return Load<int64_t>(base, at);  // an unsigned one past 2^63 is out of range either way
    }
  }
};

// Puts an index into [0, size); false when it is not in [-size, size).
bool Resolve(int64_t* index, uint64_t size) {
  const auto n = static_cast<int64_t>(size);
  if (*index < 0) *index += n;
  return *index >= 0 && *index < n;
}

// The offset of the tensor's last element.
uint64_t LastOffset(const schema::TensorDesc& tensor) {
  uint64_t last = 0;
  for (uint32_t d = 0; d < tensor.rank; ++d) last += (tensor.sizes[d] - 1) * static_cast<uint64_t>(tensor.strides[d]);
  return last;
}

template <typename T>
T LoadOrZero(const uint8_t* base, uint64_t at, uint64_t last) {
  return at <= last ? Load<T>(base, at) : T(0);
}

// A gather along one axis: out[at] = in[at of input + index * step].
KernelPointer GatherAlong(const schema::TensorDesc& in, const schema::TensorDesc& indices, const BoxIterator<3>& iterate, uint32_t axis) {
  return ByWidth(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate, read = IndexReader{indices.data_type}, size = uint64_t{in.sizes[axis]}, step = uint64_t{in.strides[axis]},
                       last = LastOffset(in)](const KernelArguments& a) {
      iterate([&](const Offsets<3>& at) {
        int64_t index = read(a.inputs[1], at[1]);
        Resolve(&index, size);
        Store<T>(a.outputs[0], at[2], LoadOrZero<T>(a.inputs[0], at[0] + static_cast<uint64_t>(index) * step, last));
      });
    });
  });
}

}  // namespace

KernelPointer MakeGather(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis"), rank = out.rank, index_rank = desc.UInt("IndexDimensions");
  // Output dimensions: those of the input before the axis (right-aligned: leading ones give way to the index dimensions), the
  // last index_rank ones of the indices, those of the input after the axis.
  // With more index dimensions than there are up to the axis, the first of them have given way too.
  const int64_t first_index = int64_t{axis} + 1 - index_rank;
  const Dimensions in_strides = BroadcastStrides(in), index_strides = BroadcastStrides(indices);
  Dimensions from_in{}, from_indices{};
  for (uint32_t d = 0; d < rank; ++d) {
    if (int64_t{d} < first_index) {
      const int64_t source = static_cast<int64_t>(d) + index_rank - 1;
      if (source >= 0) from_in[d] = in_strides[static_cast<size_t>(source)];
    } else if (d <= axis) {
      from_indices[d] = index_strides[static_cast<size_t>(rank - index_rank + (d - first_index))];
    } else {
      from_in[d] = in_strides[d];
    }
  }
  return GatherAlong(in, indices, BoxIterator<3>(rank, SizesOf(out), {from_in, from_indices, BroadcastStrides(out)}), axis);
}

KernelPointer MakeGatherElements(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  Dimensions from_in = BroadcastStrides(in);
  from_in[axis] = 0;
  return GatherAlong(in, indices, BoxIterator<3>(out.rank, SizesOf(out), {from_in, BroadcastStrides(indices), BroadcastStrides(out)}),
                     axis);
}

namespace {

// How tuples of indices address slices of a tensor: an iteration over (indices, tensor, slices), and the dimensions of a tuple.
struct TupleIterator {
  BoxIterator<3> iterate;
  uint64_t tuple_size = 0, tuple_stride = 0;
  Dimensions sizes{}, strides{};  // of the addressed dimensions
  IndexReader read{};

  // The element offset that the tuple at `at` adds; false when one of its indices is out of range.
  bool Offset(const uint8_t* indices, uint64_t at, uint64_t* offset) const {
    bool inside = true;
    *offset = 0;
    for (uint64_t t = 0; t < tuple_size; ++t) {
      int64_t index = read(indices, at + t * tuple_stride);
      inside &= Resolve(&index, sizes[t]);
      *offset += static_cast<uint64_t>(index) * strides[t];
    }
    return inside;
  }
};

// `slices` has the sizes {1.., batches, index dimensions but the last, the tensor's remaining dimensions}. Each has a rank of its own.
TupleIterator TuplesOf(const schema::TensorDesc& tensor, const schema::TensorDesc& indices, const schema::TensorDesc& slices,
                       uint32_t tensor_rank, uint32_t index_rank, uint32_t batches) {
  TupleIterator w;
  const uint32_t rank = slices.rank;
  w.tuple_size = indices.sizes[indices.rank - 1];
  w.tuple_stride = indices.strides[indices.rank - 1];
  w.read.type = indices.data_type;
  const auto addressed = static_cast<uint32_t>(w.tuple_size);
  const Dimensions tensor_strides = BroadcastStrides(tensor), index_strides = BroadcastStrides(indices);
  const uint32_t tensor_first = tensor.rank - tensor_rank, index_first = indices.rank - index_rank;
  for (uint32_t t = 0; t < addressed; ++t) {
    w.sizes[t] = tensor.sizes[tensor_first + batches + t];
    w.strides[t] = tensor.strides[tensor_first + batches + t];
  }
  const uint32_t remaining = tensor_rank - batches - addressed, lead = index_rank - 1;
  const uint32_t first = rank - lead - remaining;
  Dimensions from_indices{}, from_tensor{};
  for (uint32_t i = 0; i < lead; ++i) from_indices[first + i] = index_strides[index_first + i];
  for (uint32_t i = 0; i < batches; ++i) from_tensor[first + i] = tensor_strides[tensor_first + i];
  for (uint32_t i = 0; i < remaining; ++i) from_tensor[first + lead + i] = tensor_strides[tensor_first + batches + addressed + i];
  w.iterate = BoxIterator<3>(rank, SizesOf(slices), {from_indices, from_tensor, BroadcastStrides(slices)});
  return w;
}

}  // namespace

KernelPointer MakeGatherNd(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t batches = desc.Has("BatchDimensionCount") ? desc.UInt("BatchDimensionCount") : 0;
  const TupleIterator w = TuplesOf(in, indices, out, desc.UInt("InputDimensionCount"), desc.UInt("IndicesDimensionCount"), batches);
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([w, last = LastOffset(in)](const KernelArguments& a) {
      w.iterate([&](const Offsets<3>& at) {
        uint64_t offset;
        w.Offset(a.inputs[1], at[0], &offset);
        Store<T>(a.outputs[0], at[2], LoadOrZero<T>(a.inputs[0], at[1] + offset, last));
      });
    });
  });
}

// Whether a scatter may write into its input itself: then it writes the updates and nothing else.
bool ScattersInPlace(const schema::TensorDesc& in, const schema::TensorDesc& out) {
  return in.rank == out.rank && in.sizes == out.sizes && in.strides == out.strides;
}

KernelPointer MakeScatterElements(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &updates = *desc.Inputs()[2], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  BoxIterator<2> copy(out, {&in, &out});
  Dimensions to = BroadcastStrides(out);
  to[axis] = 0;
  BoxIterator<3> iterate(indices.rank, SizesOf(indices), {BroadcastStrides(indices), BroadcastStrides(updates), to});
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [copy, iterate, read = IndexReader{indices.data_type}, size = uint64_t{out.sizes[axis]},
         step = uint64_t{out.strides[axis]}](const KernelArguments& a) {
          if (a.inputs[0] != a.outputs[0]) copy([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[0], at[0])); });
          iterate([&](const Offsets<3>& at) {
            int64_t index = read(a.inputs[1], at[0]);
            if (Resolve(&index, size)) Store<T>(a.outputs[0], at[2] + static_cast<uint64_t>(index) * step, Load<T>(a.inputs[2], at[1]));
          });
        },
        0, ScattersInPlace(in, out));
  });
}

KernelPointer MakeScatterNd(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &indices = *desc.Inputs()[1], &updates = *desc.Inputs()[2], &out = *desc.Outputs()[0];
  BoxIterator<2> copy(out, {&in, &out});
  const TupleIterator w = TuplesOf(out, indices, updates, desc.UInt("InputDimensionCount"), desc.UInt("IndicesDimensionCount"), 0);
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [copy, w](const KernelArguments& a) {
          if (a.inputs[0] != a.outputs[0]) copy([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[0], at[0])); });
          w.iterate([&](const Offsets<3>& at) {
            uint64_t offset;
            if (w.Offset(a.inputs[1], at[0], &offset)) Store<T>(a.outputs[0], at[1] + offset, Load<T>(a.inputs[2], at[2]));
          });
        },
        0, ScattersInPlace(in, out));
  });
}

KernelPointer MakeOneHot(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &indices = *desc.Inputs()[0], &values = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  // The "on" value is the second element along the last dimension that has one.
  uint64_t on_step = 0;
  for (uint32_t d = values.rank; d-- > 0 && on_step == 0;)
    if (values.sizes[d] > 1) on_step = values.strides[d];
  BoxIterator<2> rows = IterateSome<2>(out, {BroadcastStrides(indices), BroadcastStrides(out)}, ~(1u << axis));
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, read = IndexReader{indices.data_type}, size = uint64_t{out.sizes[axis]},
                       step = uint64_t{out.strides[axis]}](const KernelArguments& a) {
      const T off = Load<T>(a.inputs[1], 0), on = Load<T>(a.inputs[1], on_step);
      rows([&](const Offsets<2>& at) {
        int64_t index = read(a.inputs[0], at[0]);
        const bool inside = Resolve(&index, size);
        for (uint64_t i = 0; i < size; ++i)
          Store<T>(a.outputs[0], at[1] + i * step, inside && static_cast<uint64_t>(index) == i ? on : off);
      });
    });
  });
}

}  // namespace dxtensor::software
