// Queue's part in copies between devices, and of large reads: what its thread sends, receives and lands.
#include <algorithm>

#include "host_copy.h"
#include "queue.h"

namespace dxtensor::dml {

namespace {

// The sender writes nothing more after this scope.
struct AbandonAtEnd {
  Relay& relay;
  ~AbandonAtEnd() { relay.Abandon(); }
};

}  // namespace

// Later work waits meanwhile: it may use what comes.
void Queue::Receive(const ReceiveWork& work) {
  const AbandonAtEnd abandon{*work.relay};
  Await(work);
  recorder_.CopyIn(work.host, work.host_offset, work.to, work.size);
  counters_.uploads.AddAlone();
}

// What came before runs meanwhile, and who waits for it is told.
void Queue::Await(const ReceiveWork& work) {
  Submit();
  work.relay->PollFor(CopyLane::PollTime(context_));
  if (work.relay->WaitFor(kLook)) return;
  struct Awaited {
    Progress& own;
    ~Awaited() { own.Await(nullptr, 0); }
  } awaited{*progress_};
  progress_->Await(work.sender, work.sender_task);
  do {
    if (drop_.load(std::memory_order_relaxed)) throw Failure(FailureKind::Device, "the device was closed before this was done");
  } while (!work.relay->WaitFor(kLook));
}

CopyLane& Queue::Lane(std::unique_ptr<CopyLane>& lane) {
  if (!lane) {
    auto made = std::make_unique<CopyLane>(context_, patience_ms_.load(std::memory_order_relaxed));
    std::lock_guard<std::mutex> lock(lanes_mutex_);
    lane = std::move(made);
  }
  return *lane;
}

// Other work continues. What is sent is written again after FinishExchange.
void Queue::Send(Task& task) {
  std::unique_ptr<Completion> completion(task.completion);
  const auto& [host, host_offset, device, size, maker, part] = task.transfer;
  try {
    if (!maker || maker->part_values[part] > timeline_.submitted()) Submit();
    CopyLane& lane = Lane(outgoing_);
    const uint64_t after = maker ? maker->part_values[part] : timeline_.submitted();
    const uint64_t value = lane.Copy(timeline_, after, {pool_.Resource(ChunkOf(device)), OffsetOf(device)}, {host, host_offset}, size);
    counters_.readbacks.AddAlone();
    lane.Tell(value, std::move(completion));
  } catch (const Failure& failure) {
    if (completion) completion->Done(&failure);
    throw;
  }
}

// Other work that was begun before continues; what follows comes after this.
void Queue::Land(const ReceiveWork& work) {
  const AbandonAtEnd abandon{*work.relay};
  Await(work);
  CopyLane& lane = Lane(incoming_);
  const uint64_t after = work.free_before ? work.free_before->value_before : timeline_.submitted();
  lane.Copy(timeline_, after, {work.host, work.host_offset}, {pool_.Resource(ChunkOf(work.to)), OffsetOf(work.to)}, work.size);
  lane.HoldBack(*context_.queue.get());
  counters_.uploads.AddAlone();
}

// The device's own timeline comes to the end of the copies, too.
void Queue::FinishExchange() {
  Submit();
  for (CopyLane* lane : {outgoing_.get(), incoming_.get()})
    if (lane) lane->HoldBack(*context_.queue.get());
  const uint64_t value = timeline_.Signal();
  std::lock_guard<std::mutex> lock(mutex_);
  history_.push_back({value, recorded_});
}

// Later work waits meanwhile: it may write what is read. The device moves one piece while the host takes the one before.
void Queue::ReadInPieces(LargeRead& read) {
  Pages pages(read.to, read.size);
  uint64_t filled[LargeRead::kBuffers];  // fence values
  const uint64_t pieces = (read.size + read.piece - 1) / read.piece;
  auto take = [&](uint64_t index) {
    WaitFor(filled[index % LargeRead::kBuffers]);
    uint64_t at = index * read.piece;
    HostCopy(read.to + at, read.buffers[index % LargeRead::kBuffers].memory, std::min(read.piece, read.size - at));
  };
  for (uint64_t i = 0; i < pieces; ++i) {
    if (i >= LargeRead::kBuffers) take(i - LargeRead::kBuffers);
    LargeRead::Buffer& buffer = read.buffers[i % LargeRead::kBuffers];
    uint64_t at = i * read.piece;
    recorder_.CopyOut(read.from + at, buffer.resource, buffer.offset, std::min(read.piece, read.size - at));
    counters_.readbacks.AddAlone();
    Submit();
    filled[i % LargeRead::kBuffers] = timeline_.submitted();
  }
  for (uint64_t i = pieces - std::min<uint64_t>(pieces, LargeRead::kBuffers); i < pieces; ++i) take(i);
}

}  // namespace dxtensor::dml
