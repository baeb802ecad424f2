// A program with the addresses of its operands: see bound_dispatch.h.
#pragma once

#include "software/d3d12/bound_dispatch.h"
#include "dispatchable.h"

namespace dxtensor::software {

// Null and *why when a range meets another in a way that DirectML does not allow.
Held<BoundDispatch> BindProgram(const Held<Program>& program, const Bindings& bindings, std::string* why);

// The copies of an initialisation.
class BoundInitialization final : public BoundDispatch {
 public:
  struct Copy {
    uint8_t* to;
    const uint8_t* from;
    uint64_t size;
  };
  void Run() const override;

  std::vector<Copy> copies;
};

}  // namespace dxtensor::software
