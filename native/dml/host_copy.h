// Copies between the host's memory and memory that the device sees. One thread writes that, or memory that is new to the process, at a part
// of what a link to a GPU moves.
#pragma once

#include <cstddef>

namespace dxtensor::dml {

// How many threads are worth a copy: a quarter of the machine's, at most 4.
unsigned HostCopyThreads();

// As memcpy; large copies by several threads. Any thread may call it.
void HostCopy(void* to, const void* from, size_t size, unsigned threads = HostCopyThreads());

}  // namespace dxtensor::dml
