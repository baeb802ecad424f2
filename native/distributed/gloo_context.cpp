#include "gloo_context.h"

#include <algorithm>
#include <thread>

#include <gloo/common/error.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <gloo/transport/unbound_buffer.h>

namespace dxtensor::distributed {

namespace tcp = gloo::transport::tcp;

// All ranks have said where they listen: who does not connect soon has ended. Gloo waits for five times a pair's timeout, which nothing
// else here uses.
constexpr auto kConnect = std::chrono::milliseconds(60000);
constexpr int kTimes = 5;

namespace {

// While a thread of calls writes to a connection, it holds the pair; what arrives meanwhile would keep Gloo's thread of events polling, on
// the CPU that the ranks compute on.
class Pair final : public tcp::Pair {
 public:
  using tcp::Pair::Pair;

  // Gloo's own members are larger than its headers tell here.
  static void* operator new(size_t size) { return ::operator new(size + kSlack); }
  static void operator delete(void* memory) { ::operator delete(memory); }

  void handleEvents(int events) override {
    if (m_.try_lock()) m_.unlock();
    else std::this_thread::sleep_for(kPause);
    tcp::Pair::handleEvents(events);
  }

 private:
  static constexpr size_t kSlack = 4096;
  static constexpr auto kPause = std::chrono::microseconds(20);
};

class TransportContext final : public tcp::Context {
 public:
  using tcp::Context::Context;

  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override {
    pairs_[rank] = std::unique_ptr<gloo::transport::Pair>(new Pair(this, device_.get(), rank, getTimeout()));
    return pairs_[rank];
  }
};

}  // namespace

Context::Context(int rank, int size, const std::string& host, const std::string& interface_name, std::chrono::milliseconds timeout)
    : gloo::Context(rank, size), addresses_(size), names_(size) {
  setTimeout(timeout);
  if (size == 1) return;
  tcp::attr attributes;
  attributes.hostname = host;
  attributes.iface = interface_name;
  device_ = tcp::CreateDevice(attributes);
  transportContext_ = std::make_shared<TransportContext>(std::static_pointer_cast<tcp::Device>(device_), rank, size);
  transportContext_->setTimeout(std::max(std::min(timeout, kConnect) / kTimes, std::chrono::milliseconds(1)));
  for (int i = 0; i < size; i++) {
    if (i != rank) addresses_[i] = transportContext_->createPair(i)->address().bytes();
  }
}

void Context::Connect(const std::vector<std::vector<char>>& theirs) {
  for (int i = 0; i < size; i++) {
    if (i == rank) continue;
    names_[i] = tcp::Address(theirs.at(i)).str();
    transportContext_->getPair(i)->connect(theirs[i]);
  }
}

int Context::PeerIn(const std::string& message) const {
  for (int i = 0; i < size; i++) {
    if (!names_[i].empty() && message.find(names_[i]) != std::string::npos) return i;
  }
  return -1;
}

void Context::Abort() {
  if (size == 1) return;
  // A receive that runs out of time ends all others of its context: Gloo has no call for that alone.
  char byte = 0;
  try {
    createUnboundBuffer(&byte, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
  } catch (const gloo::IoException&) {
  }
}

}  // namespace dxtensor::distributed
