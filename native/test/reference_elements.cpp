// Elementwise operators, casts and fills.
#include <cmath>
#include <cstring>

#include "reference.h"

namespace dxtensor::test {

using schema::OperatorDesc;

namespace {

// exact for the halves, whatever the rounding mode
double RoundHalvesToEven(double x) {
  if (!std::isfinite(x)) return x;
  const double below = std::floor(x), rest = x - below;
  double rounded = rest < 0.5 ? below : rest > 0.5 ? below + 1 : (std::fmod(below, 2) == 0 ? below : below + 1);
  return std::copysign(rounded, x);
}

double Sign(double x) { return std::isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0; }

double Unary(const OperatorDesc& d, double x) {
  switch (d.type()) {
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY: return x;
    case DML_OPERATOR_ELEMENT_WISE_ABS: return std::fabs(x);
    case DML_OPERATOR_ELEMENT_WISE_NEGATE: return -x;
    case DML_OPERATOR_ELEMENT_WISE_SIGN: return Sign(x);
    case DML_OPERATOR_ELEMENT_WISE_EXP: return std::exp(x);
    case DML_OPERATOR_ELEMENT_WISE_LOG: return std::log(x);
    case DML_OPERATOR_ELEMENT_WISE_SQRT: return std::sqrt(x);
    case DML_OPERATOR_ELEMENT_WISE_RECIP: return 1 / x;
    case DML_OPERATOR_ELEMENT_WISE_SIN: return std::sin(x);
    case DML_OPERATOR_ELEMENT_WISE_COS: return std::cos(x);
    case DML_OPERATOR_ELEMENT_WISE_TAN: return std::tan(x);
    case DML_OPERATOR_ELEMENT_WISE_ASIN: return std::asin(x);
    case DML_OPERATOR_ELEMENT_WISE_ACOS: return std::acos(x);
    case DML_OPERATOR_ELEMENT_WISE_ATAN: return std::atan(x);
    case DML_OPERATOR_ELEMENT_WISE_SINH: return std::sinh(x);
    case DML_OPERATOR_ELEMENT_WISE_COSH: return std::cosh(x);
    case DML_OPERATOR_ELEMENT_WISE_TANH: return std::tanh(x);
    case DML_OPERATOR_ELEMENT_WISE_ERF: return std::erf(x);
    case DML_OPERATOR_ELEMENT_WISE_FLOOR: return std::floor(x);
    case DML_OPERATOR_ELEMENT_WISE_CEIL: return std::ceil(x);
    case DML_OPERATOR_ELEMENT_WISE_ROUND:
      switch (d.UInt("RoundingMode")) {
        case DML_ROUNDING_MODE_TOWARD_ZERO: return std::trunc(x);
        case DML_ROUNDING_MODE_TOWARD_INFINITY: return std::trunc(x + std::copysign(0.5, x));  // halves away from zero
        default: return RoundHalvesToEven(x);
      }
    case DML_OPERATOR_ELEMENT_WISE_CLIP: {
      const double low = static_cast<double>(d.Float("Min")), high = static_cast<double>(d.Float("Max"));
      return x < low ? low : x > high ? high : x;
    }
    case DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW: return std::pow(x, static_cast<double>(d.Float("Exponent")));
    default: return Activate(d, x);
  }
}

bool IsUnary(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY:
    case DML_OPERATOR_ELEMENT_WISE_ABS:
    case DML_OPERATOR_ELEMENT_WISE_NEGATE:
    case DML_OPERATOR_ELEMENT_WISE_SIGN:
    case DML_OPERATOR_ELEMENT_WISE_EXP:
    case DML_OPERATOR_ELEMENT_WISE_LOG:
    case DML_OPERATOR_ELEMENT_WISE_SQRT:
    case DML_OPERATOR_ELEMENT_WISE_RECIP:
    case DML_OPERATOR_ELEMENT_WISE_SIN:
    case DML_OPERATOR_ELEMENT_WISE_COS:
    case DML_OPERATOR_ELEMENT_WISE_TAN:
    case DML_OPERATOR_ELEMENT_WISE_ASIN:
    case DML_OPERATOR_ELEMENT_WISE_ACOS:
    case DML_OPERATOR_ELEMENT_WISE_ATAN:
    case DML_OPERATOR_ELEMENT_WISE_SINH:
    case DML_OPERATOR_ELEMENT_WISE_COSH:
    case DML_OPERATOR_ELEMENT_WISE_TANH:
    case DML_OPERATOR_ELEMENT_WISE_ERF:
    case DML_OPERATOR_ELEMENT_WISE_FLOOR:
    case DML_OPERATOR_ELEMENT_WISE_CEIL:
    case DML_OPERATOR_ELEMENT_WISE_ROUND:
    case DML_OPERATOR_ELEMENT_WISE_CLIP:
    case DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW:
    case DML_OPERATOR_ACTIVATION_RELU:
    case DML_OPERATOR_ACTIVATION_SIGMOID:
    case DML_OPERATOR_ACTIVATION_TANH:
    case DML_OPERATOR_ACTIVATION_LEAKY_RELU:
    case DML_OPERATOR_ACTIVATION_LINEAR:
    case DML_OPERATOR_ACTIVATION_ELU:
    case DML_OPERATOR_ACTIVATION_GELU:
    case DML_OPERATOR_ACTIVATION_SOFTPLUS:
    case DML_OPERATOR_ACTIVATION_IDENTITY: return true;
    default: return false;
  }
}

void ElementwiseUnary(const Evaluation& e) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  const DML_SCALE_BIAS* scale = nullptr;
  if (e.desc.Has("ScaleBias")) {
    const auto& scale_bias = e.desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias");
    if (scale_bias) scale = &*scale_bias;
  }
  for (size_t i = 0; i < y.size(); ++i) {
    if (x.is_float()) {
      const double scaled = scale ? x.real[i] * static_cast<double>(scale->Scale) + static_cast<double>(scale->Bias) : x.real[i];
      y.Set(i, Unary(e.desc, scaled));
      continue;
    }
    int64_t v = x.whole[i];
    const bool is_signed = IsSigned(x.type);
    switch (e.desc.type()) {
      case DML_OPERATOR_ELEMENT_WISE_ABS: v = is_signed && v < 0 ? -v : v; break;
      case DML_OPERATOR_ELEMENT_WISE_NEGATE: v = static_cast<int64_t>(0 - static_cast<uint64_t>(v)); break;
      case DML_OPERATOR_ELEMENT_WISE_SIGN: v = v == 0 ? 0 : is_signed && v < 0 ? -1 : 1; break;
      case DML_OPERATOR_ELEMENT_WISE_CLIP: {
        const int64_t low = static_cast<int64_t>(e.desc.Float("Min")), high = static_cast<int64_t>(e.desc.Float("Max"));
        v = v < low ? low : v > high ? high : v;
        break;
      }
      case DML_OPERATOR_ACTIVATION_RELU: v = is_signed && v < 0 ? 0 : v; break;
      default: break;
    }
    y.SetWhole(i, v);
  }
}

