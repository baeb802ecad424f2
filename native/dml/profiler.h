// How long the device takes for each dispatch of a recording, by its own timestamps.
//
// Used by the JavaScript thread while nothing else runs on the queue. The recording's dispatches really run, so state that it
// updates in place continues.
#pragma once

#include <vector>

#include "kernel_times.h"
#include "recording.h"
#include "timeline.h"

namespace dxtensor::dml {

struct ProfileTimes {
  // Seconds of each dispatch in the program's order, barriers around it included.
  std::vector<double> dispatches;
  // Of each of the program's operators; empty where the library shows none.
  std::vector<std::vector<KernelTime>> kernels;
};

// The minimum of a few rounds, the first of which does not count. Throws Failure when the device has no timestamps or fails, and what
// `look` throws while it waits.
ProfileTimes ProfileRecording(const Context& context, ListRecorder& recorder, const Recording& recording, uint32_t patience_ms,
                              const Look& look);

}  // namespace dxtensor::dml
