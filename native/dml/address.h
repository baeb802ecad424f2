// Device memory in one number: the chunk in the upper bits, the byte in it below. 0 is no memory. Ranges of one chunk compare as
// plain intervals, and ranges of two chunks never meet.
#pragma once

#include <cstdint>

namespace dxtensor::dml {

using Address = uint64_t;

constexpr int kChunkShift = 48;
constexpr uint32_t kMaxChunks = 8192;

constexpr uint32_t ChunkOf(Address address) { return static_cast<uint32_t>(address >> kChunkShift); }
constexpr uint64_t OffsetOf(Address address) { return address & ((uint64_t{1} << kChunkShift) - 1); }
constexpr Address MakeAddress(uint32_t chunk, uint64_t offset) { return (static_cast<uint64_t>(chunk) << kChunkShift) | offset; }

constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace dxtensor::dml