int Compare(const Values& a, const Values& b, size_t i) {
  if (a.type == DML_TENSOR_DATA_TYPE_UINT64) {
    const uint64_t x = static_cast<uint64_t>(a.whole[i]), y = static_cast<uint64_t>(b.whole[i]);
    return x < y ? -1 : x > y;
  }
  return a.whole[i] < b.whole[i] ? -1 : a.whole[i] > b.whole[i];
}

int64_t WholeBinary(DML_OPERATOR_TYPE op, const Values& a, const Values& b, size_t i) {
  const int64_t x = a.whole[i], y = b.whole[i];
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const bool is_signed = IsSigned(a.type);
  const uint32_t bits = schema::BitsPerElement(a.type);
  switch (op) {
    case DML_OPERATOR_ELEMENT_WISE_ADD:
    case DML_OPERATOR_ELEMENT_WISE_ADD1: return static_cast<int64_t>(ux + uy);
    case DML_OPERATOR_ELEMENT_WISE_SUBTRACT: return static_cast<int64_t>(ux - uy);
    case DML_OPERATOR_ELEMENT_WISE_MULTIPLY: return static_cast<int64_t>(ux * uy);
    case DML_OPERATOR_ELEMENT_WISE_DIVIDE: return is_signed ? x / y : static_cast<int64_t>(ux / uy);
    case DML_OPERATOR_ELEMENT_WISE_MAX: return Compare(a, b, i) >= 0 ? x : y;
    case DML_OPERATOR_ELEMENT_WISE_MIN: return Compare(a, b, i) <= 0 ? x : y;
    case DML_OPERATOR_ACTIVATION_RELU_GRAD: return is_signed && x < 0 ? 0 : x == 0 ? 0 : y;
    case DML_OPERATOR_ELEMENT_WISE_BIT_AND: return x & y;
    case DML_OPERATOR_ELEMENT_WISE_BIT_OR: return x | y;
    case DML_OPERATOR_ELEMENT_WISE_BIT_XOR: return x ^ y;
    case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT: return static_cast<int64_t>(ux << (uy % bits));
    case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT: return is_signed ? x >> (uy % bits) : static_cast<int64_t>(ux >> (uy % bits));
    default: return 0;
  }
}

