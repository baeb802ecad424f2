#include "gloo_exchange.h"

#include <algorithm>

#include <gloo/transport/unbound_buffer.h>

namespace dxtensor::distributed {
namespace {

// A slot that no collective of Gloo's has: its first byte is the collective's.
constexpr uint64_t kExchangeSlot = uint64_t{0xd3} << 48;
// The size of a message, and how many messages are in flight.
constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kInFlight = 4;

}  // namespace

void ExchangeAndReduce(const std::shared_ptr<gloo::Context>& context, const Work& work, std::vector<char>& scratch) {
  const size_t element_size = SizeOf(work.dtype);
  const size_t bytes = work.output_size;
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
    // Both ranks combine in one order, so that they have the same bits.
    reduce(own, context->rank == 0 ? own : theirs, context->rank == 0 ? theirs : own, elements);
    if (work.is_mean) Divide(own, elements, work.dtype, context->size);
    if (k + kInFlight < pieces) post(k + kInFlight);
  }
}

}  // namespace dxtensor::distributed
