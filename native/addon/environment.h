// What the addon keeps for one JavaScript environment (the main thread or a worker): devices, buffers, programs, recordings.
//
// Made when the addon is loaded there, torn down by the environment's clean-up hook. The environment's thread.
#pragma once

#include <memory>
#include <vector>

#include "buffers.h"
#include "promises.h"

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
  Promises& promises() { return promises_; }
  // The numbers of Buffers::SetPressure.
  napi_value Pressure() const { return ValueOf(pressure_); }
  // JavaScript's own constructor, as it was when the addon was loaded.
  napi_value ArrayBufferClass() const { return ValueOf(array_buffer_class_); }

  OpenDevice& Open(dml::RuntimeKind kind, uint32_t adapter, const dml::Device::Options& options);
  void Close(uint32_t id);
  OpenDevice& Device(uint32_t id);

  uint32_t AddProgram(OpenDevice& device, dml::Program* program);
  OpenProgram& GetProgram(uint32_t id) {
    if (id < programs_.size() && programs_[id].device) return programs_[id];
    ThrowUnknown("program", id);
  }
  void ReleaseProgram(uint32_t id);
  uint32_t AddRecording(OpenDevice& device, dml::Recording* recording);
  OpenRecording& GetRecording(uint32_t id) {
    if (id < recordings_.size() && recordings_[id].device) return recordings_[id];
    ThrowUnknown("recording", id);
  }
  void ReleaseRecording(uint32_t id);

 private:
  [[noreturn]] static void ThrowUnknown(const char* what, uint32_t id);
  napi_value ValueOf(napi_ref reference) const;

  napi_env env_;
  Promises promises_;
  Buffers buffers_;
  napi_ref pressure_ = nullptr, array_buffer_class_ = nullptr;
  std::vector<std::unique_ptr<OpenDevice>> devices_{1};  // by id; null when closed
  std::vector<OpenProgram> programs_{1};
  std::vector<OpenRecording> recordings_{1};
  std::vector<uint32_t> free_programs_, free_recordings_;
};

}  // namespace dxtensor::addon
