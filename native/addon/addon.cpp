// The module: makes the environment's state and the object of src/native/binding.ts. Converts arguments, calls dml, converts
// the answer; the calls that run for every operation are in hot.cpp.
#include <cstdio>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "backend_calls.h"
#include "cold.h"
#include "convert.h"
#include "environment.h"
#include "errors.h"
#include "freed_memory.h"
#include "hot.h"
#include "js.h"
#include "lapack.h"

namespace dxtensor::addon {

namespace {

js::Object ToObject(napi_env env, const dml::LoadReport& report) {
  js::Object object(env);
  object.Set("loaded", report.loaded);
  object.Set("direct3d", report.direct3d);
  js::Array libraries(env), tried(env);
  for (const auto& library : report.libraries) {
    js::Object item(env);
    item.Set("name", library.name);
    item.Set("path", library.path);
    libraries.Add(item);
  }
  for (const auto& attempt : report.tried) {
    js::Object item(env);
    item.Set("name", attempt.name);
    item.Set("path", attempt.path);
    item.Set("error", attempt.error.empty() ? js::Null(env) : js::New(env, attempt.error));
    tried.Add(item);
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

js::Object ToObject(napi_env env, const dml::Adapter& adapter, size_t index) {
  js::Object object(env);
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

js::Bytes ToBytes(const js::Value& value, const char* what) {
  js::Bytes bytes;
  if (!js::ViewOf(value, &bytes)) Invalid(std::string(what) + ": expected a view of an ArrayBuffer");
  return bytes;
}

dml::Address RangeOf(const Buffer& buffer, uint64_t offset, uint64_t size, const char* what) {
  if (offset > buffer.capacity || size > buffer.capacity - offset)
    Invalid(std::string(what) + ": bytes " + std::to_string(offset) + " to " + std::to_string(offset + size) +
            " lie outside the buffer of " + std::to_string(buffer.size));
  return buffer.address + offset;
}

using Arguments = const js::Arguments&;

napi_value LoadRuntime(Environment&, Arguments in) { return ToObject(in.env(), dml::Load(ToKind(in[0]), ToPaths(in[1]))); }

napi_value ListAdapters(Environment&, Arguments in) {
  js::Array list(in.env());
  const std::vector<dml::Adapter>& adapters = dml::Adapters(ToKind(in[0]));
  for (size_t i = 0; i < adapters.size(); ++i) list.Add(ToObject(in.env(), adapters[i], i));
  return list;
}

dml::Device::Options ToOptions(const js::Value& value) {
  dml::Device::Options options;
  if (!value.IsObject()) return options;
  js::Value limit = value.Get("memoryLimitInBytes"), patience = value.Get("timeoutInMs");
  if (!limit.IsAbsent()) options.limit_in_bytes = ToSize(limit, "memoryLimitInBytes");
  options.guards = value.Get("guards").Truth();
  if (!patience.IsAbsent()) options.patience_ms = ToId(patience, "timeoutInMs");
  return options;
}

napi_value SetDeviceOptions(Environment& environment, Arguments in) {
  // First: its getters may close the device.
  const dml::Device::Options options = ToOptions(in[1]);
  OpenDevice& open = environment.Device(ToId(in[0], "setDeviceOptions: device"));
  open.device->SetOptions(options);
  open.limit_in_bytes = options.limit_in_bytes;
  open.patience_ms = options.patience_ms;
  return js::Undefined(in.env());
}

napi_value OpenDeviceCall(Environment& environment, Arguments in) {
  const dml::Device::Options options = ToOptions(in[2]);
  OpenDevice& open = environment.Open(ToKind(in[0]), ToId(in[1], "openDevice: adapter"), options);
  const dml::Context& context = open.device->context();
  js::Object object(in.env());
  object.Set("id", open.id);
  object.Set("featureLevel", context.feature_level);
  object.Set("dataTypes", context.data_types);
  object.Set("fusesGraphs", context.fuses_graphs);
  object.Set("isUnifiedMemory", context.is_unified_memory);
  object.Set("waveLanes", context.wave_lanes);
  object.Set("runsShaders", context.serialize_root_signature != nullptr);
  object.Set("readsTexels", context.reads_texels);
  // What reading the library's modules has freed.
  ReturnFreedMemory();
  return object;
}

napi_value CloseDevice(Environment& environment, Arguments in) {
  environment.Close(ToId(in[0], "closeDevice: device"));
  return js::Undefined(in.env());
}

napi_value Allocate(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "allocate: device"));
  open.device->CheckAlive();
  auto use = in[3].Truth() ? dml::HeapPool::Use::Program : dml::HeapPool::Use::Tensor;
  return js::New(in.env(), static_cast<double>(environment.buffers().Create(open, ToSize(in[1], "allocate: sizeInBytes"), in[2], use)));
}

napi_value Upload(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "upload: device"));
  open.device->CheckAlive();
  js::Bytes bytes = ToBytes(in[1], "upload");
  Handle handle = environment.buffers().Create(open, bytes.size, in[2]);
  try {
    open.device->Upload(environment.buffers().Get(handle).address, bytes.data, bytes.size);
  } catch (...) {
    environment.buffers().Release(handle);
    throw;
  }
  return js::New(in.env(), static_cast<double>(handle));
}

napi_value Write(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToSize(in[0], "write: handle"));
  js::Bytes bytes = ToBytes(in[2], "write");
  dml::Address to = RangeOf(buffer, ToSize(in[1], "write: offset"), bytes.size, "write");
  buffer.device->device->Upload(to, bytes.data, bytes.size);
  return js::Undefined(in.env());
}

