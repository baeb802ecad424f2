// The DXBC container: a signature, a checksum, and chunks that are found by four letters. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dxtensor::software::shader {

struct Chunk {
  const uint8_t* data = nullptr;  // null: there is none
  size_t size = 0;
};

// Of a whole container, whose own checksum field it leaves out.
void Checksum(const uint8_t* container, size_t size, uint32_t sum[4]);

// The first chunk of that name. *wrong says why the container is none; a chunk that is not there is no fault.
Chunk FindChunk(const void* container, size_t size, const char (&name)[5], std::string* wrong);

// A container of one chunk, whose size is a multiple of 4.
std::vector<uint8_t> MakeContainer(const char (&name)[5], const std::vector<uint8_t>& chunk);

inline uint32_t ReadWord(const uint8_t* from) {
  return static_cast<uint32_t>(from[0]) | static_cast<uint32_t>(from[1]) << 8 | static_cast<uint32_t>(from[2]) << 16 |
         static_cast<uint32_t>(from[3]) << 24;
}
inline void AppendWord(std::vector<uint8_t>* to, uint32_t word) {
  for (int i = 0; i < 4; ++i) to->push_back(static_cast<uint8_t>(word >> 8 * i));
}

}  // namespace dxtensor::software::shader
