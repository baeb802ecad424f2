#include "queue.h"

#include <algorithm>
#include <chrono>

#include "pause.h"

namespace dxtensor::dml {

namespace {

// After the first number of polls a batch is submitted, after the second the thread sleeps. An adapter on the CPU needs the CPU more: 10
// instead of 100 take 0.5 of the CPU time of a call of 16 elements, in no more wall-clock time (2 threads).
constexpr uint32_t kSubmitPolls = 8, kSleepPolls = 100, kSoftwareSleepPolls = 10;
// How often a JavaScript thread that waits for a slot of the ring calls `look`, in attempts.
constexpr uint32_t kTriesPerLook = 1024;
// A batch starts small so that an idle device begins early, and grows while work keeps coming.
constexpr uint32_t kFirstBatch = 16, kLargestBatch = 256;
// Submissions that keep the device at work until the next one comes.
constexpr uint64_t kEnoughSubmissions = 2;
// Programs that a message names.
constexpr size_t kMaxNames = 4;

}  // namespace

Queue::Queue(const Context& context, const HeapPool& pool, DescriptorHeaps& heaps, Counters& counters, ID3D12Resource* staging,
             uint64_t staging_size, uint32_t patience_ms, Look look)
    : context_(context),
      pool_(pool),
      heaps_(heaps),
      counters_(counters),
      look_(std::move(look)),
      timeline_(context, patience_ms),
      completions_(timeline_),
      recorder_(context, pool, staging, staging_size),
      lists_(context, timeline_),
      batch_(kFirstBatch),
      patience_ms_(patience_ms) {
  recorder_.Begin(lists_.Open());
  thread_ = std::thread([this] { Run(); });
}

Queue::~Queue() { Stop(true); }

// --- JavaScript thread ---

Task& Queue::Next() {
  CheckAlive();
  Task* task = ring_.Next();
  for (uint32_t tries = 0; !task; task = ring_.Next()) {
    CheckAlive();
    if (held()) throw Failure(FailureKind::Invalid, "the device is held and its queue is full: it takes no more work until it is resumed");
    // A full ring is long work: the other threads need the CPU more than this one.
    if (++tries < 8) {
      PausePoll();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (tries % kTriesPerLook == 0) {
      CheckProgress();
      if (look_) look_();
    }
  }
  return *task;
}

void Queue::Flush() {
  Task& task = Next();
  task.kind = Task::Kind::Flush;
  task.completion = nullptr;
  Commit();
}

void Queue::Wait() {
  if (held()) throw Failure(FailureKind::Invalid, "the device is held: waiting for it would never end");
  Task& task = Next();
  task.kind = Task::Kind::Flush;
  task.completion = nullptr;
  Commit();
  AwaitSubmission(ring_.pushed());
  timeline_.WaitOrThrow(timeline_.submitted(), wait_event_, look_);
}

void Queue::WaitForTask(uint64_t task) {
  if (held()) throw Failure(FailureKind::Invalid, "the device is held: waiting for it would never end");
  AwaitSubmission(task);
  // It drops what is done, so that little is left to look through.
  if (CompletedTask() >= task && timeline_.Completed() != UINT64_MAX) return;
  uint64_t value = timeline_.submitted();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [fence, last] : history_)
      if (last >= task) {
        value = fence;
        break;
      }
  }
  timeline_.WaitOrThrow(value, wait_event_, look_);
}

void Queue::AwaitSubmission(uint64_t task) {
  for (int i = 0; i < 16 && progress_->submitted() < task; ++i) PausePoll();
  while (progress_->submitted() < task) {
    if (WaitUntilSubmitted(task)) continue;
    CheckProgress();
    if (look_) look_();
  }
  CheckAlive();
}

void Queue::CheckProgress() const {
  if (progress_->IsStalled())
    throw Failure(FailureKind::Invalid, "the device waits for bytes of a device that is held: waiting for it would never end");
}

// False when it is time to look first.
bool Queue::WaitUntilSubmitted(uint64_t task) {
  std::unique_lock<std::mutex> lock(mutex_);
  waiting_.store(true, std::memory_order_seq_cst);
  const bool submitted = submitted_.wait_for(lock, kLook, [&] { return progress_->submitted() >= task; });
  waiting_.store(false, std::memory_order_relaxed);
  return submitted;
}

