// The module: makes the environment's state and the object of src/native/binding.ts. Converts arguments, calls dml, converts
// the answer; the calls that run for every operation are in hot.cpp.
#include <napi.h>

#include <cstdio>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "convert.h"
#include "environment.h"
#include "errors.h"
#include "hot.h"

namespace dxtensor::addon {

namespace {

Napi::Object ToObject(Napi::Env env, const dml::LoadReport& report) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("loaded", report.loaded);
  object.Set("direct3d", report.direct3d);
  Napi::Array libraries = Napi::Array::New(env), tried = Napi::Array::New(env);
  for (const auto& library : report.libraries) {
    Napi::Object item = Napi::Object::New(env);
    item.Set("name", library.name);
    item.Set("path", library.path);
    libraries.Set(libraries.Length(), item);
  }
  for (const auto& attempt : report.tried) {
    Napi::Object item = Napi::Object::New(env);
    item.Set("name", attempt.name);
    item.Set("path", attempt.path);
    item.Set("error", attempt.error.empty() ? env.Null() : Napi::Value(Napi::String::New(env, attempt.error)));
    tried.Set(tried.Length(), item);
  }
  object.Set("libraries", libraries);
  object.Set("tried", tried);
  return object;
}

std::string LuidText(uint64_t luid) {
  char text[24];
  std::snprintf(text, sizeof text, "%08x:%08x", static_cast<unsigned>(luid >> 32), static_cast<unsigned>(luid));
  return text;
}

Napi::Object ToObject(Napi::Env env, const dml::Adapter& adapter, size_t index) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("index", static_cast<double>(index));
  object.Set("name", adapter.name);
  object.Set("vendorId", adapter.vendor_id);
  object.Set("deviceId", adapter.device_id);
  object.Set("luid", LuidText(adapter.luid));
  object.Set("driverVersion", adapter.driver_version);
  object.Set("isHardware", adapter.is_hardware);
  object.Set("isIntegrated", adapter.is_integrated);
  object.Set("isSimulated", adapter.is_simulated);
  object.Set("dedicatedMemoryInBytes", static_cast<double>(adapter.dedicated_memory));
  object.Set("sharedMemoryInBytes", static_cast<double>(adapter.shared_memory));
  return object;
}

struct Bytes {
  const uint8_t* data;
  size_t size;
};

// Also over a SharedArrayBuffer, which Napi::ArrayBuffer does not know.
Bytes ToBytes(const Napi::Value& value, const char* what) {
  void* data = nullptr;
  if (value.IsTypedArray()) {
    size_t size = value.As<Napi::TypedArray>().ByteLength();
    napi_get_typedarray_info(value.Env(), value, nullptr, nullptr, &data, nullptr, nullptr);
    return {static_cast<const uint8_t*>(data), size};
  }
  if (value.IsDataView()) {
    size_t size = 0;
    napi_get_dataview_info(value.Env(), value, &size, &data, nullptr, nullptr);
    return {static_cast<const uint8_t*>(data), size};
  }
  Invalid(std::string(what) + ": expected a view of an ArrayBuffer");
}

dml::Address RangeOf(const Buffer& buffer, uint64_t offset, uint64_t size, const char* what) {
  if (offset > buffer.capacity || size > buffer.capacity - offset)
    Invalid(std::string(what) + ": bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) +
            " lie outside the buffer of " + std::to_string(buffer.size));
  return buffer.address + offset;
}

using Arguments = const Napi::CallbackInfo&;

Napi::Value LoadRuntime(Environment&, Arguments in) { return ToObject(in.Env(), dml::Load(ToKind(in[0]), ToPaths(in[1]))); }

Napi::Value ListAdapters(Environment&, Arguments in) {
  Napi::Array list = Napi::Array::New(in.Env());
  const std::vector<dml::Adapter>& adapters = dml::Adapters(ToKind(in[0]));
  for (size_t i = 0; i < adapters.size(); ++i) list.Set(static_cast<uint32_t>(i), ToObject(in.Env(), adapters[i], i));
  return list;
}

