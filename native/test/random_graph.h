// Random graphs of FLOAT32 operators, whose numbers stay small.
#pragma once

#include <random>

#include "software/compiler/graph.h"
#include "values.h"

namespace dxtensor::test {

struct RandomGraph {
  software::Graph graph;
  std::vector<Bytes> inputs;                // of each graph input
  std::vector<schema::TensorDesc> outputs;  // of each graph output, as its writer described it
};

// shows_inputs: some inputs are outputs as well.
RandomGraph MakeRandomGraph(std::mt19937& random, unsigned nodes, bool shows_inputs = false);

}  // namespace dxtensor::test