bool Queue::DoneWithin(std::chrono::milliseconds time) {
  constexpr auto kPoll = std::chrono::microseconds(100);
  constexpr uint64_t kMuch = 2048;
  // With much waiting to be begun, even asking would block.
  if (failed() || held() || ring_.pushed() - ring_.popped() > kMuch) return false;
  const auto is_done = [&] { return progress_->submitted() >= ring_.pushed() && timeline_.Completed() >= timeline_.submitted(); };
  // Not the time that the queue thread needs to answer, but what is left to do decides.
  if (is_done()) return true;
  Flush();
  for (const auto end = Timeline::Clock::now() + time; !is_done(); std::this_thread::sleep_for(kPoll))
    if (failed() || Timeline::Clock::now() >= end) return false;
  return !failed();
}

void Queue::Time(Timing* timing) {
  Task& task = Next();
  task.kind = Task::Kind::Time;
  task.timing = timing;
  Commit();
}

uint64_t Queue::CompletedTask() {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t done = timeline_.Completed();
  while (!history_.empty() && history_.front().first <= done) {
    completed_task_ = history_.front().second;
    history_.pop_front();
  }
  return completed_task_;
}

void Queue::Hold(bool held) {
  progress_->Hold(held);
  ring_.Wake();
}

bool Queue::Stop(bool drop_tasks) {
  std::lock_guard<std::mutex> lock(stop_mutex_);
  if (stopped_) return finished_;
  stopped_ = true;
  if (drop_tasks) {
    drop_.store(true);
    timeline_.Abandon();
    std::lock_guard<std::mutex> lanes(lanes_mutex_);
    for (CopyLane* lane : {outgoing_.get(), incoming_.get()})
      if (lane) lane->timeline().Abandon();
  }
  progress_->Hold(false);
  stopping_.store(true);
  ring_.Wake();
  if (thread_.joinable()) thread_.join();
  completions_.Stop();
  finished_ = timeline_.WaitUntilLeft(stop_event_);
  for (CopyLane* lane : {outgoing_.get(), incoming_.get()}) {
    if (!lane) continue;
    lane->Stop();
    finished_ = lane->timeline().WaitUntilLeft(stop_event_) && finished_;
  }
  // What the device still uses is not pulled away.
  if (finished_) dead_.clear();
  SetFailure(Failure(FailureKind::Device, "the device was closed before this was done"));
  ended_.store(true, std::memory_order_seq_cst);
  DrainRing();
  return finished_;
}

void Queue::Abort(const Failure& why) {
  SetFailure(why);
  Stop(true);
}

void Queue::LetGo() {
  std::lock_guard<std::mutex> lock(stop_mutex_);
  dead_.clear();
  recorder_.LetGo();
  lists_.LetGo();
  for (CopyLane* lane : {outgoing_.get(), incoming_.get()})
    if (lane) lane->LetGo();
  timeline_.LetGo();
}

void Queue::GiveUpAt(Timeline::Clock::time_point time) {
  timeline_.GiveUpAt(time);
  std::lock_guard<std::mutex> lock(lanes_mutex_);
  for (CopyLane* lane : {outgoing_.get(), incoming_.get()})
    if (lane) lane->timeline().GiveUpAt(time);
}

void Queue::SetPatience(uint32_t patience_ms) {
  patience_ms_.store(patience_ms, std::memory_order_relaxed);
  timeline_.SetPatience(patience_ms);
  std::lock_guard<std::mutex> lock(lanes_mutex_);
  for (CopyLane* lane : {outgoing_.get(), incoming_.get()})
    if (lane) lane->timeline().SetPatience(patience_ms);
}

bool Queue::IsLeft() const {
  return timeline_.IsLeft() && (!outgoing_ || outgoing_->timeline().IsLeft()) && (!incoming_ || incoming_->timeline().IsLeft());
}

// What was committed after the queue thread had ended.
void Queue::Drain() {
  std::lock_guard<std::mutex> lock(stop_mutex_);
  DrainRing();
}

void Queue::DrainRing() {
  while (Task* task = ring_.Front()) {
    ProcessAfterFailure(*task);
    ring_.Pop();
  }
  progress_->Submit(ring_.popped());
  std::lock_guard<std::mutex> lock(mutex_);
  submitted_.notify_all();
}

void Queue::ThrowFailure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  throw *failure_;
}

// --- Queue thread ---

void Queue::Run() {
  uint32_t polls = 0;
  for (;;) {
    Task* task = ring_.Front();
    if (!task) {
      if (stopping_.load()) break;
      Idle(polls);
      continue;
    }
    if (held()) ring_.SleepWhile([&] { return held(); });
    polls = 0;
    if (failed() || drop_.load(std::memory_order_relaxed)) {
      ProcessAfterFailure(*task);
    } else {
      try {
        Process(*task);
      } catch (const Failure& failure) {
        Fail(failure);
      } catch (const std::exception& error) {
        Fail(Failure(FailureKind::Internal, std::string("queue thread: ") + error.what()));
      }
    }
    ring_.Pop();
    if (failed()) PublishSubmitted();
  }
  if (failed()) return FailPending();
  try {
    if (!drop_.load()) Submit();
    else FailPending();
  } catch (const Failure& failure) {
    Fail(failure);
  }
}

