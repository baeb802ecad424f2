#include "elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "software/cpu/fast/isa/isa_table.h"
#include "nan_choice.h"

namespace dxtensor::software::fast {

namespace {

using Type = DML_TENSOR_DATA_TYPE;

bool IsFloat(Type type) { return type == DML_TENSOR_DATA_TYPE_FLOAT32 || type == DML_TENSOR_DATA_TYPE_FLOAT16; }
bool IsSigned(Type type) {
  return type == DML_TENSOR_DATA_TYPE_INT8 || type == DML_TENSOR_DATA_TYPE_INT16 || type == DML_TENSOR_DATA_TYPE_INT32 ||
         type == DML_TENSOR_DATA_TYPE_INT64;
}
bool IsTruth(Type type) { return type == DML_TENSOR_DATA_TYPE_UINT8 || type == DML_TENSOR_DATA_TYPE_UINT32; }

struct Bounds {
  int64_t low, high;  // as bits
  float flow, fhigh;
};
template <typename T>
Bounds BoundsOf() {
  using L = std::numeric_limits<T>;
  return {static_cast<int64_t>(L::min()), static_cast<int64_t>(L::max()), static_cast<float>(L::min()), static_cast<float>(L::max())};
}
Bounds BoundsOf(Type type) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8: return BoundsOf<int8_t>();
    case DML_TENSOR_DATA_TYPE_UINT8: return BoundsOf<uint8_t>();
    case DML_TENSOR_DATA_TYPE_INT16: return BoundsOf<int16_t>();
    case DML_TENSOR_DATA_TYPE_UINT16: return BoundsOf<uint16_t>();
    case DML_TENSOR_DATA_TYPE_INT32: return BoundsOf<int32_t>();
    case DML_TENSOR_DATA_TYPE_UINT32: return BoundsOf<uint32_t>();
    case DML_TENSOR_DATA_TYPE_INT64: return BoundsOf<int64_t>();
    default: return BoundsOf<uint64_t>();
  }
}

// A float attribute as a bound of an integer type: truncated, and clamped to the type's range.
int64_t IntegerBound(Type type, float value) {
  const Bounds b = BoundsOf(type);
  if (std::isnan(value)) return 0;
  if (value <= b.flow) return b.low;
  if (value >= b.fhigh) return b.high;
  return type == DML_TENSOR_DATA_TYPE_UINT64 ? static_cast<int64_t>(static_cast<uint64_t>(value)) : static_cast<int64_t>(value);
}
int64_t IntegerOf(Type type, const DML_SCALAR_UNION& value) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_INT8: return value.Int8;
    case DML_TENSOR_DATA_TYPE_UINT8: return value.UInt8;
    case DML_TENSOR_DATA_TYPE_INT16: return value.Int16;
    case DML_TENSOR_DATA_TYPE_UINT16: return value.UInt16;
    case DML_TENSOR_DATA_TYPE_INT32: return value.Int32;
    case DML_TENSOR_DATA_TYPE_UINT32: return value.UInt32;
    default: return value.Int64;
  }
}
float FloatOf(Type type, const DML_SCALAR_UNION& value) {
  if (type != DML_TENSOR_DATA_TYPE_FLOAT16) return value.Float32;
  float result;
  Table().load(type, reinterpret_cast<uint8_t*>(&result), value.Bytes, 1, 1);
  return result;
}

float TruncatedModulus(float a, float b) { return std::isinf(b) ? std::numeric_limits<float>::quiet_NaN() : std::fmod(a, b); }
float FloorModulus(float a, float b) {
  float r = TruncatedModulus(a, b);
  if (b != 0 && r != 0 && (r < 0) != (b < 0)) r += b;
  return r;
}

// Emission of one operator.
class Emitter {
 public:
  Emitter(ProgramBuilder& builder, const schema::OperatorDesc& desc, const int* in)
      : b_(builder), desc_(desc), in_(in), out_type_(desc.Outputs()[0]->data_type) {
    const auto inputs = desc.Inputs();
    type_ = inputs.empty() ? out_type_ : inputs[0]->data_type;
    float_ = IsFloat(type_);
  }
  int Emit();

