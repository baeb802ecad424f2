// SOFTMAX, LOG_SOFTMAX and HARDMAX over one or several axes together.
#include <cmath>
#include <limits>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// What one line of elements becomes; each visits the line twice or three times.
struct Line {
  const uint8_t* in;
  uint8_t* out;
  const Walk<2>& elements;
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
void Softmax(const Line& line) {
  const float largest = line.Largest<T>();
  const double sum = line.SumOfExponentials<T>(largest);
  line.elements(
      [&](const Offsets<2>& at) { Store<T>(line.out, at[1], static_cast<float>(std::exp(Load<T>(line.in, at[0]) - largest) / sum)); },
      line.start);
}

template <typename T>
void LogSoftmax(const Line& line) {
  const float largest = line.Largest<T>();
  const double log_sum = std::log(line.SumOfExponentials<T>(largest));
  line.elements(
      [&](const Offsets<2>& at) {
        Store<T>(line.out, at[1], static_cast<float>(static_cast<double>(Load<T>(line.in, at[0]) - largest) - log_sum));
      },
      line.start);
}

// As ARGMAX: a NaN is the largest only if it comes first.
template <typename T>
void Hardmax(const Line& line) {
  float largest = Load<T>(line.in, line.start[0]);
  uint64_t position = 0, index = 0;
  line.elements(
      [&](const Offsets<2>& at) {
        const float x = Load<T>(line.in, at[0]);
        if (x > largest) {
          largest = x;
          index = position;
        }
        ++position;
      },
      line.start);
  position = 0;
  line.elements([&](const Offsets<2>& at) { Store<T>(line.out, at[1], position++ == index ? 1.0f : 0.0f); }, line.start);
}

}  // namespace

KernelPointer MakeSoftmax(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const uint32_t axes = desc.Has("Axes") ? AxisMask(desc.UInts("Axes")) : 1u << (in.rank - 1);
  const std::array<Dimensions, 2> strides = {BroadcastStrides(in), BroadcastStrides(out)};
  Walk<2> lines = WalkSome<2>(in, strides, ~axes), elements = WalkSome<2>(in, strides, axes);
  return ByFloat(in.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    void (*run)(const Line&) = nullptr;
    switch (desc.type()) {
      case DML_OPERATOR_ACTIVATION_SOFTMAX:
      case DML_OPERATOR_ACTIVATION_SOFTMAX1: run = Softmax<T>; break;
      case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX:
      case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1: run = LogSoftmax<T>; break;
      default: run = Hardmax<T>; break;
    }
    return KernelFrom([lines, elements, run](const KernelArguments& a) {
      lines([&](const Offsets<2>& at) { run(Line{a.inputs[0], a.outputs[0], elements, at}); });
    });
  });
}

}  // namespace dxtensor::software
