// Each instruction of the executor's on one component, against its meaning in plain C++.
#include <cmath>
#include <cstring>
#include <limits>

#include "shader_run.h"

namespace dxtensor::test {

namespace {

using namespace software::shader;

float F(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
uint32_t B(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
uint32_t B(bool holds) { return holds ? UINT32_MAX : 0; }
int32_t S(uint32_t bits) { return static_cast<int32_t>(bits); }
uint32_t Truncated(double x, double low, double high) {
  if (x != x) return 0;
  return static_cast<uint32_t>(static_cast<int64_t>(x <= low ? low : x >= high ? high : std::trunc(x)));
}
float HalfToFloatOf(uint32_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  return sign *
         (exponent ? std::ldexp(1024.0f + static_cast<float>(mantissa), exponent - 25) : std::ldexp(static_cast<float>(mantissa), -24));
}
// The half that is nearest, the even one of two.
uint32_t FloatToHalfOf(float x) {
  if (x != x) return 0x7e00;
  const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(static_cast<double>(x));
  if (a >= 65520) return sign | 0x7c00;
  uint32_t best = 0;
  for (int exponent = 0; exponent < 31; ++exponent) {
    const double unit = std::ldexp(1.0, (exponent ? exponent : 1) - 25), top = std::ldexp(1.0, exponent ? exponent - 14 : -14);
    if (a >= top && exponent < 30) continue;
    const double steps = std::nearbyint(a / unit);
    best = static_cast<uint32_t>(exponent ? steps - 1024 + exponent * 1024 : steps);
    break;
  }
  return sign | best;
}
uint32_t Bits(uint32_t x) {
  uint32_t n = 0;
  for (; x; x &= x - 1) ++n;
  return n;
}
uint32_t Reversed(uint32_t x) {
  uint32_t y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1) << (31 - i);
  return y;
}
uint32_t Low(uint32_t x) {
  for (uint32_t i = 0; i < 32; ++i)
    if (x >> i & 1) return i;
  return UINT32_MAX;
}
uint32_t Cut(uint32_t width, uint32_t offset, uint32_t value, bool is_signed) {
  width &= 31, offset &= 31;
  if (!width) return 0;
  const uint32_t top = std::min(width + offset, 32u);
  const uint64_t field = (uint64_t{value} & ((uint64_t{1} << top) - 1)) >> offset;
  const uint32_t bits = top - offset;
  return is_signed && field >> (bits - 1) & 1 ? static_cast<uint32_t>(field | ~uint64_t{0} << bits) : static_cast<uint32_t>(field);
}

struct Case {
  uint32_t opcode;
  int sources;
  int ulps;  // that a float result may differ by; -1: the bits are the same
  uint32_t (*meaning)(uint32_t x, uint32_t y, uint32_t z, uint32_t w);
};

#define MEANING(expression) \
  [](uint32_t x, [[maybe_unused]] uint32_t y, [[maybe_unused]] uint32_t z, [[maybe_unused]] uint32_t w) -> uint32_t { return expression; }

const Case kCases[] = {
    {kAdd, 2, 0, MEANING(B(F(x) + F(y)))},
    {kMul, 2, 0, MEANING(B(F(x) * F(y)))},
    {kDiv, 2, 0, MEANING(B(F(x) / F(y)))},
    {kMin, 2, 0, MEANING(F(y) != F(y) || F(x) < F(y) ? x : y)},
    {kMax, 2, 0, MEANING(F(y) != F(y) || F(x) > F(y) ? x : y)},
    {kRcp, 1, 0, MEANING(B(1.0f / F(x)))},
    {kRsq, 1, 1, MEANING(B(static_cast<float>(1.0 / std::sqrt(static_cast<double>(F(x))))))},
    {kSqrt, 1, 0, MEANING(B(std::sqrt(F(x))))},
    {kExp, 1, 2, MEANING(B(static_cast<float>(std::exp2(static_cast<double>(F(x))))))},
    {kLog, 1, 4, MEANING(B(static_cast<float>(std::log2(static_cast<double>(F(x))))))},
    {kFrc, 1, 0, MEANING(B(F(x) - std::floor(F(x))))},
    {kRoundNe, 1, 0, MEANING(B(std::nearbyint(F(x))))},
    {kRoundNi, 1, 0, MEANING(B(std::floor(F(x))))},
    {kRoundPi, 1, 0, MEANING(B(std::ceil(F(x))))},
    {kRoundZ, 1, 0, MEANING(B(std::trunc(F(x))))},
    {kEq, 2, -1, MEANING(B(F(x) == F(y)))},
    {kNe, 2, -1, MEANING(B(F(x) != F(y)))},
    {kLt, 2, -1, MEANING(B(F(x) < F(y)))},
    {kGe, 2, -1, MEANING(B(F(x) >= F(y)))},
    {kIadd, 2, -1, MEANING(x + y)},
    {kImad, 3, -1, MEANING(x* y + z)},
    {kUmad, 3, -1, MEANING(x* y + z)},
    {kIneg, 1, -1, MEANING(0 - x)},
    {kImin, 2, -1, MEANING(S(x) < S(y) ? x : y)},
    {kImax, 2, -1, MEANING(S(x) > S(y) ? x : y)},
    {kUmin, 2, -1, MEANING(x < y ? x : y)},
    {kUmax, 2, -1, MEANING(x > y ? x : y)},
    {kIeq, 2, -1, MEANING(B(x == y))},
    {kIne, 2, -1, MEANING(B(x != y))},
    {kIlt, 2, -1, MEANING(B(S(x) < S(y)))},
    {kIge, 2, -1, MEANING(B(S(x) >= S(y)))},
    {kUlt, 2, -1, MEANING(B(x < y))},
    {kUge, 2, -1, MEANING(B(x >= y))},
    {kAnd, 2, -1, MEANING(x& y)},
    {kOr, 2, -1, MEANING(x | y)},
    {kXor, 2, -1, MEANING(x ^ y)},
    {kNot, 1, -1, MEANING(~x)},
    {kIshl, 2, -1, MEANING(x << (y & 31))},
    {kIshr, 2, -1, MEANING(static_cast<uint32_t>(S(x) >> (y & 31)))},
    {kUshr, 2, -1, MEANING(x >> (y & 31))},
    {kItof, 1, 0, MEANING(B(static_cast<float>(S(x))))},
    {kUtof, 1, 0, MEANING(B(static_cast<float>(x)))},
    {kFtoi, 1, -1, MEANING(Truncated(F(x), -2147483648.0, 2147483647.0))},
    {kFtou, 1, -1, MEANING(Truncated(F(x), 0, 4294967295.0))},
    {kF16tof32, 1, 0, MEANING(B(HalfToFloatOf(x & 0xffff)))},
    {kCountbits, 1, -1, MEANING(Bits(x))},
    {kFirstbitLo, 1, -1, MEANING(Low(x))},
    {kFirstbitHi, 1, -1, MEANING(Low(Reversed(x)))},
    {kFirstbitShi, 1, -1, MEANING(Low(Reversed(S(x) < 0 ? ~x : x)))},
    {kBfrev, 1, -1, MEANING(Reversed(x))},
    {kUbfe, 3, -1, MEANING(Cut(x, y, z, false))},
    {kIbfe, 3, -1, MEANING(Cut(x, y, z, true))},
    {kBfi, 4, -1, MEANING((z << (y & 31) & ((1u << (x & 31)) - 1) << (y & 31)) | (w & ~(((1u << (x & 31)) - 1) << (y & 31))))},
    {kMov, 1, -1, MEANING(x)},
    {kMovc, 3, -1, MEANING(x ? y : z)},
};

// Two float results: equal, both NaN, or so many steps apart.
bool Near(uint32_t a, uint32_t b, int ulps) {
  if (a == b) return true;
  if (ulps < 0) return false;
  const float x = F(a), y = F(b);
  if (x != x || y != y) return x != x && y != y;
  if (x == y) return std::signbit(x) == std::signbit(y) || ulps > 0;
  if (std::isinf(x) || std::isinf(y) || (x < 0) != (y < 0)) return std::fabs(x - y) <= 1e-38f;
  const int64_t apart = int64_t{S(a)} - S(b);
  return apart >= -ulps && apart <= ulps;
}

// Edges of both kinds, then anything.
Words Operands(uint32_t seed, size_t count) {
  static const uint32_t edges[] = {0,          1,          2,          31,         32,         33,         0x7fffffff,
                                   0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x3f000000, 0x40200000, 0xc0200000, 0x4f000000, 0xcf000000, 0x4f800000, 0x00800000,
                                   0x3effffff, 0x4b000001, 0x7bff,     0x8001,     0x42fe0000, 0xc2fc0000};
  Words words(count);
  uint32_t state = seed * 2654435761u + 1;
  for (uint32_t& word : words) {
    state = state * 1664525u + 1013904223u;
    const uint32_t pick = state >> 8;
    if (pick % 3 == 0) word = edges[pick / 3 % (sizeof edges / sizeof *edges)];
    else if (pick % 3 == 1) word = B((static_cast<float>(pick >> 4 & 0xffff) - 32768.0f) / 256.0f);
    else word = state ^ state << 15;
  }
  return words;
}

// out[i] = opcode(in0[i], in1[i], …); odd: only threads of odd numbers, the others keep what was there.
ShaderCode CodeOf(const Case& one, uint32_t threads, bool odd) {
  ShaderCode code(threads);
  code.Temps(8).Constants(4);
  for (uint32_t u = 0; u < 5; ++u) code.Raw(u);
  code.Add(kUlt, {To(0), SystemValue(kInputThreadId), Cb(0)}).Add(kIf | kOpcodeNonZero, {R(0)});
  if (odd) code.Add(kAnd, {To(0), SystemValue(kInputThreadId), I(1)}).Add(kIf | kOpcodeNonZero, {R(0)});
  code.Add(kIshl, {To(1), SystemValue(kInputThreadId), I(2)});
  for (uint32_t u = 0; u < 4; ++u) code.Add(kLdRaw, {To(2 + u), R(1), MemoryRead(kUav, u)});
  switch (one.sources) {
    case 1: code.Add(one.opcode, {To(2), R(2)}); break;
    case 2: code.Add(one.opcode, {To(2), R(2), R(3)}); break;
    case 3: code.Add(one.opcode, {To(2), R(2), R(3), R(4)}); break;
    default: code.Add(one.opcode, {To(2), R(2), R(3), R(4), R(5)}); break;
  }
  code.Add(kStoreRaw, {MemoryWrite(kUav, 4), R(1), R(2)});
  if (odd) code.Add(kEndif);
  return code.Add(kEndif).Add(kRet);
}

void CheckCase(const Case& one, uint32_t threads, bool odd) {
  constexpr uint32_t kCount = 2000;
  const auto program = Decoded(CodeOf(one, threads, odd));
  std::vector<GuardedBuffer> buffers;
  std::vector<Words> in;
  for (uint32_t u = 0; u < 4; ++u) {
    in.push_back(Operands(one.opcode * 4 + u, kCount));
    buffers.emplace_back(in.back());
  }
  buffers.emplace_back(Words(kCount, 77));
  CHECK(!RunShader(*program, buffers, {kCount}, (kCount + threads - 1) / threads));
  const Words out = buffers[4].words();
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t want = odd && i % 2 == 0 ? 77 : one.meaning(in[0][i], in[1][i], in[2][i], in[3][i]);
    const bool denormal = one.ulps >= 0 && (out[i] & 0x7f800000) == 0 && (want & 0x7f800000) == 0 && one.ulps > 0;
    if (Near(out[i], want, odd && i % 2 == 0 ? -1 : one.ulps) || denormal) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s(%08x, %08x, %08x, %08x) is %08x, expected %08x", OpcodeName(one.opcode).c_str(), in[0][i],
                  in[1][i], in[2][i], in[3][i], out[i], want);
    throw Failure{text};
  }
}

// Two results of one instruction, and floats that are no bits of theirs.
void CheckPair(uint32_t opcode, uint32_t (*first)(uint32_t, uint32_t), uint32_t (*second)(uint32_t, uint32_t)) {
  constexpr uint32_t kCount = 1024;
  ShaderCode code(64);
  code.Temps(4).Raw(0).Raw(1).Raw(2).Raw(3).Add(kIshl, {To(1), SystemValue(kInputThreadId), I(2)});
  code.Add(kLdRaw, {To(2), R(1), MemoryRead(kUav, 0)}).Add(kLdRaw, {To(3), R(1), MemoryRead(kUav, 1)});
  code.Add(opcode, {To(2), To(3), R(2), R(3)});  // over its own operands
  code.Add(kStoreRaw, {MemoryWrite(kUav, 2), R(1), R(2)}).Add(kStoreRaw, {MemoryWrite(kUav, 3), R(1), R(3)}).Add(kRet);
  const Words a = Operands(opcode, kCount), b = Operands(opcode + 1, kCount);
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(a), GuardedBuffer(b), GuardedBuffer(Words(kCount)), GuardedBuffer(Words(kCount))};
  CHECK(!RunShader(*Decoded(code), buffers, {}, kCount / 64));
  for (uint32_t i = 0; i < kCount; ++i) {
    CHECK_EQ(buffers[2].words()[i], first(a[i], b[i]));
    CHECK_EQ(buffers[3].words()[i], second(a[i], b[i]));
  }
}

}  // namespace

