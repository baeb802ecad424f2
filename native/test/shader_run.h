// Runs a shader over buffers that have guard bytes behind and before them.
#pragma once

#include <cstring>
#include <memory>

#include "software/shader/decode.h"
#include "software/shader/execute/run.h"
#include "kernel_test.h"
#include "shader_code.h"

namespace dxtensor::test {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(Words words) : size_(words.size() * 4), bytes_(size_ + 2 * kGuard, kByte) {
    if (size_) std::memcpy(bytes_.data() + kGuard, words.data(), size_);
  }
  software::shader::Buffer buffer() { return {bytes_.data() + kGuard, size_}; }
  Words words() const {
    Words words(size_ / 4);
    if (size_) std::memcpy(words.data(), bytes_.data() + kGuard, size_);
    return words;
  }
  bool intact() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (bytes_[i] != kByte || bytes_[kGuard + size_ + i] != kByte) return false;
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  static constexpr uint8_t kByte = 0xa5;
  size_t size_;
  std::vector<uint8_t> bytes_;
};

inline std::shared_ptr<const software::shader::Program> Decoded(const ShaderCode& code) {
  std::string wrong;
  const std::vector<uint8_t> container = code.Container();
  auto program = software::shader::Decode(container.data(), container.size(), &wrong);
  if (!program) throw Failure{"not decoded: " + wrong};
  return program;
}

// Buffers by register; null, or what the shader did wrong.
inline const char* RunShader(const software::shader::Program& program, std::vector<GuardedBuffer>& buffers, const Words& constants,
                             uint32_t x, uint32_t y = 1, uint32_t z = 1) {
  std::vector<software::shader::Buffer> bound(program.memories.size() + 1);
  for (size_t i = 0; i < program.memories.size(); ++i)
    if (!program.memories[i].is_shared && program.memories[i].index < buffers.size())
      bound[i] = buffers[program.memories[i].index].buffer();
  software::shader::Arguments arguments;
  arguments.buffers = bound.data();
  arguments.constants = constants.data();
  arguments.constant_count = static_cast<uint32_t>(constants.size());
  arguments.groups[0] = x, arguments.groups[1] = y, arguments.groups[2] = z;
  const char* wrong = software::shader::Run(program, arguments);
  for (const GuardedBuffer& buffer : buffers)
    if (!buffer.intact()) throw Failure{"the shader wrote outside a buffer"};
  return wrong;
}

}  // namespace dxtensor::test