Napi::Value OpenDeviceCall(Environment& environment, Arguments in) {
  uint64_t limit = 0;
  if (in[2].IsObject()) {
    Napi::Value value = in[2].As<Napi::Object>().Get("memoryLimitInBytes");
    if (!value.IsUndefined() && !value.IsNull()) limit = ToSize(value, "openDevice: memoryLimitInBytes");
  }
  OpenDevice& open = environment.Open(ToKind(in[0]), ToId(in[1], "openDevice: adapter"), limit);
  const dml::Context& context = open.device->context();
  Napi::Object object = Napi::Object::New(in.Env());
  object.Set("id", open.id);
  object.Set("featureLevel", context.feature_level);
  object.Set("dataTypes", context.data_types);
  object.Set("fusesGraphs", context.fuses_graphs);
  object.Set("isUnifiedMemory", context.is_unified_memory);
  object.Set("waveLanes", context.wave_lanes);
  return object;
}

Napi::Value CloseDevice(Environment& environment, Arguments in) {
  environment.Close(ToId(in[0], "closeDevice: device"));
  return in.Env().Undefined();
}

Napi::Value Allocate(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "allocate: device"));
  open.device->CheckAlive();
  auto use = in[3].ToBoolean() ? dml::HeapPool::Use::Program : dml::HeapPool::Use::Tensor;
  return Napi::Number::New(in.Env(), environment.buffers().Create(open, ToSize(in[1], "allocate: sizeInBytes"), in[2], use));
}

Napi::Value Upload(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "upload: device"));
  open.device->CheckAlive();
  Bytes bytes = ToBytes(in[1], "upload");
  uint32_t handle = environment.buffers().Create(open, bytes.size, in[2]);
  try {
    open.device->Upload(environment.buffers().Get(handle).address, bytes.data, bytes.size);
  } catch (...) {
    environment.buffers().Release(handle);
    throw;
  }
  return Napi::Number::New(in.Env(), handle);
}

Napi::Value Write(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToId(in[0], "write: handle"));
  Bytes bytes = ToBytes(in[2], "write");
  dml::Address to = RangeOf(buffer, ToSize(in[1], "write: offset"), bytes.size, "write");
  buffer.device->device->Upload(to, bytes.data, bytes.size);
  return in.Env().Undefined();
}

Napi::Value Copy(Environment& environment, Arguments in) {
  Buffer& from = environment.buffers().Get(ToId(in[0], "copy: from"));
  Buffer& to = environment.buffers().Get(ToId(in[2], "copy: to"));
  if (from.device != to.device) Invalid("copy: the buffers are on two devices");
  uint64_t size = ToSize(in[4], "copy: sizeInBytes");
  dml::Address source = RangeOf(from, ToSize(in[1], "copy: fromOffset"), size, "copy: from");
  dml::Address target = RangeOf(to, ToSize(in[3], "copy: toOffset"), size, "copy: to");
  if (source != target) from.device->device->Copy(source, target, size);
  return in.Env().Undefined();
}

// Fresh memory for bytes that are read, in large pages where the system has some: to touch it first costs more than to copy.
Napi::ArrayBuffer NewBytes(Napi::Env env, uint64_t size) {
  Napi::ArrayBuffer bytes = Napi::ArrayBuffer::New(env, size);
#ifdef __linux__
  constexpr uintptr_t kPage = 2u << 20;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.Data());
  const uintptr_t first = (begin + kPage - 1) & ~(kPage - 1), last = (begin + size) & ~(kPage - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
  return bytes;
}

