// Running sums and products along one axis.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

KernelPointer MakeCumulative(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const bool is_product = desc.type() == DML_OPERATOR_CUMULATIVE_PRODUCT;
  const bool exclusive = desc.Get<bool>(is_product ? "HasExclusiveProduct" : "HasExclusiveSum");
  const bool descending = desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_DECREASING;
  const uint32_t axis = desc.UInt("Axis");
  const uint64_t size = in.sizes[axis], in_stride = in.strides[axis], out_stride = out.strides[axis];
  BoxIterator<2> rows = IterateSome<2>(in, {BroadcastStrides(in), BroadcastStrides(out)}, ~(1u << axis));
  return ByNumber(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=](const KernelArguments& a) {
      rows([&](const Offsets<2>& at) {
        CheckAbandoned();
        Sum<T> total = is_product ? 1 : 0;
        for (uint64_t i = 0; i < size; ++i) {
          const uint64_t j = descending ? size - 1 - i : i;
          const auto x = static_cast<Sum<T>>(Load<T>(a.inputs[0], at[0] + j * in_stride));
          const Sum<T> next = is_product ? total * x : total + x;
          Store<T>(a.outputs[0], at[1] + j * out_stride, static_cast<Compute<T>>(exclusive ? total : next));
          total = next;
        }
      });
    });
  });
}

}  // namespace dxtensor::software
