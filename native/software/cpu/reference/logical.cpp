// Comparisons, logic on truth values, and the choice between two tensors.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// INT64 compares in 64 bits. Microsoft's library takes the lower words as signed ones, so equal upper words can mislead it.
template <typename T, typename U, typename F>
KernelPointer Compare(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &a = *desc.Inputs()[0], &b = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  BoxIterator<3> iterate(out, {&a, &b, &out});
  return KernelFrom([iterate, f](const KernelArguments& arguments) {
    iterate([&](const Offsets<3>& at) {
      Store<U>(arguments.outputs[0], at[2], f(Load<T>(arguments.inputs[0], at[0]), Load<T>(arguments.inputs[1], at[1])) ? 1 : 0);
    });
  });
}

template <typename T, typename U>
KernelPointer MakeTyped(const schema::OperatorDesc& desc) {
  using C = Compute<T>;
  switch (desc.type()) {
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS: return Compare<T, U>(desc, [](C a, C b) { return a == b; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN: return Compare<T, U>(desc, [](C a, C b) { return a > b; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN: return Compare<T, U>(desc, [](C a, C b) { return a < b; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL: return Compare<T, U>(desc, [](C a, C b) { return a >= b; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL: return Compare<T, U>(desc, [](C a, C b) { return a <= b; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND: return Compare<T, U>(desc, [](C a, C b) { return a != 0 && b != 0; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR: return Compare<T, U>(desc, [](C a, C b) { return a != 0 || b != 0; });
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR: return Compare<T, U>(desc, [](C a, C b) { return (a != 0) != (b != 0); });
    default: return nullptr;
  }
}

KernelPointer MakeNot(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return ByInteger(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate](const KernelArguments& a) {
      iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Load<T>(a.inputs[0], at[0]) == 0); });
    });
  });
}

}  // namespace

KernelPointer MakeLogical(const schema::OperatorDesc& desc) {
  if (desc.type() == DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT) return MakeNot(desc);
  const DML_TENSOR_DATA_TYPE result = desc.Outputs()[0]->data_type;
  return ByNumber(desc.Inputs()[0]->data_type, [&](auto tag) -> KernelPointer {
    using T = typename decltype(tag)::Type;
    if (result == DML_TENSOR_DATA_TYPE_UINT8) return MakeTyped<T, uint8_t>(desc);
    if (result == DML_TENSOR_DATA_TYPE_UINT32) return MakeTyped<T, uint32_t>(desc);
    return nullptr;
  });
}

KernelPointer MakeIf(const schema::OperatorDesc& desc) {
  const auto in = desc.Inputs();
  const schema::TensorDesc& out = *desc.Outputs()[0];
  BoxIterator<4> iterate(out, {in[0], in[1], in[2], &out});
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate](const KernelArguments& a) {
      iterate([&](const Offsets<4>& at) {
        Store<T>(a.outputs[0], at[3], a.inputs[0][at[0]] ? Load<T>(a.inputs[1], at[1]) : Load<T>(a.inputs[2], at[2]));
      });
    });
  });
}

}  // namespace dxtensor::software
