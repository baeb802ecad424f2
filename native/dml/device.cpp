#include "device.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>

#include "../abi/software_control.h"
#include "budget.h"
#include "device_interfaces.h"
#include "failure.h"
#include "profiler.h"

namespace dxtensor::dml {

namespace {

constexpr uint64_t kCopyStaging = 4ull << 20;
constexpr uint64_t kUnknownMemory = 1ull << 40;

constexpr int kOpenTries = 20, kDepartureMs = 100;

std::mutex g_open_mutex;
std::condition_variable& g_departed = *new std::condition_variable;  // never destroyed, as g_open
uint64_t g_departures = 0;
std::unordered_set<Device*>* g_open = nullptr;  // never destroyed: used while the process ends

class CallCompletion : public Completion {
 public:
  explicit CallCompletion(std::function<void(const Failure*)> done) : done_(std::move(done)) {}
  void Done(const Failure* failure) override { done_(failure); }

 private:
  std::function<void(const Failure*)> done_;
};

// What a device that did not answer in time had: kept for it until it does, or is removed.
struct Lost {
  std::unique_ptr<Context> context;
  std::unique_ptr<HeapPool> pool;
  std::unique_ptr<DescriptorHeaps> heaps;
  std::unique_ptr<StagingPool> uploads, readbacks;
  ComPtr<ID3D12Resource> copy_staging;
  std::unique_ptr<Queue> queue;
  std::unique_ptr<ListRecorder> recorder;
  std::unique_ptr<ShaderCache> shaders;
  std::unordered_set<Program*> programs;
  std::unordered_set<Recording*> recordings;

