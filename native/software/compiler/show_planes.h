// Nodes that see the planes of another one's result as lines.
#pragma once

#include <vector>

#include "graph.h"

namespace dxtensor::software::fast {

inline bool IsPacked4D(const schema::TensorDesc& t) { return t.rank == 4 && t.IsPacked(); }

// The tensors of a description, by slot.
std::vector<schema::TensorDesc*> TensorsOf(schema::OperatorDesc* desc, schema::FieldKind kind);

// A reduction of lines that are the planes of another node's result, as that one writes it, or null, becomes one of these planes, which
// then may lie otherwise. Whether it did.
bool ShowPlanes(GraphNode* node, const schema::TensorDesc* written);

}  // namespace dxtensor::software::fast
