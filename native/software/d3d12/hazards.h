// Finds mistakes that some GPUs tolerate: missing UAV barriers and wrong states, while a list is recorded.
//
// A buffer in COMMON is promoted to the state of its first use, and decays to COMMON after each ExecuteCommandLists. Writes that no barrier
// separates from other uses of the same bytes are hazards; so are uses in a state that the buffer is not in. The tracker follows
// one list; Submission checks dependencies on earlier lists of the same ExecuteCommandLists.
// Used by one thread at a time.
#pragma once

#include <string>
#include <unordered_map>

#include "bound_dispatch.h"

namespace dxtensor::software {

struct Span {
  const uint8_t* begin;
  const uint8_t* end;
};

// Bytes used since the last barrier that covered them.
struct OpenUses {
  std::vector<Span> reads, writes;

  bool Conflicts(const uint8_t* begin, const uint8_t* end, bool write) const;
  void Add(const uint8_t* begin, const uint8_t* end, bool write);
  void Close(const uint8_t* begin, const uint8_t* end);  // a barrier for these bytes
  void Clear();
};

// A buffer in a list.
struct TrackedResource {
  Held<Resource> resource;
  uint32_t state;            // D3D12_RESOURCE_STATES now
  bool promoted;             // by use, not by a barrier
  uint32_t first;            // the state that the list needs it in at its start, where it is not COMMON
  bool first_is_transition;  // stated by a barrier; else wanted by a use
  bool head_closed;          // a barrier covered it before the list's first barrier for all
};

class HazardTracker {
 public:
  explicit HazardTracker(bool checks) : checks_(checks) {}

  void Dispatch(const BoundDispatch& dispatch);
  void Copy(Resource* destination, Resource* source);  // source null: written by a query
  void Barrier(const D3D12_RESOURCE_BARRIER& barrier);
  void Report(const std::string& violation);
  // A dispatch was dropped because its DirectML device is removed: what follows cannot be judged.
  void Ignore() { ignored_ = true; }
  void Clear();

  // The first mistake; empty when there is none.
  const std::string& violation() const { return violation_; }
  const std::vector<TrackedResource>& resources() const { return tracked_; }

 private:
  friend class Submission;

  TrackedResource& Find(Resource* resource);
  void Use(Resource* resource, uint32_t required);
  void Grow();

  const bool checks_;
  std::vector<TrackedResource> tracked_;
  std::vector<uint32_t> index_;  // hash of the pointer to position in tracked_ + 1
  OpenUses open_, head_;         // since the last barrier; before the first barrier for all
  bool full_barrier_ = false, ignored_ = false;
  std::string violation_;
};

// The lists of one ExecuteCommandLists, in order.
class Submission {
 public:
  // Empty, or what is wrong. `alone`: the only list, nothing comes before.
  std::string Add(const HazardTracker& list, bool alone);

 private:
  struct State {
    uint32_t state;
    bool promoted;
  };
  std::unordered_map<Resource*, State> states_;
  OpenUses open_;
};

}  // namespace dxtensor::software
