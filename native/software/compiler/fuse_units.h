// The dependencies between the steps of a graph while nodes are being merged into them. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dxtensor::software {

// Units are numbered from 0; each starts as one node. What a unit needs is kept transitively, as bits, and directly, as lists: long chains
// of nodes (a sequence, step by step) take time in proportion to their edges.
class UnitGraph {
 public:
  explicit UnitGraph(int count);

  // Both alive.
  bool Needs(int unit, int other) const { return needs_[static_cast<size_t>(unit)][static_cast<size_t>(other) / 64] >> (other % 64) & 1; }
  // Units that need this one directly, or that it needs, each once.
  std::vector<int> After(int unit) const { return Alive(after_[static_cast<size_t>(unit)], unit); }
  std::vector<int> Before(int unit) const { return Alive(before_[static_cast<size_t>(unit)], unit); }

  // `unit` needs `other`, and all that it needs.
  void Add(int unit, int other);
  // Whether the two can be one step: nothing else lies between them.
  bool CanMerge(int a, int b) const;
  // Makes `b` a part of `a`.
  void Merge(int a, int b);

 private:
  // The unit that one has become a part of, or itself.
  int Root(int unit) const;
  std::vector<int> Alive(const std::vector<int>& units, int without) const;
  bool LeadsTo(int from, int to) const;

  size_t words_;
  std::vector<std::vector<uint64_t>> needs_;
  std::vector<std::vector<int>> before_, after_;
  mutable std::vector<int> parent_;
};

}  // namespace dxtensor::software
