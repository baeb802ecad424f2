// Gives the system what the C library holds of memory that was freed: a large program's making frees much, and its arenas keep it.
#pragma once

namespace dxtensor::addon {

// Waits for the allocator's locks. Without effect where the C library cannot do so.
void ReturnFreedMemory();

}  // namespace dxtensor::addon
