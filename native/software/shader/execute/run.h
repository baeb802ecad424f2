// Runs a dispatch of a shader on the thread pool: groups in any order, several at a time, the threads of a group in lockstep.
#pragma once

#include "software/shader/shader_program.h"

namespace dxtensor::software::shader {

struct Buffer {
  uint8_t* data = nullptr;  // null: reads give 0, writes are dropped
  uint64_t size = 0;
};

struct Arguments {
  const Buffer* buffers = nullptr;  // one for each of the program's memories; those of shared memory are not looked at
  const uint32_t* constants = nullptr;
  uint32_t constant_count = 0;  // those beyond are 0
  uint32_t groups[3] = {1, 1, 1};
};

// Null, or what the shader did that ends a device's life.
const char* Run(const Program& program, const Arguments& arguments);

}  // namespace dxtensor::software::shader
