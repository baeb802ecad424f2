#include "abandon.h"

namespace dxtensor::software {

namespace {

thread_local const std::atomic<bool>* the_flag = nullptr;
thread_local bool may_throw = false;

}  // namespace

AbandonScope::AbandonScope(const std::atomic<bool>* flag, bool throws) : flag_(the_flag), throws_(may_throw) {
  the_flag = flag;
  may_throw = throws;
}

AbandonScope::~AbandonScope() {
  the_flag = flag_;
  may_throw = throws_;
}

const std::atomic<bool>* AbandonFlag() { return the_flag; }

bool IsAbandoned() { return the_flag && the_flag->load(std::memory_order_relaxed); }

void CheckAbandoned() {
  if (may_throw && IsAbandoned()) throw Abandoned();
}

}  // namespace dxtensor::software
