// Device's copies between host and device, and from another device.
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>

#include "device_interfaces.h"
#include "host_copy.h"
#include "uploads.h"

namespace dxtensor::dml {

namespace {

constexpr auto kArrivalLook = std::chrono::milliseconds(100);

class ReadCompletion : public Completion {
 public:
  ReadCompletion(StagingPool::Piece piece, void* to, uint64_t size, std::function<void(const Failure*)> done)
      : piece_(piece), to_(to), size_(size), done_(std::move(done)) {}
  void Done(const Failure* failure) override {
    if (!failure) HostCopy(to_, piece_.memory(), size_);
    StagingPool::Unpin(piece_.page);
    done_(failure);
  }

 private:
  StagingPool::Piece piece_;
  void* to_;
  uint64_t size_;
  std::function<void(const Failure*)> done_;
};

class RelayCompletion : public Completion {
 public:
  RelayCompletion(StagingPool::Piece piece, std::shared_ptr<Relay> relay) : piece_(piece), relay_(std::move(relay)) {}
  void Done(const Failure* failure) override {
    if (failure) relay_->Fail(*failure);
    else relay_->Copy(piece_.memory());
    StagingPool::Unpin(piece_.page);
  }

 private:
  StagingPool::Piece piece_;
  std::shared_ptr<Relay> relay_;
};

class LargeReadCompletion : public LargeRead {
 public:
  LargeReadCompletion(const StagingPool::Piece (&pieces)[kBuffers], std::function<void(const Failure*)> done) : done_(std::move(done)) {
    for (size_t i = 0; i < kBuffers; ++i) {
      pages_[i] = pieces[i].page;
      buffers[i] = {pieces[i].page->resource.get(), pieces[i].offset, pieces[i].memory()};
    }
  }
  void Done(const Failure* failure) override {
    for (StagingPool::Page* page : pages_) StagingPool::Unpin(page);
    done_(failure);
  }