Napi::Value Read(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToId(in[0], "read: handle"));
  uint64_t size = ToSize(in[2], "read: sizeInBytes");
  dml::Address from = RangeOf(buffer, ToSize(in[1], "read: offset"), size, "read");
  buffer.device->device->CheckAlive();
  Napi::ArrayBuffer bytes = NewBytes(in.Env(), size);
  Promises::Pending pending = environment.promises().New(bytes);
  try {
    buffer.device->device->Read(from, bytes.Data(), size, pending.settle);
  } catch (const dml::Failure& failure) {
    pending.settle(&failure);
  }
  return Napi::Value(in.Env(), pending.promise);
}

Napi::Value ReadSync(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToId(in[0], "readSync: handle"));
  uint64_t size = ToSize(in[2], "readSync: sizeInBytes");
  dml::Address from = RangeOf(buffer, ToSize(in[1], "readSync: offset"), size, "readSync");
  Napi::ArrayBuffer bytes = NewBytes(in.Env(), size);
  buffer.device->device->ReadAndWait(from, bytes.Data(), size);
  return bytes;
}

Napi::Value Sweep(Environment& environment, Arguments in) { return Napi::Number::New(in.Env(), environment.buffers().Sweep()); }

Napi::Value CreateProgram(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "createProgram: device"));
  dml::Program* program = open.device->CreateProgram(ToProgram(in[1]));
  return Napi::Number::New(in.Env(), environment.AddProgram(open, program));
}

Napi::Value ReleaseProgram(Environment& environment, Arguments in) {
  environment.ReleaseProgram(ToId(in[0], "releaseProgram: program"));
  return in.Env().Undefined();
}

Napi::Value ProgramInfo(Environment& environment, Arguments in) {
  const dml::Program& program = *environment.GetProgram(ToId(in[0], "programInfo: program")).program;
  Napi::Object object = Napi::Object::New(in.Env());
  object.Set("descriptors", program.descriptors);
  object.Set("temporaryInBytes", static_cast<double>(program.temporary));
  object.Set("persistentInBytes", static_cast<double>(program.persistent));
  object.Set("operators", static_cast<double>(program.operators.size()));
  return object;
}

Napi::Value ReleaseRecording(Environment& environment, Arguments in) {
  environment.ReleaseRecording(ToId(in[0], "releaseRecording: recording"));
  return in.Env().Undefined();
}

Napi::Value Profile(Environment& environment, Arguments in) {
  OpenRecording& open = environment.GetRecording(ToId(in[0], "profile: recording"));
  std::vector<double> seconds = open.device->device->Profile(*open.recording);
  Napi::Float64Array array = Napi::Float64Array::New(in.Env(), seconds.size());
  std::copy(seconds.begin(), seconds.end(), array.Data());
  return array;
}

Napi::Value Flush(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "flush: device")).device->Flush();
  return in.Env().Undefined();
}

Napi::Value Synchronize(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "synchronize: device"));
  open.device->CheckAlive();
  Promises::Pending pending = environment.promises().New(nullptr);
  try {
    open.device->Synchronize(pending.settle);
  } catch (const dml::Failure& failure) {
    pending.settle(&failure);
  }
  return Napi::Value(in.Env(), pending.promise);
}

Napi::Value SynchronizeSync(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "synchronizeSync: device")).device->Wait();
  return in.Env().Undefined();
}

Napi::Value ReadCounters(Environment& environment, Arguments in) {
  dml::Counters& counters = environment.Device(ToId(in[0], "counters: device")).device->counters();
  Napi::Object object = Napi::Object::New(in.Env());
  auto set = [&](const char* name, const dml::Counter& counter) { object.Set(name, static_cast<double>(counter.Read())); };
  set("dispatchesRecorded", counters.dispatches_recorded);
  set("tablesBound", counters.tables_bound);
  set("barriersRecorded", counters.barriers_recorded);
  set("listsSubmitted", counters.lists_submitted);
  set("replays", counters.replays);
  set("replayCopies", counters.replay_copies);
  set("copies", counters.copies);
  set("uploads", counters.uploads);
  set("readbacks", counters.readbacks);
  set("operatorsCompiled", counters.operators_compiled);
  set("graphsCompiled", counters.graphs_compiled);
  return object;
}

