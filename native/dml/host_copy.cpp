#include "host_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

namespace dxtensor::dml {

namespace {

// A thread is started in some 30 us, in which one copies a quarter of this.
constexpr size_t kMinPart = 1 << 20;
constexpr size_t kPage = 4096;
constexpr unsigned kMaxThreads = 4;

}  // namespace

unsigned HostCopyThreads() {
  static const unsigned threads = std::clamp(std::thread::hardware_concurrency() / 4, 1u, kMaxThreads);
  return threads;
}

void HostCopy(void* to, const void* from, size_t size, unsigned threads) {
  const size_t parts = std::min<size_t>(threads, size / kMinPart);
  if (parts < 2) {
    if (size) std::memcpy(to, from, size);
    return;
  }
  const size_t part = (size / parts + kPage - 1) / kPage * kPage;
  auto copy = [=](size_t begin, size_t end) {
    std::memcpy(static_cast<uint8_t*>(to) + begin, static_cast<const uint8_t*>(from) + begin, end - begin);
  };
  std::vector<std::thread> others;
  // This thread takes the first part, and what no thread could be started for.
  size_t end = size;
  try {
    others.reserve(parts);
    while (end > part) {
      const size_t begin = end > 2 * part ? end - part : part;
      others.emplace_back(copy, begin, end);
      end = begin;
    }
  } catch (const std::exception&) {
    // No more threads: the rest is copied here.
  }
  copy(0, end);
  for (std::thread& other : others) other.join();
}

}  // namespace dxtensor::dml
