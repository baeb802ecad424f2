// The order of a network's nodes in a list, where their intermediate values lie, and where barriers stand. Pure.
#pragma once

#include <vector>

#include "net.h"

namespace dxtensor::peer {

// Nodes of one group do not depend on each other.
using Groups = std::vector<std::vector<int>>;

// Each node by itself, as they were added.
Groups InOrder(const Net& net);
// Each group takes what is ready among the next `window` nodes that are left.
Groups InGroups(const Net& net, size_t window);

struct Arena {
  // Offset of each value that is neither input nor output; values share bytes when no group needs both.
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
};
Arena AssignOffsets(const Net& net, const Groups& groups);

// Knows what was read and written since the last barrier.
class Hazards {
 public:
  struct Span {
    const void* buffer;
    uint64_t first, end;
  };
  // True when these accesses need a barrier before them; from then on, they are the first after it.
  bool Add(const std::vector<Span>& reads, const std::vector<Span>& writes);

 private:
  std::vector<Span> reads_, writes_;
};

}  // namespace dxtensor::peer