double RealBinary(DML_OPERATOR_TYPE op, double x, double y) {
  switch (op) {
    case DML_OPERATOR_ELEMENT_WISE_ADD:
    case DML_OPERATOR_ELEMENT_WISE_ADD1: return x + y;
    case DML_OPERATOR_ELEMENT_WISE_SUBTRACT: return x - y;
    case DML_OPERATOR_ELEMENT_WISE_MULTIPLY: return x * y;
    case DML_OPERATOR_ELEMENT_WISE_DIVIDE: return x / y;
    case DML_OPERATOR_ELEMENT_WISE_MAX: return x > y ? x : y;
    case DML_OPERATOR_ELEMENT_WISE_MIN: return x < y ? x : y;
    case DML_OPERATOR_ELEMENT_WISE_POW: return std::pow(x, y);
    case DML_OPERATOR_ELEMENT_WISE_ATAN_YX: return std::atan2(x, y);
    case DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE: return (x - y) * (x - y);
    case DML_OPERATOR_ACTIVATION_RELU_GRAD: return x > 0 ? y : 0;
    default: return 0;
  }
}

bool IsBinary(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_ELEMENT_WISE_ADD:
    case DML_OPERATOR_ELEMENT_WISE_ADD1:
    case DML_OPERATOR_ELEMENT_WISE_SUBTRACT:
    case DML_OPERATOR_ELEMENT_WISE_MULTIPLY:
    case DML_OPERATOR_ELEMENT_WISE_DIVIDE:
    case DML_OPERATOR_ELEMENT_WISE_MAX:
    case DML_OPERATOR_ELEMENT_WISE_MIN:
    case DML_OPERATOR_ELEMENT_WISE_POW:
    case DML_OPERATOR_ELEMENT_WISE_ATAN_YX:
    case DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE:
    case DML_OPERATOR_ELEMENT_WISE_BIT_AND:
    case DML_OPERATOR_ELEMENT_WISE_BIT_OR:
    case DML_OPERATOR_ELEMENT_WISE_BIT_XOR:
    case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT:
    case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT:
    case DML_OPERATOR_ACTIVATION_RELU_GRAD: return true;
    default: return false;
  }
}

// The same memory read as integers, and back.
Values AsBits(const Values& v) {
  Values bits = v;
  bits.type = v.type == DML_TENSOR_DATA_TYPE_FLOAT16   ? DML_TENSOR_DATA_TYPE_UINT16
              : v.type == DML_TENSOR_DATA_TYPE_FLOAT32 ? DML_TENSOR_DATA_TYPE_UINT32
                                                       : DML_TENSOR_DATA_TYPE_UINT64;
  for (double real : v.real) {
    const float single = static_cast<float>(real);
    int64_t whole = 0;
    if (v.type == DML_TENSOR_DATA_TYPE_FLOAT16) whole = FloatToHalf(real);
    else if (v.type == DML_TENSOR_DATA_TYPE_FLOAT32) std::memcpy(&whole, &single, 4);
    else std::memcpy(&whole, &real, 8);
    bits.whole.push_back(whole);
  }
  return bits;
}

