// The buffers that JavaScript owns: handles, weak references to their owners, and their sizes.
//
// The environment's thread.
#pragma once

#include <node_api.h>

#include <vector>

#include "../dml/device.h"
#include "handle.h"

namespace dxtensor::addon {

// A device as one copy of the library has it open in this environment: Node gives all of them the one module, so what they have on an
// adapter may be one native device. Buffers, programs and recordings are each copy's own.
struct OpenDevice {
  uint32_t id = 0;
  dml::RuntimeKind kind = dml::RuntimeKind::Software;
  uint32_t adapter = 0;
  std::shared_ptr<dml::Device> device;
  uint64_t limit_in_bytes = 0;
  uint32_t patience_ms = 0;
  uint64_t live_bytes = 0, live_buffers = 0, peak_bytes = 0;
};

struct Buffer {
  OpenDevice* device = nullptr;  // null: free
  Handle handle = 0;
  dml::Address address = 0;
  uint64_t size = 0, capacity = 0;
  napi_ref owner = nullptr;
  uint32_t block = 0;
};

class Buffers {
 public:
  explicit Buffers(napi_env env) : env_(env) {}

  // Allocates memory and a handle for it; `owner` is referred to weakly. Throws dml::Failure.
  Handle Create(OpenDevice& device, uint64_t size, napi_value owner, dml::HeapPool::Use use = dml::HeapPool::Use::Tensor);
  // Null when no buffer has this handle.
  Buffer* Find(Handle handle) {
    Buffer& buffer = ring_[handle & mask_];
    return buffer.handle == handle && buffer.device ? &buffer : nullptr;
  }
  Buffer& Get(Handle handle) {
    if (Buffer* buffer = Find(handle)) return *buffer;
    ThrowUnknown(handle);
  }
  void Release(Handle handle);
  // Releases the buffers whose owner has been collected.
  uint32_t Sweep();
  // Releases those of a device that is about to close.
  void DropDevice(const OpenDevice& device);
  // Numbers for `pressure`: live buffers, live bytes.
  void SetPressure(double* numbers) { pressure_ = numbers; }
  // Adds memory of other backends to these numbers, or takes it away.
  void Weigh(int buffers, int64_t bytes) {
    pressure_[0] += buffers;
    pressure_[1] += static_cast<double>(bytes);
    Report(bytes);
  }

 private:
  static constexpr uint64_t kFirst = 256, kMaxBuffers = 1u << 24;
  [[noreturn]] static void ThrowUnknown(Handle handle);
  void Remove(Buffer& buffer);
  Buffer& FreeSlot();
  void Grow();
  void Report(int64_t bytes);

  napi_env env_;
  // Handles are counted up, so that none is given twice, and small ones cost JavaScript no memory; a buffer lies at its handle's
  // low bits, and the count goes past those of buffers that still live.
  std::vector<Buffer> ring_{kFirst};
  uint64_t mask_ = kFirst - 1;
  uint64_t live_ = 0;
  Handle last_ = 0;
  double* pressure_ = nullptr;
  int64_t unreported_ = 0;
};

}  // namespace dxtensor::addon
