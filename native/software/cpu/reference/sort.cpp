// TOP_K along one axis, and the coordinates of the elements that are not 0.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// NaN counts as the greatest, so that the order is total; Microsoft's library gives any order to rows with a NaN.
template <typename C>
bool Less(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return a < b;
}

}  // namespace

KernelPointer MakeTopK(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &values = *desc.Outputs()[0], &indices = *desc.Outputs()[1];
  const uint32_t axis = desc.UInt("Axis"), k = desc.UInt("K");
  const bool increasing = desc.Has("AxisDirection") && desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_INCREASING;
  const uint32_t size = in.sizes[axis];
  const uint64_t in_stride = in.strides[axis], value_stride = values.strides[axis], index_stride = indices.strides[axis];
  const bool wide_index = schema::BytesPerElement(indices.data_type) == 8;
  BoxIterator<3> outer = IterateSome<3>(in, {BroadcastStrides(in), BroadcastStrides(values), BroadcastStrides(indices)}, ~(1u << axis));
  return ByNumber(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom(
        [=](const KernelArguments& a) {
          auto* order = reinterpret_cast<uint32_t*>(a.scratch);
          outer([&](const Offsets<3>& at) {
            auto value = [&](uint32_t i) { return Load<T>(a.inputs[0], at[0] + i * in_stride); };
            CheckAbandoned();
            std::iota(order, order + size, 0u);
            std::partial_sort(order, order + k, order + size, [&](uint32_t i, uint32_t j) {
              const Compute<T> x = value(i), y = value(j);
              if (increasing ? Less(x, y) : Less(y, x)) return true;
              if (increasing ? Less(y, x) : Less(x, y)) return false;
              return i < j;
            });
            for (uint32_t i = 0; i < k; ++i) {
              Store<T>(a.outputs[0], at[1] + i * value_stride, value(order[i]));
              if (wide_index) Store<uint64_t>(a.outputs[1], at[2] + i * index_stride, order[i]);
              else Store<uint32_t>(a.outputs[1], at[2] + i * index_stride, order[i]);
            }
          });
        },
        size * sizeof(uint32_t));
  });
}

KernelPointer MakeNonzero(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &coordinates = *desc.Outputs()[1];
  const uint32_t rank = coordinates.rank, columns = coordinates.sizes[rank - 1], rows = coordinates.sizes[rank - 2];
  const uint64_t row_stride = coordinates.strides[rank - 2], column_stride = coordinates.strides[rank - 1];
  BoxIterator<2> iterate(in.rank, SizesOf(in), {BroadcastStrides(in), PackedStrides(in)});
  return ByNumber(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, sizes = SizesOf(in), in_rank = in.rank](const KernelArguments& a) {
      uint32_t count = 0;
      iterate([&](const Offsets<2>& at) {
        if (Load<T>(a.inputs[0], at[0]) == 0 || count >= rows) return;
        uint64_t rest = at[1];
        for (uint32_t c = columns, d = in_rank; c-- > 0 && d-- > 0; rest /= sizes[d])
          Store<uint32_t>(a.outputs[1], count * row_stride + c * column_stride, static_cast<uint32_t>(rest % sizes[d]));
        ++count;
      });
      Store<uint32_t>(a.outputs[0], 0, count);
    });
  });
}

}  // namespace dxtensor::software
