#include "activation.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// ln(1 + e^x) without overflow.
float LogOnePlusExp(float x) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }
float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float Clamp(float x, float low, float high) { return std::fmax(low, std::fmin(x, high)); }  // NaN gives high
float ToUnit(float x) { return std::fmin(std::fmax(x, 0.0f), 1.0f); }                       // NaN gives 0

const std::shared_ptr<const schema::OperatorDesc>* FusedField(const schema::OperatorDesc& host) {
  if (!host.Has("FusedActivation")) return nullptr;
  auto& inner = host.Get<std::shared_ptr<const schema::OperatorDesc>>("FusedActivation");
  return inner ? &inner : nullptr;
}

}  // namespace

float ActivationFunction::operator()(float x) const {
  switch (type) {
    case DML_OPERATOR_ACTIVATION_ELU: return x >= 0 ? x : alpha * std::expm1(x);
    case DML_OPERATOR_ACTIVATION_CELU: return std::fmax(x, 0.0f) + std::fmin(alpha * std::expm1(x / alpha), 0.0f);
    case DML_OPERATOR_ACTIVATION_HARD_SIGMOID: return ToUnit(alpha * x + beta);
    case DML_OPERATOR_ACTIVATION_LEAKY_RELU: return x >= 0 ? x : alpha * x;
    case DML_OPERATOR_ACTIVATION_LINEAR: return alpha * x + beta;
    case DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS: return alpha * LogOnePlusExp(beta * x);
    case DML_OPERATOR_ACTIVATION_RELU: return x > 0 ? x : 0 * x;  // fused: NaN stays, -infinity gives it
    case DML_OPERATOR_ACTIVATION_SCALED_ELU: return x > 0 ? beta * x : beta * alpha * std::expm1(x);
    case DML_OPERATOR_ACTIVATION_SCALED_TANH: return alpha * std::tanh(beta * x);
    case DML_OPERATOR_ACTIVATION_SIGMOID: return Sigmoid(x);
    case DML_OPERATOR_ACTIVATION_SOFTPLUS: return LogOnePlusExp(alpha * x) / alpha;
    case DML_OPERATOR_ACTIVATION_SOFTSIGN: return x / (1 + std::fabs(x));
    case DML_OPERATOR_ACTIVATION_TANH: return std::tanh(x);
    case DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU: return x <= alpha ? 0 : x;  // NaN stays
    case DML_OPERATOR_ACTIVATION_SHRINK: return x > beta ? x - alpha : x < -beta ? x + alpha : 0;
    case DML_OPERATOR_ACTIVATION_GELU: return 0.5f * x * (1 + std::erf(x * 0.70710678118654752f));
    case DML_OPERATOR_ACTIVATION_SWISH: return x * Sigmoid(alpha * x);
    case DML_OPERATOR_ACTIVATION_HARD_SWISH: return x * ToUnit(alpha * x + beta);
    case DML_OPERATOR_ELEMENT_WISE_CLIP: return Clamp(x * scale + bias, alpha, beta);
    default: return x;
  }
}

std::optional<ActivationFunction> FindActivation(const schema::OperatorDesc& desc) {
  ActivationFunction f;
  f.type = desc.type();
  switch (f.type) {
    case DML_OPERATOR_ACTIVATION_IDENTITY:
    case DML_OPERATOR_ACTIVATION_RELU:
    case DML_OPERATOR_ACTIVATION_SIGMOID:
    case DML_OPERATOR_ACTIVATION_SOFTSIGN:
    case DML_OPERATOR_ACTIVATION_TANH:
    case DML_OPERATOR_ACTIVATION_GELU: return f;
    case DML_OPERATOR_ACTIVATION_ELU:
    case DML_OPERATOR_ACTIVATION_CELU:
    case DML_OPERATOR_ACTIVATION_LEAKY_RELU:
    case DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU: f.alpha = desc.Float("Alpha"); return f;
    case DML_OPERATOR_ACTIVATION_HARD_SIGMOID:
    case DML_OPERATOR_ACTIVATION_LINEAR:
    case DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS:
    case DML_OPERATOR_ACTIVATION_SCALED_TANH:
    case DML_OPERATOR_ACTIVATION_HARD_SWISH:
      f.alpha = desc.Float("Alpha");
      f.beta = desc.Float("Beta");
      return f;
    case DML_OPERATOR_ACTIVATION_SCALED_ELU:
      f.alpha = desc.Float("Alpha");
      f.beta = desc.Float("Gamma");
      return f;
    case DML_OPERATOR_ACTIVATION_SOFTPLUS: f.alpha = desc.Float("Steepness"); return f;
    case DML_OPERATOR_ACTIVATION_SWISH: f.alpha = desc.Float("SigmoidInputScale"); return f;
    case DML_OPERATOR_ACTIVATION_SHRINK:
      f.alpha = desc.Float("Bias");
      f.beta = desc.Float("Threshold");
      return f;
    case DML_OPERATOR_ELEMENT_WISE_CLIP:
      f.alpha = desc.Float("Min");
      f.beta = desc.Float("Max");
      if (auto& scale_bias = desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias")) {
        f.scale = scale_bias->Scale;
        f.bias = scale_bias->Bias;
      }
      return f;
    default: return std::nullopt;
  }
}