// The new buffer's device may be the same.
napi_value Carry(Environment& environment, Arguments in) {
  Buffer& source = environment.buffers().Get(ToSize(in[0], "carry: handle"));
  const uint64_t size = ToSize(in[2], "carry: sizeInBytes");
  const dml::Address from = RangeOf(source, ToSize(in[1], "carry: offset"), size, "carry");
  dml::Device& sender = *source.device->device;
  OpenDevice& open = environment.Device(ToId(in[3], "carry: device"));
  open.device->CheckAlive();
  Handle handle = environment.buffers().Create(open, size, in[4]);
  try {
    const dml::Address to = environment.buffers().Get(handle).address;
    if (in[5].Truth() && open.device.get() != &sender) open.device->ReceiveLater(sender, from, to, size);
    else open.device->Receive(sender, from, to, size);
  } catch (...) {
    environment.buffers().Release(handle);
    throw;
  }
  return js::New(in.env(), static_cast<double>(handle));
}

napi_value ReadMade(Environment& environment, Arguments in) {
  Buffer& source = environment.buffers().Get(ToSize(in[0], "readMade: handle"));
  js::Bytes bytes = ToBytes(in[2], "readMade");
  const dml::Address from = RangeOf(source, ToSize(in[1], "readMade: offset"), bytes.size, "readMade");
  const dml::Recording* maker = nullptr;
  const uint64_t part = ToSize(in[4], "readMade: part");
  if (const Handle handle = ToSize(in[3], "readMade: recording")) {
    const OpenRecording& open = environment.GetRecording(handle);
    if (open.device != source.device) Invalid("readMade: the recording is on another device");
    if (part >= open.recording->parts()) Invalid("readMade: the recording has fewer parts");
    maker = open.recording;
  }
  source.device->device->ReadMade(from, bytes.data, bytes.size, maker, static_cast<uint32_t>(part));
  return js::Undefined(in.env());
}

napi_value Copy(Environment& environment, Arguments in) {
  Buffer& from = environment.buffers().Get(ToSize(in[0], "copy: from"));
  Buffer& to = environment.buffers().Get(ToSize(in[2], "copy: to"));
  if (from.device != to.device) Invalid("copy: the buffers are on two devices");
  uint64_t size = ToSize(in[4], "copy: sizeInBytes");
  dml::Address source = RangeOf(from, ToSize(in[1], "copy: fromOffset"), size, "copy: from");
  dml::Address target = RangeOf(to, ToSize(in[3], "copy: toOffset"), size, "copy: to");
  if (source != target) from.device->device->Copy(source, target, size);
  return js::Undefined(in.env());
}

}  // namespace

