#include "gloo_exchange.h"

#include <algorithm>
#include <cstring>

#include <gloo/transport/unbound_buffer.h>

namespace dxtensor::distributed {
namespace {

// Slots that no collective of Gloo's has: their first byte is the collective's.
constexpr uint64_t kExchangeSlot = uint64_t{0xd3} << 48;
constexpr uint64_t kHalfSlot = uint64_t{0xd4} << 48;
constexpr uint64_t kReducedSlot = uint64_t{0xd5} << 48;
// The size of a message, and how many messages are in flight.
constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kHalfPieceBytes = 1024 * 1024;
constexpr size_t kInFlight = 4;

// Both ranks combine in one order, so that they have the same bits. out: may be one of them.
void Combine(const Reduce& reduce, const Work& work, int rank, char* out, const char* own, const char* theirs, size_t elements) {
  reduce(out, rank == 0 ? own : theirs, rank == 0 ? theirs : own, elements);
  if (work.is_mean) Divide(out, elements, work.dtype, 2);
}

}  // namespace

void ExchangeAndReduce(const std::shared_ptr<gloo::Context>& context, const Work& work, std::vector<char>& scratch) {
  const size_t element_size = SizeOf(work.dtype);
  const size_t bytes = work.output_size;
  if (work.input != work.output) std::memcpy(work.output, work.input, bytes);
  const size_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  scratch.resize(std::max(scratch.size(), std::min(bytes, kInFlight * kPieceBytes)));
  const auto sent = context->createUnboundBuffer(work.output, bytes);
  const auto arriving = context->createUnboundBuffer(scratch.data(), scratch.size());
  const int peer = 1 - context->rank;
  const uint64_t slot = kExchangeSlot | work.tag;
  const auto size_of = [&](size_t k) { return std::min(kPieceBytes, bytes - k * kPieceBytes); };
  const auto offset_of = [&](size_t k) { return k % kInFlight * kPieceBytes; };
  const auto post = [&](size_t k) {
    arriving->recv(peer, slot, offset_of(k), size_of(k));
    sent->send(peer, slot, k * kPieceBytes, size_of(k));
  };
  const Reduce reduce = ReduceFor(work.dtype, work.reduction);
  for (size_t k = 0; k < std::min(kInFlight, pieces); k++) post(k);
  for (size_t k = 0; k < pieces; k++) {
    arriving->waitRecv(nullptr, work.timeout);
    // The sum overwrites the piece, which must have been sent before.
    sent->waitSend(nullptr, work.timeout);
    const size_t elements = size_of(k) / element_size;
    char* const own = work.output + k * kPieceBytes;
    const char* const theirs = scratch.data() + offset_of(k);
    Combine(reduce, work, context->rank, own, own, theirs, elements);
    if (k + kInFlight < pieces) post(k + kInFlight);
  }
}

void ReduceHalves(const std::shared_ptr<gloo::Context>& context, const Work& work, size_t begin, size_t end, std::vector<char>& scratch) {
  const size_t element_size = SizeOf(work.dtype);
  const size_t middle = begin + (end - begin) / 2;
  const int rank = context->rank;
  const int peer = 1 - rank;
  const bool is_in_place = work.input == work.output;
  // Bytes of the half that this rank reduces, and of the other one.
  const size_t own_begin = (rank == 0 ? begin : middle) * element_size;
  const size_t own_bytes = ((rank == 0 ? middle : end) - (rank == 0 ? begin : middle)) * element_size;
  const size_t other_begin = (rank == 0 ? middle : begin) * element_size;
  const size_t other_bytes = (end - begin) * element_size - own_bytes;
  const auto pieces_of = [](size_t bytes) { return (bytes + kHalfPieceBytes - 1) / kHalfPieceBytes; };
  const auto size_of = [](size_t bytes, size_t k) { return std::min(kHalfPieceBytes, bytes - k * kHalfPieceBytes); };
  const size_t own_pieces = pieces_of(own_bytes);
  const size_t other_pieces = pieces_of(other_bytes);
  if (is_in_place) scratch.resize(std::max(scratch.size(), std::min(own_bytes, kInFlight * kHalfPieceBytes)));
  char* const arrived = is_in_place ? scratch.data() : work.output + own_begin;
  const auto arrived_at = [&](size_t k) { return (is_in_place ? k % kInFlight : k) * kHalfPieceBytes; };
  const auto sent = context->createUnboundBuffer(work.input + other_begin, other_bytes);
  const auto arriving = context->createUnboundBuffer(arrived, is_in_place ? scratch.size() : own_bytes);
  const auto reduced = context->createUnboundBuffer(work.output + own_begin, own_bytes);
  const auto returning = context->createUnboundBuffer(work.output + other_begin, other_bytes);
  const auto post_own = [&](size_t k) {
    if (k < own_pieces) arriving->recv(peer, kHalfSlot | work.tag, arrived_at(k), size_of(own_bytes, k));
  };
  // The other rank returns a piece when it has all of it: in place nothing is overwritten that is still to be sent.
  const auto post_other = [&](size_t k) {
    if (k >= other_pieces) return;
    returning->recv(peer, kReducedSlot | work.tag, k * kHalfPieceBytes, size_of(other_bytes, k));
    sent->send(peer, kHalfSlot | work.tag, k * kHalfPieceBytes, size_of(other_bytes, k));
  };
  const Reduce reduce = ReduceFor(work.dtype, work.reduction);
  for (size_t k = 0; k < kInFlight; k++) {
    post_own(k);
    post_other(k);
  }
  for (size_t k = 0; k < own_pieces; k++) {
    arriving->waitRecv(nullptr, work.timeout);
    const size_t at = own_begin + k * kHalfPieceBytes;
    const size_t bytes = size_of(own_bytes, k);
    Combine(reduce, work, rank, work.output + at, work.input + at, arrived + arrived_at(k), bytes / element_size);
    reduced->send(peer, kReducedSlot | work.tag, k * kHalfPieceBytes, bytes);
    post_own(k + kInFlight);
    // All of them, since the halves differ by one element at most.
    post_other(k + kInFlight);
  }
  for (size_t k = 0; k < other_pieces; k++) sent->waitSend(nullptr, work.timeout);
  for (size_t k = 0; k < own_pieces; k++) reduced->waitSend(nullptr, work.timeout);
  for (size_t k = 0; k < other_pieces; k++) returning->waitRecv(nullptr, work.timeout);
}

}  // namespace dxtensor::distributed
