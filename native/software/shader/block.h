// The state of a block of threads: whole groups, a register for each value and thread. Made by run.cpp, one for each of its threads;
// the instruction sets' run_shader_block changes it.
#pragma once

#include <atomic>

#include "shader_program.h"

namespace dxtensor::software::shader {

// The words of a value: thread i's is data[i & mask]. One that is the same for all has a vector of it, and mask 0.
struct Lanes {
  uint32_t* data;
  uint64_t mask;
};

struct MemoryRange {
  uint8_t* data;
  uint64_t size;
};

struct Block {
  const Program* program;
  const Lanes* values;
  const MemoryRange* memories;  // one for each of the program's
  int64_t lanes;                // a multiple of every vector's width
  uint32_t group_threads;       // threads of a group
  // Masks of `lanes` words, -1 or 0. `start` has the threads that there are; the others are padding.
  const int32_t* start;
  bool whole;       // all of `lanes` are there
  bool* untouched;  // active and live are as `start`
  int32_t *active, *live, *spare;
  int32_t *if_saved, *if_taken;                       // a mask for each level
  int32_t *loop_entered, *loop_running, *loop_round;  // a mask for each level
  uint32_t* scratch[4];
  const std::atomic<bool>* abandoned;  // loops end when it is set; null: they do not
};

// Of ifs, and of loops.
constexpr int kMaxLevels = 64;
// Loops that go round more often than this do not end.
constexpr uint64_t kMaxRounds = uint64_t{1} << 28;

}  // namespace dxtensor::software::shader
