// The dependencies between the steps of a graph while nodes are being merged into them. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dxtensor::software::fast {

// Units are numbered from 0; each starts as one node. What a unit needs is kept transitively.
class UnitGraph {
 public:
  explicit UnitGraph(int count)
      : words_((static_cast<size_t>(count) + 63) / 64),
        needs_(static_cast<size_t>(count), std::vector<uint64_t>(words_)),
        alive_(static_cast<size_t>(count), true) {}

  bool Needs(int unit, int other) const { return needs_[static_cast<size_t>(unit)][static_cast<size_t>(other) / 64] >> (other % 64) & 1; }
  bool alive(int unit) const { return alive_[static_cast<size_t>(unit)]; }

  // `unit` needs `other`, and all that it needs.
  void Add(int unit, int other);
  // Whether the two can be one step: nothing else lies between them.
  bool CanMerge(int a, int b) const;
  // Makes `b` a part of `a`.
  void Merge(int a, int b);

 private:
  size_t words_;
  std::vector<std::vector<uint64_t>> needs_;
  std::vector<bool> alive_;
};

}  // namespace dxtensor::software::fast
