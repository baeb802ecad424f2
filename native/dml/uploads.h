// Puts bytes into staging memory, piece after piece, and has a device take them from there.
//
// Of the thread that may call the device's methods, inside its gate.
#pragma once

#include <deque>

#include "queue.h"
#include "staging_pool.h"

namespace dxtensor::dml {

// Large transfers go in pieces: host memory that the device sees is dear to make, and the device moves one while the next is filled.
constexpr uint64_t kTransferPiece = 8ull << 20;
// How many of a transfer are on their way at once.
constexpr size_t kTransferPieces = 4;

// Returns when so much may be staged, as far as the device's own work takes staging memory.
void WaitForStaging(Queue& queue, StagingPool& staging, uint64_t size);

class Uploads {
 public:
  Uploads(Queue& queue, StagingPool& staging) : queue_(queue), staging_(staging) {}

  // The device begins at once where more is to come.
  void Add(Address to, const uint8_t* bytes, uint64_t size, bool more);

 private:
  Queue& queue_;
  StagingPool& staging_;
  std::deque<uint64_t> tasks_;
};

}  // namespace dxtensor::dml
