#include "plan.h"

#include <algorithm>
#include <map>

namespace dxtensor::peer {

namespace {

constexpr uint64_t kAlign = 256;

bool Overlap(const std::vector<Hazards::Span>& a, const std::vector<Hazards::Span>& b) {
  for (const Hazards::Span& x : a)
    for (const Hazards::Span& y : b)
      if (x.buffer == y.buffer && x.first < y.end && y.first < x.end) return true;
  return false;
}

// The lowest free offset that overlaps no live value.
uint64_t LowestFree(std::map<uint64_t, uint64_t>& live, uint64_t bytes) {
  uint64_t at = 0;
  for (const auto& [offset, size] : live) {
    if (at + bytes <= offset) break;
    at = std::max(at, offset + size);
  }
  live[at] = bytes;
  return at;
}

}  // namespace

Groups InOrder(const Net& net) {
  Groups groups(net.nodes().size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = {static_cast<int>(i)};
  return groups;
}

Groups InGroups(const Net& net, size_t window) {
  std::vector<char> is_done(net.nodes().size(), 0);
  std::vector<int> left;
  for (size_t i = 0; i < is_done.size(); ++i) left.push_back(static_cast<int>(i));
  const auto is_ready = [&](int i) {
    const std::vector<View>& inputs = net.nodes()[i].inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](const View& view) {
      return !view.is_present() || net.values()[view.value].node < 0 || is_done[net.values()[view.value].node];
    });
  };
  Groups groups;
  while (!left.empty()) {
    std::vector<int> group, rest;
    for (size_t i = 0; i < left.size(); ++i) (i < window && is_ready(left[i]) ? group : rest).push_back(left[i]);
    for (int i : group) is_done[i] = 1;
    groups.push_back(std::move(group));
    left = std::move(rest);
  }
  return groups;
}

Arena AssignOffsets(const Net& net, const Groups& groups) {
  const std::vector<Value>& values = net.values();
  const auto has_offset = [&](const View& view) {
    return view.is_present() && values[view.value].input < 0 && values[view.value].output < 0;
  };
  std::vector<size_t> last(values.size(), 0);
  for (size_t g = 0; g < groups.size(); ++g)
    for (int i : groups[g])
      for (const std::vector<View>* views : {&net.nodes()[i].inputs, &net.nodes()[i].outputs})
        for (const View& view : *views)
          if (view.is_present()) last[view.value] = g;
  std::vector<std::vector<int>> last_uses(groups.size());
  for (size_t v = 0; v < values.size(); ++v) last_uses[last[v]].push_back(static_cast<int>(v));
  Arena arena;
  arena.offsets.resize(values.size());
  std::map<uint64_t, uint64_t> live;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int i : groups[g])
      for (const View& view : net.nodes()[i].outputs)
        if (has_offset(view)) {
          const uint64_t bytes = (values[view.value].bytes + kAlign - 1) / kAlign * kAlign;
          arena.offsets[view.value] = LowestFree(live, bytes);
          arena.bytes = std::max(arena.bytes, arena.offsets[view.value] + bytes);
        }
    for (int v : last_uses[g])
      if (values[v].node >= 0 && values[v].input < 0 && values[v].output < 0) live.erase(arena.offsets[v]);
  }
  return arena;
}

bool Hazards::Add(const std::vector<Span>& reads, const std::vector<Span>& writes) {
  const bool is_hit = Overlap(reads, writes_) || Overlap(writes, writes_) || Overlap(writes, reads_);
  if (is_hit) {
    reads_.clear();
    writes_.clear();
  }
  reads_.insert(reads_.end(), reads.begin(), reads.end());
  writes_.insert(writes_.end(), writes.begin(), writes.end());
  return is_hit;
}

}  // namespace dxtensor::peer
