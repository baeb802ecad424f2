// Reductions over any set of axes, in row-major order of the reduced elements.
#include <cmath>
#include <limits>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

struct Reduction {
  BoxIterator<2> kept;     // input, output
  BoxIterator<1> reduced;  // input
  uint64_t count = 0;
};

Reduction ReductionOf(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t axes = AxisMask(desc.UInts("Axes"));
  const Dimensions strides = BroadcastStrides(in);
  Reduction r{IterateSome<2>(in, {strides, BroadcastStrides(out)}, ~axes), IterateSome<1>(in, {strides}, axes), 0};
  r.count = r.reduced.Count();
  return r;
}

// acc = step(acc, x) over the reduced elements, then finish(acc, count).
template <typename T, typename A, typename Step, typename Finish>
KernelPointer Fold(const Reduction& reduction, A first, Step step, Finish finish) {
  return KernelFrom([reduction, first, step, finish](const KernelArguments& a) {
    reduction.kept([&](const Offsets<2>& at) {
      A value = first;
      reduction.reduced([&](const Offsets<1>& from) { value = step(value, Load<T>(a.inputs[0], from[0])); }, {at[0]});
      Store<T>(a.outputs[0], at[1], static_cast<Compute<T>>(finish(value, reduction.count)));
    });
  });
}

template <typename T>
KernelPointer MakeFloat(uint32_t function, const Reduction& r) {
  auto plain = [](double value, uint64_t) { return value; };
  auto add = [](double sum, double x) { return sum + x; };
  auto add_square = [](double sum, double x) { return sum + x * x; };
  switch (function) {
    case DML_REDUCE_FUNCTION_SUM: return Fold<T>(r, 0.0, add, plain);
    case DML_REDUCE_FUNCTION_AVERAGE: return Fold<T>(r, 0.0, add, [](double sum, uint64_t n) { return sum / static_cast<double>(n); });
    case DML_REDUCE_FUNCTION_L1:
      return Fold<T>(
          r, 0.0, [](double sum, double x) { return sum + std::fabs(x); }, plain);
    case DML_REDUCE_FUNCTION_SUM_SQUARE: return Fold<T>(r, 0.0, add_square, plain);
    case DML_REDUCE_FUNCTION_L2: return Fold<T>(r, 0.0, add_square, [](double sum, uint64_t) { return std::sqrt(sum); });
    case DML_REDUCE_FUNCTION_LOG_SUM: return Fold<T>(r, 0.0, add, [](double sum, uint64_t) { return std::log(sum); });
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP:  // without a shift by the maximum: e^x overflows as a float
      return Fold<T>(
          r, 0.0, [](double sum, float x) { return sum + std::exp(x); }, [](double sum, uint64_t) { return std::log(sum); });
    case DML_REDUCE_FUNCTION_MULTIPLY:
      return Fold<T>(
          r, 1.0, [](double gemm, double x) { return gemm * x; }, plain);
    case DML_REDUCE_FUNCTION_MAX:
      return Fold<T>(
          r, -std::numeric_limits<float>::infinity(), [](float a, float x) { return std::fmax(a, x); }, plain);
    case DML_REDUCE_FUNCTION_MIN:
      return Fold<T>(
          r, std::numeric_limits<float>::infinity(), [](float a, float x) { return std::fmin(a, x); }, plain);
    default: return nullptr;
  }
}

template <typename T>
KernelPointer MakeInteger(uint32_t function, const Reduction& r) {
  auto plain = [](auto value, uint64_t) { return value; };
  auto wide = [](T x) { return static_cast<uint64_t>(x); };
  const uint64_t zero = 0, one = 1;
  switch (function) {
    case DML_REDUCE_FUNCTION_SUM:
      return Fold<T>(
          r, zero, [wide](uint64_t sum, T x) { return sum + wide(x); }, plain);
    case DML_REDUCE_FUNCTION_L1:
      return Fold<T>(
          r, zero, [wide](uint64_t sum, T x) { return x < 0 ? sum - wide(x) : sum + wide(x); }, plain);
    case DML_REDUCE_FUNCTION_SUM_SQUARE:
      return Fold<T>(
          r, zero, [wide](uint64_t sum, T x) { return sum + wide(x) * wide(x); }, plain);
    case DML_REDUCE_FUNCTION_MULTIPLY:
      return Fold<T>(
          r, one, [wide](uint64_t gemm, T x) { return gemm * wide(x); }, plain);
    case DML_REDUCE_FUNCTION_MAX:
      return Fold<T>(
          r, std::numeric_limits<T>::min(), [](T a, T x) { return a > x ? a : x; }, plain);
    case DML_REDUCE_FUNCTION_MIN:
      return Fold<T>(
          r, std::numeric_limits<T>::max(), [](T a, T x) { return a < x ? a : x; }, plain);
    default: return nullptr;
  }
}

// The position of the extreme, counted in row-major order over the reduced elements; of equals the first, or the last.
template <typename T, typename I>
KernelPointer Extreme(const Reduction& reduction, bool largest, bool last) {
  return KernelFrom([reduction, largest, last](const KernelArguments& a) {
    reduction.kept([&](const Offsets<2>& at) {
      Compute<T> best = Load<T>(a.inputs[0], at[0]);
      uint64_t position = 0, index = 0;
      reduction.reduced(
          [&](const Offsets<1>& from) {
            const Compute<T> x = Load<T>(a.inputs[0], from[0]);
            if ((largest ? x > best : x < best) || (last && x == best)) {
              best = x;
              index = position;
            }
            ++position;
          },
          {at[0]});
      Store<I>(a.outputs[0], at[1], static_cast<I>(index));
    });
  });
}

KernelPointer MakeExtreme(const schema::OperatorDesc& desc, bool largest, bool last) {
  const Reduction reduction = ReductionOf(desc);
  return ByNumber(desc.Inputs()[0]->data_type, [&](auto tag) -> KernelPointer {
    using T = typename decltype(tag)::Type;
    switch (schema::BytesPerElement(desc.Outputs()[0]->data_type)) {
      case 4: return Extreme<T, uint32_t>(reduction, largest, last);
      case 8: return Extreme<T, uint64_t>(reduction, largest, last);
      default: return nullptr;
    }
  });
}

}  // namespace

KernelPointer MakeReduce(const schema::OperatorDesc& desc) {
  const uint32_t function = desc.UInt("Function");
  if (function == DML_REDUCE_FUNCTION_ARGMAX) return MakeExtreme(desc, true, false);
  if (function == DML_REDUCE_FUNCTION_ARGMIN) return MakeExtreme(desc, false, false);
  const Reduction reduction = ReductionOf(desc);
  return ByNumber(desc.Inputs()[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<Compute<T>, float>) return MakeFloat<T>(function, reduction);
    else return MakeInteger<T>(function, reduction);
  });
}

KernelPointer MakeArgument(const schema::OperatorDesc& desc) {
  return MakeExtreme(desc, desc.type() == DML_OPERATOR_ARGMAX, desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_DECREASING);
}

}  // namespace dxtensor::software
