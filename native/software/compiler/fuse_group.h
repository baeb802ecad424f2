// A step of a fused graph while it grows: a group of elementwise nodes over one box, or an anchor (a GEMM or a
// convolution) with the post-ops that become its epilogue. Used by one thread.
#pragma once

#include <optional>
#include <vector>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "graph.h"

namespace dxtensor::software {

// Where a value is stored: in another value's memory, when the node between only moves an offset.
struct Location {
  int value;
  uint64_t offset;
};

// Whether the tensors describe the same elements at the same offsets.
bool SameLayout(const schema::TensorDesc& a, const schema::TensorDesc& b);

// The offset in bytes at which the output of a node lies in its input, when nothing needs to be moved: an IDENTITY that changes
// nothing, a SLICE1 of evenly spaced elements. Output `slot` of a SPLIT too. -1 otherwise.
int64_t OffsetInInput(const schema::OperatorDesc& desc, size_t slot);

struct Group {
  std::vector<int> nodes;  // in order of execution; the anchor is the first
  bool is_elementwise = false, is_anchor = false;
  schema::TensorDesc box;  // elementwise: of the first node

  // The anchor and its epilogue.
  schema::OperatorDesc anchor;     // with the bias or C tensor that an addition became
  std::vector<int> anchor_inputs;  // values; of a convolution also those of ConvolutionEpilogue
  std::optional<schema::OperatorDesc> norm;
  bool has_residual = false;  // a tensor, in addition to a bias or C
  bool clamps = false;        // to two numbers
  fast::Activations after;
  int packed = -1;        // of a GEMM: the DEQUANTIZE whose codes it reads
  int minima = -1;        // of such a GEMM: the GEMM of the sums of A's blocks and the minima, which it computes too
  bool vanishes = false;  // its readers read its inputs
  int result = -1;        // the value that it writes
  schema::TensorDesc stored;
};

// Whether an elementwise node can be computed over the group's box, and reads the group's values in the layout in which they are written.
// `producer_of_value`: the node of the group that writes a value, or -1.
bool FitsGroup(const Graph& graph, const Group& group, const GraphNode& node, const std::vector<int>& producer_of_value);

// Fuses a node into the anchor: an elementwise node, or a batch norm by given statistics, that is the only reader of the result.
bool Absorb(Group* anchor, const GraphNode& node);

// Fuses the nodes of a clamp that keeps NaN: CLIP, or for a convolution the maximum with the lower bound and the minimum with the upper
// bound, and a choice of the value itself where it is NaN.
bool AbsorbClamp(Group* anchor, const Graph& graph, const std::vector<int>& nodes);

}  // namespace dxtensor::software
