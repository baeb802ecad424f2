// SOFTMAX, LOG_SOFTMAX and HARDMAX over one or several axes together.
#include <cmath>
#include <limits>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// The softmax of one row; each variant visits the row twice or three times.
struct Row {
  const uint8_t* in;
  uint8_t* out;
  const BoxIterator<2>& elements;
  const Offsets<2>& start;

  template <typename T>
  float Largest() const {
    float largest = -std::numeric_limits<float>::infinity();
    elements([&](const Offsets<2>& at) { largest = std::fmax(largest, Load<T>(in, at[0])); }, start);
    return largest;
  }
  template <typename T>
  double SumOfExponentials(float largest) const {
    double sum = 0;
    elements([&](const Offsets<2>& at) { sum += std::exp(Load<T>(in, at[0]) - largest); }, start);
    return sum;
  }
};

template <typename T>
void Softmax(const Row& row) {
  const float largest = row.Largest<T>();
  const double sum = row.SumOfExponentials<T>(largest);
  row.elements(
      [&](const Offsets<2>& at) { Store<T>(row.out, at[1], static_cast<float>(std::exp(Load<T>(row.in, at[0]) - largest) / sum)); },
      row.start);
}

template <typename T>
void LogSoftmax(const Row& row) {
  const float largest = row.Largest<T>();
  const double log_sum = std::log(row.SumOfExponentials<T>(largest));
  row.elements(
      [&](const Offsets<2>& at) {
        Store<T>(row.out, at[1], static_cast<float>(static_cast<double>(Load<T>(row.in, at[0]) - largest) - log_sum));
      },
      row.start);
}

// As ARGMAX: a NaN is the largest only if it comes first.
template <typename T>
void Hardmax(const Row& row) {
  float largest = Load<T>(row.in, row.start[0]);
  uint64_t position = 0, index = 0;
  row.elements(
      [&](const Offsets<2>& at) {
        const float x = Load<T>(row.in, at[0]);
        if (x > largest) {
          largest = x;
          index = position;
        }
        ++position;
      },
      row.start);
  position = 0;
  row.elements([&](const Offsets<2>& at) { Store<T>(row.out, at[1], position++ == index ? 1.0f : 0.0f); }, row.start);
}

}  // namespace

KernelPointer MakeSoftmax(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t axes = desc.Has("Axes") ? AxisMask(desc.UInts("Axes")) : 1u << (in.rank - 1);
  const std::array<Dimensions, 2> strides = {BroadcastStrides(in), BroadcastStrides(out)};
  BoxIterator<2> rows = IterateSome<2>(in, strides, ~axes), elements = IterateSome<2>(in, strides, axes);
  return ByFloat(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    void (*run)(const Row&) = nullptr;
    switch (desc.type()) {
      case DML_OPERATOR_ACTIVATION_SOFTMAX:
      case DML_OPERATOR_ACTIVATION_SOFTMAX1: run = Softmax<T>; break;
      case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX:
      case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1: run = LogSoftmax<T>; break;
      default: run = Hardmax<T>; break;
    }
    return KernelFrom([rows, elements, run](const KernelArguments& a) {
      rows([&](const Offsets<2>& at) { run(Row{a.inputs[0], a.outputs[0], elements, at}); });
    });
  });
}

}  // namespace dxtensor::software