 private:
  int Float1(Code code, float p = 0, float q = 0) {
    MicroOp op{code};
    op.p = p;
    op.q = q;
    return b_.Emit(op, RegisterType::F32, Scaled());
  }
  int Float2(Code code) { return float_ ? b_.Emit({code}, RegisterType::F32, in_[0], in_[1]) : -1; }
  int Call(float (*call)(float)) {
    MicroOp op{Code::FCall};
    op.call = call;
    return float_ ? b_.Emit(op, RegisterType::F32, Scaled()) : -1;
  }
  int Call2(float (*call)(float, float)) {
    MicroOp op{Code::FCall2};
    op.call2 = call;
    return float_ ? b_.Emit(op, RegisterType::F32, in_[0], in_[1]) : -1;
  }
  // Unsigned numbers below 32 bits are divided as such, since what a division by 0 gives is the type's.
  int Modulus(float (*call)(float, float), Code code) {
    if (float_) return Call2(call);
    return Integer(code, schema::BitsPerElement(type_) < 32 && !IsSigned(type_) ? RegisterType::U32 : RegisterOf(type_));
  }
  int Integer(Code code, int64_t i = 0, int64_t j = 0) { return Integer(code, RegisterOf(type_), i, j); }
  int Integer(Code code, RegisterType type, int64_t i = 0, int64_t j = 0) {
    MicroOp op{code};
    op.type = type;
    op.i = i;
    op.j = j;
    return b_.Emit(op, type, in_[0], desc_.Inputs().size() > 1 ? in_[1] : in_[0]);
  }
  // One instruction for floats and one for integers.
  int Unary(Code f, Code i) {
    if (float_) return Float1(f);
    return HasScale() ? -1 : Integer(i);
  }
  int Binary(Code f, Code i) { return float_ ? Float2(f) : Integer(i); }
  int Test(Code f, Code i) {
    if (!IsTruth(out_type_)) return -1;
    MicroOp op{float_ ? f : i};
    op.type = RegisterOf(type_);
    return b_.Emit(op, RegisterType::I32, in_[0], desc_.Inputs().size() > 1 ? in_[1] : in_[0]);
  }
  // An integer clamped to the range of an output below 32 bits, as DirectML's shaders do it.
  int Held(int reg) {
    if (reg < 0 || IsFloat(out_type_) || schema::BitsPerElement(out_type_) >= 32) return reg;
    MicroOp op{Code::IClip};
    op.type = IsSigned(out_type_) ? RegisterType::I32 : RegisterType::U32;
    op.i = BoundsOf(out_type_).low;
    op.j = BoundsOf(out_type_).high;
    return b_.Emit(op, op.type, reg);
  }
  int FloatOnly(Code code) { return float_ ? Float1(code) : -1; }

  const std::optional<DML_SCALE_BIAS>* ScaleField() const {
    if (!desc_.Has("ScaleBias")) return nullptr;
    auto& s = desc_.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias");
    return s ? &s : nullptr;
  }
  bool HasScale() const { return ScaleField() != nullptr; }
  // The first input after the operator's ScaleBias.
  int Scaled() {
    auto* s = ScaleField();
    if (!s) return in_[0];
    MicroOp op{Code::FLinear};
    op.p = (*s)->Scale;
    op.q = (*s)->Bias;
    return b_.Emit(op, RegisterType::F32, in_[0]);
  }

  int Clip(bool union_bounds, Code f, Code i);
  int Cast();
  int Pow();
  int ConstantPow();
  int Shift();
  int Fill();

  ProgramBuilder& b_;
  const schema::OperatorDesc& desc_;
  const int* in_;
  Type type_, out_type_;
  bool float_;
};

int Emitter::Clip(bool union_bounds, Code f, Code i) {
  if (float_) {
    const float low = union_bounds ? FloatOf(type_, desc_.Get<DML_SCALAR_UNION>("Min")) : desc_.Float("Min");
    const float high = union_bounds ? FloatOf(type_, desc_.Get<DML_SCALAR_UNION>("Max")) : desc_.Float("Max");
    if (f != Code::FClipGrad) return Float1(f, low, high);
    MicroOp op{f};
    op.p = low;
    op.q = high;
    return b_.Emit(op, RegisterType::F32, in_[0], in_[1]);
  }
  if (f == Code::FClipGrad || HasScale()) return -1;
  return Integer(i, union_bounds ? IntegerOf(type_, desc_.Get<DML_SCALAR_UNION>("Min")) : IntegerBound(type_, desc_.Float("Min")),
                 union_bounds ? IntegerOf(type_, desc_.Get<DML_SCALAR_UNION>("Max")) : IntegerBound(type_, desc_.Float("Max")));
}

