// Conversion between all data types.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// Out of range: floats saturate, integers do what Narrow says. Microsoft's library saturates floats to 64-bit integers at 32 bits
// and rounds to float16 toward zero under a software driver; here both are exact.
template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) return Narrow<To>(value);
  else return Saturate<To>(value);
}

}  // namespace

KernelPointer MakeCast(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return ByAny(in.data_type, [&](auto from) {
    using F = typename decltype(from)::Type;
    return ByAny(out.data_type, [&](auto to) {
      using T = typename decltype(to)::Type;
      return KernelFrom([iterate](const KernelArguments& a) {
        iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], Convert<Compute<T>>(Load<F>(a.inputs[0], at[0]))); });
      });
    });
  });
}

}  // namespace dxtensor::software
