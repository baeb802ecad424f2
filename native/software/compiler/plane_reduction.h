// Reductions over the rows that are planes of another node's result.
#pragma once

#include <vector>

#include "graph.h"

namespace dxtensor::software {

inline bool IsPacked4D(const schema::TensorDesc& t) { return t.rank == 4 && t.IsPacked(); }

// The tensors of a description, by slot.
std::vector<schema::TensorDesc*> TensorsOf(schema::OperatorDesc* desc, schema::FieldKind kind);

// Makes a reduction of rows, where these are the planes of another node's result (`written`, or null), one over H and W of that result,
// which may then have another layout. Whether it did.
bool ReducePlanes(GraphNode* node, const schema::TensorDesc* written);

}  // namespace dxtensor::software
