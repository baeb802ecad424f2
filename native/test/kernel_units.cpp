// The dependencies between units of a fused graph: random graphs that are merged, compared with the definition of their edges.
#include <algorithm>
#include <cstdio>
#include <random>

#include "software/compiler/fuse_units.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using software::UnitGraph;

// Uses only the edges: it searches the dependencies again in each call.
class Edges {
 public:
  explicit Edges(int count) : needs_(static_cast<size_t>(count)) {}
  void Add(int unit, int other) { needs_[static_cast<size_t>(unit)].push_back(other); }
  // By a path that does not begin with the edge itself, unless `direct`.
  bool Needs(int unit, int other, bool direct = true) const {
    std::vector<bool> seen(needs_.size());
    std::vector<int> waiting;
    for (int next : needs_[static_cast<size_t>(unit)]) {
      if (next == other && direct) return true;
      if (next != other) waiting.push_back(next);
    }
    while (!waiting.empty()) {
      const int at = waiting.back();
      waiting.pop_back();
      if (at == other) return true;
      if (seen[static_cast<size_t>(at)]) continue;
      seen[static_cast<size_t>(at)] = true;
      waiting.insert(waiting.end(), needs_[static_cast<size_t>(at)].begin(), needs_[static_cast<size_t>(at)].end());
    }
    return false;
  }
  void Merge(int a, int b) {
    auto& mine = needs_[static_cast<size_t>(a)];
    mine.insert(mine.end(), needs_[static_cast<size_t>(b)].begin(), needs_[static_cast<size_t>(b)].end());
    needs_[static_cast<size_t>(b)].clear();
    for (auto& list : needs_) std::replace(list.begin(), list.end(), b, a);
    mine.erase(std::remove(mine.begin(), mine.end(), a), mine.end());
  }

 private:
  std::vector<std::vector<int>> needs_;
};

void Units(Suite& suite) {
  unsigned merges = 0, refusals = 0;
  for (unsigned round = 0; round < suite.rounds; ++round) {
    std::mt19937 random(suite.seed * 7919u + round);
    auto below = [&](size_t n) { return random() % n; };
    const int count = 3 + static_cast<int>(below(40));
    UnitGraph units(count);
    Edges edges(count);
    std::vector<int> unit_of(static_cast<size_t>(count)), alive;
    for (int i = 0; i < count; ++i) {
      unit_of[static_cast<size_t>(i)] = i;
      for (size_t e = below(4); e > 0 && i > 0; --e) {
        // Near ones more often than far ones.
        const int from = below(3) ? std::max(0, i - 1 - static_cast<int>(below(5))) : static_cast<int>(below(static_cast<size_t>(i)));
        const int other = unit_of[static_cast<size_t>(from)];
        if (other == i) continue;
        units.Add(i, other);
        edges.Add(i, other);
      }
      alive.push_back(i);
      for (int unit : {unit_of[static_cast<size_t>(i)], alive[below(alive.size())]}) {
        const int other = alive[below(alive.size())];
        if (other == unit || std::find(alive.begin(), alive.end(), unit) == alive.end()) continue;
        const bool parted = edges.Needs(unit, other, false) || edges.Needs(other, unit, false);
        CHECK(units.CanMerge(other, unit) == !parted);
        refusals += parted;
        if (parted || below(2)) continue;
        units.Merge(other, unit);
        edges.Merge(other, unit);
        ++merges;
        std::replace(unit_of.begin(), unit_of.end(), unit, other);
        alive.erase(std::remove(alive.begin(), alive.end(), unit), alive.end());
      }
    }
    for (int a : alive) {
      for (int b : alive) CHECK(a == b || units.Needs(a, b) == edges.Needs(a, b));
      for (int before : units.Before(a)) {
        CHECK(units.Needs(a, before));
        const std::vector<int> after = units.After(before);
        CHECK(std::count(after.begin(), after.end(), a) == 1);
      }
    }
  }
  std::printf("units: %u merges, %u refused\n", merges, refusals);
  CHECK(suite.rounds < 100 || (merges > 500 && refusals > 500));
}

const Register kRegistration("units of fused graphs", Units);

}  // namespace

}  // namespace dxtensor::test
