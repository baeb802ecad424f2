// The addon's state of one JavaScript environment (the main thread or a worker): devices, buffers, programs, recordings.
//
// Made when the addon is loaded there, torn down by the environment's clean-up hook. The environment's thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "buffers.h"
#include "library_devices.h"
#include "promises.h"
#include "tracked.h"

namespace dxtensor::addon {

struct OpenProgram {
  OpenDevice* device = nullptr;  // null: released
  dml::Program* program = nullptr;
};

struct OpenRecording {
  OpenDevice* device = nullptr;
  dml::Recording* recording = nullptr;
};

class Environment {
 public:
  explicit Environment(napi_env env);
  ~Environment();

  Buffers& buffers() { return buffers_; }
  Tracked& tracked() { return tracked_; }
  Promises& promises() { return promises_; }
  LibraryDevices& library_devices() { return library_devices_; }
  // The numbers of Buffers::SetPressure.
  napi_value Pressure() const { return ValueOf(pressure_); }
  // JavaScript's own constructor, as it was when the addon was loaded.
  napi_value ArrayBufferClass() const { return ValueOf(array_buffer_class_); }

  // One that is open with the same options and has not failed is shared with who has opened it.
  OpenDevice& Open(dml::RuntimeKind kind, uint32_t adapter, const dml::Device::Options& options);
  void Close(uint32_t id);
  OpenDevice& Device(uint32_t id);

  Handle AddProgram(OpenDevice& device, dml::Program* program);
  OpenProgram& GetProgram(Handle handle) {
    if (OpenProgram* open = programs_.Find(handle)) return *open;
    ThrowUnknown("program", handle);
  }
  void ReleaseProgram(Handle handle);
  Handle AddRecording(OpenDevice& device, dml::Recording* recording);
  OpenRecording& GetRecording(Handle handle) {
    if (OpenRecording* open = recordings_.Find(handle)) return *open;
    ThrowUnknown("recording", handle);
  }
  void ReleaseRecording(Handle handle);

  // Memory that the host uses in place, by its address; it stays until it is given back, or the environment ends.
  void Lend(dml::HostMemory memory);
  void GiveBack(uint64_t address);

 private:
  [[noreturn]] static void ThrowUnknown(const char* what, Handle handle);
  napi_value ValueOf(napi_ref reference) const;

  napi_env env_;
  Promises promises_;
  Buffers buffers_;
  Tracked tracked_{env_, buffers_};
  LibraryDevices library_devices_;
  napi_ref pressure_ = nullptr, array_buffer_class_ = nullptr;
  std::vector<std::unique_ptr<OpenDevice>> devices_{1};  // by id, which none has twice; null when closed
  Table<OpenProgram> programs_;
  Table<OpenRecording> recordings_;
  std::map<uint64_t, dml::HostMemory> lent_;
};

}  // namespace dxtensor::addon
