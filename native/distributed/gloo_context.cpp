#include "gloo_context.h"

#include <algorithm>

#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace dxtensor::distributed {

namespace tcp = gloo::transport::tcp;

// All ranks have said where they listen: who does not connect soon has ended. Gloo waits for five times a pair's timeout, which nothing
// else here uses.
constexpr auto kConnect = std::chrono::milliseconds(60000);
constexpr int kTimes = 5;

Context::Context(int rank, int size, const std::string& host, const std::string& interface_name, std::chrono::milliseconds timeout)
    : gloo::Context(rank, size), addresses_(size), names_(size) {
  setTimeout(timeout);
  if (size == 1) return;
  tcp::attr attributes;
  attributes.hostname = host;
  attributes.iface = interface_name;
  device_ = tcp::CreateDevice(attributes);
  transportContext_ = device_->createContext(rank, size);
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