void Queue::Idle(uint32_t& polls) {
  PausePoll();
  ++polls;
  // Someone who waits is not kept waiting; else a little more work may come for the batch.
  if ((polls == kSubmitPolls || !pending_.empty()) && !failed()) {
    try {
      Submit();
    } catch (const Failure& failure) {
      Fail(failure);
    }
  } else if (polls > (context_.software ? kSoftwareSleepPolls : kSleepPolls)) {
    batch_ = kFirstBatch;
    ring_.Sleep();
    polls = 0;
  }
}

void Queue::Process(Task& task) {
  switch (task.kind) {
    case Task::Kind::Run: RunProgram(*task.program, task.slots); break;
    case Task::Kind::RunMany: {
      std::unique_ptr<Address[]> slots(task.many_slots);
      RunProgram(*task.program, slots.get());
      break;
    }
    case Task::Kind::Copy:
      recorder_.Copy(&task.copy, 1);
      ++recorder_.counts.copies;
      break;
    case Task::Kind::Upload:
      recorder_.CopyIn(task.transfer.host, task.transfer.host_offset, task.transfer.device, task.transfer.size);
      counters_.uploads.AddAlone();
      break;
    case Task::Kind::Read: {
      // First, so that a failure to record the copy reaches the waiting caller.
      if (task.completion) pending_.emplace_back(task.completion);
      recorder_.CopyOut(task.transfer.device, task.transfer.host, task.transfer.host_offset, task.transfer.size);
      counters_.readbacks.AddAlone();
      break;
    }
    case Task::Kind::ReadLarge: {
      std::unique_ptr<Completion> owned(task.completion);
      try {
        ReadInPieces(static_cast<LargeRead&>(*owned));
      } catch (...) {
        pending_.push_back(std::move(owned));  // told with the failure
        throw;
      }
      completions_.Add(timeline_.submitted(), std::move(owned), std::nullopt);
      break;
    }
    case Task::Kind::Receive: {
      std::unique_ptr<ReceiveWork> work(task.receive);
      Receive(*work);
      break;
    }
    case Task::Kind::Send: Send(task); break;
    case Task::Kind::Land: {
      std::unique_ptr<ReceiveWork> work(task.receive);
      if (work) Land(*work);
      else FinishExchange();
      break;
    }
    case Task::Kind::Replay: {
      std::unique_ptr<ReplayWork> work(task.replay);
      if (timing_) ReplayTimed(*task.recording, *work);
      else Replay(*task.recording, *work);
      break;
    }
    case Task::Kind::Initialise: {
      InitialiseWork& work = *task.initialise;
      dead_.push_back({timeline_.submitted() + 1, nullptr, nullptr, std::unique_ptr<InitialiseWork>(task.initialise)});
      recorder_.Initialise(work.initializer.get(), work.table.get(), work.region.heap, work.writes);
      break;
    }
    case Task::Kind::ReleaseProgram:
      if (timing_) timing_->Forget(task.program);
      dead_.push_back({timeline_.submitted() + 1, std::unique_ptr<Program>(task.program), nullptr, nullptr});
      break;
    case Task::Kind::ReleaseRecording:
      dead_.push_back({timeline_.submitted() + 1, nullptr, std::unique_ptr<Recording>(task.recording), nullptr});
      break;
    case Task::Kind::Flush:
      if (task.completion) {
        pending_.emplace_back(task.completion);
      } else {
        Submit();
        PublishSubmitted();
      }
      break;
    case Task::Kind::Time:
      // Lists that are open have what they were begun with.
      Submit();
      if (timing_) timing_->ForgetAll();
      timing_ = task.timing;
      recorder_.Time(timing_);
      break;
  }
  recorded_ = ring_.popped() + 1;
  if (recorder_.work() >= batch_) {
    Submit();
    batch_ = std::min(batch_ * 2, kLargestBatch);
  }
}

