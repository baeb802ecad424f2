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

Context::Context(int rank, int size, const std::string& host, const std::string& interface_name, std::chrono::milliseconds timeout,
                 int channels)
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
  for (int k = 1; k < channels; k++) {
    channels_.push_back(std::make_shared<Context>(rank, size, host, interface_name, timeout, 1));
    for (int i = 0; i < size; i++) {
      const std::vector<char>& address = channels_.back()->addresses_[i];
      addresses_[i].insert(addresses_[i].end(), address.begin(), address.end());
    }
  }
}

void Context::Connect(const std::vector<std::vector<char>>& theirs) {
  // All addresses have the same size.
  const size_t channels = channels_.size() + 1;
  const auto address_size = [&](int i) { return addresses_[i].size() / channels; };
  size_t count = channels;
  for (int i = 0; i < size; i++) {
    if (i != rank) count = std::min(count, theirs.at(i).size() / address_size(i));
  }
  channels_.resize(std::max<size_t>(count, 1) - 1);
  for (size_t k = 0; k <= channels_.size(); k++) {
    std::vector<std::vector<char>> own(size);
    for (int i = 0; i < size; i++) {
      if (i == rank) continue;
      const auto start = theirs[i].begin() + k * address_size(i);
      own[i].assign(start, start + address_size(i));
    }
    if (k == 0) ConnectPairs(own);
    else channels_[k - 1]->ConnectPairs(own);
  }
}

void Context::ConnectPairs(const std::vector<std::vector<char>>& theirs) {
  for (int i = 0; i < size; i++) {
    if (i == rank) continue;
    names_[i] = tcp::Address(theirs[i]).str();
    transportContext_->getPair(i)->connect(theirs[i]);
  }
}

int Context::PeerIn(const std::string& message) const {
  for (int i = 0; i < size; i++) {
    if (!names_[i].empty() && message.find(names_[i]) != std::string::npos) return i;
  }
  for (const std::shared_ptr<Context>& channel : channels_) {
    const int peer = channel->PeerIn(message);
    if (peer >= 0) return peer;
  }
  return -1;
}

void Context::AbortChannels() {
  for (const std::shared_ptr<Context>& channel : channels_) channel->Abort();
}

void Context::Abort() {
  if (size == 1) return;
  AbortChannels();
  // A receive that runs out of time ends all others of its context: Gloo has no call for that alone.
  char byte = 0;
  try {
    createUnboundBuffer(&byte, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
  } catch (const gloo::IoException&) {
  }
}

}  // namespace dxtensor::distributed
