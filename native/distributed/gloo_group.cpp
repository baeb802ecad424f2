#include "gloo_group.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/transport/unbound_buffer.h>

#include "gloo_exchange.h"

namespace dxtensor::distributed {
namespace {

// Slots that no collective of Gloo's has: their first byte is the collective's.
constexpr uint64_t kTransferSlot = uint64_t{0xd1} << 48;
constexpr uint64_t kWatchSlot = uint64_t{0xd2} << 48;
// Between noticing that a rank has ended and closing one's own connections: the others notice the same rank meanwhile, not this one.
constexpr auto kNotice = std::chrono::milliseconds(100);
// A watch may be slower than the collective that fails of the same connection.
constexpr auto kWatchDelay = std::chrono::milliseconds(500);
constexpr auto kTellTimeout = std::chrono::milliseconds(500);
// A rank sends this to the others' watches when it leaves, or the rank that it lost.
constexpr int32_t kLeaves = -1;
constexpr auto kForever = std::chrono::hours(24 * 365);
// The smallest part of an all-reduce that a channel gets: starting the channel costs more than a smaller one gains.
constexpr size_t kMinChannelBytes = 512 * 1024;
// Two ranks exchange all elements of an all-reduce up to this size: half the messages of Gloo's ring, but twice its additions.
constexpr size_t kMaxExchanged = 1024 * 1024;

// Gloo knows an element's type by its size alone. Calls fn with data as a pointer to integers of that size.
template <typename Fn>
void WithElements(char* data, size_t element_size, Fn fn) {
  switch (element_size) {
    case 8: return fn(reinterpret_cast<uint64_t*>(data));
    case 4: return fn(reinterpret_cast<uint32_t*>(data));
    case 2: return fn(reinterpret_cast<uint16_t*>(data));
    default: return fn(reinterpret_cast<uint8_t*>(data));
  }
}

template <typename Options>
void SetInput(Options& options, char* data, size_t elements, size_t element_size) {
  WithElements(data, element_size, [&](auto* typed) { options.setInput(typed, elements); });
}

template <typename Options>
void SetOutput(Options& options, char* data, size_t elements, size_t element_size) {
  WithElements(data, element_size, [&](auto* typed) { options.setOutput(typed, elements); });
}

template <typename Options>
void Prepare(Options& options, const Work& work) {
  options.setTag(work.tag);
  options.setTimeout(work.timeout);
}

void AllToAll(const std::shared_ptr<Context>& context, const Work& work, char* output) {
  gloo::AlltoallOptions options(context);
  options.setInput<char>(work.input, work.input_size);
  options.setOutput<char>(output, work.input_size);
  Prepare(options, work);
  gloo::alltoall(options);
}

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

GlooGroup::GlooGroup(std::shared_ptr<Context> context) : context_(std::move(context)) {
  thread_ = std::thread([this] { Run(); });
}

GlooGroup::~GlooGroup() { Close(false); }

void GlooGroup::Start(std::shared_ptr<Work> work) {
  {
    std::lock_guard<std::mutex> held(lock_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void GlooGroup::Run() {
  for (;;) {
    std::shared_ptr<Work> work;
    {
      std::unique_lock<std::mutex> held(lock_);
      changed_.wait(held, [&] { return is_closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = queue_.front();
      queue_.pop_front();
      running_++;
    }
    try {
      Require();
      Execute(*work);
      work->End("", "", -1);
    } catch (const std::exception& error) {
      Fail(*work, error.what());
    }
    std::lock_guard<std::mutex> held(lock_);
    running_--;
    changed_.notify_all();
  }
}

void GlooGroup::Require() {
  std::lock_guard<std::mutex> held(lock_);
  if (is_closing_) throw std::runtime_error("the group was closed");
  if (is_broken_) throw std::runtime_error(broken_by_);
}

void GlooGroup::Fail(Work& work, const std::string& message) {
  if (work.reason == "mismatch") return work.End(message, "mismatch", work.peer);
  int peer = context_->PeerIn(message);
  std::string reason = "engine";
  bool is_first = false;
  {
    std::unique_lock<std::mutex> held(lock_);
    if (is_closing_) reason = "closed";
    else if (is_broken_) reason = broken_reason_;
    else if (Contains(message, "imed out")) reason = "timeout";
    else if (peer >= 0 || Contains(message, "onnect") || Contains(message, "closure")) reason = "connection";
    // The watch of a rank that ended sees it at the same time as this thread.
    if (reason == "connection" && lost_ < 0) changed_.wait_for(held, kWatchDelay, [&] { return lost_ >= 0 || is_closing_; });
    if (reason == "connection" && lost_ >= 0) peer = lost_;
    is_first = !is_broken_ && reason != "closed";
    if (is_first) {
      is_broken_ = true;
      broken_by_ = message;
      broken_reason_ = reason;
    }
  }
  work.End(message, reason, peer);
  // The other ranks would wait for this one until their time is over.
  if (!is_first) return;
  if (reason == "connection" && peer >= 0) TellOthers(peer);
  std::this_thread::sleep_for(kNotice);
  context_->Abort();
}

void GlooGroup::TellOthers(int32_t lost_rank) {
  {
    std::lock_guard<std::mutex> held(lock_);
    if (!is_watched_ || has_told_) return;
    has_told_ = true;
  }
  for (int i = 0; i < context_->size; i++) {
    if (i == context_->rank) continue;
    try {
      const auto buffer = context_->createUnboundBuffer(&lost_rank, sizeof lost_rank);
      buffer->send(i, kWatchSlot);
      buffer->waitSend(nullptr, kTellTimeout);
    } catch (const std::exception&) {
      // It has left already.
    }
  }
}

void GlooGroup::Compare(Work& work) {
  std::vector<char> own = Described(work);
  std::vector<char> all(kDescriptionSize * context_->size);
  gloo::AllgatherOptions options(context_);
  options.setInput<char>(own.data(), own.size());
  options.setOutput<char>(all.data(), all.size());
  // Of another collective than any other of this group.
  options.setTag(work.sequence | 0x80000000U);
  options.setTimeout(work.timeout);
  gloo::allgather(options);
  if (!IsSameCall(work, own, all)) throw std::runtime_error("rank " + std::to_string(work.peer) + " called " + work.other);
}

void GlooGroup::AllReduce(Work& work) {
  // The ranks' messages do not depend on whether a rank's input is its output.
  if (context_->size == 2 && work.output_size <= kMaxExchanged) return ExchangeAndReduce(context_, work, context_->scratch());
  const size_t element_size = SizeOf(work.dtype);
  const size_t elements = work.output_size / element_size;
  const auto part = [&](const std::shared_ptr<Context>& context, size_t begin, size_t end) {
    if (context->size == 2) return ReduceHalves(context, work, begin, end, context->scratch());
    gloo::AllreduceOptions options(context);
    char* data = work.output + begin * element_size;
    // Gloo copies parts of the input just before it sends or sums them.
    if (work.input != work.output) SetInput(options, work.input + begin * element_size, end - begin, element_size);
    SetOutput(options, data, end - begin, element_size);
    options.setReduceFunction(ReduceFor(work.dtype, work.reduction));
    Prepare(options, work);
    gloo::allreduce(options);
    if (work.is_mean) Divide(data, end - begin, work.dtype, context_->size);
  };
  const size_t count = std::min(context_->channels().size() + 1, std::max<size_t>(work.output_size / kMinChannelBytes, 1));
  if (count == 1) return part(context_, 0, elements);
  const auto begin_of = [&](size_t k) { return elements * k / count; };
  std::vector<std::exception_ptr> errors(count);
  std::vector<std::thread> threads;
  const auto run = [&](size_t k) {
    try {
      part(k == 0 ? context_ : context_->channels()[k - 1], begin_of(k), begin_of(k + 1));
    } catch (...) {
      errors[k] = std::current_exception();
    }
  };
  for (size_t k = 1; k < count; k++) threads.emplace_back(run, k);
  run(0);
  // The other channels would wait until their time is over.
  if (errors[0]) context_->AbortChannels();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void GlooGroup::Execute(Work& work) {
  if (work.kind == Kind::kConnect) return context_->Connect(work.addresses);
  const int size = context_->size;
  if (size == 1) {
    if (work.output != work.input && work.output_size > 0) std::memcpy(work.output, work.input, work.output_size);
    return;
  }
  if (!work.description.empty()) Compare(work);
  const size_t element_size = SizeOf(work.dtype);
  const bool is_empty = work.input_size == 0 && work.output_size == 0;
  if (is_empty || work.kind == Kind::kBarrier) {
    gloo::BarrierOptions options(context_);
    Prepare(options, work);
    return gloo::barrier(options);
  }
  switch (work.kind) {
    case Kind::kAllReduce: return AllReduce(work);
    case Kind::kReduce: {
      gloo::ReduceOptions options(context_);
      SetOutput(options, work.output, work.output_size / element_size, element_size);
      options.setReduceFunction(ReduceFor(work.dtype, work.reduction));
      options.setRoot(work.root);
      Prepare(options, work);
      gloo::reduce(options);
      if (work.is_mean) Divide(work.output, work.output_size / element_size, work.dtype, size);
      return;
    }
    case Kind::kBroadcast: {
      gloo::BroadcastOptions options(context_);
      options.setOutput<char>(work.output, work.output_size);
      options.setRoot(work.root);
      Prepare(options, work);
      return gloo::broadcast(options);
    }
    case Kind::kAllGather: {
      gloo::AllgatherOptions options(context_);
      options.setInput<char>(work.input, work.input_size);
      options.setOutput<char>(work.output, work.output_size);
      Prepare(options, work);
      return gloo::allgather(options);
    }
    case Kind::kReduceScatter: {
      // Each rank gets the others' parts, and adds them up in the order of ranks.
      std::vector<char> parts(work.input_size);
      AllToAll(context_, work, parts.data());
      const size_t elements = work.output_size / element_size;
      const Reduce reduce = ReduceFor(work.dtype, work.reduction);
      std::memcpy(work.output, parts.data(), work.output_size);
      for (int i = 1; i < size; i++) reduce(work.output, work.output, parts.data() + i * work.output_size, elements);
      if (work.is_mean) Divide(work.output, elements, work.dtype, size);
      return;
    }
    case Kind::kAllToAll: return AllToAll(context_, work, work.output);
    case Kind::kGather: {
      gloo::GatherOptions options(context_);
      options.setInput<char>(work.input, work.input_size);
      if (context_->rank == work.root) options.setOutput<char>(work.output, work.output_size);
      options.setRoot(work.root);
      Prepare(options, work);
      return gloo::gather(options);
    }
    case Kind::kScatter: {
      gloo::ScatterOptions options(context_);
      if (context_->rank == work.root) {
        std::vector<char*> parts;
        for (int i = 0; i < size; i++) parts.push_back(work.input + i * work.output_size);
        options.setInputs<char>(parts, work.output_size);
      }
      options.setOutput<char>(work.output, work.output_size);
      options.setRoot(work.root);
      Prepare(options, work);
      return gloo::scatter(options);
    }
    default: throw std::invalid_argument("no collective");
  }
}

void GlooGroup::Transfer(std::shared_ptr<Work> work) {
  const bool is_send = work->kind == Kind::kSend;
  std::shared_ptr<gloo::transport::UnboundBuffer> buffer;
  try {
    Require();
    char* data = is_send ? work->input : work->output;
    buffer = context_->createUnboundBuffer(data, is_send ? work->input_size : work->output_size);
    // Gloo ends the process for a message that is larger than the memory for it: the slot contains the size.
    const uint64_t size = is_send ? work->input_size : work->output_size;
    const uint64_t slot = kTransferSlot | ((size ^ (size >> 16) ^ (size >> 32)) & 0xffff) << 32 | work->tag;
    if (is_send) buffer->send(work->root, slot);
    else buffer->recv(work->root, slot);
  } catch (const std::exception& error) {
    Fail(*work, error.what());
    return;
  }
  std::lock_guard<std::mutex> held(lock_);
  running_++;
  std::thread([self = std::static_pointer_cast<GlooGroup>(shared_from_this()), work, buffer, is_send]() mutable {
    try {
      if (is_send) buffer->waitSend(nullptr, work->timeout);
      else buffer->waitRecv(nullptr, work->timeout);
      buffer.reset();
      work->End("", "", -1);
    } catch (const std::exception& error) {
      self->Fail(*work, error.what());
      buffer.reset();
    }
    std::lock_guard<std::mutex> done(self->lock_);
    self->running_--;
    self->changed_.notify_all();
  }).detach();
}

void GlooGroup::Watch(std::function<void(int rank)> lost) {
  {
    std::lock_guard<std::mutex> held(lock_);
    is_watched_ = true;
  }
  for (int i = 0; i < context_->size; i++) {
    if (i == context_->rank) continue;
    threads_.emplace_back([this, i, lost] {
      int32_t lost_rank = i;
      try {
        const auto buffer = context_->createUnboundBuffer(&lost_rank, sizeof lost_rank);
        buffer->recv(i, kWatchSlot);
        buffer->waitRecv(nullptr, kForever);
        if (lost_rank == kLeaves) return;
        // It says which rank it lost; this one is there.
        if (lost_rank < 0 || lost_rank >= context_->size || lost_rank == context_->rank) lost_rank = i;
      } catch (const std::exception& error) {
        // Ended by this rank itself.
        if (Contains(error.what(), "Application timeout")) return;
      }
      {
        std::lock_guard<std::mutex> held(lock_);
        if (is_closing_ || is_broken_) return;
      }
      lost(lost_rank);
    });
  }
}

void GlooGroup::Lose(int rank) {
  std::lock_guard<std::mutex> held(lock_);
  if (lost_ >= 0) return;
  lost_ = rank;
  changed_.notify_all();
}

void GlooGroup::Break(std::chrono::steady_clock::time_point when) {
  {
    std::unique_lock<std::mutex> held(lock_);
    // What needs the rank no more ends until then.
    changed_.wait_until(held, when, [&] { return is_closing_ || is_broken_ || (running_ == 0 && queue_.empty()); });
    if (is_closing_ || is_broken_) return;
    is_broken_ = true;
    broken_by_ = "rank " + std::to_string(lost_) + " of the group has ended, or has closed its connections after an error of its own";
    broken_reason_ = "connection";
  }
  TellOthers(lost_);
  context_->Abort();
}

void GlooGroup::Close(bool is_clean) {
  int lost;
  {
    std::unique_lock<std::mutex> held(lock_);
    if (is_closing_) return;
    is_closing_ = true;
    lost = lost_;
    if (is_broken_) {
      is_clean = false;
      changed_.wait_for(held, kNotice, [] { return false; });
    }
  }
  changed_.notify_all();
  if (lost >= 0) TellOthers(lost);
  else if (is_clean) TellOthers(kLeaves);
  context_->Abort();
  if (thread_.joinable()) thread_.join();
  for (std::thread& thread : threads_) thread.join();
  std::unique_lock<std::mutex> held(lock_);
  changed_.wait(held, [&] { return running_ == 0; });
}

}  // namespace dxtensor::distributed
