// A Gloo context whose pairs are connected by addresses that the caller exchanges, and whose calls can be ended from another thread. For
// large transfers it has channels: contexts of the same ranks with connections and a thread of their own. Owns its pairs and sockets.
// Connect() and the collectives block; Abort() may be called by any thread meanwhile. Lives as long as work over it runs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gloo/context.h>

namespace dxtensor::distributed {

class Context : public gloo::Context {
 public:
  // One socket listens for each other rank, at `host` or at the address of the interface `interface_name`; both empty: at the machine's own
  // name.
  // channels: the largest number, this context included. All ranks use the smallest number that any of them has.
  Context(int rank, int size, const std::string& host, const std::string& interface_name, std::chrono::milliseconds timeout, int channels);

  // What the other ranks connect to: the addresses of all channels for each, in the order of ranks, this rank's own empty.
  const std::vector<std::vector<char>>& addresses() const { return addresses_; }

  // theirs[i]: the address that rank i has for this rank. Once, before all else.
  void Connect(const std::vector<std::vector<char>>& theirs);

  // The rank whose address is part of a message of Gloo's; -1 for none.
  int PeerIn(const std::string& message) const;

  // Ends every call that waits, with an error, and closes all connections.
  void Abort();

  // Memory of the thread that runs this channel's calls, kept between them.
  std::vector<char>& scratch() { return scratch_; }

  // The other channels.
  const std::vector<std::shared_ptr<Context>>& channels() const { return channels_; }
  void AbortChannels();

 private:
  void ConnectPairs(const std::vector<std::vector<char>>& theirs);

  std::vector<char> scratch_;
  std::vector<std::shared_ptr<Context>> channels_;
  std::vector<std::vector<char>> addresses_;
  std::vector<std::string> names_;
};

}  // namespace dxtensor::distributed