// Nothing is recorded any more; what the task owns goes, and who waits is told.
void Queue::ProcessAfterFailure(Task& task) {
  switch (task.kind) {
    case Task::Kind::RunMany: delete[] task.many_slots; break;
    case Task::Kind::Replay: delete task.replay; break;
    case Task::Kind::Receive:
    case Task::Kind::Land:
      if (task.receive) task.receive->relay->Abandon();
      delete task.receive;
      break;
    case Task::Kind::Initialise: dead_.push_back({0, nullptr, nullptr, std::unique_ptr<InitialiseWork>(task.initialise)}); break;
    case Task::Kind::ReleaseProgram:
      if (timing_) timing_->Drop(task.program);
      dead_.push_back({0, std::unique_ptr<Program>(task.program), nullptr, nullptr});
      break;
    case Task::Kind::ReleaseRecording: dead_.push_back({0, nullptr, std::unique_ptr<Recording>(task.recording), nullptr}); break;
    case Task::Kind::Read:
    case Task::Kind::ReadLarge:
    case Task::Kind::Send:
    case Task::Kind::Flush:
      if (task.completion) {
        pending_.emplace_back(task.completion);
        FailPending();
      }
      break;
    case Task::Kind::Run:
    case Task::Kind::Copy:
    case Task::Kind::Upload: break;
    case Task::Kind::Time:
      if (timing_) timing_->DropAll();
      timing_ = task.timing;
      recorder_.Time(timing_);
      break;
  }
}

void Queue::RunProgram(Program& program, const Address* slots) {
  if (!program.bound) program.bound = std::make_unique<BoundTables>();
  bool written = false;
  BoundSet* set;
  for (;;) {
    set = program.bound->Get(context_, heaps_, pool_, program, slots, timeline_.Completed(), &written);
    if (set) break;
    uint64_t oldest = program.bound->OldestUse();
    if (oldest > timeline_.submitted()) Submit();
    WaitFor(oldest);
  }
  if (written) recorder_.counts.tables += program.dispatches.size();
  set->last_use = timeline_.submitted() + 1;
  if (running_.empty() || running_.back() != &program) running_.push_back(&program);
  if (timing_) timing_->Begin(program);
  recorder_.Run(program, slots, *set);
  if (timing_) timing_->End();
}

// Its closed lists have no timestamps: the steps are recorded again.
void Queue::ReplayTimed(Recording& recording, ReplayWork& work) {
  timing_->Begin(recording.program());
  if (!work.before.empty()) recorder_.Copy(work.before.data(), work.before.size());
  recording.NextList().last_use = timeline_.submitted() + 1;
  running_.push_back(&recording.program());
  recording.RecordInto(recorder_);
  if (!work.after.empty()) recorder_.Copy(work.after.data(), work.after.size());
  counters_.replays.AddAlone();
  counters_.replay_copies.AddAlone(work.before.size() + work.after.size());
  timing_->End();
  Submit();
  recording.part_values.assign(recording.part_values.size(), timeline_.submitted());
  recording.value_before = timeline_.submitted();
}

void Queue::Replay(Recording& recording, ReplayWork& work) {
  const bool has_parts = recording.parts() > 1;
  // Its first use of a buffer is a copy, which finds the buffer as no other list of the submission has left it.
  const bool starts_by_copy = !recording.head().chunks.empty() || recording.head().staging;
  // What is sent and received with its parts is ordered by submissions.
  if (has_parts || (starts_by_copy && !unsubmitted_.empty())) Submit();
  recording.value_before = timeline_.submitted();
  if (!work.before.empty()) recorder_.Copy(work.before.data(), work.before.size());
  Recording::List& list = recording.NextList();
  if (timeline_.Completed() < list.last_use) Submit();
  running_.push_back(&recording.program());
  WaitFor(list.last_use);
  // One submission for the copies and the recording: each costs as much as a dozen small dispatches.
  if (ID3D12CommandList* open = CloseOpenList(starts_by_copy ? &recording.head() : nullptr)) {
    unsubmitted_.push_back(open);
    recorder_.LeaveOwn();
    ReopenList();
  }
  unsubmitted_.push_back(list.parts[0].get());
  recorder_.Leave(recording.chunks());
  recording.part_values[0] = list.last_use = timeline_.submitted() + 1;
  // A device that has enough to do takes several replays in one submission.
  const bool may_wait = !has_parts && !starts_by_copy && pending_.empty() && ++unsubmitted_replays_ < recording.together();
  if (!may_wait || timeline_.submitted() < std::min(timeline_.Completed(), UINT64_MAX - kEnoughSubmissions) + kEnoughSubmissions)
    ExecuteUnsubmitted();
  for (size_t i = 1; i < list.parts.size(); ++i) {
    ID3D12CommandList* part[] = {list.parts[i].get()};
    running_.push_back(&recording.program());
    Execute(part, 1);
    recording.part_values[i] = list.last_use = timeline_.submitted();
  }
  if (!has_parts) recording.value_before = list.last_use;
  if (unsubmitted_.empty()) Settle();
  counters_.replays.AddAlone();
  if (!work.after.empty()) recorder_.Copy(work.after.data(), work.after.size());
  counters_.replay_copies.AddAlone(work.before.size() + work.after.size());
}