 private:
  StagingPool::Page* pages_[kBuffers];
  std::function<void(const Failure*)> done_;
};

}  // namespace

void Device::Upload(Address to, const void* bytes, uint64_t size) {
  WithInterfaces([&] {
    CheckAlive();
    Uploads uploads(*queue_, *uploads_);
    for (uint64_t at = 0; at < size; at += kTransferPiece)
      uploads.Add(to + at, static_cast<const uint8_t*>(bytes) + at, std::min(kTransferPiece, size - at), size > kTransferPiece);
  });
}

// Always in one order, whoever sends.
template <typename F>
void Device::WithInterfacesOf(Device& other, F&& use) {
  const bool is_first = std::less<>()(this, &other);
  (is_first ? *this : other).WithInterfaces([&] { (is_first ? other : *this).WithInterfaces(use); });
}

void Device::Receive(Device& sender, Address from, Address to, uint64_t size) {
  WithInterfacesOf(sender, [&] {
    CheckAlive();
    Uploads uploads(*queue_, *uploads_);
    sender.ReadPieces(
        from, size, [&](uint64_t at, const uint8_t* memory, uint64_t part) { uploads.Add(to + at, memory, part, size > kTransferPiece); });
  });
}

void Device::ReceiveLater(Device& sender, Address from, Address to, uint64_t size) {
  WithInterfacesOf(sender, [&] {
    CheckAlive();
    sender.CheckAlive();
    if (queue_->held() || sender.queue_->held()) throw Failure(FailureKind::Invalid, "a device is held: it sends and receives nothing");
    for (uint64_t at = 0; at < size; at += kTransferPiece) {
      const uint64_t part = std::min(kTransferPiece, size - at);
      WaitForStaging(*queue_, *uploads_, part);
      WaitForStaging(*sender.queue_, *sender.readbacks_, part);
      ReceivePiece(sender, from + at, to + at, part);
      sender.queue_->Flush();
      queue_->Flush();
    }
  });
}

void Device::ReceivePiece(Device& sender, Address from, Address to, uint64_t size) {
  // What may fail comes first.
  StagingPool::Piece read = sender.readbacks_->Allocate(size), written = uploads_->Allocate(size);
  auto relay = std::make_shared<Relay>(written.memory(), size);
  auto completion = std::make_unique<RelayCompletion>(read, relay);
  auto work = std::make_unique<ReceiveWork>(ReceiveWork{relay, written.page->resource.get(), written.offset, to, size});
  Task& receiving = queue_->Next();
  Task& reading = sender.queue_->Next();
  read.page->pins.fetch_add(1);
  reading.kind = Task::Kind::Read;
  reading.completion = completion.release();
  reading.transfer = {read.page->resource.get(), read.offset, from, size, nullptr, 0};
  sender.queue_->Commit();
  read.page->last_task = sender.queue_->last_task();
  work->sender = sender.queue_->progress();
  work->sender_task = sender.queue_->last_task();
  receiving.kind = Task::Kind::Receive;
  receiving.receive = work.release();
  queue_->Commit();
  written.page->last_task = queue_->last_task();
}

void Device::Exchange(const std::vector<Shipment>& shipments) {
  std::vector<Device*> devices;
  for (const Shipment& shipment : shipments)
    for (Device* device : {shipment.sender, shipment.receiver})
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  for (Device* device : devices) {
    device->CheckAlive();
    if (device->queue_->held()) throw Failure(FailureKind::Invalid, "a device is held: it sends and receives nothing");
  }
  std::exception_ptr error;
  try {
    // All is sent before anything is waited for.
    for (const Shipment& shipment : shipments) shipment.receiver->Send(shipment);
  } catch (...) {
    error = std::current_exception();
  }
  for (Device* device : devices) {
    try {
      device->Land();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

void Device::Send(const Shipment& shipment) {
  WithInterfacesOf(*shipment.sender, [&] {
    CheckAlive();
    shipment.sender->CheckAlive();
    for (uint64_t at = 0; at < shipment.size; at += kTransferPiece) SendPiece(shipment, at, std::min(kTransferPiece, shipment.size - at));
  });
}

void Device::SendPiece(const Shipment& shipment, uint64_t at, uint64_t size) {
  Device& sender = *shipment.sender;
  WaitForStaging(*queue_, *uploads_, size);
  WaitForStaging(*sender.queue_, *sender.readbacks_, size);
  StagingPool::Piece read = sender.readbacks_->Allocate(size), written = uploads_->Allocate(size);
  auto relay = std::make_shared<Relay>(written.memory(), size);
  auto completion = std::make_unique<RelayCompletion>(read, relay);
  auto work = std::make_unique<ReceiveWork>(
      ReceiveWork{relay, written.page->resource.get(), written.offset, shipment.to + at, size, shipment.free_before});
  expected_.reserve(expected_.size() + 1);
  Task& reading = sender.queue_->Next();
  read.page->pins.fetch_add(1);
  reading.kind = Task::Kind::Send;
  reading.completion = completion.release();
  reading.transfer = {read.page->resource.get(), read.offset, shipment.from + at, size, shipment.maker, shipment.part};
  sender.queue_->Commit();
  read.page->last_task = sender.queue_->last_task();
  work->sender = sender.queue_->progress();
  work->sender_task = sender.queue_->last_task();
  // Its task comes with Land.
  written.page->pins.fetch_add(1);
  expected_.push_back({std::move(work), written.page});
}

void Device::ReadMade(Address from, void* to, uint64_t size, const Recording* maker, uint32_t part) {
  WithInterfaces([&] {
    CheckAlive();
    if (queue_->held()) throw Failure(FailureKind::Invalid, "the device is held: waiting for it would never end");
    // Nothing is written to the caller's memory after this.
    struct Relays {
      std::vector<std::shared_ptr<Relay>> all;
      ~Relays() {
        for (const auto& relay : all) relay->Abandon();
      }
    } relays;
    for (uint64_t at = 0; at < size; at += kTransferPiece) {
      const uint64_t length = std::min(kTransferPiece, size - at);
      WaitForStaging(*queue_, *readbacks_, length);
      StagingPool::Piece piece = readbacks_->Allocate(length);
      relays.all.push_back(std::make_shared<Relay>(static_cast<uint8_t*>(to) + at, length));
      auto completion = std::make_unique<RelayCompletion>(piece, relays.all.back());
      Task& task = queue_->Next();
      piece.page->pins.fetch_add(1);
      task.kind = Task::Kind::Send;
      task.completion = completion.release();
      task.transfer = {piece.page->resource.get(), piece.offset, from + at, length, maker, part};
      queue_->Commit();
      piece.page->last_task = queue_->last_task();
    }
    queue_->Flush();
    for (const auto& relay : relays.all) {
      relay->PollFor(CopyLane::PollTime(*context_));
      try {
        while (!relay->WaitFor(kArrivalLook)) {
          queue_->CheckProgress();
          if (look_) look_();
        }
      } catch (const Failure&) {
        CheckAlive();
        if (auto failure = relay->failure()) throw *failure;
        throw;
      }
    }
  });
}

void Device::Land() {
  WithInterfaces([&] {
    CheckAlive();
    for (size_t i = 0; i < expected_.size(); ++i) {
      Task& task = queue_->Next();
      task.kind = Task::Kind::Land;
      task.receive = expected_[i].work.release();
      queue_->Commit();
      expected_[i].page->last_task = queue_->last_task();
      StagingPool::Unpin(expected_[i].page);
      expected_[i].page = nullptr;
    }
    expected_.clear();
    Task& task = queue_->Next();
    task.kind = Task::Kind::Land;
    task.receive = nullptr;
    queue_->Commit();
  });
}

// Nothing is written to its memory any more.
void Device::ForgetExpected() {
  for (Expected& expected : expected_) {
    if (expected.work) expected.work->relay->Abandon();
    if (expected.page) StagingPool::Unpin(expected.page);
  }
  expected_.clear();
}

void Device::ReadPiece(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done) {
  StagingPool::Piece piece = readbacks_->Allocate(size);
  Task& task = queue_->Next();
  piece.page->pins.fetch_add(1);
  task.kind = Task::Kind::Read;
  task.completion = new ReadCompletion(piece, to, size, std::move(done));
  task.transfer = {piece.page->resource.get(), piece.offset, from, size, nullptr, 0};
  queue_->Commit();
}

void Device::Read(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done) {
  WithInterfaces([&] {
    CheckAlive();
    if (!size) return Synchronize(std::move(done));
    done = WithGuards(std::move(done));
    if (size > 2 * kTransferPiece) return ReadLarge(from, to, size, std::move(done));
    ReadPiece(from, to, size, std::move(done));
  });
}

// Of a device that has found something already, too.
void Device::ReadGuard(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done) {
  Gate::Entry entry(gate_);
  queue_->CheckAlive();
  ReadPiece(from, to, size, std::move(done));
}

void Device::ReadLarge(Address from, void* to, uint64_t size, std::function<void(const Failure*)> done) {
  StagingPool::Piece pieces[LargeRead::kBuffers];
  size_t pinned = 0;
  try {
    for (StagingPool::Piece& piece : pieces) {
      piece = readbacks_->Allocate(kTransferPiece);
      piece.page->pins.fetch_add(1);
      ++pinned;
    }
    Task& task = queue_->Next();
    auto read = std::make_unique<LargeReadCompletion>(pieces, std::move(done));
    read->piece = kTransferPiece;
    read->from = from;
    read->to = static_cast<uint8_t*>(to);
    read->size = size;
    task.kind = Task::Kind::ReadLarge;
    task.completion = read.release();
    queue_->Commit();
  } catch (...) {
    for (size_t i = 0; i < pinned; ++i) StagingPool::Unpin(pieces[i].page);
    throw;
  }
}

void Device::ReadPieces(Address from, uint64_t size, const std::function<void(uint64_t, const uint8_t*, uint64_t)>& take) {
  WithInterfaces([&] {
    CheckAlive();
    if (queue_->held() || !size) return queue_->Wait();
    // The device moves pieces while this thread takes the one before. A page is pinned until its bytes are taken.
    struct Moving {
      Moving(StagingPool::Piece taken, uint64_t number) : piece(taken), task(number), pin(taken.page) {}
      StagingPool::Piece piece;
      uint64_t task;
      StagingPool::Pin pin;
    };
    std::deque<Moving> moving;
    uint64_t begun = 0;
    for (uint64_t at = 0; at < size; at += kTransferPiece) {
      while (begun < size && moving.size() < kTransferPieces) {
        const uint64_t part = std::min(kTransferPiece, size - begun);
        StagingPool::Piece piece = readbacks_->Allocate(part);
        Task& task = queue_->Next();
        task.kind = Task::Kind::Read;
        task.completion = nullptr;
        task.transfer = {piece.page->resource.get(), piece.offset, from + begun, part, nullptr, 0};
        queue_->Commit();
        piece.page->last_task = queue_->last_task();
        moving.emplace_back(piece, queue_->last_task());
        begun += part;
        queue_->Flush();
      }
      queue_->WaitForTask(moving.front().task);
      take(at, moving.front().piece.memory(), std::min(kTransferPiece, size - at));
      moving.pop_front();
    }
    // What was compared before is known.
    if (guards_) Wait();
  });
}

void Device::ReadAndWait(Address from, void* to, uint64_t size) {
  Pages pages(to, size);
  ReadPieces(from, size,
             [&](uint64_t at, const uint8_t* memory, uint64_t part) { HostCopy(static_cast<uint8_t*>(to) + at, memory, part); });
}

}  // namespace dxtensor::dml
