// Operators that only move elements: slices, joins, padding, tiles, rearranged blocks, reversed rows.
//
// All of them work on the width of the data type.
#include <algorithm>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "padding.h"

namespace dxtensor::software {

namespace {

// out[out_at] = in[in_at] over a box, from the given starts.
KernelPointer Copy(DML_TENSOR_DATA_TYPE type, const BoxIterator<2>& iterate, uint64_t in_start, uint64_t out_start) {
  return ByWidth(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate, in_start, out_start](const KernelArguments& a) {
      iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[0], at[0])); }, {in_start, out_start});
    });
  });
}

// How a window lies in a tensor: where it starts, and its strides, which may be negative (they wrap, as offsets do).
struct Window {
  uint64_t start = 0;
  Dimensions strides{};
};

Window WindowOf(const schema::OperatorDesc& desc, const schema::TensorDesc& tensor) {
  Window w;
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    int64_t offset, step;
    if (desc.type() == DML_OPERATOR_SLICE) {
      offset = desc.UInts("Offsets")[d];
      step = desc.UInts("Strides")[d];
    } else {
      offset = desc.UInts("InputWindowOffsets")[d];
      step = desc.Get<std::vector<int32_t>>("InputWindowStrides")[d];
      if (step < 0) offset += static_cast<int64_t>(desc.UInts("InputWindowSizes")[d]) - 1;
    }
    w.start += static_cast<uint64_t>(offset) * tensor.strides[d];
    w.strides[d] = static_cast<uint64_t>(step) * tensor.strides[d];
  }
  return w;
}

}  // namespace

KernelPointer MakeSlice(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const Window w = WindowOf(desc, in);
  return Copy(out.data_type, BoxIterator<2>(out.rank, SizesOf(out), {w.strides, BroadcastStrides(out)}), w.start, 0);
}

KernelPointer MakeSliceGrad(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &dy = *desc.Inputs()[0], &dx = *desc.Outputs()[0];
  const Window w = WindowOf(desc, dx);
  BoxIterator<1> all(dx, {&dx});
  BoxIterator<2> window(dy.rank, SizesOf(dy), {BroadcastStrides(dy), w.strides});
  return ByWidth(dx.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([all, window, start = w.start](const KernelArguments& a) {
      all([&](const Offsets<1>& at) { Store<T>(a.outputs[0], at[0], 0); });
      window([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[0], at[0])); }, {0, start});
    });
  });
}

namespace {

// One part of a split or a join: its box, and where it starts in the whole.
struct Part {
  BoxIterator<2> iterate;  // part, whole
  uint64_t start = 0;
};

std::vector<Part> PartsOf(const schema::TensorDesc& whole, const std::vector<const schema::TensorDesc*>& parts, uint32_t axis) {
  std::vector<Part> list;
  uint64_t start = 0;
  for (const schema::TensorDesc* part : parts) {
    list.push_back({BoxIterator<2>(part->rank, SizesOf(*part), {BroadcastStrides(*part), BroadcastStrides(whole)}), start});
    start += static_cast<uint64_t>(part->sizes[axis]) * whole.strides[axis];
  }
  return list;
}

}  // namespace

KernelPointer MakeSplit(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& in = *desc.Inputs()[0];
  return ByWidth(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([parts = PartsOf(in, desc.Outputs(), desc.UInt("Axis"))](const KernelArguments& a) {
      for (size_t i = 0; i < parts.size(); ++i)
        parts[i].iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[i], at[0], Load<T>(a.inputs[0], at[1])); }, {0, parts[i].start});
    });
  });
}

KernelPointer MakeJoin(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& out = *desc.Outputs()[0];
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([parts = PartsOf(out, desc.Inputs(), desc.UInt("Axis"))](const KernelArguments& a) {
      for (size_t i = 0; i < parts.size(); ++i)
        parts[i].iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[i], at[0])); }, {0, parts[i].start});
    });
  });
}

namespace {

template <typename T>
Compute<T> FillValue(const schema::OperatorDesc& desc) {
  if (desc.type() == DML_OPERATOR_PADDING1) return FromUnion<T>(desc.Get<DML_SCALAR_UNION>("PaddingValue"));
  return Saturate<Compute<T>>(desc.Float("PaddingValue"));
}

// Writes the part of the output below one coordinate of the dimensions before d; from: the input's offset there, or kOutside.
template <typename T>
void PadDimension(const std::vector<std::vector<int64_t>>& offsets, const Dimensions& strides, size_t d, int64_t from, const uint8_t* in,
                  uint8_t* out, uint64_t to, Compute<T> value) {
  if (d == offsets.size()) {
    Store<T>(out, to, from == kOutside ? value : Load<T>(in, static_cast<uint64_t>(from)));
    return;
  }
  for (int64_t step : offsets[d]) {
    PadDimension<T>(offsets, strides, d + 1, from == kOutside || step == kOutside ? kOutside : from + step, in, out, to, value);
    to += strides[d];
  }
}

}  // namespace