ActivationFunction FusedActivation(const schema::OperatorDesc& host) {
  auto* inner = FusedField(host);
  if (!inner) return {};
  if (auto f = FindActivation(**inner)) return *f;
  throw std::invalid_argument(std::string(host.schema->name) + ": fused activation " + (*inner)->schema->name);
}

bool FusesSoftmax(const schema::OperatorDesc& host, uint32_t rank, uint32_t* axes) {
  auto* inner = FusedField(host);
  if (!inner) return false;
  if ((*inner)->type() == DML_OPERATOR_ACTIVATION_SOFTMAX) *axes = 1u << (rank - 1);
  else if ((*inner)->type() == DML_OPERATOR_ACTIVATION_SOFTMAX1) *axes = AxisMask((*inner)->UInts("Axes"));
  else return false;
  return true;
}

namespace {

template <typename T, typename F>
KernelPointer Map(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return KernelFrom([iterate, f](const KernelArguments& a) {
    iterate([&](const Offsets<2>& at) { Store<T>(a.outputs[0], at[1], f(Load<T>(a.inputs[0], at[0]))); });
  });
}

template <typename T, typename F>
KernelPointer Map2(const schema::OperatorDesc& desc, F f) {
  const schema::TensorDesc &x = *desc.Inputs()[0], &y = *desc.Inputs()[1], &out = *desc.Outputs()[0];
  BoxIterator<3> iterate(out, {&x, &y, &out});
  return KernelFrom([iterate, f](const KernelArguments& a) {
    iterate([&](const Offsets<3>& at) { Store<T>(a.outputs[0], at[2], f(Load<T>(a.inputs[0], at[0]), Load<T>(a.inputs[1], at[1]))); });
  });
}

}  // namespace

KernelPointer MakeActivation(const schema::OperatorDesc& desc) {
  return ByNumber(desc.Outputs()[0]->data_type, [&](auto tag) -> KernelPointer {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    switch (desc.type()) {
      case DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU:
        return Map2<T>(desc, [](C x, C slope) { return x >= 0 ? x : Wrap(slope, x, [](auto p, auto q) { return p * q; }); });
      case DML_OPERATOR_ACTIVATION_RELU_GRAD: return Map2<T>(desc, [](C x, C dy) { return x > 0 ? dy : C(0); });
      default: break;
    }
    if constexpr (std::is_same_v<C, float>) {
      // On its own, unlike fused, NaN gives 0.
      if (desc.type() == DML_OPERATOR_ACTIVATION_RELU) return Map<T>(desc, [](float x) { return std::fmax(x, 0.0f); });
      return Map<T>(desc, *FindActivation(desc));
    } else {
      switch (desc.type()) {
        case DML_OPERATOR_ACTIVATION_RELU: return Map<T>(desc, [](C x) { return std::max(x, C(0)); });
        case DML_OPERATOR_ACTIVATION_SHRINK:
          // To the nearest integer, halves to the even one, as Microsoft's library does.
          return Map<T>(desc, [f = *FindActivation(desc)](C x) { return Saturate<C>(std::nearbyint(f(static_cast<float>(x)))); });
        default: return nullptr;
      }
    }
  });
}

}  // namespace dxtensor::software