// In large pages where the system has some: to touch it first costs more than to copy. Made by JavaScript's own constructor, since
// N-API's function ends the process when the host has no memory.
NewArrayBuffer NewBytes(Environment& environment, napi_env env, uint64_t size) {
  NewArrayBuffer bytes = {};
  napi_value length = js::New(env, static_cast<double>(size));
  if (napi_new_instance(env, environment.ArrayBufferClass(), 1, &length, &bytes.value) != napi_ok) {
    napi_value error = nullptr;
    napi_get_and_clear_last_exception(env, &error);
    throw dml::Failure(dml::FailureKind::OutOfMemory, "the process has no memory for " + std::to_string(size) + " bytes to read into");
  }
  size_t actual_size = 0;
  js::Check(env, napi_get_arraybuffer_info(env, bytes.value, &bytes.data, &actual_size));
  if (actual_size != size) throw dml::Failure(dml::FailureKind::Internal, "ArrayBuffer was replaced: it makes buffers of another size");
#ifdef __linux__
  constexpr uintptr_t kPage = 2u << 20;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data);
  const uintptr_t first = (begin + kPage - 1) & ~(kPage - 1), last = (begin + size) & ~(kPage - 1);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
  return bytes;
}

namespace {

napi_value Read(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToSize(in[0], "read: handle"));
  uint64_t size = ToSize(in[2], "read: sizeInBytes");
  dml::Address from = RangeOf(buffer, ToSize(in[1], "read: offset"), size, "read");
  buffer.device->device->CheckAlive();
  NewArrayBuffer bytes = NewBytes(environment, in.env(), size);
  Promises::Pending pending = environment.promises().New(bytes.value);
  try {
    buffer.device->device->Read(from, bytes.data, size, pending.settle);
  } catch (const dml::Failure&) {
    environment.promises().TakeBack(pending);
    throw;
  }
  return pending.promise;
}

napi_value ReadSync(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToSize(in[0], "readSync: handle"));
  uint64_t size = ToSize(in[2], "readSync: sizeInBytes");
  dml::Address from = RangeOf(buffer, ToSize(in[1], "readSync: offset"), size, "readSync");
  NewArrayBuffer bytes = NewBytes(environment, in.env(), size);
  buffer.device->device->ReadAndWait(from, bytes.data, size);
  return bytes.value;
}

// Into the caller's memory, which nobody can take away meanwhile: the thread waits.
napi_value ReadInto(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToSize(in[0], "readInto: handle"));
  js::Bytes bytes = ToBytes(in[2], "readInto");
  dml::Address from = RangeOf(buffer, ToSize(in[1], "readInto: offset"), bytes.size, "readInto");
  buffer.device->device->ReadAndWait(from, bytes.data, bytes.size);
  return js::Undefined(in.env());
}

napi_value Lend(Environment& environment, Arguments in) {
  Buffer& buffer = environment.buffers().Get(ToSize(in[0], "lend: handle"));
  dml::HostMemory memory = buffer.device->device->InHostMemory(buffer.address, buffer.size);
  if (!memory.bytes) return js::Null(in.env());
  const auto address = reinterpret_cast<uintptr_t>(memory.bytes);
  environment.Lend(std::move(memory));
  return js::New(in.env(), static_cast<double>(address));
}

napi_value GiveBack(Environment& environment, Arguments in) {
  environment.GiveBack(ToSize(in[0], "giveBack: address"));
  return js::Undefined(in.env());
}

napi_value Sweep(Environment& environment, Arguments in) { return js::New(in.env(), static_cast<double>(environment.buffers().Sweep())); }

napi_value CollectAllGarbage(Environment&, Arguments in) { return js::New(in.env(), CollectGarbage()); }

napi_value Track(Environment& environment, Arguments in) {
  return js::New(in.env(), static_cast<double>(environment.tracked().Add(in[0], ToSize(in[1], "track: sizeInBytes"))));
}

napi_value Untrack(Environment& environment, Arguments in) {
  environment.tracked().Remove(ToSize(in[0], "untrack: handle"));
  return js::Undefined(in.env());
}

