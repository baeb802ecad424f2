// From validated descriptions to programs: DirectML's rules for graphs, then kernels, then one plan of the temporary buffer.
//
// Pure functions; any thread may call them.
#pragma once

#include "graph.h"
#include "program.h"

namespace dxtensor::software {

// DXGI_ERROR_UNSUPPORTED when no kernel executes it.
HRESULT CompileOne(const schema::OperatorDesc& desc, Held<Program>* program);

// The description of an operator that CreateOperator made: what the compiler asks of DirectML's objects.
using DescribeOperator = const std::shared_ptr<const schema::OperatorDesc>& (*)(IDMLOperator*);

// E_INVALIDARG for a graph that breaks a rule; DXGI_ERROR_UNSUPPORTED when a node has no kernel. overwrites: outputs that will be bound to
// the bytes of inputs, which then have to be.
HRESULT CompileGraph(const DML_GRAPH_DESC& desc, uint32_t feature_level, DescribeOperator describe, std::vector<Overwrite> overwrites,
                     Held<Program>* program);

// A graph as it was given, checked and put in order. *slots: what is to be bound to its inputs. In graph_reader.cpp.
HRESULT ReadGraph(const DML_GRAPH_DESC& desc, uint32_t feature_level, DescribeOperator describe, Graph* graph,
                  std::vector<BindingSlot>* slots);

// All passes from graph to graph and from graph to steps, in their order. Empty when a node has no kernel; *unsupported is then its name.
// In passes.cpp.
std::vector<GraphStep> RunPasses(Graph* graph, const char** unsupported);

// Offsets in the temporary buffer for values that live during intervals of steps; *total is its size. In temporary_plan.cpp.
struct Lifetime {
  uint64_t size = 0;
  size_t first = 0, last = 0;  // steps, both included
};
std::vector<uint64_t> PlanTemporary(const std::vector<Lifetime>& lifetimes, uint64_t* total);

}  // namespace dxtensor::software