double FromBits(DML_TENSOR_DATA_TYPE type, int64_t bits) {
  if (type == DML_TENSOR_DATA_TYPE_FLOAT16) return static_cast<double>(HalfToFloat(static_cast<uint16_t>(bits)));
  float single;
  double real;
  std::memcpy(&single, &bits, 4);
  std::memcpy(&real, &bits, 8);
  return type == DML_TENSOR_DATA_TYPE_FLOAT32 ? static_cast<double>(single) : real;
}

bool IsBitwise(DML_OPERATOR_TYPE type) {
  return type == DML_OPERATOR_ELEMENT_WISE_BIT_AND || type == DML_OPERATOR_ELEMENT_WISE_BIT_OR || type == DML_OPERATOR_ELEMENT_WISE_BIT_XOR;
}

void ElementwiseBinary(const Evaluation& e) {
  const Values &a = e.inputs[0], &b = e.inputs[1];
  Values& y = e.outputs[0];
  if (a.is_float() && IsBitwise(e.desc.type())) {
    const Values x = AsBits(a), z = AsBits(b);
    for (size_t i = 0; i < y.size(); ++i) y.real[i] = FromBits(y.type, WholeBinary(e.desc.type(), x, z, i));
    return;
  }
  const OperatorDesc* fused = nullptr;
  if (e.desc.Has("FusedActivation")) fused = e.desc.Get<std::shared_ptr<const OperatorDesc>>("FusedActivation").get();
  for (size_t i = 0; i < y.size(); ++i) {
    if (e.desc.type() == DML_OPERATOR_ELEMENT_WISE_POW && !a.is_float()) {
      y.SetWhole(i, static_cast<int64_t>(std::pow(a.AsReal(i), b.AsReal(i))));
    } else if (a.is_float()) {
      const double value = RealBinary(e.desc.type(), a.real[i], b.AsReal(i));
      y.Set(i, fused ? Activate(*fused, value) : value);
    } else {
      y.SetWhole(i, WholeBinary(e.desc.type(), a, b, i));
    }
  }
}

bool Logical(const Evaluation& e) {
  const DML_OPERATOR_TYPE type = e.desc.type();
  Values& y = e.outputs[0];
  const Values& a = e.inputs[0];
  const Values& b = e.inputs.size() > 1 ? e.inputs[1] : a;
  for (size_t i = 0; i < y.size(); ++i) {
    const double x = a.AsReal(i), z = b.AsReal(i);
    const bool whole = !a.is_float();
    bool result = false;
    switch (type) {
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND: result = a.Truth(i) && b.Truth(i); break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR: result = a.Truth(i) || b.Truth(i); break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR: result = a.Truth(i) != b.Truth(i); break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT: result = !a.Truth(i); break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS: result = whole ? Compare(a, b, i) == 0 : x == z; break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN: result = whole ? Compare(a, b, i) > 0 : x > z; break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN: result = whole ? Compare(a, b, i) < 0 : x < z; break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL: result = whole ? Compare(a, b, i) >= 0 : x >= z; break;
      case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL: result = whole ? Compare(a, b, i) <= 0 : x <= z; break;
      case DML_OPERATOR_ELEMENT_WISE_IS_NAN: result = std::isnan(x); break;
      default: return false;
    }
    y.SetWhole(i, result);
  }
  return true;
}

void Cast(const Values& x, Values& y) {
  for (size_t i = 0; i < y.size(); ++i) {
    if (y.is_float()) y.Set(i, x.AsReal(i));
    else if (!x.is_float()) y.SetWhole(i, x.whole[i]);
    else y.SetWhole(i, static_cast<int64_t>(x.real[i]));  // the tests stay inside the target's range
  }
}

