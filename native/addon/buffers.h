// The buffers that JavaScript owns: handles, weak references to their owners, and what they weigh.
//
// A handle is an index and a generation, so that one that was released is recognised. The environment's thread.
#pragma once

#include <node_api.h>

#include <vector>

#include "../dml/device.h"

namespace dxtensor::addon {

// A device that is open in this environment.
struct OpenDevice {
  uint32_t id = 0;
  dml::RuntimeKind kind = dml::RuntimeKind::Software;
  uint32_t adapter = 0;
  std::unique_ptr<dml::Device> device;
  uint64_t live_bytes = 0, live_buffers = 0, peak_bytes = 0;
};

struct Buffer {
  OpenDevice* device = nullptr;  // null: free
  dml::Address address = 0;
  uint64_t size = 0, capacity = 0;
  napi_ref owner = nullptr;
  uint32_t block = 0, generation = 0;
};

class Buffers {
 public:
  explicit Buffers(napi_env env) : env_(env) {}

  // Allocates memory and a handle for it; `owner` is referred to weakly. Throws dml::Failure.
  uint32_t Create(OpenDevice& device, uint64_t size, napi_value owner, dml::HeapPool::Use use = dml::HeapPool::Use::Tensor);
  // Null when no buffer has this handle.
  Buffer* Find(uint32_t handle) {
    uint32_t index = handle & kIndexMask;
    if (index >= buffers_.size()) return nullptr;
    Buffer& buffer = buffers_[index];
    return buffer.device && buffer.generation == handle >> kIndexBits ? &buffer : nullptr;
  }
  Buffer& Get(uint32_t handle) {
    if (Buffer* buffer = Find(handle)) return *buffer;
    ThrowUnknown(handle);
  }
  void Release(uint32_t handle);
  // Releases the buffers whose owner has been collected.
  uint32_t Sweep();
  // Forgets those of a device that is about to close.
  void DropDevice(const OpenDevice& device);
  // Numbers for `pressure`: live buffers, live bytes.
  void SetPressure(double* numbers) { pressure_ = numbers; }

 private:
  static constexpr uint32_t kIndexBits = 24, kIndexMask = (1u << kIndexBits) - 1, kGenerations = 64;
  [[noreturn]] static void ThrowUnknown(uint32_t handle);
  void Remove(uint32_t index);
  void Report(int64_t bytes);

  napi_env env_;
  std::vector<Buffer> buffers_{1};  // handle 0 is none
  std::vector<uint32_t> free_;
  double* pressure_ = nullptr;
  int64_t unreported_ = 0;
};

}  // namespace dxtensor::addon
