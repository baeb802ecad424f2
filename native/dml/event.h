// The event that a fence signals when it reaches a value: an eventfd on Linux and WSL, an event object on Windows. One thread waits at a
// time; a signal that comes before the wait is kept.
#pragma once

#include "../abi/abi.h"

namespace dxtensor::dml {

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  HANDLE handle() const { return handle_; }
  // False after that many milliseconds without a signal.
  bool Wait(int timeout_ms);

 private:
  HANDLE handle_;
};

}  // namespace dxtensor::dml