void Fill(const Evaluation& e) {
  Values& y = e.outputs[0];
  const bool sequence = e.desc.type() == DML_OPERATOR_FILL_VALUE_SEQUENCE;
  DML_SCALAR_UNION start = e.desc.Get<DML_SCALAR_UNION>(sequence ? "ValueStart" : "Value"), delta{};
  if (sequence) delta = e.desc.Get<DML_SCALAR_UNION>("ValueDelta");
  auto real = [&](const DML_SCALAR_UNION& s) -> double {
    if (y.type == DML_TENSOR_DATA_TYPE_FLOAT16) return HalfToFloat(s.UInt16);
    return y.type == DML_TENSOR_DATA_TYPE_FLOAT64 ? s.Float64 : static_cast<double>(s.Float32);
  };
  for (size_t i = 0; i < y.size(); ++i) {
    if (y.is_float()) y.Set(i, real(start) + static_cast<double>(i) * real(delta));
    else y.SetWhole(i, static_cast<int64_t>(start.UInt64 + i * delta.UInt64));
  }
}

}  // namespace

double Activate(const OperatorDesc& d, double x) {
  auto f = [&](const char* name) { return static_cast<double>(d.Float(name)); };
  switch (d.type()) {
    case DML_OPERATOR_ACTIVATION_IDENTITY: return x;
    case DML_OPERATOR_ACTIVATION_RELU: return x > 0 ? x : 0;
    case DML_OPERATOR_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-x));
    case DML_OPERATOR_ACTIVATION_TANH: return std::tanh(x);
    case DML_OPERATOR_ACTIVATION_LEAKY_RELU: return x >= 0 ? x : f("Alpha") * x;
    case DML_OPERATOR_ACTIVATION_LINEAR: return f("Alpha") * x + f("Beta");
    case DML_OPERATOR_ACTIVATION_ELU: return x >= 0 ? x : f("Alpha") * (std::exp(x) - 1);
    case DML_OPERATOR_ACTIVATION_GELU: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case DML_OPERATOR_ACTIVATION_SOFTPLUS: return std::log(1 + std::exp(f("Steepness") * x)) / f("Steepness");
    default: return std::nan("");
  }
}

void Philox(const std::vector<int64_t>& state, size_t count, std::vector<int64_t>& numbers, std::vector<int64_t>& after) {
  numbers.clear();
  std::vector<uint32_t> counter(4);
  for (int i = 0; i < 4; ++i) counter[static_cast<size_t>(i)] = static_cast<uint32_t>(state[static_cast<size_t>(i)]);
  while (numbers.size() < count) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k0 = static_cast<uint32_t>(state[4]), k1 = static_cast<uint32_t>(state[5]);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
      const uint32_t next[4] = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
                                static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      std::memcpy(c, next, sizeof c);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (uint32_t word : c)
      if (numbers.size() < count) numbers.push_back(word);
    for (size_t i = 0; i < 4 && ++counter[i] == 0;) ++i;
  }
  after = state;
  for (size_t i = 0; i < 4; ++i) after[i] = counter[i];
}

bool EvaluateElements(const Evaluation& e) {
  const DML_OPERATOR_TYPE type = e.desc.type();
  if (IsUnary(type)) {
    ElementwiseUnary(e);
    return true;
  }
  if (IsBinary(type)) {
    ElementwiseBinary(e);
    return true;
  }
  switch (type) {
    case DML_OPERATOR_CAST: Cast(e.inputs[0], e.outputs[0]); return true;
    case DML_OPERATOR_FILL_VALUE_CONSTANT:
    case DML_OPERATOR_FILL_VALUE_SEQUENCE: Fill(e); return true;
    case DML_OPERATOR_ELEMENT_WISE_IF:
      for (size_t i = 0; i < e.outputs[0].size(); ++i) e.outputs[0].Copy(i, e.inputs[0].Truth(i) ? e.inputs[1] : e.inputs[2], i);
      return true;
    case DML_OPERATOR_RANDOM_GENERATOR: {
      std::vector<int64_t> numbers, after;
      Philox(e.inputs[0].whole, e.outputs[0].size(), numbers, after);
      e.outputs[0].whole = numbers;
      if (e.outputs[1].size()) e.outputs[1].whole = after;
      return true;
    }
    default: return Logical(e);
  }
}

bool Evaluate(const Evaluation& e) {
  for (auto evaluate :
       {EvaluateSequence, EvaluateSampling, EvaluateQuantized, EvaluateMatrix, EvaluateMovement, EvaluateNormalize, EvaluateElements})
    if (evaluate(e)) return true;
  return false;
}

}  // namespace dxtensor::test
