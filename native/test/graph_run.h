// Runs graphs of the software adapter on plain memory: node by node in plain loops, and as the steps that they are fused into.
#pragma once

#include "software/compiler/graph.h"
#include "kernel_run.h"

namespace dxtensor::test {

// Memory of each value; that of inputs and constants is filled. `inputs`: in the order of the graph's.
std::vector<ExactBytes> ValueMemory(const software::Graph& graph, const std::vector<Bytes>& inputs);

void RunNodes(const software::Graph& graph, const std::vector<ExactBytes>& memory);
// `prepacks`: kernels get prepacked inputs, as from the second run on.
void RunSteps(const std::vector<software::GraphStep>& steps, const std::vector<ExactBytes>& memory, bool prepacks = false);
// The same where values may share memory.
void RunSteps(const std::vector<software::GraphStep>& steps, const std::vector<uint8_t*>& addresses, bool prepacks = false);

// How the first of the graph's outputs differs, in the order of which `tensors` describe them; empty: none does.
std::string CompareOutputs(const software::Graph& graph, const std::vector<schema::TensorDesc>& tensors, const std::vector<ExactBytes>& got,
                           const std::vector<ExactBytes>& wanted, const Tolerance& tolerance);

std::string Describe(const software::Graph& graph);
std::string Describe(const std::vector<software::GraphStep>& steps);

}  // namespace dxtensor::test
