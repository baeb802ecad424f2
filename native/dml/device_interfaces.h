// How Device's methods use Direct3D's interfaces. For the files that define them.
#pragma once

#include <utility>

#include "device.h"
#include "failure.h"

namespace dxtensor::dml {

// What a removal makes of a failed call is told as a removal, with its reason.
template <typename F>
auto Device::WithInterfaces(F&& use) {
  Gate::Entry entry(gate_);
  try {
    return use();
  } catch (const Failure& failure) {
    if (failure.kind() == FailureKind::Removed && failure.reason().empty() && FAILED(context_->RemovedReason())) {
      CheckAlive();
      // What ran is known to the queue's thread, which is about to notice, and throws it here.
      if (!queue_->held()) queue_->Wait();
      throw context_->Removal(failure.op());
    }
    throw;
  }
}

}  // namespace dxtensor::dml