  bool IsLeft() const { return queue->IsLeft() || FAILED(context->RemovedReason()); }
  void Destroy() {
    for (Recording* recording : recordings) delete recording;
    for (Program* program : programs) delete program;
    queue.reset();
  }
};

std::vector<Lost>& TheLost() {
  static auto* lost = new std::vector<Lost>;  // under g_open_mutex
  return *lost;
}

// Under g_open_mutex.
void DestroyLost() {
  std::vector<Lost>& all = TheLost();
  for (size_t i = 0; i < all.size();) {
    if (!all[i].IsLeft()) {
      ++i;
      continue;
    }
    all[i].Destroy();
    all.erase(all.begin() + static_cast<ptrdiff_t>(i));
  }
}

}  // namespace

void QuiesceAllDevices() {
  std::lock_guard<std::mutex> lock(g_open_mutex);
  if (!g_open) return;
  auto end = Timeline::Clock::now() + std::chrono::milliseconds(Device::kExitMs);
  for (Device* device : *g_open) device->GiveUpAt(end);
  for (Device* device : *g_open) device->Quiesce();
}

std::unique_ptr<Device> Device::Open(RuntimeKind kind, uint32_t index, const Options& options) {
  const Runtime* runtime = LoadedRuntime(kind);
  if (!runtime) throw Failure(FailureKind::Load, "openDevice: the runtime is not loaded");
  const std::vector<Adapter>& adapters = Adapters(kind);
  if (index >= adapters.size())
    throw Failure(FailureKind::Invalid,
                  "openDevice: adapter " + std::to_string(index) + " is not there; the runtime has " + std::to_string(adapters.size()));
  const Adapter& adapter = adapters[index];
  {
    std::lock_guard<std::mutex> lock(g_open_mutex);
    DestroyLost();
  }
  // A device that is being opened or closed by another thread holds the removed one as well, for a while.
  for (int tries = 0;; ++tries) {
    try {
      return std::unique_ptr<Device>(new Device(*runtime, adapter, options));
    } catch (const Failure& failure) {
      if (failure.kind() != FailureKind::Removed || tries == kOpenTries) throw;
    }
    std::unique_lock<std::mutex> lock(g_open_mutex);
    DestroyLost();
    if (g_open)
      for (Device* other : *g_open)
        if (other->IsRemovedOf(kind, adapter)) other->LetGo();
    if (tries)
      g_departed.wait_for(lock, std::chrono::milliseconds(kDepartureMs), [before = g_departures] { return g_departures != before; });
  }
}

Device::Departure::~Departure() {
  std::lock_guard<std::mutex> lock(g_open_mutex);
  ++g_departures;
  g_departed.notify_all();
}

Device::Device(const Runtime& runtime, const Adapter& adapter, const Options& options)
    : kind_(runtime.kind),
      luid_(adapter.luid),
      adapter_(adapter),
      patience_ms_(options.patience_ms),
      look_(options.look),
      context_(std::make_unique<Context>(runtime, adapter)) {
  pool_ = std::make_unique<HeapPool>(*context_, gate_, faults_, 0, [this] {
    if (queue_->held()) return false;
    queue_->Wait();
    return true;
  });
  SetMemoryLimit(options.limit_in_bytes);
  heaps_ = std::make_unique<DescriptorHeaps>(*context_);
  auto completed = [this] { return queue_->CompletedTask(); };
  auto free_memory = [this] { pool_->Trim(); };
  uploads_ = std::make_unique<StagingPool>(*context_, D3D12_HEAP_TYPE_UPLOAD, faults_, completed, free_memory);
  readbacks_ = std::make_unique<StagingPool>(*context_, D3D12_HEAP_TYPE_READBACK, faults_, completed, free_memory);
  copy_staging_ = context_->CreateBuffer(D3D12_HEAP_TYPE_DEFAULT, kCopyStaging);
  queue_ = std::make_unique<Queue>(*context_, *pool_, *heaps_, counters_, copy_staging_.get(), kCopyStaging, patience_ms_, look_);
  recorder_ = std::make_unique<ListRecorder>(*context_, *pool_, copy_staging_.get(), kCopyStaging);
  shaders_ = std::make_unique<ShaderCache>(*context_, counters_);
  if (options.guards) SetGuards();
  std::lock_guard<std::mutex> lock(g_open_mutex);
  if (!g_open) g_open = new std::unordered_set<Device*>();
  g_open->insert(this);
}

void Device::SetGuards() {
  guards_ = std::make_shared<Guards>([this](Address to, const void* bytes, uint64_t size) { Upload(to, bytes, size); },
                                     [this](Address from, void* to, uint64_t size, std::function<void(const Failure*)> done) {
                                       ReadGuard(from, to, size, std::move(done));
                                     });
  pool_->SetGuards(
      Guards::kBytes, [this](uint32_t block, uint64_t size) { guards_->Allocated(pool_->AddressOf(block), size, pool_->SizeOf(block)); },
      [this](uint32_t block) { guards_->Freed(pool_->AddressOf(block)); });
}

void Device::CheckGuards() const {
  if (std::optional<Failure> found = guards_->Found()) throw Failure(*found);
}

std::function<void(const Failure*)> Device::WithGuards(std::function<void(const Failure*)> done) {
  if (!guards_) return done;
  return [guards = guards_, done = std::move(done)](const Failure* failure) {
    const std::optional<Failure> found = guards->Found();
    done(failure || !found ? failure : &*found);
  };
}

void Device::SetMemoryLimit(uint64_t bytes) {
  // Who sets a limit means it, whatever the driver says.
  if (bytes) pool_->SetBudget({});
  else pool_->SetBudget([this] { return MemoryLeft(adapter_); });
  pool_->SetLimit(bytes ? bytes : context_->memory_in_bytes ? context_->memory_in_bytes : kUnknownMemory);
}

void Device::SetOptions(const Options& options) {
  patience_ms_ = options.patience_ms;
  queue_->SetPatience(options.patience_ms);
  SetMemoryLimit(options.limit_in_bytes);
}

bool Device::IsRemovedOf(RuntimeKind kind, const Adapter& adapter) const {
  return kind_ == kind && luid_ == adapter.luid && FAILED(context_->RemovedReason());
}

void Device::LetGo() {
  // The threads first: who is inside the gate may wait for them.
  Failure why = context_->Removal("");
  queue_->Abort(why);
  gate_.Close(why, [this] {
    queue_->LetGo();
    timing_.reset();
    for (Recording* recording : recordings_) recording->LetGo();
    for (Program* program : programs_) {
      program->bound.reset();
      for (CompiledOperator& op : program->operators) {
        op.object.Reset();
        op.shader.reset();
      }
    }
    for (Expected& expected : expected_)
      if (expected.work) expected.work->relay->Abandon();
    shaders_->LetGo();
    recorder_->LetGo();
    copy_staging_.Reset();
    uploads_->LetGo();
    readbacks_->LetGo();
    heaps_->LetGo();
    pool_->LetGo();
    context_->LetGo();
  });
}

Device::~Device() {
  ForgetExpected();
  queue_->GiveUpAt(Timeline::Clock::now() + std::chrono::milliseconds(kExitMs));
  bool finished = queue_->Stop(true);
  {
    std::lock_guard<std::mutex> lock(g_open_mutex);
    g_open->erase(this);
  }
  // Before the programs that it knows; what the device still writes to stays.
  if (finished) timing_.reset();
  else static_cast<void>(timing_.release());
  if (!finished) {
    // The device still works on these: they are kept rather than pulled away from it.
    std::lock_guard<std::mutex> lock(g_open_mutex);
    TheLost().push_back({std::move(context_), std::move(pool_), std::move(heaps_), std::move(uploads_), std::move(readbacks_),
                         std::move(copy_staging_), std::move(queue_), std::move(recorder_), std::move(shaders_), std::move(programs_),
                         std::move(recordings_)});
    return;
  }
  for (Recording* recording : recordings_) delete recording;
  for (Program* program : programs_) delete program;
  queue_.reset();
}

void Device::Finish() {
  queue_->GiveUpAt(Timeline::Clock::now() + std::chrono::milliseconds(kFinishMs));
  try {
    if (!queue_->failed()) Wait();
  } catch (const Failure&) {
    // It has been waited for.
    queue_->GiveUpAt(Timeline::Clock::now());
    throw;
  }
  queue_->Stop(false);
}

void Device::Wait() {
  Gate::Entry entry(gate_);
  queue_->Wait();
  if (!guards_) return;
  guards_->Settle();
  CheckGuards();
}

bool Device::DoneWithin(std::chrono::milliseconds time) {
  Gate::Entry entry(gate_);
  return queue_->DoneWithin(time);
}

void Device::PreparePipeline(const ShaderDesc& desc) {
  try {
    WithInterfaces([&] { shaders_->Begin(desc); });
  } catch (const Failure&) {
    // A device that is removed, or a host without memory: CreateProgram tells of it.
  }
}

Program* Device::CreateProgram(ProgramDesc desc) {
  return WithInterfaces([&]() -> Program* {
    CheckAlive();
    std::unique_ptr<Program> program = PlanProgram(desc);
    // A shader is bound to as many buffers as its steps bind, which PlanProgram found to be equally many.
    std::vector<uint32_t> buffers(desc.dispatchables.size(), 0);
    for (const DispatchStep& step : program->dispatches) buffers[step.op] = static_cast<uint32_t>(step.inputs.size() + step.outputs.size());
    bool initialises = false;
    PrepareShaders(*context_, *shaders_, desc);
    for (auto& dispatchable : desc.dispatchables) {
      if (auto* shader = std::get_if<ShaderDesc>(&dispatchable)) {
        program->operators.push_back(CompileShader(*context_, *shaders_, *shader, buffers[program->operators.size()]));
        continue;
      }
      initialises = true;
      if (auto* op = std::get_if<schema::OperatorDesc>(&dispatchable)) {
        program->operators.push_back(CompileOperator(*context_, *op));
        counters_.operators_compiled.AddAlone();
      } else {
        program->operators.push_back(CompileGraph(*context_, std::move(std::get<GraphDesc>(dispatchable))));
        counters_.graphs_compiled.AddAlone();
      }
    }
    AssignTemporaryOffsets(*program);
    if (guards_) program->gaps = Guards::GapsOf(*program);
    if (initialises) InitialiseProgram(*program);
    program_in_bytes_ += program->persistent;
    programs_.insert(program.get());
    return program.release();
  });
}

void Device::InitialiseProgram(Program& program) {
  for (CompiledOperator& op : program.operators) {
    op.persistent_address = program.persistent;
    program.persistent += RoundUp(op.persistent, DML_PERSISTENT_BUFFER_ALIGNMENT);
  }
  Initialiser initialiser(*context_, program);
  uint32_t temporary = UINT32_MAX;
  if (initialiser.temporary_size()) temporary = pool_->Allocate(initialiser.temporary_size());
  try {
    if (program.persistent) {
      program.persistent_block = pool_->Allocate(program.persistent);
      for (CompiledOperator& op : program.operators) op.persistent_address += pool_->AddressOf(program.persistent_block);
    }
    auto work = initialiser.Bind(*heaps_, *pool_, temporary == UINT32_MAX ? 0 : pool_->AddressOf(temporary));
    Task& task = queue_->Next();
    task.kind = Task::Kind::Initialise;
    task.initialise = work.release();
    queue_->Commit();
  } catch (...) {
    if (temporary != UINT32_MAX) pool_->Free(temporary);
    if (program.persistent_block != UINT32_MAX) pool_->Free(program.persistent_block);
    throw;
  }
  if (temporary != UINT32_MAX) pool_->Free(temporary);
}

void Device::DropOwner(Program* program) {
  if (--program->owners) return;
  if (program->persistent_block != UINT32_MAX) pool_->Free(program->persistent_block);
  program_in_bytes_ -= program->persistent;
  if (Task* task = NextForRelease()) {
    task->kind = Task::Kind::ReleaseProgram;
    task->program = program;
    queue_->Commit();
    programs_.erase(program);
  }
}

// Null where the queue takes no more work: what is released then is destroyed with the device.
Task* Device::NextForRelease() {
  try {
    return &queue_->Next();
  } catch (const Failure&) {
    return nullptr;
  }
}

void Device::ReleaseProgram(Program* program) {
  auto stay = gate_.Stay();
  DropOwner(program);
}

void Device::Run(Program& program, Address* slots) {
  uint32_t temporary = UINT32_MAX;
  slots[program.temporary_slot()] = 0;
  if (program.temporary) {
    temporary = pool_->Allocate(program.temporary);
    slots[program.temporary_slot()] = pool_->AddressOf(temporary);
  }
  try {
    if (guards_) guards_->FillGaps(program, slots[program.scratch_slot()]);
    Task& task = queue_->Next();
    task.program = &program;
    if (program.slot_count <= Task::kSlots) {
      task.kind = Task::Kind::Run;
      std::memcpy(task.slots, slots, program.slot_count * sizeof(Address));
    } else {
      task.kind = Task::Kind::RunMany;
      task.many_slots = new Address[program.slot_count];
      std::memcpy(task.many_slots, slots, program.slot_count * sizeof(Address));
    }
    queue_->Commit();
    if (guards_) guards_->Check(program, slots);
  } catch (...) {
    if (temporary != UINT32_MAX) pool_->Free(temporary);
    throw;
  }
  // Later work comes after this one, so its temporary memory is free for it.
  if (temporary != UINT32_MAX) pool_->Free(temporary);
}

Recording* Device::Record(Program& program, const std::vector<Address>& bound, uint32_t lists, const std::vector<uint32_t>& cuts) {
  return WithInterfaces([&]() -> Recording* {
    CheckAlive();
    std::vector<Address> slots = bound;
    slots.resize(program.slot_count, 0);
    uint32_t temporary = UINT32_MAX;
    if (program.temporary) {
      temporary = pool_->Allocate(program.temporary);
      slots[program.temporary_slot()] = pool_->AddressOf(temporary);
    }
    std::unique_ptr<Recording> recording;
    try {
      recording = std::make_unique<Recording>(*context_, *heaps_, *pool_, *recorder_, program, slots, lists, cuts);
    } catch (...) {
      if (temporary != UINT32_MAX) pool_->Free(temporary);
      throw;
    }
    recording->temporary_block = temporary;
    if (guards_) guards_->FillGaps(program, slots[program.scratch_slot()]);
    if (temporary != UINT32_MAX) program_in_bytes_ += pool_->SizeOf(temporary);
    counters_.Take(recorder_->counts);
    ++program.owners;
    recordings_.insert(recording.get());
    return recording.release();
  });
}

ProfileTimes Device::Profile(const Recording& recording) {
  return WithInterfaces([&]() -> ProfileTimes {
    CheckAlive();
    if (!recording.IsBackedBy(*pool_)) throw Failure(FailureKind::Invalid, "profile: memory of the recording was given back");
    queue_->Wait();
    return ProfileRecording(*context_, *recorder_, recording, patience_ms_, look_);
  });
}

void Device::StartTiming() {
  WithInterfaces([&] {
    CheckAlive();
    if (timing_) throw Failure(FailureKind::Invalid, "startTiming: the device is timed already");
    queue_->Wait();
    auto timing = std::make_unique<Timing>(*context_);
    queue_->Time(timing.get());
    timing_ = std::move(timing);
  });
}

TimingResult Device::StopTiming() {
  return WithInterfaces([&]() -> TimingResult {
    if (!timing_) throw Failure(FailureKind::Invalid, "stopTiming: the device is not timed");
    CheckAlive();
    // Where this fails, as on a held device, the timing continues.
    queue_->Wait();
    queue_->Time(nullptr);
    queue_->Wait();
    std::unique_ptr<Timing> timing = std::move(timing_);
    return timing->Result();
  });
}

void Device::Replay(Recording& recording, std::unique_ptr<ReplayWork> work) {
  Task& task = queue_->Next();
  task.kind = Task::Kind::Replay;
  task.recording = &recording;
  task.replay = work.release();
  queue_->Commit();
  if (guards_) guards_->Check(recording.program(), recording.slots().data());
}

void Device::ReleaseRecording(Recording* recording) {
  auto stay = gate_.Stay();
  if (recording->temporary_block != UINT32_MAX) {
    program_in_bytes_ -= pool_->SizeOf(recording->temporary_block);
    pool_->Free(recording->temporary_block);
    recording->temporary_block = UINT32_MAX;
  }
  Program* program = &recording->program();
  if (Task* task = NextForRelease()) {
    task->kind = Task::Kind::ReleaseRecording;
    task->recording = recording;
    queue_->Commit();
    recordings_.erase(recording);
  }
  DropOwner(program);
}

void Device::Copy(Address from, Address to, uint64_t size) {
  if (!size) return;
  Task& task = queue_->Next();
  task.kind = Task::Kind::Copy;
  task.copy = {from, to, size};
  queue_->Commit();
}

HostMemory Device::InHostMemory(Address at, uint64_t size) {
  return WithInterfaces([&] {
    CheckAlive();
    HostMemory memory;
    if (!context_->software) return memory;
    memory.bytes = context_->software->HostMemory(pool_->Resource(ChunkOf(at)), OffsetOf(at), size, memory.keeper.put());
    return memory;
  });
}

void Device::Synchronize(std::function<void(const Failure*)> done) {
  Task& task = queue_->Next();
  task.kind = Task::Kind::Flush;
  task.completion = new CallCompletion(WithGuards(std::move(done)));
  queue_->Commit();
}

void Device::RequireSoftware() const {
  if (!context_->software)
    throw Failure(FailureKind::Unsupported,
                  "injectFault: '" + context_->adapter_name + "' is no software adapter; only that one has faults on demand");
}

void Device::InjectFault(uint32_t fault) {
  WithInterfaces([&] {
    RequireSoftware();
    Check(context_->software->InjectFault(fault), "IDxtensorSoftware::InjectFault");
  });
}

void Device::RemoveForTest() { InjectFault(kFaultRemoveDevice); }
void Device::HangForTest() { InjectFault(kFaultHang); }

void Device::FailNextAllocationForTest() {
  InjectFault(kFaultOutOfMemory);
  faults_.FromDevice();
}

uint64_t Device::FailAllocationsForTest(uint64_t succeed, uint64_t fail) {
  return WithInterfaces([&] {
    RequireSoftware();
    return faults_.Plan(succeed, fail);
  });
}

}  // namespace dxtensor::dml
