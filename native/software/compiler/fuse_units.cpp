#include "fuse_units.h"

#include <algorithm>
#include <numeric>

namespace dxtensor::software {

namespace {

void Set(std::vector<uint64_t>& bits, int unit) { bits[static_cast<size_t>(unit) / 64] |= uint64_t{1} << (unit % 64); }
void Clear(std::vector<uint64_t>& bits, int unit) { bits[static_cast<size_t>(unit) / 64] &= ~(uint64_t{1} << (unit % 64)); }

}  // namespace

UnitGraph::UnitGraph(int count)
    : words_((static_cast<size_t>(count) + 63) / 64),
      needs_(static_cast<size_t>(count), std::vector<uint64_t>(words_)),
      before_(static_cast<size_t>(count)),
      after_(static_cast<size_t>(count)),
      parent_(static_cast<size_t>(count)) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

int UnitGraph::Root(int unit) const {
  while (parent_[static_cast<size_t>(unit)] != unit) {
    int& up = parent_[static_cast<size_t>(unit)];
    up = parent_[static_cast<size_t>(up)];
    unit = up;
  }
  return unit;
}

std::vector<int> UnitGraph::Alive(const std::vector<int>& units, int without) const {
  std::vector<int> alive;
  alive.reserve(units.size());
  for (int unit : units)
    if (const int root = Root(unit); root != without) alive.push_back(root);
  std::sort(alive.begin(), alive.end());
  alive.erase(std::unique(alive.begin(), alive.end()), alive.end());
  return alive;
}

void UnitGraph::Add(int unit, int other) {
  auto& needs = needs_[static_cast<size_t>(unit)];
  const auto& theirs = needs_[static_cast<size_t>(other)];
  for (size_t w = 0; w < words_; ++w) needs[w] |= theirs[w];
  Set(needs, other);
  before_[static_cast<size_t>(unit)].push_back(other);
  after_[static_cast<size_t>(other)].push_back(unit);
}

// By way of a third one.
bool UnitGraph::LeadsTo(int from, int to) const {
  for (int before : before_[static_cast<size_t>(to)]) {
    const int unit = Root(before);
    if (unit != from && unit != to && Needs(unit, from)) return true;
  }
  return false;
}

bool UnitGraph::CanMerge(int a, int b) const { return a == b || !(LeadsTo(a, b) || LeadsTo(b, a)); }

void UnitGraph::Merge(int a, int b) {
  if (a == b) return;
  auto join = [&](std::vector<std::vector<int>>& lists) {
    std::vector<int>& mine = lists[static_cast<size_t>(a)];
    std::vector<int>& theirs = lists[static_cast<size_t>(b)];
    mine.insert(mine.end(), theirs.begin(), theirs.end());
    theirs = {};
    mine = Alive(mine, a);
  };
  parent_[static_cast<size_t>(b)] = a;
  join(before_);
  join(after_);
  auto& needs = needs_[static_cast<size_t>(a)];
  for (size_t w = 0; w < words_; ++w) needs[w] |= needs_[static_cast<size_t>(b)][w];
  needs_[static_cast<size_t>(b)] = {};
  Clear(needs, a);
  Clear(needs, b);
  // Whoever needs the one needs what the other does from now on.
  std::vector<int> waiting = after_[static_cast<size_t>(a)];
  while (!waiting.empty()) {
    const int unit = Root(waiting.back());
    waiting.pop_back();
    auto& theirs = needs_[static_cast<size_t>(unit)];
    uint64_t gained = 0;
    for (size_t w = 0; w < words_; ++w) {
      gained |= needs[w] & ~theirs[w];
      theirs[w] |= needs[w];
    }
    const bool is_new = gained != 0 || !Needs(unit, a);
    Set(theirs, a);
    if (is_new) waiting.insert(waiting.end(), after_[static_cast<size_t>(unit)].begin(), after_[static_cast<size_t>(unit)].end());
  }
}

}  // namespace dxtensor::software
