// Tables from DXBC's opcodes of arithmetic and atomics to the executor's operations.
#pragma once

#include "shader_program.h"
#include "tokens.h"

namespace dxtensor::software::shader {

// An instruction that does the same to each component.
struct WordOp {
  uint32_t opcode;
  Op op;
  uint8_t sources;
  char type;  // of the sources' modifiers: f, i; m: movc, whose first is a condition
};

inline constexpr WordOp kWordOps[] = {
    {kAdd, Op::AddF, 2, 'f'},
    {kAnd, Op::And, 2, 'i'},
    {kDiv, Op::DivF, 2, 'f'},
    {kEq, Op::EqF, 2, 'f'},
    {kExp, Op::Exp2, 1, 'f'},
    {kFrc, Op::Frac, 1, 'f'},
    {kFtoi, Op::FloatToInt, 1, 'f'},
    {kFtou, Op::FloatToUInt, 1, 'f'},
    {kGe, Op::GeF, 2, 'f'},
    {kIadd, Op::AddI, 2, 'i'},
    {kIeq, Op::EqI, 2, 'i'},
    {kIge, Op::GeI, 2, 'i'},
    {kIlt, Op::LtI, 2, 'i'},
    {kImad, Op::MadI, 3, 'i'},
    {kImax, Op::MaxI, 2, 'i'},
    {kImin, Op::MinI, 2, 'i'},
    {kIne, Op::NeI, 2, 'i'},
    {kIneg, Op::NegI, 1, 'i'},
    {kIshl, Op::ShiftLeft, 2, 'i'},
    {kIshr, Op::ShiftRightI, 2, 'i'},
    {kItof, Op::IntToFloat, 1, 'i'},
    {kLog, Op::Log2, 1, 'f'},
    {kLt, Op::LtF, 2, 'f'},
    {kMad, Op::MadF, 3, 'f'},
    {kMin, Op::MinF, 2, 'f'},
    {kMax, Op::MaxF, 2, 'f'},
    {kMov, Op::Mov, 1, 'f'},
    {kMovc, Op::Select, 3, 'm'},
    {kMul, Op::MulF, 2, 'f'},
    {kNe, Op::NeF, 2, 'f'},
    {kNot, Op::Not, 1, 'i'},
    {kOr, Op::Or, 2, 'i'},
    {kRoundNe, Op::RoundEven, 1, 'f'},
    {kRoundNi, Op::Floor, 1, 'f'},
    {kRoundPi, Op::Ceil, 1, 'f'},
    {kRoundZ, Op::Truncate, 1, 'f'},
    {kRsq, Op::Rsq, 1, 'f'},
    {kSqrt, Op::Sqrt, 1, 'f'},
    {kUlt, Op::LtU, 2, 'i'},
    {kUge, Op::GeU, 2, 'i'},
    {kUmad, Op::MadI, 3, 'i'},
    {kUmax, Op::MaxU, 2, 'i'},
    {kUmin, Op::MinU, 2, 'i'},
    {kUshr, Op::ShiftRightU, 2, 'i'},
    {kUtof, Op::UIntToFloat, 1, 'i'},
    {kXor, Op::Xor, 2, 'i'},
    {kRcp, Op::Rcp, 1, 'f'},
    {kF32tof16, Op::FloatToHalf, 1, 'f'},
    {kF16tof32, Op::HalfToFloat, 1, 'i'},
    {kCountbits, Op::CountBits, 1, 'i'},
    {kFirstbitHi, Op::FirstBitHigh, 1, 'i'},
    {kFirstbitLo, Op::FirstBitLow, 1, 'i'},
    {kFirstbitShi, Op::FirstBitHighI, 1, 'i'},
    {kUbfe, Op::ExtractU, 3, 'i'},
    {kIbfe, Op::ExtractI, 3, 'i'},
    {kBfi, Op::Insert, 4, 'i'},
    {kBfrev, Op::ReverseBits, 1, 'i'},
};

// An instruction with two results, either of which may be null.
struct PairOp {
  uint32_t opcode;
  Op first, second;
  uint8_t sources;
  char type;
};

inline constexpr PairOp kPairOps[] = {{kImul, Op::MulHighI, Op::MulI, 2, 'i'},
                                      {kUmul, Op::MulHighU, Op::MulI, 2, 'i'},
                                      {kUdiv, Op::QuotientU, Op::RemainderU, 2, 'i'},
                                      {kSincos, Op::Sin, Op::Cos, 1, 'f'}};

struct AtomicOp {
  uint32_t opcode;
  Op op;
  bool returns;
};

inline constexpr AtomicOp kAtomicOps[] = {{kAtomicAnd, Op::AtomicAnd, false},
                                          {kAtomicOr, Op::AtomicOr, false},
                                          {kAtomicXor, Op::AtomicXor, false},
                                          {kAtomicCmpStore, Op::AtomicCompareExchange, false},
                                          {kAtomicIadd, Op::AtomicAdd, false},
                                          {kAtomicImax, Op::AtomicMaxI, false},
                                          {kAtomicImin, Op::AtomicMinI, false},
                                          {kAtomicUmax, Op::AtomicMaxU, false},
                                          {kAtomicUmin, Op::AtomicMinU, false},
                                          {kImmAtomicIadd, Op::AtomicAdd, true},
                                          {kImmAtomicAnd, Op::AtomicAnd, true},
                                          {kImmAtomicOr, Op::AtomicOr, true},
                                          {kImmAtomicXor, Op::AtomicXor, true},
                                          {kImmAtomicExch, Op::AtomicExchange, true},
                                          {kImmAtomicCmpExch, Op::AtomicCompareExchange, true},
                                          {kImmAtomicImax, Op::AtomicMaxI, true},
                                          {kImmAtomicImin, Op::AtomicMinI, true},
                                          {kImmAtomicUmax, Op::AtomicMaxU, true},
                                          {kImmAtomicUmin, Op::AtomicMinU, true}};

template <typename T, size_t N>
const T* Find(const T (&table)[N], uint32_t opcode) {
  for (const T& entry : table)
    if (entry.opcode == opcode) return &entry;
  return nullptr;
}

}  // namespace dxtensor::software::shader
