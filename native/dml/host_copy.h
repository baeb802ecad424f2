// Copies between the host's memory and memory that the device sees. One thread writes that, or memory that is new to the process, at a part
// of what a link to a GPU moves.
#pragma once

#include <cstddef>
#include <memory>

namespace dxtensor::dml {

// How many threads are worth a copy.
unsigned HostCopyThreads();

// As memcpy; large copies by several threads. Any thread may call it.
void HostCopy(void* to, const void* from, size_t size, unsigned threads = HostCopyThreads());

// Makes the pages of memory that nothing was written to yet, by the same threads, before a copy comes to them: one thread makes them more
// slowly than it copies. Nothing is made after its end.
struct HostJob;
class Pages {
 public:
  Pages(void* to, size_t size, unsigned threads = HostCopyThreads());
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

 private:
  std::unique_ptr<HostJob> job_;
};

}  // namespace dxtensor::dml
