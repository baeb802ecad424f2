#include "fuse_units.h"

namespace dxtensor::software::fast {

void UnitGraph::Add(int unit, int other) {
  auto& needs = needs_[static_cast<size_t>(unit)];
  const auto& theirs = needs_[static_cast<size_t>(other)];
  for (size_t w = 0; w < words_; ++w) needs[w] |= theirs[w];
  needs[static_cast<size_t>(other) / 64] |= uint64_t{1} << (other % 64);
}

bool UnitGraph::CanMerge(int a, int b) const {
  if (a == b) return true;
  for (int between = 0; between < static_cast<int>(needs_.size()); ++between) {
    if (!alive(between) || between == a || between == b) continue;
    if ((Needs(between, a) && Needs(b, between)) || (Needs(between, b) && Needs(a, between))) return false;
  }
  return true;
}

void UnitGraph::Merge(int a, int b) {
  if (a == b) return;
  auto clear = [](std::vector<uint64_t>& bits, int unit) { bits[static_cast<size_t>(unit) / 64] &= ~(uint64_t{1} << (unit % 64)); };
  auto& needs = needs_[static_cast<size_t>(a)];
  for (size_t w = 0; w < words_; ++w) needs[w] |= needs_[static_cast<size_t>(b)][w];
  clear(needs, a);
  clear(needs, b);
  alive_[static_cast<size_t>(b)] = false;
  for (int unit = 0; unit < static_cast<int>(needs_.size()); ++unit) {
    if (!alive(unit) || unit == a || !(Needs(unit, a) || Needs(unit, b))) continue;
    auto& theirs = needs_[static_cast<size_t>(unit)];
    for (size_t w = 0; w < words_; ++w) theirs[w] |= needs[w];
    clear(theirs, b);
    theirs[static_cast<size_t>(a) / 64] |= uint64_t{1} << (a % 64);
  }
}

}  // namespace dxtensor::software::fast
