// A compute shader as the executor runs it: scalar instructions over values, each value one word for every thread of a block, or one
// word for all of them. The decoder makes it of a DXBC container; immutable, shared by all dispatches.
#pragma once

#include <cstdint>
#include <vector>

namespace dxtensor::software::shader {

// Word operations take d[0] from s[0..2]. clang-format would reshape the list at each run.
// clang-format off
#define DXT_SHADER_WORD_OPS(X) \
  X(Mov) X(NegF) X(AbsF) X(NegI) X(Saturate) X(AddF) X(MulF) X(MadF) X(DivF) X(MinF) X(MaxF) X(Rcp) X(Rsq) X(Sqrt) X(Exp2) \
  X(Log2) X(Sin) X(Cos) X(Frac) X(RoundEven) X(Floor) X(Ceil) X(Truncate) X(EqF) X(NeF) X(LtF) X(GeF) X(AddI) X(MulI) \
  X(MulHighI) X(MulHighU) X(MadI) X(QuotientU) X(RemainderU) X(MinI) X(MaxI) X(MinU) X(MaxU) X(EqI) X(NeI) X(LtI) X(GeI) \
  X(LtU) X(GeU) X(And) X(Or) X(Xor) X(Not) X(ShiftLeft) X(ShiftRightI) X(ShiftRightU) X(IntToFloat) X(UIntToFloat) \
  X(FloatToInt) X(FloatToUInt) X(FloatToHalf) X(HalfToFloat) X(CountBits) X(FirstBitLow) X(FirstBitHigh) X(FirstBitHighI) \
  X(ReverseBits) X(Select) X(ExtractU) X(ExtractI) X(Insert) X(ElementAddress)
// clang-format on

enum class Op : uint8_t {
#define DXT_NAME(name) name,
  DXT_SHADER_WORD_OPS(DXT_NAME)
#undef DXT_NAME
      Load,   // d[0..count-1] = the words at byte s[0] of memory `slot`
  Store,      // the words s[1..count] to byte s[0]
  AtomicAdd,  // atomics: s[0] byte, s[1] operand; d[0] the word before, where count is 1
  AtomicAnd,
  AtomicOr,
  AtomicXor,
  AtomicMinI,
  AtomicMaxI,
  AtomicMinU,
  AtomicMaxU,
  AtomicExchange,
  AtomicCompareExchange,  // s[1] is compared, s[2] stored
  If,                     // where s[0] is not 0 (count 1) or is 0 (count 0); target: Else or EndIf
  Else,                   // target: EndIf
  EndIf,
  Loop,
  EndLoop,  // target: the instruction after Loop
  Break,    // count 2: always; else as If
  Continue,
  Return,
  Sync,  // count 1: the threads of a group wait for each other
};

constexpr uint8_t kAlways = 2;

struct Instruction {
  Op op;
  uint8_t count = 0;
  uint8_t slot = 0;   // of memory
  uint8_t level = 0;  // of If, Else, EndIf and Loop: how many of its kind are around it
  uint16_t d[4] = {};
  uint16_t s[5] = {};
  uint32_t target = 0;
};

struct Value {
  enum class Kind : uint8_t {
    Register,   // of each thread
    System,     // of each thread: index is a SystemValue
    Immediate,  // the same for all: index is the word
    Constant,   // a word of cb0
    Elements,   // how many elements the structured buffer in memory slot `index` has
  };
  Kind kind;
  uint32_t index = 0;

  bool uniform() const { return kind >= Kind::Immediate; }
};

// In groups of three by axis, but for the last.
enum SystemValue : uint32_t { kThreadId = 0, kGroupId = 3, kThreadIdInGroup = 6, kFlatThreadIdInGroup = 9, kSystemValues = 10 };

// Of a texel of four unsigned words, the only typed view.
constexpr uint32_t kTexelBytes = 16;

struct Memory {
  bool is_shared = false;  // of a group; else a buffer
  uint32_t index = 0;      // u#: of a buffer
  uint32_t stride = 0;     // 0: raw
  bool texels = false;     // of `stride` bytes, moved as a whole
  uint32_t size = 0;       // of shared memory, in bytes; it lies at `offset`
  uint32_t offset = 0;
  bool read = false, written = false;
};

struct Program {
  uint32_t group[3] = {1, 1, 1};
  uint32_t constants = 0;  // words of cb0 that are declared
  std::vector<Memory> memories;
  std::vector<Value> values;
  std::vector<Instruction> instructions;
  uint32_t shared_size = 0;
  uint8_t if_levels = 0, loop_levels = 0;
  bool syncs = false;

  uint32_t Threads() const { return group[0] * group[1] * group[2]; }
};

}  // namespace dxtensor::software::shader