TEST(shader_words) {
  for (const Case& one : kCases) {
    CheckCase(one, 64, false);
    CheckCase(one, 96, true);
    CheckCase(one, 7, true);
  }
}

TEST(shader_pairs) {
  CheckPair(
      kImul, [](uint32_t x, uint32_t y) { return static_cast<uint32_t>(static_cast<uint64_t>(int64_t{S(x)} * S(y)) >> 32); },
      [](uint32_t x, uint32_t y) { return x * y; });
  CheckPair(
      kUmul, [](uint32_t x, uint32_t y) { return static_cast<uint32_t>(uint64_t{x} * y >> 32); },
      [](uint32_t x, uint32_t y) { return x * y; });
  CheckPair(
      kUdiv, [](uint32_t x, uint32_t y) { return y ? x / y : UINT32_MAX; }, [](uint32_t x, uint32_t y) { return y ? x % y : UINT32_MAX; });
}

// Direct3D converts to float16 towards 0, and to its largest number rather than to infinity.
static uint32_t CutToHalf(float x) {
  const uint32_t nearest = FloatToHalfOf(x);
  return std::fabs(HalfToFloatOf(nearest)) > std::fabs(x) ? nearest - 1 : nearest;
}

TEST(shader_halves) {
  for (uint32_t half = 0; half < 0x10000; half += 1) {
    const float x = HalfToFloatOf(half);
    if (x == x) CHECK_EQ(FloatToHalfOf(x), half);
  }
  static const Case to_half = {kF32tof16, 1, -1, MEANING(CutToHalf(F(x)))};
  constexpr uint32_t kCount = 4096;
  Words in = Operands(5, kCount);
  for (uint32_t i = 0; i < 2048; ++i) in[i] = B(HalfToFloatOf(i * 15) * (1 + static_cast<float>(i % 5) / 4096.0f));
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(in), GuardedBuffer(in), GuardedBuffer(in), GuardedBuffer(in), GuardedBuffer(in)};
  CHECK(!RunShader(*Decoded(CodeOf(to_half, 64, false)), buffers, {kCount}, kCount / 64));
  for (uint32_t i = 0; i < kCount; ++i) {
    const float x = F(in[i]);
    if (x == x) CHECK_EQ(buffers[4].words()[i], CutToHalf(x));
    else CHECK_EQ(buffers[4].words()[i] & 0x7e00, 0x7e00u);
  }
}

