#include "command_queue.h"

#include "software/cpu/host/abandon.h"
#include "software/cpu/host/denormals.h"
#include "software/cpu/prepacked_inputs.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

// How long the thread looks for new work before it sleeps: a few microseconds.
constexpr int kSpins = 100;  // 100 to 800: within the noise of 12 % for LeNet-5 and adds of 16 (2 threads); 400 takes more CPU time
constexpr char kCause[] = "this one";

// What was made of the bytes that a command writes is out of date.
void NoteWrites(const Command& command) {
  PrepackedInputs& prepacked = PrepackedInputs::Get();
  if (prepacked.IsEmpty()) return;
  if (command.kind == Command::Kind::Dispatch) {
    for (const Access& access : command.dispatch->accesses)
      if (access.write) prepacked.Written(access.begin, access.end);
  } else if (command.kind != Command::Kind::Timestamp) {
    prepacked.Written(command.copy.to, command.copy.to + command.copy.size);
  }
}

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");  // waits some ten nanoseconds; "yield" does nothing on most
#else
  std::this_thread::yield();
#endif
}

}  // namespace

HRESULT CommandQueue::Create(Device* device, const D3D12_COMMAND_QUEUE_DESC* desc, REFIID iid, void** out) {
  if (!desc || desc->NodeMask > 1) return E_INVALIDARG;
  if (desc->Type != D3D12_COMMAND_LIST_TYPE_DIRECT && desc->Type != D3D12_COMMAND_LIST_TYPE_COMPUTE &&
      desc->Type != D3D12_COMMAND_LIST_TYPE_COPY)
    return E_INVALIDARG;
  UINT index = 0;
  QueueProgress* progress = device->AcquireProgress(&index);
  if (!progress) return E_OUTOFMEMORY;
  return Deliver(new CommandQueue(device, *desc, progress, index), iid, out);
}

CommandQueue::CommandQueue(Device* device, const D3D12_COMMAND_QUEUE_DESC& desc, QueueProgress* progress, UINT index)
    : DeviceChild(device), desc_(desc), progress_(progress), index_(index), thread_([this] { ThreadMain(); }) {}

CommandQueue::~CommandQueue() { device().ReleaseProgress(index_); }

void CommandQueue::OnReleased() {
  stop_.store(true);
  ends_waits_.store(true);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    wake_.notify_all();
  }
  thread_.join();
}

// Everything that can be known when lists are handed over; marks what they use as used by this submission.
std::string CommandQueue::CheckLists(UINT count, ID3D12CommandList* const* lists, uint64_t stamp) {
  Submission submission;
  for (UINT i = 0; i < count; ++i) {
    auto* list = static_cast<CommandList*>(static_cast<ID3D12GraphicsCommandList*>(lists[i]));
    Recording& recording = *list->recording();
    std::string wrong = submission.Add(recording.hazards, count == 1);
    if (!wrong.empty()) return wrong;
    for (const TrackedResource& t : recording.hazards.resources()) {
      if (t.resource->released()) return "a command list was submitted that uses a released buffer";
      t.resource->SetStamp(stamp);
    }
    for (const DescriptorUse& use : recording.descriptors) {
      if (use.heap->released()) return "a command list was submitted that uses a released descriptor heap";
      if (!use.heap->Use(use.first, use.count, use.write, stamp))
        return "descriptors of a recorded dispatch were written again before the list was submitted";
    }
  }
  return {};
}

void CommandQueue::ExecuteCommandLists(UINT count, ID3D12CommandList* const* lists) {
  if (!count || !lists || FAILED(device().removed())) return;
  if (device().TakeFault(kFaultRemoveDevice)) return BlameMe();
  if (device().TakeFault(kFaultHang)) Hang();
  std::string wrong;
  for (UINT i = 0; i < count && wrong.empty(); ++i) {
    auto* list = static_cast<CommandList*>(static_cast<ID3D12GraphicsCommandList*>(lists[i]));
    if (!list) wrong = "ExecuteCommandLists was given a null list";
    else if (list->open() || !list->recording()) wrong = "a command list was submitted that is not closed";
    else if (list->discarded()) wrong = "a command list was submitted after its allocator was reset";
    else if (list->GetType() != desc_.Type) wrong = "a command list was submitted to a queue of another type";
    else if (list->recording()->Executing()) wrong = "a command list was submitted again while it still executes";
    for (UINT k = 0; k < i && wrong.empty(); ++k)
      if (lists[k] == lists[i]) wrong = "a command list is twice in one ExecuteCommandLists";
  }
  HRESULT handed = Guard([&]() -> HRESULT {
    std::lock_guard<std::mutex> lock(mutex_);
    uint64_t serial = progress_->submitted.load(std::memory_order_relaxed) + 1;
    if (wrong.empty() && device().checks()) wrong = CheckLists(count, lists, uint64_t{index_} << 48 | serial);
    // A recorded mistake that would touch foreign memory was not recorded as a command; without the checks it is still told.
    for (UINT i = 0; i < count && wrong.empty() && !device().checks(); ++i)
      wrong = static_cast<CommandList*>(static_cast<ID3D12GraphicsCommandList*>(lists[i]))->recording()->hazards.violation();
    if (!wrong.empty()) return S_OK;
    incoming_.reserve(incoming_.size() + count);
    progress_->submitted.store(serial, std::memory_order_relaxed);
    for (UINT i = 0; i < count; ++i) {
      auto* list = static_cast<CommandList*>(static_cast<ID3D12GraphicsCommandList*>(lists[i]));
      Recording* recording = list->recording();
      recording->pending.fetch_add(1, std::memory_order_relaxed);
      incoming_.push_back({Task::Kind::Execute, Held<Recording>(recording), {}, 0, i + 1 == count ? serial : 0});
    }
    Wake();
    return S_OK;
  });
  if (!wrong.empty()) Remove(DXGI_ERROR_INVALID_CALL, wrong);
  else if (FAILED(handed)) Remove(handed, "ExecuteCommandLists ran out of memory");
}

