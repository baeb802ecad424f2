// The adapters of a loaded runtime, by DXCore; by DXGI on Windows where DXCore is missing or answers nothing. Listed once for
// each runtime and kept until the process ends, so that an index always means the same adapter. Any thread.
#pragma once

#include <string>
#include <vector>

#include "com_ptr.h"
#include "loader.h"

namespace dxtensor::dml {

struct Adapter {
  ComPtr<IUnknown> object;  // what D3D12CreateDevice takes
  std::string name;
  uint32_t vendor_id = 0, device_id = 0;
  uint64_t luid = 0;
  std::string driver_version;
  bool is_hardware = false, is_integrated = false, is_simulated = false;
  uint64_t dedicated_memory = 0, shared_memory = 0;
};

// Empty when the runtime is not loaded or has none.
const std::vector<Adapter>& Adapters(RuntimeKind kind);

}  // namespace dxtensor::dml
