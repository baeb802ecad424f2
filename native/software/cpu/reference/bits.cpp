// Operations on the bits of elements, whatever the data type means.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

template <typename T, typename F>
KernelPointer Map(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &a = *desc.Inputs()[0], &b = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  BoxIterator<3> iterate(out, {&a, &b, &out});
  return KernelFrom([iterate, f](const KernelArguments& arguments) {
    iterate([&](const Offsets<3>& at) {
      Store<T>(arguments.outputs[0], at[2], static_cast<T>(f(Load<T>(arguments.inputs[0], at[0]), Load<T>(arguments.inputs[1], at[1]))));
    });
  });
}

// Types of up to 32 bits shift in 32, by the count's last five bits. Those of 64 bits shift two words: a count whose lower word
// is 32 or more moves the words by one and then takes its last five bits.
template <typename T>
using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <typename T>
uint32_t Count(T count) {
  const auto word = static_cast<uint32_t>(count), bits = word & 31;
  return sizeof(T) == 8 && word >= 32 ? 32 | bits : bits;
}

KernelPointer MakeNot(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return ByWidth(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([iterate](const KernelArguments& a) {
      iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], static_cast<T>(~Load<T>(a.inputs[0], at[0]))); });
    });
  });
}

uint32_t CountOnes(uint64_t bits) {
  uint32_t count = 0;
  for (; bits; bits &= bits - 1) ++count;
  return count;
}

KernelPointer MakeCount(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return ByWidth(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return ByInteger(out.data_type, [&](auto result) {
      using U = typename decltype(result)::Type;
      return KernelFrom([iterate](const KernelArguments& a) {
        iterate([&](const Offsets<2>& at) { Store<U>(a.outputs[0], at[1], static_cast<U>(CountOnes(Load<T>(a.inputs[0], at[0])))); });
      });
    });
  });
}

}  // namespace

KernelPointer MakeBits(const schema::OperatorDesc& desc) {
  if (desc.type() == DML_OPERATOR_ELEMENT_WISE_BIT_NOT) return MakeNot(desc);
  if (desc.type() == DML_OPERATOR_ELEMENT_WISE_BIT_COUNT) return MakeCount(desc);
  return ByWidth(desc.Outputs()[0]->data_type, [&](auto tag) -> KernelPointer {
    using T = typename decltype(tag)::Type;
    switch (desc.type()) {
      case DML_OPERATOR_ELEMENT_WISE_BIT_AND: return Map<T>(desc, [](T a, T b) { return a & b; });
      case DML_OPERATOR_ELEMENT_WISE_BIT_OR: return Map<T>(desc, [](T a, T b) { return a | b; });
      case DML_OPERATOR_ELEMENT_WISE_BIT_XOR: return Map<T>(desc, [](T a, T b) { return a ^ b; });
      case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT: return Map<T>(desc, [](T a, T b) { return static_cast<Word<T>>(a) << Count(b); });
      case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT: return Map<T>(desc, [](T a, T b) { return static_cast<Word<T>>(a) >> Count(b); });
      default: return nullptr;
    }
  });
}

}  // namespace dxtensor::software
