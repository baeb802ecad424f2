// What a step of a fused graph consists of while it grows: a group of elementwise nodes over one box, or a matrix product or
// convolution with what happens to its result. Used by one thread.
#pragma once

#include <optional>
#include <vector>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "graph.h"

namespace dxtensor::software::fast {

// Where a value really lies: another value's memory, when the node between only moves an offset.
struct Place {
  int value;
  uint64_t offset;
};

// The tensors describe the same elements in the same places.
bool SameLayout(const schema::TensorDesc& a, const schema::TensorDesc& b);

// The offset in bytes at which the output of a node lies in its input, when nothing needs to be moved: an IDENTITY that changes
// nothing, a SLICE1 of evenly spaced elements. Output `slot` of a SPLIT too. -1 otherwise.
int64_t OffsetInInput(const schema::OperatorDesc& desc, size_t slot);

struct Group {
  std::vector<int> nodes;  // in order of execution; the first of a product is the product itself
  bool is_elementwise = false, is_product = false;
  schema::TensorDesc box;  // elementwise: of the first node

  // A product's further additions.
  schema::OperatorDesc product;     // with the bias or C tensor that an addition became
  std::vector<int> product_inputs;  // values; of a convolution also those of ConvolutionEnd
  std::optional<schema::OperatorDesc> norm;
  bool adds = false;   // a tensor, beside a bias or C
  bool holds = false;  // between two numbers
  Activations after;
  int result = -1;  // the value that it writes
  schema::TensorDesc stored;
};

// Whether an elementwise node can be walked over the group's box, and reads what nodes of the group write as these write it.
// `producer` gives the node of the group that writes a value, or -1.
bool FitsGroup(const Graph& graph, const Group& group, const GraphNode& node, const std::vector<int>& producer_of_value);

// Lets the product take over a node, elementwise or a normalisation by given statistics, that reads its result and nothing else does.
bool Absorb(Group* product, const GraphNode& node);

// The same for the four nodes as which a convolution's result is held between two numbers, where NaN stays: the larger one of it and the
// lower limit, the smaller one of that and the upper limit, and itself instead where it is NaN.
bool AbsorbLimits(Group* convolution, const Graph& graph, const std::vector<int>& nodes);

}  // namespace dxtensor::software::fast
