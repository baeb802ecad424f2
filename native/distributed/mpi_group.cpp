#include "mpi_group.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <future>
#include <stdexcept>

namespace dxtensor::distributed {
namespace {

constexpr auto kClose = std::chrono::seconds(2);
// Tags of the handshakes, behind that of notices; MPI promises 32,767.
constexpr int kHandshakes = 30000;

// A number of bytes as units that MPI counts by int.
struct Units {
  int count;
  int size;
};

Units UnitsOf(size_t bytes) {
  for (const int size : {8, 4, 2, 1}) {
    if (bytes % size != 0) continue;
    if (bytes / size > INT_MAX) break;
    return {static_cast<int>(bytes / size), size};
  }
  throw std::length_error("MPI counts to 2^31 - 1: " + std::to_string(bytes) + " bytes are too many for one call");
}

int CountOf(size_t bytes, size_t element_size) {
  if (bytes / element_size > INT_MAX)
    throw std::length_error("MPI counts to 2^31 - 1: " + std::to_string(bytes / element_size) + " elements are too many for one call");
  return static_cast<int>(bytes / element_size);
}

}  // namespace

// A work that runs, with its requests: of a connection one to each other rank and back.
struct MpiGroup::Operation {
  std::shared_ptr<Work> work;
  Time deadline;
  std::vector<MpiRequest> requests;
  std::vector<char> bytes;
  // Descriptions, while they are compared.
  std::vector<char> own;
  std::vector<char> all;
  bool is_comparing = false;
};

MpiGroup::MpiGroup(int number, std::vector<int> ranks)
    : engine_(MpiEngine::Get()),
      number_(number),
      ranks_(std::move(ranks)),
      rank_(static_cast<int>(std::find(ranks_.begin(), ranks_.end(), engine_.rank()) - ranks_.begin())) {}

MpiGroup::~MpiGroup() = default;

void MpiGroup::Start(std::shared_ptr<Work> work) {
  engine_.Post([self = Own(), work] {
    if (work->kind == Kind::kConnect) self->engine_.Add(self);
    if (self->is_closed_ || self->is_broken_) self->Refuse(*work);
    else self->queue_.push_back(work);
  });
}

void MpiGroup::Transfer(std::shared_ptr<Work> work) {
  engine_.Post([self = Own(), work] {
    if (self->is_closed_ || self->is_broken_) self->Refuse(*work);
    else self->Begin(work, std::chrono::steady_clock::now());
  });
}

void MpiGroup::Watch(std::function<void(int rank)> lost) {
  engine_.Post([self = Own(), lost = std::move(lost)] { self->watch_ = lost; });
}

void MpiGroup::Lose(int rank) {
  if (lost_ < 0) lost_ = rank;
}

void MpiGroup::Break(Time when) {
  if (is_breaking_) return;
  is_breaking_ = true;
  break_at_ = when;
}

void MpiGroup::Close(bool is_clean) {
  if (is_closing_) return;
  is_closing_ = true;
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> closed = done->get_future();
  engine_.Post([self = Own(), is_clean, done] {
    const bool is_idle = !self->is_active() && self->queue_.empty();
    if (!self->is_broken_ && !(is_clean && is_idle)) {
      // The others would wait for this rank until their time is over.
      self->engine_.Notify(self->number_, self->ranks_);
      self->engine_.Abandon();
    }
    self->is_closed_ = true;
    self->EndAll("the group was closed", "closed", -1);
    if (is_clean && is_idle && self->is_connected_ && !self->is_broken_) self->engine_.mpi().free_comm(&self->comm_);
    self->watch_ = nullptr;
    self->engine_.Remove(self.get());
    done->set_value();
  });
  closed.wait_for(kClose);
}

void MpiGroup::Refuse(Work& work) const {
  if (is_closed_) work.End("the group was closed", "closed", -1);
  else work.End(broken_by_, broken_reason_, lost_);
}

void MpiGroup::EndAll(const std::string& message, const std::string& reason, int peer) {
  const auto end = [&](Work& work, bool is_running) {
    work.is_memory_used = is_running;
    if (is_running) engine_.Abandon();
    work.End(message, reason, peer);
  };
  // Their requests stay: MPI cannot cancel a collective.
  if (active_ != nullptr) {
    end(*active_->work, true);
    active_.release();
  }
  for (auto& transfer : transfers_) {
    end(*transfer->work, true);
    transfer.release();
  }
  transfers_.clear();
  while (!queue_.empty()) {
    const auto work = queue_.front();
    queue_.pop_front();
    end(*work, false);
  }
}

void MpiGroup::Told(int number, int rank) {
  if (number != number_ || is_closed_ || is_broken_) return;
  const auto at = std::find(ranks_.begin(), ranks_.end(), rank);
  if (at == ranks_.end()) return;
  const int lost = static_cast<int>(at - ranks_.begin());
  // A copy: what it calls may close this group.
  const auto watch = watch_;
  if (watch) return watch(lost);
  Lose(lost);
  Break(std::chrono::steady_clock::now());
}

bool MpiGroup::Advance(Time now) {
  if (is_broken_ || is_closed_) return false;
  bool is_new = false;
  for (size_t i = 0; i < transfers_.size() && !is_broken_; i++) {
    // Poll() may end all.
    const auto held = Own();
    if (!Poll(*transfers_[i], now)) continue;
    is_new = true;
    if (is_broken_) break;
    transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  if (is_broken_) return true;
  if (active_ != nullptr && Poll(*active_, now)) {
    is_new = true;
    if (is_broken_) return true;
    active_.reset();
  }
  if (active_ == nullptr && !queue_.empty()) {
    const auto work = queue_.front();
    queue_.pop_front();
    Begin(work, now);
    is_new = true;
  }
  // What needs the lost rank no more has ended until then.
  if (!is_broken_ && is_breaking_ && now >= break_at_) {
    is_broken_ = true;
    broken_by_ = "rank " + std::to_string(lost_) + " of the group has given up";
    broken_reason_ = "connection";
    engine_.Abandon();
    EndAll(broken_by_, broken_reason_, lost_);
    is_new = true;
  }
  return is_new;
}

void MpiGroup::Begin(std::shared_ptr<Work> work, Time now) {
  auto operation = std::make_unique<Operation>();
  operation->work = work;
  operation->deadline = now + work->timeout;
  const bool is_transfer = work->kind == Kind::kSend || work->kind == Kind::kReceive;
  Operation& begun = *operation;
  if (is_transfer) transfers_.push_back(std::move(operation));
  else active_ = std::move(operation);
  try {
    if (work->kind == Kind::kConnect) return BeginConnect(begun);
    if (!work->description.empty()) {
      begun.is_comparing = true;
      begun.own = Described(*work);
      begun.all.resize(kDescriptionSize * ranks_.size());
      begun.requests.resize(1);
      const int code = engine_.mpi().all_gather(begun.own.data(), begun.all.data(), kDescriptionSize, 1, comm_, begun.requests.data());
      if (code != 0) Fail(engine_.Text(code), "engine");
      return;
    }
    begun.requests.resize(1);
    const int code = Call(*work, begun.requests.data());
    if (code != 0) Fail(engine_.Text(code), "engine");
  } catch (const std::exception& error) {
    // Refused before MPI has it, on all ranks alike.
    work->End(error.what(), "engine", -1);
    if (is_transfer) transfers_.pop_back();
    else active_.reset();
  }
}

// The communicator is made when all are there, since MPI's call for it blocks: one byte to each other rank.
void MpiGroup::BeginConnect(Operation& operation) {
  const int tag = 1 + number_ % kHandshakes;
  const size_t others = ranks_.size() - 1;
  operation.bytes.resize(2 * others);
  operation.requests.resize(2 * others);
  size_t i = 0;
  for (const int rank : ranks_) {
    if (rank == engine_.rank()) continue;
    for (const bool is_send : {false, true}) {
      char* byte = &operation.bytes[i];
      MpiRequest* request = &operation.requests[i++];
      const MpiFunctions& mpi = engine_.mpi();
      const int code = is_send ? mpi.send(byte, 1, 1, rank, tag, engine_.control(), request)
                               : mpi.receive(byte, 1, 1, rank, tag, engine_.control(), request);
      if (code != 0) return Fail(engine_.Text(code), "engine");
    }
  }
}

int MpiGroup::Call(Work& work, MpiRequest* request) {
  const MpiFunctions& mpi = engine_.mpi();
  const size_t element_size = SizeOf(work.dtype);
  const int dtype = static_cast<int>(work.dtype);
  const int reduction = static_cast<int>(work.reduction);
  const int unit = static_cast<int>(element_size);
  const bool is_transfer = work.kind == Kind::kSend || work.kind == Kind::kReceive;
  // Of no elements: the ranks meet.
  if (!is_transfer && work.input_size == 0 && work.output_size == 0) return mpi.barrier(comm_, request);
  switch (work.kind) {
    case Kind::kAllReduce:
      // The shims reduce in place.
      if (work.input != work.output) std::memcpy(work.output, work.input, work.output_size);
      return mpi.all_reduce(work.output, CountOf(work.output_size, element_size), unit, dtype, reduction, comm_, request);
    case Kind::kReduce:
      return mpi.reduce(work.output, CountOf(work.output_size, element_size), unit, dtype, reduction, work.root, work.root == rank_ ? 1 : 0,
                        comm_, request);
    case Kind::kReduceScatter:
      return mpi.reduce_scatter(work.input, work.output, CountOf(work.output_size, element_size), unit, dtype, reduction, comm_, request);
    case Kind::kBroadcast: {
      const Units units = UnitsOf(work.output_size);
      return mpi.broadcast(work.output, units.count, units.size, work.root, comm_, request);
    }
    case Kind::kAllGather: {
      const Units units = UnitsOf(work.input_size);
      return mpi.all_gather(work.input, work.output, units.count, units.size, comm_, request);
    }
    case Kind::kAllToAll: {
      const Units units = UnitsOf(work.input_size / ranks_.size());
      return mpi.all_to_all(work.input, work.output, units.count, units.size, comm_, request);
    }
    case Kind::kGather: {
      const Units units = UnitsOf(work.input_size);
      return mpi.gather(work.input, work.output, units.count, units.size, work.root, comm_, request);
    }
    case Kind::kScatter: {
      const Units units = UnitsOf(work.output_size);
      return mpi.scatter(work.input, work.output, units.count, units.size, work.root, comm_, request);
    }
    case Kind::kBarrier: return mpi.barrier(comm_, request);
    case Kind::kSend:
    case Kind::kReceive: {
      if (work.tag > static_cast<uint32_t>(engine_.largest_tag()))
        throw std::out_of_range("the largest tag of this MPI is " + std::to_string(engine_.largest_tag()));
      const int tag = static_cast<int>(work.tag);
      const bool is_send = work.kind == Kind::kSend;
      const Units units = UnitsOf(is_send ? work.input_size : work.output_size);
      return is_send ? mpi.send(work.input, units.count, units.size, work.root, tag, comm_, request)
                     : mpi.receive(work.output, units.count, units.size, work.root, tag, comm_, request);
    }
    default: throw std::invalid_argument("no such call");
  }
}

bool MpiGroup::Poll(Operation& operation, Time now) {
  bool is_complete = true;
  for (MpiRequest& request : operation.requests) {
    int is_done = 0;
    const int code = engine_.mpi().test(&request, &is_done);
    if (code != 0) {
      Fail(engine_.Text(code), "engine");
      return true;
    }
    is_complete = is_complete && is_done != 0;
  }
  if (!is_complete) {
    if (now < operation.deadline) return false;
    Fail("not complete within " + std::to_string(operation.work->timeout.count()) + " ms", "timeout");
    return true;
  }
  if (operation.is_comparing) {
    operation.is_comparing = false;
    Work& work = *operation.work;
    if (!IsSameCall(work, operation.own, operation.all)) {
      work.End("rank " + std::to_string(work.peer) + " called " + work.other, "mismatch", work.peer);
      return true;
    }
    try {
      const int code = Call(work, operation.requests.data());
      if (code == 0) return false;
      Fail(engine_.Text(code), "engine");
    } catch (const std::exception& error) {
      work.End(error.what(), "engine", -1);
    }
    return true;
  }
  Finish(operation);
  return true;
}

void MpiGroup::Finish(Operation& operation) {
  Work& work = *operation.work;
  if (work.kind == Kind::kConnect) {
    const int code = engine_.mpi().create_comm(ranks_.data(), static_cast<int>(ranks_.size()), 1 + number_ % kHandshakes, &comm_);
    if (code != 0) return Fail(engine_.Text(code), "engine");
    is_connected_ = true;
  }
  const bool has_result =
      work.kind == Kind::kAllReduce || work.kind == Kind::kReduceScatter || (work.kind == Kind::kReduce && work.root == rank_);
  if (work.is_mean && has_result) Divide(work.output, work.output_size / SizeOf(work.dtype), work.dtype, static_cast<int>(ranks_.size()));
  work.End("", "", -1);
}

// The group can make no more calls, and the others learn of it.
void MpiGroup::Fail(const std::string& message, const std::string& reason) {
  const bool is_lost = is_breaking_ && lost_ >= 0;
  is_broken_ = true;
  broken_by_ = message;
  broken_reason_ = is_lost ? "connection" : reason;
  if (!is_lost) engine_.Notify(number_, ranks_);
  engine_.Abandon();
  EndAll(message, broken_reason_, lost_);
}

}  // namespace dxtensor::distributed