KernelPointer MakePadding(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  // For each dimension and output index the input's offset there, or kOutside.
  std::vector<std::vector<int64_t>> offsets(out.rank);
  for (uint32_t d = 0; d < out.rank; ++d)
    for (uint32_t i = 0; i < out.sizes[d]; ++i) {
      const int64_t index = PaddedIndex(desc.UInt("PaddingMode"), static_cast<int64_t>(i) - desc.UInts("StartPadding")[d], in.sizes[d]);
      offsets[d].push_back(index == kOutside ? kOutside : index * in.strides[d]);
    }
  return ByAny(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([offsets, strides = BroadcastStrides(out), value = FillValue<T>(desc)](const KernelArguments& a) {
      PadDimension<T>(offsets, strides, 0, 0, a.inputs[0], a.outputs[0], 0, value);
    });
  });
}

KernelPointer MakeTile(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  // The copies of one input element: from its position in the first tile, one tile further each.
  Dimensions repeats{}, tile{};
  for (uint32_t d = 0; d < in.rank; ++d) {
    repeats[d] = desc.UInts("Repeats")[d];
    tile[d] = static_cast<uint64_t>(in.sizes[d]) * out.strides[d];
  }
  BoxIterator<2> elements(in.rank, SizesOf(in), {BroadcastStrides(in), BroadcastStrides(out)});
  BoxIterator<1> copies(in.rank, repeats, {tile});
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([elements, copies](const KernelArguments& a) {
      elements([&](const Offsets<2>& at) {
        const T value = Load<T>(a.inputs[0], at[0]);
        copies([&](const Offsets<1>& to) { Store<T>(a.outputs[0], to[0], value); }, {at[1]});
      });
    });
  });
}

KernelPointer MakeDepthSpace(const schema::OperatorDesc& desc) {
  const bool to_depth = desc.type() == DML_OPERATOR_SPACE_TO_DEPTH || desc.type() == DML_OPERATOR_SPACE_TO_DEPTH1;
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const schema::TensorDesc &deep = to_depth ? out : in, &wide = to_depth ? in : out;
  const uint64_t block = desc.UInt("BlockSize");
  const bool depth_last = desc.Has("Order") && desc.UInt("Order") == DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH;
  // Six dimensions: n, c, y, i, x, j with wide row y*block+i and wide column x*block+j.
  const uint64_t channels = wide.sizes[1];
  const uint64_t c_stride = depth_last ? block * block : 1, tap_stride = depth_last ? 1 : channels;
  const Dimensions sizes{deep.sizes[0], channels, deep.sizes[2], block, deep.sizes[3], block};
  const auto &ds = deep.strides, &ws = wide.strides;
  const Dimensions deep_strides{ds[0], ds[1] * c_stride, ds[2], ds[1] * tap_stride * block, ds[3], ds[1] * tap_stride};
  const Dimensions wide_strides{ws[0], ws[1], ws[2] * block, ws[2], ws[3] * block, ws[3]};
  return Copy(out.data_type, BoxIterator<2>(6, sizes, {to_depth ? wide_strides : deep_strides, to_depth ? deep_strides : wide_strides}), 0,
              0);
}

KernelPointer MakeReverse(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &lengths = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  const uint32_t axis = desc.UInt("Axis");
  const uint64_t size = in.sizes[axis], in_stride = in.strides[axis], out_stride = out.strides[axis];
  BoxIterator<3> rows = IterateSome<3>(in, {BroadcastStrides(in), BroadcastStrides(lengths), BroadcastStrides(out)}, ~(1u << axis));
  const bool wide_lengths = schema::BytesPerElement(lengths.data_type) == 8;
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=](const KernelArguments& a) {
      rows([&](const Offsets<3>& at) {
        const uint64_t stored = wide_lengths ? Load<uint64_t>(a.inputs[1], at[1]) : Load<uint32_t>(a.inputs[1], at[1]);
        const uint64_t length = std::min(stored, size);
        for (uint64_t i = 0; i < size; ++i) {
          const uint64_t from = i < length ? length - 1 - i : i;
          Store<T>(a.outputs[0], at[2] + i * out_stride, Load<T>(a.inputs[0], at[0] + from * in_stride));
        }
      });
    });
  });
}

}  // namespace dxtensor::software
