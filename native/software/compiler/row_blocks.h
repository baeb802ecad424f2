// Steps that treat the rows of their tensors alike, run one block of rows after the other: what lies between them stays in the cache, and
// each thread takes blocks of its own.
//
// Rows are what the first dimensions enumerate. The steps of a block are those of a graph of its own, whose tensors are a block's. What
// sums over rows gives a block's share, and the shares are added.
#pragma once

#include <array>
#include <optional>

#include "graph.h"

namespace dxtensor::software {

// The first `lead` sizes of every tensor of `rank` dimensions; `block` rows of the last of them at a time.
struct Rows {
  uint32_t rank = 0, lead = 0;
  std::array<uint32_t, schema::kMaxRank> sizes{};
  uint32_t block = 1;

  uint64_t count() const;
  uint64_t blocks() const { return count() / block; }
};

// The rows of what a node computes, where its largest tensor has that many bytes, rows are many, and one of them stays in the cache.
std::optional<Rows> RowsOf(const schema::OperatorDesc& desc, uint64_t min_bytes);
// Whether the operator treats each of these rows by itself.
bool RunsByRows(const schema::OperatorDesc& desc, const Rows& rows);
// Whether it sums over what enumerates rows, or some of that: its result is then a sum of shares.
bool SumsRows(const schema::OperatorDesc& desc, const Rows& rows);
// Whether two tensors have these rows at the same offsets, b's within a's.
bool SameRows(const schema::TensorDesc& a, const schema::TensorDesc& b, const Rows& rows);

// A tensor as one block sees it.
schema::TensorDesc BlockOf(const schema::TensorDesc& tensor, const Rows& rows);
schema::OperatorDesc BlockOf(const schema::OperatorDesc& desc, const Rows& rows);
// Of what SumsRows: one block's share of its result.
schema::TensorDesc ShareOf(const schema::TensorDesc& sum, const Rows& rows);

// A graph output of a block: the whole tensor behind it, and whether the block gives a share of a sum.
struct RowOutput {
  schema::TensorDesc tensor;
  bool is_sum = false;
};

// `steps` of the graph of a block; `inputs`: the whole tensors behind its graph inputs, as they are read.
std::unique_ptr<Kernel> MakeRowBlocks(const Rows& rows, const Graph& block, std::vector<GraphStep> steps,
                                      const std::vector<schema::TensorDesc>& inputs, const std::vector<RowOutput>& outputs);

}  // namespace dxtensor::software