napi_value CollectedOwners(Environment& environment, Arguments in) {
  js::Array collected(in.env());
  for (Handle handle : environment.tracked().Collected()) collected.Add(js::New(in.env(), static_cast<double>(handle)));
  return collected;
}

napi_value PreparePipeline(Environment& environment, Arguments in) {
  const uint32_t id = ToId(in[0], "preparePipeline: device");
  dml::ShaderDesc shader = ToContainer(in[1], in[2], in[3]);
  environment.Device(id).device->PreparePipeline(shader);
  return js::Undefined(in.env());
}

// The nodes of all graphs.
size_t NodesOf(const dml::ProgramDesc& desc) {
  size_t count = 0;
  for (const dml::DispatchableDesc& dispatchable : desc.dispatchables)
    if (auto* graph = std::get_if<dml::GraphDesc>(&dispatchable)) count += graph->nodes.size();
  return count;
}

napi_value CreateProgram(Environment& environment, Arguments in) {
  // Programs of so many nodes are worth the milliseconds that the C library takes to look through what it holds.
  constexpr size_t kLarge = 512;
  const uint32_t id = ToId(in[0], "createProgram: device");
  environment.Device(id);
  // Its getters may close the device.
  dml::ProgramDesc desc = ToProgram(in[1]);
  OpenDevice& open = environment.Device(id);
  const bool is_large = NodesOf(desc) >= kLarge;
  // What the recording has freed, before more is needed; then what was needed.
  if (is_large) ReturnFreedMemory();
  dml::Program* program = open.device->CreateProgram(std::move(desc));
  napi_value handle = js::New(in.env(), static_cast<double>(environment.AddProgram(open, program)));
  if (is_large) ReturnFreedMemory();
  return handle;
}

napi_value ReleaseProgram(Environment& environment, Arguments in) {
  environment.ReleaseProgram(ToSize(in[0], "releaseProgram: program"));
  return js::Undefined(in.env());
}

// [{name, nodes, seconds}]
js::Array KernelList(napi_env env, const std::vector<dml::KernelTime>& kernels) {
  js::Array list(env);
  for (const dml::KernelTime& kernel : kernels) {
    js::Object object(env);
    object.Set("name", kernel.name);
    js::Array nodes(env);
    for (uint32_t node : kernel.nodes) nodes.Add(js::New(env, static_cast<double>(node)));
    object.Set("nodes", nodes);
    object.Set("seconds", kernel.seconds);
    list.Add(object);
  }
  return list;
}

napi_value ProgramInfo(Environment& environment, Arguments in) {
  const dml::Program& program = *environment.GetProgram(ToSize(in[0], "programInfo: program")).program;
  js::Object object(in.env());
  object.Set("descriptors", program.descriptors);
  object.Set("temporaryInBytes", static_cast<double>(program.temporary));
  object.Set("persistentInBytes", static_cast<double>(program.persistent));
  object.Set("operators", static_cast<double>(program.operators.size()));
  js::Array kernels(in.env());
  for (const dml::CompiledOperator& op : program.operators) kernels.Add(KernelList(in.env(), op.kernels));
  object.Set("kernels", kernels);
  return object;
}

napi_value ReleaseRecording(Environment& environment, Arguments in) {
  environment.ReleaseRecording(ToSize(in[0], "releaseRecording: recording"));
  return js::Undefined(in.env());
}

napi_value Profile(Environment& environment, Arguments in) {
  OpenRecording& open = environment.GetRecording(ToSize(in[0], "profile: recording"));
  const dml::ProfileTimes times = open.device->device->Profile(*open.recording);
  double* numbers = nullptr;
  js::Value seconds = js::NewFloats(in.env(), times.dispatches.size(), &numbers);
  std::copy(times.dispatches.begin(), times.dispatches.end(), numbers);
  js::Array kernels(in.env());
  for (const auto& of_operator : times.kernels) kernels.Add(KernelList(in.env(), of_operator));
  js::Object object(in.env());
  object.Set("seconds", seconds);
  object.Set("kernels", kernels);
  return object;
}

napi_value StartTiming(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "startTiming: device")).device->StartTiming();
  return js::Undefined(in.env());
}

