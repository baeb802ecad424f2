// Tensors made from attributes: constants, sequences, diagonals.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

KernelPointer MakeFill(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& out = *desc.Outputs()[0];
  BoxIterator<1> iterate(out, {&out});
  return ByAny(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    if (desc.type() == DML_OPERATOR_FILL_VALUE_CONSTANT)
      return KernelFrom([iterate, value = FromUnion<T>(desc.Get<DML_SCALAR_UNION>("Value"))](const KernelArguments& a) {
        iterate([&](const Offsets<1>& at) { Store<T>(a.outputs[0], at[0], value); });
      });
    const C start = FromUnion<T>(desc.Get<DML_SCALAR_UNION>("ValueStart")), delta = FromUnion<T>(desc.Get<DML_SCALAR_UNION>("ValueDelta"));
    return KernelFrom([iterate, start, delta](const KernelArguments& a) {
      uint64_t k = 0;
      iterate([&](const Offsets<1>& at) {
        if constexpr (std::is_integral_v<C>)
          Store<T>(a.outputs[0], at[0], static_cast<C>(static_cast<uint64_t>(start) + k * static_cast<uint64_t>(delta)));
        else Store<T>(a.outputs[0], at[0], static_cast<C>(start + static_cast<C>(k) * delta));
        ++k;
      });
    });
  });
}

KernelPointer MakeDiagonal(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& out = *desc.Outputs()[0];
  const auto inputs = desc.Inputs();
  const schema::TensorDesc* in = inputs.empty() ? nullptr : inputs[0];
  const bool ranged = desc.type() == DML_OPERATOR_DIAGONAL_MATRIX1;
  const int64_t begin = desc.Get<int32_t>(ranged ? "DiagonalFillBegin" : "Offset");
  const int64_t end = ranged ? desc.Get<int32_t>("DiagonalFillEnd") : begin + 1;
  // The third operand is the distance from the main diagonal, column minus row.
  Dimensions distance{};
  distance[out.rank - 1] = 1;
  distance[out.rank - 2] = static_cast<uint64_t>(-1);
  BoxIterator<3> iterate(out.rank, SizesOf(out), {in ? BroadcastStrides(*in) : Dimensions{}, BroadcastStrides(out), distance});
  return ByAny(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Compute<T> value = ranged ? FromUnion<T>(desc.Get<DML_SCALAR_UNION>("Value")) : Saturate<Compute<T>>(desc.Float("Value"));
    return KernelFrom([iterate, begin, end, value, has_input = in != nullptr](const KernelArguments& a) {
      const uint8_t* from = has_input ? a.inputs[0] : nullptr;
      iterate([&](const Offsets<3>& at) {
        const auto d = static_cast<int64_t>(at[2]);
        // A range with its ends exchanged fills everything outside it.
        const bool fills = begin <= end ? d >= begin && d < end : d >= begin || d < end;
        Store<T>(a.outputs[0], at[1], fills ? value : from ? Load<T>(from, at[0]) : Compute<T>(0));
      });
    });
  });
}

}  // namespace dxtensor::software