TEST(shader_sine_and_modifiers) {
  constexpr uint32_t kCount = 512;
  ShaderCode code(64);
  code.Temps(6).Raw(0).Raw(1).Raw(2).Add(kIshl, {To(1), SystemValue(kInputThreadId), I(4)});
  code.Add(kIshl, {To(0), SystemValue(kInputThreadId), I(2)}).Add(kLdRaw, {To(2), R(0), MemoryRead(kUav, 0)});
  code.Add(kSincos, {To(3, 1), To(3, 2), R(2)});
  code.Add(kMov | kOpcodeSaturate, {To(3, 4), R(2)}).Add(kAdd, {To(3, 8), Negated(R(2), 3), Negated(R(2), 2)});
  code.Add(kStoreRaw, {MemoryWrite(kUav, 1, 15), R(1), Swizzled(3, 0, 1, 2, 3)});
  // A swizzle over its own register.
  code.Add(kMov, {To(3, 15), Swizzled(3, 3, 2, 1, 0)}).Add(kStoreRaw, {MemoryWrite(kUav, 2, 15), R(1), Swizzled(3, 0, 1, 2, 3)}).Add(kRet);
  Words in(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = B((static_cast<float>(i) - 256.0f) / 37.0f);
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(in), GuardedBuffer(Words(4 * kCount)), GuardedBuffer(Words(4 * kCount))};
  CHECK(!RunShader(*Decoded(code), buffers, {}, kCount / 64));
  const Words out = buffers[1].words(), back = buffers[2].words();
  for (uint32_t i = 0; i < kCount; ++i) {
    const float x = F(in[i]);
    CHECK(std::fabs(F(out[4 * i]) - std::sin(static_cast<double>(x))) < 2e-7);
    CHECK(std::fabs(F(out[4 * i + 1]) - std::cos(static_cast<double>(x))) < 2e-7);
    CHECK_EQ(F(out[4 * i + 2]), std::fmin(std::fmax(x, 0.0f), 1.0f));
    CHECK_EQ(F(out[4 * i + 3]), 0.0f);
    for (uint32_t c = 0; c < 4; ++c) CHECK_EQ(back[4 * i + c], out[4 * i + 3 - c]);
  }
}

}  // namespace dxtensor::test