int Emitter::Cast() {
  const RegisterType from = RegisterOf(type_), to = RegisterOf(out_type_);
  if (IsFloat(out_type_)) {
    if (float_) return in_[0];
    MicroOp op{Code::IntegerToFloat};
    op.type = from;
    return b_.Emit(op, RegisterType::F32, in_[0]);
  }
  if (float_) {
    const Bounds bounds = BoundsOf(out_type_);
    MicroOp op{Code::FloatToInteger};
    op.type = to;
    op.p = bounds.flow;
    op.q = bounds.fhigh;
    op.i = bounds.low;
    op.j = bounds.high;
    return b_.Emit(op, to, in_[0]);
  }
  if (RegisterBytes(from) == RegisterBytes(to)) return Held(in_[0]);
  MicroOp op{RegisterBytes(to) == 8 ? Code::Extend : Code::Truncate};
  op.type = from;
  return Held(b_.Emit(op, to, in_[0]));
}

int Emitter::Pow() {
  const Type exponent = desc_.Inputs()[1]->data_type;
  if (!float_ || !IsEngineType(exponent)) return -1;
  int e = in_[1];
  if (!IsFloat(exponent)) {
    MicroOp convert{Code::IntegerToFloat};
    convert.type = RegisterOf(exponent);
    e = b_.Emit(convert, RegisterType::F32, e);
  }
  if (auto* s = ScaleField()) {  // scales the exponent as well
    MicroOp op{Code::FLinear};
    op.p = (*s)->Scale;
    op.q = (*s)->Bias;
    e = b_.Emit(op, RegisterType::F32, e);
  }
  return b_.Emit({Code::FPow}, RegisterType::F32, Scaled(), e);
}

int Emitter::ConstantPow() {
  if (!float_) return -1;
  const float e = desc_.Float("Exponent");
  if (e == 1) return Float1(Code::FCopy);
  if (e == 2) return Float1(Code::FSquare);
  return Float1(Code::FPowConstant, e);
}

// Logical shifts; elements of up to 32 bits shift in 32.
int Emitter::Shift() {
  const bool left = desc_.type() == DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT;
  const int bits = static_cast<int>(schema::BitsPerElement(type_));
  const RegisterType type = bits == 64 ? RegisterType::U64 : RegisterType::U32;
  int x = in_[0];
  if (bits < 32 && !left) {
    MicroOp wrap{Code::IWrap};
    wrap.type = type;
    wrap.i = bits;
    x = b_.Emit(wrap, type, x);
  }
  MicroOp op{left ? Code::IShiftLeft : Code::IShiftRight};
  op.type = type;
  return b_.Emit(op, type, x, in_[1]);
}

int Emitter::Fill() {
  MicroOp op{Code::Constant};
  op.type = IsFloat(out_type_) ? RegisterType::I32 : RegisterOf(out_type_);
  const auto& value = desc_.Get<DML_SCALAR_UNION>("Value");
  if (IsFloat(out_type_)) {
    const float number = FloatOf(out_type_, value);
    int32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    op.i = bits;
  } else {
    op.i = IntegerOf(out_type_, value);
  }
  return b_.Emit(op, RegisterOf(out_type_), -1);
}