// Null when nothing was recorded. next: the head of the list that follows in the same submission.
ID3D12CommandList* Queue::CloseOpenList(const ListHead* next) {
  if (!recorder_.dirty()) return nullptr;
  recorder_.End(next);
  if (timing_) timing_->Resolve(lists_.list());
  counters_.Take(recorder_.counts);
  HRESULT hr = lists_.list()->Close();
  if (FAILED(hr)) {
    CheckRemoved();
    throw Failure(hr, "ID3D12GraphicsCommandList::Close");
  }
  return lists_.list();
}

// The list that was closed is submitted next.
void Queue::ReopenList() {
  lists_.Used(timeline_.submitted() + 1);
  recorder_.Begin(lists_.Open());
}

void Queue::ExecuteUnsubmitted() {
  Execute(unsubmitted_.data(), static_cast<uint32_t>(unsubmitted_.size()));
  unsubmitted_.clear();
  unsubmitted_replays_ = 0;
  recorder_.Submitted();
}

void Queue::Submit() {
  if (ID3D12CommandList* list = CloseOpenList()) {
    unsubmitted_.push_back(list);
    ReopenList();
  }
  if (!unsubmitted_.empty()) ExecuteUnsubmitted();
  // Before Settle(): who is told that the work is done may ask whether all is.
  progress_->Submit(ring_.popped());
  Settle();
}

// Completes calls whose work the device has finished, and frees what that work used.
void Queue::Settle() {
  for (auto& completion : pending_) completions_.Add(timeline_.submitted(), std::move(completion), std::nullopt);
  pending_.clear();
  Reap();
}

void Queue::Execute(ID3D12CommandList* const* lists, uint32_t count) {
  context_.queue->ExecuteCommandLists(count, lists);
  uint64_t value = timeline_.Signal(RunningNames());
  running_.clear();
  counters_.submissions.AddAlone();
  counters_.lists_submitted.AddAlone(count);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    history_.push_back({value, recorded_});
  }
  CheckRemoved();
}

void Queue::WaitFor(uint64_t value) {
  if (timeline_.Completed() >= value && timeline_.Completed() != UINT64_MAX) return;
  timeline_.WaitOrThrow(value, event_);
}

void Queue::Reap() {
  if (dead_.empty()) return;
  uint64_t done = timeline_.Completed();
  while (!dead_.empty() && dead_.front().value <= done) {
    if (auto& work = dead_.front().initialise) heaps_.Free(work->region);
    dead_.pop_front();
  }
}

void Queue::PublishSubmitted() {
  progress_->Submit(ring_.popped() + (failed() ? 0 : 1));
  if (!waiting_.load(std::memory_order_seq_cst)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  submitted_.notify_all();
}

void Queue::CheckRemoved() {
  if (FAILED(context_.RemovedReason())) throw context_.Removal(UnfinishedNames());
}

std::string Queue::RunningNames() const {
  std::string names;
  size_t from = running_.size() > kMaxNames ? running_.size() - kMaxNames : 0;
  for (size_t i = from; i < running_.size(); ++i) names += (names.empty() ? "" : ", ") + running_[i]->name;
  return from ? names + " and " + std::to_string(from) + " before" : names;
}

std::string Queue::UnfinishedNames() const {
  std::string submitted = timeline_.Unfinished(), open = RunningNames();
  return submitted + (submitted.empty() || open.empty() ? "" : ", ") + open;
}

void Queue::SetFailure(const Failure& failure) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (failed()) return;
  failure_ = failure;
  failed_.store(true, std::memory_order_release);
}

void Queue::Fail(const Failure& failure) {
  bool removed = failure.kind() != FailureKind::Removed || failure.reason().empty() || failure.op().empty();
  SetFailure(removed && FAILED(context_.RemovedReason()) ? context_.Removal(UnfinishedNames()) : failure);
  FailPending();
}

void Queue::FailPending() {
  std::optional<Failure> failure;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    failure = failure_ ? *failure_ : Failure(FailureKind::Device, "the device was closed before this was done");
  }
  for (auto& completion : pending_) completions_.Add(0, std::move(completion), failure);
  pending_.clear();
}

}  // namespace dxtensor::dml
