#include "hazards.h"

#include <cstdio>

namespace dxtensor::software {

namespace {

constexpr uint32_t kCommon = D3D12_RESOURCE_STATE_COMMON;
constexpr uint32_t kUnorderedAccess = D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
const uint32_t kWriteStates = D3D12_RESOURCE_STATE_UNORDERED_ACCESS | D3D12_RESOURCE_STATE_COPY_DEST | D3D12_RESOURCE_STATE_RENDER_TARGET |
                              D3D12_RESOURCE_STATE_DEPTH_WRITE | D3D12_RESOURCE_STATE_STREAM_OUT | D3D12_RESOURCE_STATE_RESOLVE_DEST;

bool Writes(uint32_t state) { return (state & kWriteStates) != 0; }

std::string StateName(uint32_t state) {
  if (state == kCommon) return "COMMON";
  if (state == kUnorderedAccess) return "UNORDERED_ACCESS";
  if (state == D3D12_RESOURCE_STATE_COPY_DEST) return "COPY_DEST";
  if (state == D3D12_RESOURCE_STATE_COPY_SOURCE) return "COPY_SOURCE";
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", state);
  return text;
}

std::string WrongState(const char* what, uint32_t is, uint32_t wanted) {
  return std::string(what) + " wants a buffer in state " + StateName(wanted) + ", it is in " + StateName(is);
}

size_t HashOf(Resource* resource) {
  auto bits = reinterpret_cast<uintptr_t>(resource) >> 4;
  return static_cast<size_t>((static_cast<uint64_t>(bits) * 0x9e3779b97f4a7c15ull) >> 32);
}

bool Overlap(const std::vector<Span>& spans, const uint8_t* begin, const uint8_t* end) {
  for (const Span& span : spans)
    if (begin < span.end && span.begin < end) return true;
  return false;
}

void Remove(std::vector<Span>& spans, const uint8_t* begin, const uint8_t* end) {
  for (size_t i = 0; i < spans.size();) {
    if (begin < spans[i].end && spans[i].begin < end) {
      spans[i] = spans.back();
      spans.pop_back();
    } else {
      ++i;
    }
  }
}

constexpr const char* kMissingBarrier =
    "a UAV barrier is missing: a dispatch uses bytes that an earlier one wrote, or writes bytes that an earlier one used";

}  // namespace

bool OpenUses::Conflicts(const uint8_t* begin, const uint8_t* end, bool write) const {
  return Overlap(writes, begin, end) || (write && Overlap(reads, begin, end));
}

void OpenUses::Add(const uint8_t* begin, const uint8_t* end, bool write) {
  std::vector<Span>& spans = write ? writes : reads;
  // Loops use the same operand again and again.
  if (!spans.empty() && spans.back().begin == begin && spans.back().end == end) return;
  spans.push_back({begin, end});
}

void OpenUses::Close(const uint8_t* begin, const uint8_t* end) {
  Remove(reads, begin, end);
  Remove(writes, begin, end);
}

void OpenUses::Clear() {
  reads.clear();
  writes.clear();
}

void HazardTracker::Report(const std::string& violation) {
  if (violation_.empty()) violation_ = violation;
}

void HazardTracker::Clear() {
  if (tracked_.size() * 4 < index_.size()) {
    for (const TrackedResource& t : tracked_) {
      size_t at = HashOf(t.resource.get()) & (index_.size() - 1);
      while (index_[at]) {
        index_[at] = 0;
        at = (at + 1) & (index_.size() - 1);
      }
    }
  } else {
    std::fill(index_.begin(), index_.end(), 0u);
  }
  tracked_.clear();
  open_.Clear();
  head_.Clear();
  full_barrier_ = ignored_ = false;
  violation_.clear();
}

void HazardTracker::Grow() {
  index_.assign(index_.empty() ? 16 : index_.size() * 2, 0u);
  for (size_t i = 0; i < tracked_.size(); ++i) {
    size_t at = HashOf(tracked_[i].resource.get()) & (index_.size() - 1);
    while (index_[at]) at = (at + 1) & (index_.size() - 1);
    index_[at] = static_cast<uint32_t>(i + 1);
  }
}

TrackedResource& HazardTracker::Find(Resource* resource) {
  if (tracked_.size() * 2 >= index_.size()) Grow();
  size_t at = HashOf(resource) & (index_.size() - 1);
  while (index_[at]) {
    TrackedResource& found = tracked_[index_[at] - 1];
    if (found.resource.get() == resource) return found;
    at = (at + 1) & (index_.size() - 1);
  }
  tracked_.push_back({Held<Resource>(resource), kCommon, true, kCommon, false, false});
  index_[at] = static_cast<uint32_t>(tracked_.size());
  return tracked_.back();
}

void HazardTracker::Use(Resource* resource, uint32_t required) {
  TrackedResource& t = Find(resource);
  if (!checks_ || t.state == required) return;
  const char* what = required == kUnorderedAccess ? "a dispatch" : "a copy";
  D3D12_HEAP_TYPE type = resource->heap_type();
  if (type == D3D12_HEAP_TYPE_UPLOAD) {
    if ((required & D3D12_RESOURCE_STATE_GENERIC_READ) != required) Report(WrongState(what, D3D12_RESOURCE_STATE_GENERIC_READ, required));
    return;
  }
  if (type == D3D12_HEAP_TYPE_READBACK) {
    if (required != D3D12_RESOURCE_STATE_COPY_DEST) Report(WrongState(what, D3D12_RESOURCE_STATE_COPY_DEST, required));
    return;
  }
  if (required == kUnorderedAccess && !resource->allows_unordered_access()) {
    Report("a dispatch uses a buffer that was made without ALLOW_UNORDERED_ACCESS");
    return;
  }
  if (t.state == kCommon) {
    if (t.first == kCommon && t.promoted) t.first = required;
    t.state = required;
    t.promoted = true;
  } else if (!Writes(required) && !Writes(t.state) && ((t.state & required) == required || t.promoted)) {
    t.state |= required;
  } else {
    Report(WrongState(what, t.state, required));
  }
}

void HazardTracker::Dispatch(const BoundDispatch& dispatch) {
  for (const Held<Resource>& resource : dispatch.resources) {
    bool upload = dispatch.reads_upload && resource->heap_type() == D3D12_HEAP_TYPE_UPLOAD;
    Use(resource.get(), upload ? static_cast<uint32_t>(D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE) : kUnorderedAccess);
  }
  if (!checks_) return;
  for (const Access& a : dispatch.accesses)
    if (open_.Conflicts(a.begin, a.end, a.write)) {
      Report(kMissingBarrier);
      return;
    }
  for (const Access& a : dispatch.accesses) {
    open_.Add(a.begin, a.end, a.write);
    if (!full_barrier_ && !Find(a.resource).head_closed) head_.Add(a.begin, a.end, a.write);
  }
}

void HazardTracker::Copy(Resource* destination, Resource* source) {
  if (checks_ && destination == source) Report("a copy has the same buffer as source and destination");
  Use(destination, D3D12_RESOURCE_STATE_COPY_DEST);
  if (source && source != destination) Use(source, D3D12_RESOURCE_STATE_COPY_SOURCE);
}

void HazardTracker::Barrier(const D3D12_RESOURCE_BARRIER& barrier) {
  if (barrier.Type == D3D12_RESOURCE_BARRIER_TYPE_UAV) {
    if (auto* resource = static_cast<Resource*>(barrier.UAV.pResource)) {
      if (!checks_) return;
      Find(resource).head_closed = true;
      open_.Close(resource->data(), resource->data() + resource->size());
    } else {
      full_barrier_ = true;
      open_.Clear();
    }
    return;
  }
  if (!checks_) return;
  if (barrier.Type == D3D12_RESOURCE_BARRIER_TYPE_ALIASING) return;  // bytes are followed, not resources
  if (barrier.Type != D3D12_RESOURCE_BARRIER_TYPE_TRANSITION || !barrier.Transition.pResource) {
    Report("ResourceBarrier was given no resource or an unknown type");
    return;
  }
  if (barrier.Flags & D3D12_RESOURCE_BARRIER_FLAG_BEGIN_ONLY) return;
  auto* resource = static_cast<Resource*>(barrier.Transition.pResource);
  auto before = static_cast<uint32_t>(barrier.Transition.StateBefore), after = static_cast<uint32_t>(barrier.Transition.StateAfter);
  if (resource->heap_type() == D3D12_HEAP_TYPE_UPLOAD || resource->heap_type() == D3D12_HEAP_TYPE_READBACK) {
    Report("a barrier changes the state of a buffer in an upload or readback heap");
    return;
  }
  if (before == after) {
    Report("a transition barrier has the same state before and after");
    return;
  }
  TrackedResource& t = Find(resource);
  bool untouched = t.state == kCommon && t.promoted && t.first == kCommon;
  if (untouched) {
    t.first = before;  // COMMON too: then nothing is asked of the lists before
    t.first_is_transition = true;
  } else if (t.state != before) {
    Report(WrongState("a transition barrier", t.state, before));
    return;
  }
  t.state = after;
  t.promoted = false;
  t.head_closed = true;
  open_.Close(resource->data(), resource->data() + resource->size());
}

std::string Submission::Add(const HazardTracker& list, bool alone) {
  if (list.ignored_) return {};
  if (!list.violation_.empty()) return list.violation_;
  for (const TrackedResource& t : list.tracked_) {
    auto found = states_.find(t.resource.get());
    State now = found == states_.end() ? State{kCommon, true} : found->second;
    if (t.first_is_transition && t.first != now.state) return WrongState("a transition barrier", now.state, t.first);
    bool merges = false;
    if (!t.first_is_transition && t.first != kCommon && now.state != kCommon && now.state != t.first) {
      merges = !Writes(t.first) && !Writes(now.state);
      if (!merges || (!now.promoted && (now.state & t.first) != t.first))
        return WrongState(t.first == kUnorderedAccess ? "a dispatch" : "a copy", now.state, t.first);
    }
    if (alone) continue;
    bool used = t.state != kCommon || t.first_is_transition;
    if (used) states_[t.resource.get()] = {merges && t.promoted ? now.state | t.state : t.state, t.promoted};
    if (t.head_closed) open_.Close(t.resource->data(), t.resource->data() + t.resource->size());
  }
  if (alone) return {};
  for (const Span& span : list.head_.reads)
    if (open_.Conflicts(span.begin, span.end, false)) return kMissingBarrier;
  for (const Span& span : list.head_.writes)
    if (open_.Conflicts(span.begin, span.end, true)) return kMissingBarrier;
  if (list.full_barrier_) open_.Clear();
  for (const Span& span : list.open_.reads) open_.reads.push_back(span);
  for (const Span& span : list.open_.writes) open_.writes.push_back(span);
  return {};
}

}  // namespace dxtensor::software