int Emitter::Emit() {
  switch (desc_.type()) {
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY: return HasScale() ? FloatOnly(Code::FCopy) : in_[0];
    case DML_OPERATOR_ACTIVATION_IDENTITY: return in_[0];
    case DML_OPERATOR_CAST: return Cast();
    case DML_OPERATOR_FILL_VALUE_CONSTANT: return Fill();
    case DML_OPERATOR_ELEMENT_WISE_ABS: return Held(Unary(Code::FAbs, Code::IAbs));
    case DML_OPERATOR_ELEMENT_WISE_NEGATE: return Held(Unary(Code::FNegate, Code::INegate));
    case DML_OPERATOR_ELEMENT_WISE_SIGN: return Unary(Code::FSign, Code::ISign);
    case DML_OPERATOR_ELEMENT_WISE_EXP: return FloatOnly(Code::FExp);
    case DML_OPERATOR_ELEMENT_WISE_LOG: return FloatOnly(Code::FLog);
    case DML_OPERATOR_ELEMENT_WISE_SQRT: return FloatOnly(Code::FSqrt);
    case DML_OPERATOR_ELEMENT_WISE_RECIP: return FloatOnly(Code::FRecip);
    case DML_OPERATOR_ELEMENT_WISE_SIN: return FloatOnly(Code::FSin);
    case DML_OPERATOR_ELEMENT_WISE_COS: return FloatOnly(Code::FCos);
    case DML_OPERATOR_ELEMENT_WISE_TANH: return FloatOnly(Code::FTanh);
    case DML_OPERATOR_ELEMENT_WISE_ERF: return FloatOnly(Code::FErf);
    case DML_OPERATOR_ELEMENT_WISE_FLOOR: return FloatOnly(Code::FFloor);
    case DML_OPERATOR_ELEMENT_WISE_CEIL: return FloatOnly(Code::FCeil);
    case DML_OPERATOR_ELEMENT_WISE_TAN: return Call([](float x) { return std::tan(x); });
    case DML_OPERATOR_ELEMENT_WISE_ASIN: return Call([](float x) { return std::asin(x); });
    case DML_OPERATOR_ELEMENT_WISE_ACOS: return Call([](float x) { return std::acos(x); });
    case DML_OPERATOR_ELEMENT_WISE_ATAN: return Call([](float x) { return std::atan(x); });
    case DML_OPERATOR_ELEMENT_WISE_SINH: return Call([](float x) { return std::sinh(x); });
    case DML_OPERATOR_ELEMENT_WISE_COSH: return Call([](float x) { return std::cosh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ASINH: return Call([](float x) { return std::asinh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ACOSH: return Call([](float x) { return std::acosh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ATANH: return Call([](float x) { return std::atanh(x); });
    case DML_OPERATOR_ELEMENT_WISE_ROUND:
      switch (desc_.UInt("RoundingMode")) {
        case DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN: return FloatOnly(Code::FRoundEven);
        case DML_ROUNDING_MODE_TOWARD_ZERO: return FloatOnly(Code::FTruncate);
        default: return FloatOnly(Code::FRoundAway);
      }
    case DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW: return ConstantPow();
    case DML_OPERATOR_ELEMENT_WISE_POW: return Pow();
    case DML_OPERATOR_ELEMENT_WISE_IS_NAN: return float_ ? Test(Code::FIsNan, Code::FIsNan) : -1;
    case DML_OPERATOR_ELEMENT_WISE_IS_INFINITY: {
      if (!float_ || !IsTruth(out_type_)) return -1;
      MicroOp op{Code::FIsInfinity};
      const uint32_t mode = desc_.UInt("InfinityMode");
      op.i = mode == DML_IS_INFINITY_MODE_EITHER ? 0 : mode == DML_IS_INFINITY_MODE_POSITIVE ? 1 : -1;
      return b_.Emit(op, RegisterType::I32, in_[0]);
    }
    case DML_OPERATOR_ELEMENT_WISE_CLIP: return Clip(false, Code::FClip1, Code::IClip1);
    case DML_OPERATOR_ELEMENT_WISE_CLIP1: return Clip(true, Code::FClip1, Code::IClip1);
    case DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD: return Clip(false, Code::FClipGrad, Code::IClip);
    case DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD1: return Clip(true, Code::FClipGrad, Code::IClip);
    case DML_OPERATOR_ELEMENT_WISE_THRESHOLD:
      if (float_) return Float1(Code::FClip, desc_.Float("Min"), std::numeric_limits<float>::infinity());
      return HasScale() ? -1 : Integer(Code::IClip, IntegerBound(type_, desc_.Float("Min")), BoundsOf(type_).high);
    case DML_OPERATOR_ELEMENT_WISE_ADD: return Binary(Code::FAdd, Code::IAdd);
    case DML_OPERATOR_ELEMENT_WISE_ADD1: {
      const int sum = Binary(Code::FAdd, Code::IAdd);
      auto& inner = desc_.Get<std::shared_ptr<const schema::OperatorDesc>>("FusedActivation");
      return inner ? EmitActivation(b_, *inner, sum) : sum;
    }
    case DML_OPERATOR_ELEMENT_WISE_SUBTRACT: return Binary(Code::FSubtract, Code::ISubtract);
    case DML_OPERATOR_ELEMENT_WISE_MULTIPLY: return Binary(Code::FMultiply, Code::IMultiply);
    case DML_OPERATOR_ELEMENT_WISE_DIVIDE: return Binary(Code::FDivide, Code::IDivide);
    case DML_OPERATOR_ELEMENT_WISE_MAX: return Binary(Code::FMax, Code::IMax);
    case DML_OPERATOR_ELEMENT_WISE_MIN: return Binary(Code::FMin, Code::IMin);
    case DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE: return Binary(Code::FDifferenceSquare, Code::IDifferenceSquare);
    case DML_OPERATOR_ELEMENT_WISE_MEAN: return Float2(Code::FMean);
    case DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE: return Modulus(TruncatedModulus, Code::IRemainderTruncated);
    case DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR: return Modulus(FloorModulus, Code::IRemainderFloored);
    case DML_OPERATOR_ELEMENT_WISE_ATAN_YX: return Call2([](float a, float b) { return std::atan2(a, b); });
    case DML_OPERATOR_ACTIVATION_RELU_GRAD: return Binary(Code::FReluGrad, Code::IReluGrad);
    case DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU: return Float2(Code::FParameterizedRelu);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS: return Test(Code::FEqual, Code::IEqual);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN: return Test(Code::FGreater, Code::IGreater);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN: return Test(Code::FLess, Code::ILess);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL: return Test(Code::FGreaterEqual, Code::IGreaterEqual);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL: return Test(Code::FLessEqual, Code::ILessEqual);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND: return Test(Code::FAnd, Code::ITruthAnd);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR: return Test(Code::FOr, Code::ITruthOr);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR: return Test(Code::FXor, Code::ITruthXor);
    case DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT: return float_ ? -1 : Test(Code::IsZero, Code::IsZero);
    case DML_OPERATOR_ELEMENT_WISE_IF: {
      if (schema::BytesPerElement(type_) != 1) return -1;
      const int kept = IsFloat(out_type_) ? EmitNanChoice(b_, in_) : -1;
      if (kept >= 0) return kept;
      MicroOp op{Code::Select};
      op.type = IsFloat(out_type_) ? RegisterType::I32 : RegisterOf(out_type_);
      return b_.Emit(op, RegisterOf(out_type_), in_[0], in_[1], in_[2]);
    }
    case DML_OPERATOR_ELEMENT_WISE_BIT_AND: return float_ ? -1 : Integer(Code::IAnd);
    case DML_OPERATOR_ELEMENT_WISE_BIT_OR: return float_ ? -1 : Integer(Code::IOr);
    case DML_OPERATOR_ELEMENT_WISE_BIT_XOR: return float_ ? -1 : Integer(Code::IXor);
    case DML_OPERATOR_ELEMENT_WISE_BIT_NOT: return float_ ? -1 : Integer(Code::INot);
    case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT:
    case DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT: return float_ ? -1 : Shift();
    case DML_OPERATOR_ACTIVATION_RELU:
      return float_ ? Float1(Code::FRelu) : Integer(Code::IRelu);  // fused into another operator it treats NaN otherwise
    default: return float_ ? EmitActivation(b_, desc_, in_[0]) : -1;
  }
}

}  // namespace

int EmitActivation(ProgramBuilder& builder, const schema::OperatorDesc& desc, int x) {
  auto emit = [&](Code code, float p = 0, float q = 0) {
    MicroOp op{code};
    op.p = p;
    op.q = q;
    return builder.Emit(op, RegisterType::F32, x);
  };
  switch (desc.type()) {
    case DML_OPERATOR_ACTIVATION_IDENTITY: return x;
    case DML_OPERATOR_ACTIVATION_RELU: return emit(Code::FReluFused);
    case DML_OPERATOR_ACTIVATION_SIGMOID: return emit(Code::FSigmoid);
    case DML_OPERATOR_ACTIVATION_TANH: return emit(Code::FTanh);
    case DML_OPERATOR_ACTIVATION_GELU: return emit(Code::FGelu);
    case DML_OPERATOR_ACTIVATION_SOFTSIGN: return emit(Code::FSoftSign);
    case DML_OPERATOR_ACTIVATION_ELU: return emit(Code::FElu, desc.Float("Alpha"));
    case DML_OPERATOR_ACTIVATION_CELU: return emit(Code::FCelu, desc.Float("Alpha"));
    case DML_OPERATOR_ACTIVATION_LEAKY_RELU: return emit(Code::FLeakyRelu, desc.Float("Alpha"));
    case DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU: return emit(Code::FThresholdedRelu, desc.Float("Alpha"));
    case DML_OPERATOR_ACTIVATION_LINEAR: return emit(Code::FLinear, desc.Float("Alpha"), desc.Float("Beta"));
    case DML_OPERATOR_ACTIVATION_HARD_SIGMOID: {
      x = emit(Code::FLinear, desc.Float("Alpha"), desc.Float("Beta"));
      return emit(Code::FClip, 0, 1);
    }
    case DML_OPERATOR_ACTIVATION_HARD_SWISH: return emit(Code::FHardSwish, desc.Float("Alpha"), desc.Float("Beta"));
    case DML_OPERATOR_ACTIVATION_SWISH: return emit(Code::FSwish, desc.Float("SigmoidInputScale"));
    case DML_OPERATOR_ACTIVATION_SCALED_ELU: return emit(Code::FScaledElu, desc.Float("Alpha"), desc.Float("Gamma"));
    case DML_OPERATOR_ACTIVATION_SCALED_TANH: return emit(Code::FScaledTanh, desc.Float("Alpha"), desc.Float("Beta"));
    case DML_OPERATOR_ACTIVATION_SHRINK: return emit(Code::FShrink, desc.Float("Bias"), desc.Float("Threshold"));
    case DML_OPERATOR_ACTIVATION_SOFTPLUS: return emit(Code::FSoftPlus, desc.Float("Steepness"));
    case DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS: return emit(Code::FParametricSoftPlus, desc.Float("Alpha"), desc.Float("Beta"));
    case DML_OPERATOR_ELEMENT_WISE_CLIP: {
      if (auto& s = desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias")) x = emit(Code::FLinear, s->Scale, s->Bias);
      return emit(Code::FClip1, desc.Float("Min"), desc.Float("Max"));
    }
    default: return -1;
  }
}

int EmitElementwise(ProgramBuilder& builder, const schema::OperatorDesc& desc, const int* inputs) {
  return Emitter(builder, desc, inputs).Emit();
}

int Settle(ProgramBuilder& builder, DML_TENSOR_DATA_TYPE type, int reg) {
  if (type == DML_TENSOR_DATA_TYPE_FLOAT16) return builder.Emit({Code::FRoundHalf}, RegisterType::F32, reg);
  const uint32_t bits = schema::BitsPerElement(type);
  const MicroOp* maker = builder.MakerOf(reg);
  if (bits >= 32 || (maker && IsTest(maker->code))) return reg;
  MicroOp op{Code::IWrap};
  op.type = RegisterType::I32;
  op.i = bits;
  op.j = IsSigned(type);
  return builder.Emit(op, RegisterType::I32, reg);
}

bool IsElementwise(const schema::OperatorDesc& desc) {
  const auto inputs = desc.Inputs(), outputs = desc.Outputs();
  if (outputs.size() != 1 || inputs.size() > 3) return false;
  for (auto* t : inputs)
    if (!t || !IsEngineType(t->data_type)) return false;
  if (!outputs[0] || !IsEngineType(outputs[0]->data_type)) return false;
  ProgramBuilder builder(*outputs[0]);
  int in[3] = {-1, -1, -1};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!ProgramBuilder::Fits(*outputs[0], *inputs[i])) return false;
    in[i] = builder.Load(static_cast<int>(i), *inputs[i]);
  }
  return EmitElementwise(builder, desc, in) >= 0;
}

std::unique_ptr<Kernel> MakeElementwise(const schema::OperatorDesc& desc) {
  if (!IsElementwise(desc)) return nullptr;
  const auto inputs = desc.Inputs();
  const schema::TensorDesc& out = *desc.Outputs()[0];
  ProgramBuilder builder(out);
  int in[3] = {-1, -1, -1};
  for (size_t i = 0; i < inputs.size(); ++i) in[i] = builder.Load(static_cast<int>(i), *inputs[i]);
  builder.Store(0, out, EmitElementwise(builder, desc, in));
  return builder.Finish();
}

}  // namespace dxtensor::software::fast
