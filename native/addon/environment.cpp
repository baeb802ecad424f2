#include "environment.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "errors.h"

namespace dxtensor::addon {

Environment::Environment(napi_env env) : env_(env), promises_(env), buffers_(env) {
  double* numbers = nullptr;
  js::Value pressure = js::NewFloats(env, 2, &numbers);
  buffers_.SetPressure(numbers);
  js::Check(env, napi_create_reference(env, pressure, 1, &pressure_));
  napi_value global = nullptr;
  js::Check(env, napi_get_global(env, &global));
  js::Check(env, napi_create_reference(env, js::Value(env, global).Get("ArrayBuffer"), 1, &array_buffer_class_));
}

napi_value Environment::ValueOf(napi_ref reference) const {
  napi_value value = nullptr;
  js::Check(env_, napi_get_reference_value(env_, reference, &value));
  return value;
}

Environment::~Environment() {
  const auto end = dml::Timeline::Clock::now() + std::chrono::milliseconds(dml::Device::kExitMs);
  for (auto& device : devices_)
    if (device) device->device->GiveUpAt(end);
  for (auto& device : devices_) {
    if (!device) continue;
    // The threads first: they may still settle promises.
    device->device->Quiesce();
    buffers_.DropDevice(*device);
    device.reset();
  }
  promises_.Close();
}

void Environment::ThrowUnknown(const char* what, Handle handle) {
  Invalid(std::string(what) + " " + std::to_string(handle) +
          " is not there: it was released, its device was closed, or it belongs to another thread");
}

OpenDevice& Environment::Open(dml::RuntimeKind kind, uint32_t adapter, const dml::Device::Options& options) {
  auto device = std::make_unique<OpenDevice>();
  device->kind = kind;
  device->adapter = adapter;
  device->limit_in_bytes = options.limit_in_bytes;
  device->patience_ms = options.patience_ms;
  auto is_same = [&](const std::unique_ptr<OpenDevice>& other) {
    return other && other->kind == kind && other->adapter == adapter && other->limit_in_bytes == options.limit_in_bytes &&
           other->patience_ms == options.patience_ms && !other->device->failed();
  };
  if (const auto same = std::find_if(devices_.begin(), devices_.end(), is_same); same != devices_.end()) {
    device->device = (*same)->device;
  } else {
    dml::Device::Options with_look = options;
    with_look.look = [env = env_] { js::CheckRunning(env); };
    device->device = dml::Device::Open(kind, adapter, with_look);
  }
  device->id = static_cast<uint32_t>(devices_.size());
  // process.exit() runs no clean-up hooks of the main thread. Registered once for each runtime, after its libraries have registered
  // their own handlers, so that it runs before those.
  static std::once_flag registered[2];
  std::call_once(registered[kind == dml::RuntimeKind::Gpu ? 0 : 1], [] { std::atexit(dml::QuiesceAllDevices); });
  devices_.push_back(std::move(device));
  return *devices_.back();
}

OpenDevice& Environment::Device(uint32_t id) {
  if (id < devices_.size() && devices_[id]) return *devices_[id];
  ThrowUnknown("device", id);
}

void Environment::Close(uint32_t id) {
  OpenDevice& device = Device(id);
  const bool is_shared = device.device.use_count() > 1;
  try {
    if (!is_shared) device.device->Finish();
  } catch (const dml::Failure&) {
    // A removed device has no work to finish; it is closed all the same.
  }
  recordings_.RemoveIf([&](const OpenRecording& open) {
    if (open.device != &device) return false;
    if (is_shared) device.device->ReleaseRecording(open.recording);
    return true;
  });
  programs_.RemoveIf([&](const OpenProgram& open) {
    if (open.device != &device) return false;
    if (is_shared) device.device->ReleaseProgram(open.program);
    return true;
  });
  buffers_.DropDevice(device);
  devices_[id].reset();
}

Handle Environment::AddProgram(OpenDevice& device, dml::Program* program) {
  if (Handle handle = programs_.Add({&device, program})) return handle;
  device.device->ReleaseProgram(program);
  throw dml::Failure(dml::FailureKind::OutOfMemory, "out of memory: 16 million programs are there");
}

void Environment::ReleaseProgram(Handle handle) {
  const OpenProgram open = GetProgram(handle);
  programs_.Remove(handle);
  open.device->device->ReleaseProgram(open.program);
}

Handle Environment::AddRecording(OpenDevice& device, dml::Recording* recording) {
  if (Handle handle = recordings_.Add({&device, recording})) return handle;
  device.device->ReleaseRecording(recording);
  throw dml::Failure(dml::FailureKind::OutOfMemory, "out of memory: 16 million recordings are there");
}

void Environment::ReleaseRecording(Handle handle) {
  const OpenRecording open = GetRecording(handle);
  recordings_.Remove(handle);
  open.device->device->ReleaseRecording(open.recording);
}

void Environment::Lend(dml::HostMemory memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory.bytes);
  if (!lent_.emplace(address, std::move(memory)).second) Invalid("lend: the buffer's memory is lent already");
}

void Environment::GiveBack(uint64_t address) {
  if (!lent_.erase(address)) Invalid("giveBack: no memory at " + std::to_string(address) + " is lent");
}

}  // namespace dxtensor::addon
