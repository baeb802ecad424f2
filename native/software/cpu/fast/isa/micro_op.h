// The instructions of the block engine. A register is a block of elements in the level 1 cache: float, or 32 or 64 bit integers;
// narrower integers are widened when they are loaded and wrapped where an operator's result would wrap. Plain data.
#pragma once

#include <cstdint>

#include "abi/abi.h"

namespace dxtensor::software::fast {

enum class RegisterType : uint8_t { F32, I32, U32, I64, U64 };
inline int RegisterBytes(RegisterType type) { return type >= RegisterType::I64 ? 8 : 4; }

enum class Code : uint8_t {
  // float: d = f(a)
  FCopy,
  FAbs,
  FNegate,
  FSign,
  FExp,
  FLog,
  FSqrt,
  FRecip,
  FSin,
  FCos,
  FTanh,
  FErf,
  FFloor,
  FCeil,
  FRoundEven,
  FTruncate,
  FRoundAway,
  FSigmoid,
  FRelu,
  FReluFused,
  FGelu,
  FSoftSign,
  FRoundHalf,
  // float with immediates p and q: d = f(a)
  FLinear,  // p a + q
  FClip,    // min(q, max(p, a))
  FClip1,   // max(p, min(a, q))
  FClamp,   // min(q, max(p, a)), NaN where a is
  FPowConstant,
  FSquare,
  FElu,
  FCelu,
  FLeakyRelu,
  FThresholdedRelu,
  FScaledElu,
  FShrink,
  FSoftPlus,
  FParametricSoftPlus,
  FScaledTanh,
  FSwish,
  FHardSwish,
  FCall,  // call(a), element by element
  // float: d = f(a, b)
  FAdd,
  FSubtract,
  FMultiply,
  FDivide,
  FMax,
  FMin,
  FMean,
  FDifferenceSquare,
  FPow,
  FReluGrad,
  FParameterizedRelu,
  FClipGrad,  // p < a < q ? b : 0
  FLargerOr,  // the larger one, b where one is NaN
  FSmallerOr,
  FLargest,  // NaN where one is
  FSmallest,
  FCall2,  // call2(a, b), element by element
  FHold,   // min(c, max(b, a)), NaN where a is
  // float to truth value (I32, 0 or 1)
  FEqual,
  FGreater,
  FLess,
  FGreaterEqual,
  FLessEqual,
  FAnd,
  FOr,
  FXor,
  FIsNan,
  FIsInfinity,  // i: +1, -1 or 0 for either sign
  // integers of `type`
  IAdd,
  ISubtract,
  IMultiply,
  IDivide,
  IRemainderTruncated,
  IRemainderFloored,
  IMax,
  IMin,
  IAnd,
  IOr,
  IXor,
  INot,
  IShiftLeft,
  IShiftRight,
  IAbs,
  INegate,
  ISign,
  IRelu,
  IReluGrad,
  IDifferenceSquare,
  IClip,   // i, j
  IClip1,  // i, j
  IWrap,   // to i bits, signed when j is set
  // integers of `type` to truth value (I32)
  IEqual,
  IGreater,
  ILess,
  IGreaterEqual,
  ILessEqual,
  ITruthAnd,
  ITruthOr,
  ITruthXor,
  IsZero,
  // d = low byte of a is not 0 ? b : c; b, c and d of `type`
  Select,
  // conversions; `type` is the integer's
  FloatToInteger,  // clamped to [p, q] and [i, j]
  IntegerToFloat,
  Extend,    // from 32 bits of `type` to 64
  Truncate,  // from 64 bits to 32
  Constant,  // the bits of i
};

// Whether its results are 0 and 1.
inline bool IsTest(Code code) {
  return (code >= Code::FEqual && code <= Code::FIsInfinity) || (code >= Code::IEqual && code <= Code::IsZero);
}

struct MicroOp {
  Code code;
  RegisterType type = RegisterType::F32;
  uint16_t d = 0, a = 0, b = 0, c = 0;
  float p = 0, q = 0;
  int64_t i = 0, j = 0;
  float (*call)(float) = nullptr;
  float (*call2)(float, float) = nullptr;
};

}  // namespace dxtensor::software::fast
