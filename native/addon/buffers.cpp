#include "buffers.h"

#include <algorithm>

#include "errors.h"

namespace dxtensor::addon {

namespace {

// V8 is told of at least this much at once.
constexpr int64_t kReport = 4 << 20;
constexpr size_t kScope = 1024;

}  // namespace

void Buffers::ThrowUnknown(uint32_t handle) {
  Invalid("buffer " + std::to_string(handle) + " is not there: it was released, or belongs to another thread");
}

uint32_t Buffers::Create(OpenDevice& device, uint64_t size, napi_value owner, dml::HeapPool::Use use) {
  dml::HeapPool& pool = device.device->pool();
  uint32_t block = pool.Allocate(size, use);
  napi_ref reference = nullptr;
  napi_status status = napi_create_reference(env_, owner, 0, &reference);
  if (status != napi_ok) {
    pool.Free(block);
    if (status == napi_object_expected || status == napi_invalid_arg) Invalid("the owner of a buffer must be an object");
    js::ThrowStatus(env_, status);
  }
  uint32_t index;
  if (free_.empty()) {
    index = static_cast<uint32_t>(buffers_.size());
    if (index > kIndexMask) {
      pool.Free(block);
      napi_delete_reference(env_, reference);
      throw dml::Failure(dml::FailureKind::OutOfMemory, "out of memory: 16 million buffers are live");
    }
    buffers_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Buffer& buffer = buffers_[index];
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
  return index | buffer.generation << kIndexBits;
}

void Buffers::Report(int64_t bytes) {
  unreported_ += bytes;
  if (unreported_ < kReport && unreported_ > -kReport) return;
  int64_t total;
  napi_adjust_external_memory(env_, unreported_, &total);
  unreported_ = 0;
}

void Buffers::Remove(uint32_t index) {
  Buffer& buffer = buffers_[index];
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
  buffer.generation = (buffer.generation + 1) % kGenerations;
  free_.push_back(index);
}

void Buffers::Release(uint32_t handle) {
  Get(handle);
  Remove(handle & kIndexMask);
}

uint32_t Buffers::Sweep() {
  uint32_t released = 0;
  for (size_t begin = 1; begin < buffers_.size(); begin += kScope) {
    napi_handle_scope scope;
    napi_open_handle_scope(env_, &scope);
    size_t end = std::min(begin + kScope, buffers_.size());
    for (size_t i = begin; i < end; ++i) {
      if (!buffers_[i].device) continue;
      napi_value owner = nullptr;
      if (napi_get_reference_value(env_, buffers_[i].owner, &owner) == napi_ok && owner) continue;
      Remove(static_cast<uint32_t>(i));
      ++released;
    }
    napi_close_handle_scope(env_, scope);
  }
  return released;
}

void Buffers::DropDevice(const OpenDevice& device) {
  for (size_t i = 1; i < buffers_.size(); ++i)
    if (buffers_[i].device == &device) Remove(static_cast<uint32_t>(i));
}

}  // namespace dxtensor::addon
