#include "work.h"

#include <algorithm>
#include <cstring>

namespace dxtensor::distributed {

void Work::Wait() {
  std::unique_lock<std::mutex> held(lock);
  ended.wait(held, [&] { return is_ended; });
}

void Work::End(const std::string& message, const std::string& reason_of, int peer_of) {
  {
    std::lock_guard<std::mutex> held(lock);
    error = message;
    reason = reason_of;
    peer = peer_of;
    is_ended = true;
  }
  ended.notify_all();
  if (done) done();
}

std::vector<char> Described(const Work& work) {
  std::vector<char> own(kDescriptionSize, '\0');
  std::memcpy(own.data(), work.description.data(), std::min(work.description.size(), kDescriptionSize - 1));
  return own;
}

bool IsSameCall(Work& work, const std::vector<char>& own, const std::vector<char>& all) {
  for (size_t start = 0; start < all.size(); start += kDescriptionSize) {
    const char* theirs = all.data() + start;
    if (std::memcmp(theirs, own.data(), kDescriptionSize) == 0) continue;
    work.reason = "mismatch";
    work.peer = static_cast<int>(start / kDescriptionSize);
    work.other = std::string(theirs, strnlen(theirs, kDescriptionSize));
    return false;
  }
  return true;
}

}  // namespace dxtensor::distributed
