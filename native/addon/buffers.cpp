#include "buffers.h"

#include <algorithm>

#include "errors.h"

namespace dxtensor::addon {

namespace {

// Changes of at least this many bytes are reported to V8.
constexpr int64_t kReport = 4 << 20;
constexpr size_t kScope = 1024;

}  // namespace

void Buffers::ThrowUnknown(Handle handle) {
  Invalid("buffer " + std::to_string(handle) + " is not there: it was released, its device was closed, or it belongs to another thread");
}

Handle Buffers::Create(OpenDevice& device, uint64_t size, napi_value owner, dml::HeapPool::Use use) {
  // Limits and slots first, so that nothing has to be undone.
  if (live_ >= kMaxBuffers) throw dml::Failure(dml::FailureKind::OutOfMemory, "out of memory: 16 million buffers are live");
  if (2 * (live_ + 1) > ring_.size()) Grow();
  dml::HeapPool& pool = device.device->pool();
  uint32_t block = pool.Allocate(size, use);
  napi_ref reference = nullptr;
  napi_status status = napi_create_reference(env_, owner, 0, &reference);
  if (status != napi_ok) {
    pool.Free(block);
    if (status == napi_object_expected || status == napi_invalid_arg) Invalid("the owner of a buffer must be an object");
    js::ThrowStatus(env_, status);
  }
  Buffer& buffer = FreeSlot();
  buffer.device = &device;
  buffer.block = block;
  buffer.address = pool.AddressOf(block);
  buffer.size = size;
  buffer.capacity = pool.SizeOf(block);
  buffer.owner = reference;
  device.live_bytes += buffer.capacity;
  ++device.live_buffers;
  device.peak_bytes = std::max(device.peak_bytes, device.live_bytes);
  pressure_[0] += 1;
  pressure_[1] += static_cast<double>(buffer.capacity);
  Report(static_cast<int64_t>(buffer.capacity));
  return buffer.handle;
}

void Buffers::Report(int64_t bytes) {
  unreported_ += bytes;
  if (unreported_ < kReport && unreported_ > -kReport) return;
  int64_t total;
  napi_adjust_external_memory(env_, unreported_, &total);
  unreported_ = 0;
}

// With its handle. A slot is free.
Buffer& Buffers::FreeSlot() {
  ++live_;
  do ++last_;
  while (ring_[last_ & mask_].device);
  Buffer& buffer = ring_[last_ & mask_];
  buffer.handle = last_;
  return buffer;
}

void Buffers::Grow() {
  std::vector<Buffer> wider(2 * ring_.size());
  const uint64_t mask = wider.size() - 1;
  for (Buffer& buffer : ring_)
    if (buffer.device) wider[buffer.handle & mask] = buffer;
  ring_.swap(wider);
  mask_ = mask;
}

void Buffers::Remove(Buffer& buffer) {
  napi_delete_reference(env_, buffer.owner);
  OpenDevice& device = *buffer.device;
  device.device->pool().Free(buffer.block);
  device.live_bytes -= buffer.capacity;
  --device.live_buffers;
  pressure_[0] -= 1;
  pressure_[1] -= static_cast<double>(buffer.capacity);
  Report(-static_cast<int64_t>(buffer.capacity));
  buffer.device = nullptr;
  buffer.owner = nullptr;
  --live_;
}

void Buffers::Release(Handle handle) { Remove(Get(handle)); }

uint32_t Buffers::Sweep() {
  uint32_t released = 0;
  for (size_t begin = 0; begin < ring_.size(); begin += kScope) {
    napi_handle_scope scope;
    napi_open_handle_scope(env_, &scope);
    size_t end = std::min(begin + kScope, ring_.size());
    for (size_t i = begin; i < end; ++i) {
      if (!ring_[i].device) continue;
      napi_value owner = nullptr;
      if (napi_get_reference_value(env_, ring_[i].owner, &owner) == napi_ok && owner) continue;
      Remove(ring_[i]);
      ++released;
    }
    napi_close_handle_scope(env_, scope);
  }
  return released;
}

void Buffers::DropDevice(const OpenDevice& device) {
  for (Buffer& buffer : ring_)
    if (buffer.device == &device) Remove(buffer);
}

}  // namespace dxtensor::addon
