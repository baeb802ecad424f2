#include "container.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dxtensor::software::shader {

namespace {

constexpr size_t kHeader = 32, kSumBegin = 4, kSummedFrom = 20, kBlock = 64;

struct Rounds {
  uint32_t constants[64];
  Rounds() {
    for (int i = 0; i < 64; ++i) constants[i] = static_cast<uint32_t>(std::floor(std::fabs(std::sin(i + 1.0)) * 4294967296.0));
  }
};

// MD5's compression of one block.
void Compress(uint32_t state[4], const uint8_t* block) {
  static const Rounds rounds;
  static constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  for (int i = 0; i < 64; ++i) {
    uint32_t f;
    int word;
    switch (i / 16) {
      case 0: f = (b & c) | (~b & d), word = i; break;
      case 1: f = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
      case 2: f = b ^ c ^ d, word = (3 * i + 5) % 16; break;
      default: f = c ^ (b | ~d), word = 7 * i % 16; break;
    }
    const uint32_t sum = a + f + rounds.constants[i] + ReadWord(block + 4 * word);
    const int shift = kShifts[i / 16][i % 4];
    a = d, d = c, c = b;
    b += sum << shift | sum >> (32 - shift);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

void PutWord(uint8_t* to, uint32_t word) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(word >> 8 * i);
}

}  // namespace

// MD5 with another padding: the length in bits begins the last block, and a word made of it ends it.
void Checksum(const uint8_t* container, size_t size, uint32_t sum[4]) {
  const uint8_t* bytes = container + kSummedFrom;
  const size_t length = size - kSummedFrom, whole = length / kBlock * kBlock, rest = length - whole;
  const auto bits = static_cast<uint32_t>(length * 8);
  uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (size_t at = 0; at < whole; at += kBlock) Compress(state, bytes + at);
  uint8_t last[2 * kBlock] = {};
  if (rest >= 56) {
    std::memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    PutWord(last + kBlock, bits);
    PutWord(last + 2 * kBlock - 4, bits >> 2 | 1);
    Compress(state, last);
    Compress(state, last + kBlock);
  } else {
    PutWord(last, bits);
    std::memcpy(last + 4, bytes + whole, rest);
    last[4 + rest] = 0x80;
    PutWord(last + kBlock - 4, bits >> 2 | 1);
    Compress(state, last);
  }
  std::copy(state, state + 4, sum);
}

Chunk FindChunk(const void* container, size_t size, const char (&name)[5], std::string* wrong) {
  auto* bytes = static_cast<const uint8_t*>(container);
  auto fail = [&](const char* why) {
    *wrong = why;
    return Chunk{};
  };
  if (!bytes || size < kHeader || std::memcmp(bytes, "DXBC", 4) != 0) return fail("these bytes are no DXBC container");
  if (ReadWord(bytes + 24) != size) return fail("the DXBC container states another size than it has");
  uint32_t sum[4];
  Checksum(bytes, size, sum);
  for (size_t i = 0; i < 4; ++i)
    if (ReadWord(bytes + kSumBegin + 4 * i) != sum[i]) return fail("the DXBC container's checksum is wrong");
  const uint32_t count = ReadWord(bytes + 28);
  if (count > (size - kHeader) / 4) return fail("the DXBC container's list of chunks is cut short");
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = ReadWord(bytes + kHeader + 4 * size_t{i});
    if (at > size - 8 || at % 4) return fail("a chunk lies outside of the DXBC container");
    const size_t length = ReadWord(bytes + at + 4);
    if (length > size - at - 8) return fail("a chunk reaches beyond the end of the DXBC container");
    if (std::memcmp(bytes + at, name, 4) == 0) return {bytes + at + 8, length};
  }
  return {};
}

std::vector<uint8_t> MakeContainer(const char (&name)[5], const std::vector<uint8_t>& chunk) {
  std::vector<uint8_t> bytes = {'D', 'X', 'B', 'C'};
  bytes.resize(kSummedFrom);
  const size_t first = kHeader + 4;
  AppendWord(&bytes, 1);
  AppendWord(&bytes, static_cast<uint32_t>(first + 8 + chunk.size()));
  AppendWord(&bytes, 1);
  AppendWord(&bytes, static_cast<uint32_t>(first));
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(name[i]));
  AppendWord(&bytes, static_cast<uint32_t>(chunk.size()));
  bytes.insert(bytes.end(), chunk.begin(), chunk.end());
  uint32_t sum[4];
  Checksum(bytes.data(), bytes.size(), sum);
  for (size_t i = 0; i < 4; ++i) PutWord(bytes.data() + kSumBegin + 4 * i, sum[i]);
  return bytes;
}

}  // namespace dxtensor::software::shader