void CommandQueue::Remove(HRESULT reason, const std::string& why) {
  if (device().Remove(reason, why)) BlameMe();
}

void CommandQueue::BlameMe() {
  SetPrivateData(kIidCause, sizeof kCause - 1, kCause);
  device().SetPrivateData(kIidCause, sizeof kCause - 1, kCause);
}

// A wait for what nobody signals; ends when the device is removed or the queue is released.
void CommandQueue::Hang() {
  void* fence = nullptr;
  if (FAILED(Fence::Create(&device(), 0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), &fence))) return;
  Wait(static_cast<ID3D12Fence*>(fence), 1);
  static_cast<ID3D12Fence*>(fence)->Release();
}

HRESULT CommandQueue::Signal(ID3D12Fence* fence, UINT64 value) {
  if (!fence) return E_INVALIDARG;
  if (FAILED(device().removed())) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard([&]() -> HRESULT {
    Push({Task::Kind::Signal, {}, Held<Fence>(static_cast<Fence*>(fence)), value, 0});
    return S_OK;
  });
}

HRESULT CommandQueue::Wait(ID3D12Fence* fence, UINT64 value) {
  if (!fence) return E_INVALIDARG;
  if (FAILED(device().removed())) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard([&]() -> HRESULT {
    Push({Task::Kind::Wait, {}, Held<Fence>(static_cast<Fence*>(fence)), value, 0});
    return S_OK;
  });
}

HRESULT CommandQueue::SetPrivateData(REFGUID guid, UINT size, const void* data) {
  if (!(guid == kIidAbandon)) return DeviceChild::SetPrivateData(guid, size, data);
  abandoned_.store(true);
  ends_waits_.store(true);
  return S_OK;
}

HRESULT CommandQueue::GetTimestampFrequency(UINT64* frequency) {
  if (!frequency) return E_INVALIDARG;
  *frequency = 1000000000;
  return S_OK;
}

HRESULT CommandQueue::GetClockCalibration(UINT64* gpu, UINT64* cpu) {
  if (!gpu || !cpu) return E_INVALIDARG;
  *gpu = *cpu = TimestampNow();
  return S_OK;
}

void CommandQueue::Push(Task task) {
  std::lock_guard<std::mutex> lock(mutex_);
  incoming_.push_back(std::move(task));
  Wake();
}

void CommandQueue::Wake() {
  has_work_.store(true, std::memory_order_relaxed);
  if (sleeping_) wake_.notify_one();
}

void CommandQueue::ThreadMain() {
  FlushDenormals();
  std::vector<Task> tasks;
  const AbandonScope scope(&abandoned_, true);
  for (;;) {
    for (int i = 0; i < kSpins && !has_work_.load(std::memory_order_relaxed) && !stop_.load(std::memory_order_relaxed); ++i) Pause();
    {
      std::unique_lock<std::mutex> lock(mutex_);
      while (incoming_.empty() && !stop_.load(std::memory_order_relaxed)) {
        sleeping_ = true;
        wake_.wait(lock);
        sleeping_ = false;
      }
      if (incoming_.empty()) return;  // stopped, and nothing left
      tasks.swap(incoming_);
      has_work_.store(false, std::memory_order_relaxed);
    }
    for (Task& task : tasks) RunTask(task);
    tasks.clear();
  }
}

void CommandQueue::RunTask(Task& task) {
  bool removed = FAILED(device().removed());
  switch (task.kind) {
    case Task::Kind::Execute:
      if (!removed && !abandoned_.load(std::memory_order_relaxed)) {
        HRESULT ran = Guard([&]() -> HRESULT {
          try {
            RunCommands(*task.recording);
          } catch (const DeviceFault& fault) {
            Remove(DXGI_ERROR_DEVICE_HUNG, fault.why);
          } catch (const Abandoned&) {
            // Nobody reads its results.
          }
          return S_OK;
        });
        if (FAILED(ran)) Remove(DXGI_ERROR_DRIVER_INTERNAL_ERROR, "a kernel failed while it ran");
      }
      task.recording->pending.fetch_sub(1, std::memory_order_release);
      if (task.serial) progress_->completed.store(task.serial, std::memory_order_release);
      task.recording = {};
      break;
    case Task::Kind::Signal:
      if (!removed) task.fence->Set(task.value);
      task.fence = {};
      break;
    case Task::Kind::Wait:
      task.fence->Wait(task.value, &ends_waits_);
      task.fence = {};
      break;
  }
}

void CommandQueue::RunCommands(const Recording& recording) {
  for (const Command& command : recording.commands) {
    CheckAbandoned();
    NoteWrites(command);
    switch (command.kind) {
      case Command::Kind::Dispatch: command.dispatch->Run(); break;
      case Command::Kind::Copy:
      case Command::Kind::Resolve: std::memmove(command.copy.to, command.copy.from, command.copy.size); break;
      case Command::Kind::Timestamp: *command.timestamp = TimestampNow(); break;
    }
  }
}

}  // namespace dxtensor::software
