// Lets the JavaScript thread use a device's interfaces while another thread may want to take them away (Context::LetGo).
//
// The JavaScript thread enters, also while it is inside; the other one closes, which waits until nobody is inside.
#pragma once

#include <mutex>
#include <optional>

#include "failure.h"

namespace dxtensor::dml {

class Gate {
 public:
  // Throws the failure that the gate was closed with.
  class Entry {
   public:
    explicit Entry(Gate& gate) : lock_(gate.mutex_) {
      if (gate.closed_) throw Failure(*gate.closed_);
    }

   private:
    std::lock_guard<std::recursive_mutex> lock_;
  };

  // Enters whether it is closed or not: for what must not change while it is being closed.
  std::lock_guard<std::recursive_mutex> Stay() { return std::lock_guard<std::recursive_mutex>(mutex_); }

  template <typename F>
  void Close(const Failure& why, F&& take_away) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (closed_) return;
    closed_ = why;
    take_away();
  }

 private:
  std::recursive_mutex mutex_;
  std::optional<Failure> closed_;
};

}  // namespace dxtensor::dml
