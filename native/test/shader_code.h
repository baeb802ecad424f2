// DXBC put together by hand, for tests of the executor.
#pragma once

#include <initializer_list>
#include <vector>

#include "software/shader/container.h"
#include "software/shader/tokens.h"

namespace dxtensor::test {

using Words = std::vector<uint32_t>;

// Operands. A component is written by its mask and read by its number.
inline Words RegisterOperand(uint32_t type, uint32_t index, uint32_t rest) { return {type << 12 | 1u << 20 | rest, index}; }
inline Words To(uint32_t index, uint32_t mask = 1) { return RegisterOperand(software::shader::kTemp, index, 2 | mask << 4); }
inline Words R(uint32_t index, uint32_t component = 0) {
  return RegisterOperand(software::shader::kTemp, index, 2 | 2 << 2 | component << 4);
}
inline Words Swizzled(uint32_t index, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  return RegisterOperand(software::shader::kTemp, index, 2 | 1 << 2 | x << 4 | y << 6 | z << 8 | w << 10);
}
inline Words I(uint32_t word) { return {software::shader::kImmediate32 << 12 | 1, word}; }
inline Words Cb(uint32_t word) { return {software::shader::kConstantBuffer << 12 | 2u << 20 | 2 | 2 << 2 | word % 4 << 4, 0, word / 4}; }
inline Words Null() { return {software::shader::kNull << 12}; }
inline Words MemoryRead(uint32_t type, uint32_t index, uint32_t swizzle = 0xe4) {
  return RegisterOperand(type, index, 2 | 1 << 2 | swizzle << 4);
}
inline Words MemoryWrite(uint32_t type, uint32_t index, uint32_t mask = 1) { return RegisterOperand(type, index, 2 | mask << 4); }
inline Words U(uint32_t index) { return RegisterOperand(software::shader::kUav, index, 0); }
inline Words G(uint32_t index) { return RegisterOperand(software::shader::kSharedMemory, index, 0); }
inline Words SystemValue(uint32_t type, uint32_t component = 0) { return {type << 12 | 2 | 2 << 2 | component << 4}; }
inline Words Negated(Words operand, uint32_t modifier = 1) {
  operand[0] |= 1u << 31;
  operand.insert(operand.begin() + 1, 1 | modifier << 6);
  return operand;
}

constexpr uint32_t kOpcodeNonZero = 1u << 18, kOpcodeSaturate = 1u << 13, kSyncGroup = 3u << 11;

class ShaderCode {
 public:
  ShaderCode(uint32_t x, uint32_t y = 1, uint32_t z = 1) { Add(software::shader::kDclThreadGroup, {{x, y, z}}); }

  ShaderCode& Add(uint32_t opcode, std::initializer_list<Words> operands = {}) {
    Words all;
    for (const Words& operand : operands) all.insert(all.end(), operand.begin(), operand.end());
    tokens_.push_back(opcode | static_cast<uint32_t>(all.size() + 1) << 24);
    tokens_.insert(tokens_.end(), all.begin(), all.end());
    return *this;
  }
  ShaderCode& Temps(uint32_t count) { return Add(software::shader::kDclTemps, {{count}}); }
  ShaderCode& Constants(uint32_t words) {
    return Add(software::shader::kDclConstantBuffer,
               {{software::shader::kConstantBuffer << 12 | 2u << 20 | 2 | 1 << 2 | 0xe4 << 4, 0, (words + 3) / 4}});
  }
  ShaderCode& Raw(uint32_t index) { return Add(software::shader::kDclUavRaw, {U(index)}); }
  ShaderCode& Structured(uint32_t index, uint32_t stride) { return Add(software::shader::kDclUavStructured, {U(index), {stride}}); }
  ShaderCode& Texels(uint32_t index) {
    constexpr uint32_t kBuffer = 1u << 11;
    return Add(software::shader::kDclUavTyped | kBuffer, {U(index), {0x4444}});
  }
  ShaderCode& SharedRaw(uint32_t index, uint32_t bytes) { return Add(software::shader::kDclTgsmRaw, {G(index), {bytes}}); }

  const Words& tokens() const { return tokens_; }
  std::vector<uint8_t> Container() const { return ContainerOf(tokens_); }
  static std::vector<uint8_t> ContainerOf(const Words& tokens) {
    std::vector<uint8_t> chunk;
    software::shader::AppendWord(&chunk, 5u << 16 | 0x50);
    software::shader::AppendWord(&chunk, static_cast<uint32_t>(tokens.size() + 2));
    for (uint32_t word : tokens) software::shader::AppendWord(&chunk, word);
    return software::shader::MakeContainer("SHEX", chunk);
  }

 private:
  Words tokens_;
};

}  // namespace dxtensor::test
