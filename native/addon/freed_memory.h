// Gives the system what the C library holds of memory that was freed: a large program's making frees much, and its arenas keep it.
#pragma once

namespace dxtensor::addon {

// Waits for the allocator's locks. Without effect where the C library cannot do so.
void ReturnFreedMemory();

// Collects all garbage and gives the pages of V8's heap back, as an embedder asks for it when memory is low; gc() keeps those of the
// young generation. False where this Node exports no such function.
bool CollectGarbage();

}  // namespace dxtensor::addon