Napi::Value Memory(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "memory: device"));
  Napi::Object object = Napi::Object::New(in.Env());
  object.Set("liveInBytes", static_cast<double>(open.live_bytes));
  object.Set("liveBuffers", static_cast<double>(open.live_buffers));
  object.Set("peakInBytes", static_cast<double>(open.peak_bytes));
  object.Set("pooledInBytes", static_cast<double>(open.device->pool().pooled_in_bytes()));
  object.Set("programInBytes", static_cast<double>(open.device->program_in_bytes()));
  object.Set("limitInBytes", static_cast<double>(open.device->pool().limit_in_bytes()));
  return object;
}

Napi::Value Hold(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "hold: device")).device->Hold(in[1].ToBoolean());
  return in.Env().Undefined();
}

Napi::Value InjectFault(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "injectFault: device"));
  std::string fault = in[1].ToString();
  if (fault == "removeDevice") open.device->RemoveForTest();
  else if (fault == "outOfMemory") open.device->FailNextAllocationForTest();
  else Invalid("injectFault: unknown fault '" + fault + "'");
  return in.Env().Undefined();
}

template <Napi::Value (*F)(Environment&, Arguments)>
napi_value Cold(napi_env env, napi_callback_info info) {
  return Guarded(env, [&]() -> napi_value {
    Napi::CallbackInfo arguments(env, info);
    return F(*static_cast<Environment*>(arguments.Data()), arguments);
  });
}

void Define(Napi::Env env, Napi::Object exports, Environment* environment) {
  auto add = [&](const char* name, napi_callback callback) {
    napi_value function;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, environment, &function);
    exports.Set(name, Napi::Value(env, function));
  };
  add("run", RunProgram);
  add("execute", ExecuteProgram);
  add("record", RecordProgram);
  add("replay", ReplayRecording);
  add("release", ReleaseBuffer);
  add("load", Cold<LoadRuntime>);
  add("adapters", Cold<ListAdapters>);
  add("openDevice", Cold<OpenDeviceCall>);
  add("closeDevice", Cold<CloseDevice>);
  add("allocate", Cold<Allocate>);
  add("upload", Cold<Upload>);
  add("write", Cold<Write>);
  add("copy", Cold<Copy>);
  add("read", Cold<Read>);
  add("readSync", Cold<ReadSync>);
  add("sweep", Cold<Sweep>);
  add("createProgram", Cold<CreateProgram>);
  add("releaseProgram", Cold<ReleaseProgram>);
  add("programInfo", Cold<ProgramInfo>);
  add("profile", Cold<Profile>);
  add("releaseRecording", Cold<ReleaseRecording>);
  add("flush", Cold<Flush>);
  add("synchronize", Cold<Synchronize>);
  add("synchronizeSync", Cold<SynchronizeSync>);
  add("counters", Cold<ReadCounters>);
  add("memory", Cold<Memory>);
  add("hold", Cold<Hold>);
  add("injectFault", Cold<InjectFault>);
  exports.Set("version", DXTENSOR_VERSION);
  exports.Set("pressure", environment->Pressure());
}

}  // namespace

Napi::Object Initialise(Napi::Env env, Napi::Object exports) {
  auto* environment = new Environment(env);
  // Added after the environment's thread-safe function, so that it runs before that is torn down.
  napi_add_env_cleanup_hook(
      env, [](void* data) { delete static_cast<Environment*>(data); }, environment);
  Define(env, exports, environment);
  return exports;
}

}  // namespace dxtensor::addon

static Napi::Object Init(Napi::Env env, Napi::Object exports) { return dxtensor::addon::Initialise(env, exports); }

NODE_API_MODULE(dxtensor, Init)
