// The token stream of a DXBC shader: instructions and their operands, read with every length checked.
#pragma once

#include <cstdint>
#include <string>

namespace dxtensor::software::shader {

// D3D10_SB_OPCODE_TYPE and its successors, as far as they are decoded.
enum Opcode : uint32_t {
  kAdd = 0,
  kAnd = 1,
  kBreak = 2,
  kBreakc = 3,
  kContinue = 7,
  kContinuec = 8,
  kDiv = 14,
  kElse = 18,
  kEndif = 21,
  kEndloop = 22,
  kEq = 24,
  kExp = 25,
  kFrc = 26,
  kFtoi = 27,
  kFtou = 28,
  kGe = 29,
  kIadd = 30,
  kIf = 31,
  kIeq = 32,
  kIge = 33,
  kIlt = 34,
  kImad = 35,
  kImax = 36,
  kImin = 37,
  kImul = 38,
  kIne = 39,
  kIneg = 40,
  kIshl = 41,
  kIshr = 42,
  kItof = 43,
  kLog = 47,
  kLoop = 48,
  kLt = 49,
  kMad = 50,
  kMin = 51,
  kMax = 52,
  kCustomData = 53,
  kMov = 54,
  kMovc = 55,
  kMul = 56,
  kNe = 57,
  kNop = 58,
  kNot = 59,
  kOr = 60,
  kRet = 62,
  kRetc = 63,
  kRoundNe = 64,
  kRoundNi = 65,
  kRoundPi = 66,
  kRoundZ = 67,
  kRsq = 68,
  kSqrt = 75,
  kSincos = 77,
  kUdiv = 78,
  kUlt = 79,
  kUge = 80,
  kUmul = 81,
  kUmad = 82,
  kUmax = 83,
  kUmin = 84,
  kUshr = 85,
  kUtof = 86,
  kXor = 87,
  kDclConstantBuffer = 89,
  kDclInput = 95,
  kDclTemps = 104,
  kDclGlobalFlags = 106,
  kRcp = 129,
  kF32tof16 = 130,
  kF16tof32 = 131,
  kCountbits = 134,
  kFirstbitHi = 135,
  kFirstbitLo = 136,
  kFirstbitShi = 137,
  kUbfe = 138,
  kIbfe = 139,
  kBfi = 140,
  kBfrev = 141,
  kDclThreadGroup = 155,
  kDclUavTyped = 156,
  kDclUavRaw = 157,
  kDclUavStructured = 158,
  kDclTgsmRaw = 159,
  kDclTgsmStructured = 160,
  kLdUavTyped = 163,
  kStoreUavTyped = 164,
  kLdRaw = 165,
  kStoreRaw = 166,
  kLdStructured = 167,
  kStoreStructured = 168,
  kAtomicAnd = 169,
  kAtomicOr = 170,
  kAtomicXor = 171,
  kAtomicCmpStore = 172,
  kAtomicIadd = 173,
  kAtomicImax = 174,
  kAtomicImin = 175,
  kAtomicUmax = 176,
  kAtomicUmin = 177,
  kImmAtomicIadd = 180,
  kImmAtomicAnd = 181,
  kImmAtomicOr = 182,
  kImmAtomicXor = 183,
  kImmAtomicExch = 184,
  kImmAtomicCmpExch = 185,
  kImmAtomicImax = 186,
  kImmAtomicImin = 187,
  kImmAtomicUmax = 188,
  kImmAtomicUmin = 189,
  kSync = 190,
};

// "sample", or "opcode 300" for one that has no name.
std::string OpcodeName(uint32_t opcode);

enum OperandType : uint32_t {
  kTemp = 0,
  kImmediate32 = 4,
  kConstantBuffer = 8,
  kNull = 13,
  kUav = 30,
  kSharedMemory = 31,
  kInputThreadId = 32,
  kInputGroupId = 33,
  kInputThreadIdInGroup = 34,
  kInputFlatThreadIdInGroup = 36,
};

struct Operand {
  uint32_t type = 0;
  uint32_t mask = 0;        // of components that are written
  uint8_t swizzle[4] = {};  // the component that each one reads
  bool negate = false, absolute = false;
  uint32_t dimensions = 0, index[3] = {};
  uint32_t words[4] = {};  // of an immediate
};

// Reads one instruction's tokens; throws std::string, what is wrong.
class TokenReader {
 public:
  TokenReader(const uint8_t* words, uint32_t count) : words_(words), count_(count) {}

  bool done() const { return at_ == count_; }
  uint32_t left() const { return count_ - at_; }
  uint32_t Word();
  // The next tokens, on their own.
  TokenReader Cut(uint32_t count);
  Operand ReadOperand();

 private:
  uint32_t ReadIndex(uint32_t representation);

  const uint8_t* words_;
  uint32_t count_, at_ = 0;
};

}  // namespace dxtensor::software::shader