napi_value StopTiming(Environment& environment, Arguments in) {
  const dml::TimingResult result = environment.Device(ToId(in[0], "stopTiming: device")).device->StopTiming();
  double* row = nullptr;
  js::Value dispatches = js::NewFloats(in.env(), result.dispatches.size() * 6, &row);
  for (const dml::DispatchTime& time : result.dispatches)
    for (double value : {static_cast<double>(time.work), static_cast<double>(time.dispatch), time.queue_begin, time.queue_end,
                         time.device_begin, time.device_end})
      *row++ = value;
  js::Array programs(in.env());
  for (const dml::ProgramKernels& program : result.programs) {
    js::Array kernels(in.env());
    for (const auto& of_operator : program.kernels) kernels.Add(KernelList(in.env(), of_operator));
    js::Object object(in.env());
    object.Set("work", static_cast<double>(program.work));
    object.Set("kernels", kernels);
    programs.Add(object);
  }
  js::Object object(in.env());
  object.Set("dispatches", dispatches);
  object.Set("programs", programs);
  return object;
}

napi_value Flush(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "flush: device")).device->Flush();
  return js::Undefined(in.env());
}

napi_value Synchronize(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "synchronize: device"));
  open.device->CheckAlive();
  Promises::Pending pending = environment.promises().New(nullptr);
  try {
    open.device->Synchronize(pending.settle);
  } catch (const dml::Failure& failure) {
    pending.settle(&failure);
  }
  return pending.promise;
}

napi_value SynchronizeSync(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "synchronizeSync: device")).device->Wait();
  return js::Undefined(in.env());
}

napi_value DoneWithin(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "doneWithin: device"));
  const uint32_t milliseconds = ToId(in[1], "doneWithin: milliseconds");
  return js::New(in.env(), open.device->DoneWithin(std::chrono::milliseconds(milliseconds)));
}

napi_value ReadCounters(Environment& environment, Arguments in) {
  dml::Counters& counters = environment.Device(ToId(in[0], "counters: device")).device->counters();
  js::Object object(in.env());
  auto set = [&](const char* name, const dml::Counter& counter) { object.Set(name, static_cast<double>(counter.Read())); };
  set("dispatchesRecorded", counters.dispatches_recorded);
  set("tablesBound", counters.tables_bound);
  set("barriersRecorded", counters.barriers_recorded);
  set("submissions", counters.submissions);
  set("listsSubmitted", counters.lists_submitted);
  set("replays", counters.replays);
  set("replayCopies", counters.replay_copies);
  set("copies", counters.copies);
  set("uploads", counters.uploads);
  set("readbacks", counters.readbacks);
  set("operatorsCompiled", counters.operators_compiled);
  set("graphsCompiled", counters.graphs_compiled);
  set("shadersCompiled", counters.shaders_compiled);
  return object;
}

napi_value Memory(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "memory: device"));
  js::Object object(in.env());
  object.Set("liveInBytes", static_cast<double>(open.live_bytes));
  object.Set("liveBuffers", static_cast<double>(open.live_buffers));
  object.Set("peakInBytes", static_cast<double>(open.peak_bytes));
  object.Set("pooledInBytes", static_cast<double>(open.device->pool().pooled_in_bytes()));
  object.Set("idleInBytes", static_cast<double>(open.device->pool().idle_in_bytes()));
  object.Set("stagingInBytes", static_cast<double>(open.device->staging_in_bytes()));
  object.Set("programInBytes", static_cast<double>(open.device->program_in_bytes()));
  object.Set("limitInBytes", static_cast<double>(open.device->pool().limit_in_bytes()));
  return object;
}

napi_value Settle(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "settle: device"));
  return js::New(in.env(), static_cast<double>(open.device->Settle()));
}

napi_value Hold(Environment& environment, Arguments in) {
  environment.Device(ToId(in[0], "hold: device")).device->Hold(in[1].Truth());
  return js::Undefined(in.env());
}

