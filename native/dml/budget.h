// How much memory a process may use of an adapter, as its driver says: DXCore's AdapterMemoryBudget (WSL, Vulkan's
// VK_EXT_memory_budget, the software adapter), DXGI's QueryVideoMemoryInfo (Windows). Any thread.
#pragma once

#include <cstdint>

#include "adapters.h"

namespace dxtensor::dml {

// Bytes of an adapter that memory may be taken of when nobody sets a limit: the budget but for some headroom, since beyond it a
// driver moves memory out, and the host of a CPU adapter ends processes. What the adapter has where it reports no budget.
uint64_t UsableMemory(const Adapter& adapter);
// Bytes that may be taken now on top of what this process has; UINT64_MAX where the adapter does not say.
uint64_t MemoryLeft(const Adapter& adapter);

}  // namespace dxtensor::dml
