// In-place updates of a program's state (parameters, an optimizer's state): graph outputs that are bound to the bytes of graph inputs
// (Graph::overwrites).
//
// DirectML allows this for single operators only; the adapter's own compiler orders its steps and knows what each reads. Pure functions.
#pragma once

#include "graph.h"

namespace dxtensor::software {

// Inputs of a flat JOIN are written by their own steps at their offsets in the whole; the JOIN goes, but for copies of inputs that no step
// computes.
void JoinInPlace(const Graph& graph, std::vector<GraphStep>* steps);

// Writes by index and flat JOINs that follow each other on one value are written into the memory of the last, where nobody reads what was
// before afterwards: a SCATTER leaves its copy out then, and a JOIN the pieces that stay. Before JoinInPlace.
void ChainInPlace(const Graph& graph, std::vector<GraphStep>* steps);

// Gives those outputs that a step would write while old bytes of the input are still to be read a value of their own, which a last step
// copies; drops copies of bytes onto themselves.
void SettleOverwrites(Graph* graph, std::vector<GraphStep>* steps);

// Whether an operator that can run in place may write one over the other: elements of one width at the same offsets.
bool HaveSameLayout(const schema::TensorDesc& a, const schema::TensorDesc& b);

// One that copies so many bytes.
std::unique_ptr<Kernel> MakeCopyKernel(uint64_t size);

}  // namespace dxtensor::software