napi_value InjectFault(Environment& environment, Arguments in) {
  OpenDevice& open = environment.Device(ToId(in[0], "injectFault: device"));
  std::string fault = in[1].IsString() ? in[1].Text() : "";
  if (fault == "removeDevice") open.device->RemoveForTest();
  else if (fault == "hang") open.device->HangForTest();
  else if (fault == "outOfMemory" && in[2].IsAbsent()) open.device->FailNextAllocationForTest();
  else if (fault == "outOfMemory")
    return js::New(in.env(), static_cast<double>(open.device->FailAllocationsForTest(ToSize(in[2], "injectFault: succeed"),
                                                                                     ToSize(in[3], "injectFault: fail"))));
  else Invalid("injectFault: unknown fault '" + fault + "'");
  return js::Undefined(in.env());
}

std::string ToText(const js::Value& value, const char* what) {
  if (!value.IsString()) Invalid(std::string(what) + ": expected text");
  return value.Text();
}

napi_value LapackOpen(Environment&, Arguments in) {
  std::string error = OpenLapack(ToText(in[0], "path"));
  return error.empty() ? js::Null(in.env()) : js::New(in.env(), error);
}

napi_value LapackHas(Environment&, Arguments in) { return js::New(in.env(), HasLapack(ToText(in[0], "path"), ToText(in[1], "routine"))); }

napi_value LapackCall(Environment&, Arguments in) {
  CallLapack(ToText(in[0], "path"), ToText(in[1], "routine"), in[2]);
  return js::Undefined(in.env());
}

void Define(napi_env env, napi_value exports, Environment* environment) {
  auto set = [&](const char* name, napi_value value) { js::Check(env, napi_set_named_property(env, exports, name, value)); };
  auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    js::Check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, environment, &function));
    set(name, function);
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
  add("setDeviceOptions", Cold<SetDeviceOptions>);
  add("allocate", Cold<Allocate>);
  add("upload", Cold<Upload>);
  add("carry", Cold<Carry>);
  add("write", Cold<Write>);
  add("copy", Cold<Copy>);
  add("exchange", Exchange);
  add("readMade", Cold<ReadMade>);
  add("read", Cold<Read>);
  add("readSync", Cold<ReadSync>);
  add("readInto", Cold<ReadInto>);
  add("lend", Cold<Lend>);
  add("giveBack", Cold<GiveBack>);
  add("sweep", Cold<Sweep>);
  add("collectGarbage", Cold<CollectAllGarbage>);
  add("settle", Cold<Settle>);
  add("track", Cold<Track>);
  add("untrack", Cold<Untrack>);
  add("collectedOwners", Cold<CollectedOwners>);
  add("preparePipeline", Cold<PreparePipeline>);
  add("createProgram", Cold<CreateProgram>);
  add("releaseProgram", Cold<ReleaseProgram>);
  add("programInfo", Cold<ProgramInfo>);
  add("profile", Cold<Profile>);
  add("startTiming", Cold<StartTiming>);
  add("stopTiming", Cold<StopTiming>);
  add("releaseRecording", Cold<ReleaseRecording>);
  add("flush", Cold<Flush>);
  add("synchronize", Cold<Synchronize>);
  add("synchronizeSync", Cold<SynchronizeSync>);
  add("doneWithin", Cold<DoneWithin>);
  add("counters", Cold<ReadCounters>);
  add("memory", Cold<Memory>);
  add("hold", Cold<Hold>);
  add("injectFault", Cold<InjectFault>);
  add("lapackOpen", Cold<LapackOpen>);
  add("lapackHas", Cold<LapackHas>);
  add("lapackCall", Cold<LapackCall>);
  for (const NamedCallback& call : BackendCalls()) add(call.name, call.callback);
  set("version", js::New(env, std::string(DXTENSOR_VERSION)));
  set("pressure", environment->Pressure());
}

}  // namespace

napi_value Initialise(napi_env env, napi_value exports) {
  return Guarded(env, [&] {
    auto environment = std::make_unique<Environment>(env);
    Define(env, exports, environment.get());
    // Added after the environment's thread-safe function, so that it runs before that is torn down.
    js::Check(env, napi_add_env_cleanup_hook(
                       env, [](void* data) { delete static_cast<Environment*>(data); }, environment.get()));
    static_cast<void>(environment.release());
    return exports;
  });
}

}  // namespace dxtensor::addon

NAPI_MODULE_INIT() { return dxtensor::addon::Initialise(env, exports); }
