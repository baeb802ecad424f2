#include "row_blocks.h"

#include <algorithm>

#include "software/cpu/fast/elementwise/elementwise.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kRowBytes = 128 << 10;   // of a row at most
constexpr uint64_t kBlockBytes = 32 << 10;  // of a block's largest tensor, unless a row is larger
constexpr uint64_t kMaxSums = 1 << 16;      // elements of a sum over rows
constexpr int64_t kPiecesPerThread = 8;     // of the rows, each with sums of its own

uint64_t Align(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

uint64_t BytesOf(const schema::TensorDesc& t) {
  uint64_t last = 0;
  for (uint32_t d = 0; d < t.rank; ++d) last += static_cast<uint64_t>(t.sizes[d] - 1) * t.strides[d];
  return (last + 1) * schema::BytesPerElement(t.data_type);
}

// Whether the operator reads and writes along the given dimensions only, apart from which each element is by itself.
bool KeepsTo(const schema::OperatorDesc& desc, uint32_t lead) {
  switch (desc.type()) {
    case DML_OPERATOR_REDUCE:
    case DML_OPERATOR_ACTIVATION_SOFTMAX1:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1:
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1:
    case DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2: {
      const auto& axes = desc.UInts("Axes");
      return std::all_of(axes.begin(), axes.end(), [&](uint32_t axis) { return axis >= lead; });
    }
    case DML_OPERATOR_ACTIVATION_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX: return lead < desc.Inputs()[0]->rank;
    // A matrix of weights that all share is packed once for all.
    case DML_OPERATOR_GEMM: {
      const schema::TensorDesc& b = *desc.Tensor("BTensor");
      if (lead + 2 > b.rank) return false;
      for (uint32_t d = 0; d < lead; ++d)
        if (b.sizes[d] > 1 && b.strides[d] == 0) return false;
      return true;
    }
    // What has a mean of its own has rows of its own.
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING:
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD: return true;
    default: return fast::IsElementwise(desc);
  }
}

bool HasRows(const schema::TensorDesc& t, const Rows& rows) {
  if (t.rank != rows.rank || schema::BytesPerElement(t.data_type) == 0) return false;
  for (uint32_t d = 0; d < rows.lead; ++d)
    if (t.sizes[d] != rows.sizes[d]) return false;
  return true;
}

class RowBlocksKernel final : public Kernel {
 public:
  RowBlocksKernel(const Rows& rows, const Graph& block, std::vector<GraphStep> steps, const std::vector<schema::TensorDesc>& inputs,
                  const std::vector<RowOutput>& outputs)
      : rows_(rows) {
    for (const schema::TensorDesc& t : inputs) inputs_.push_back(StridesOf(t));
    std::vector<int> sum_of(outputs.size(), -1);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const schema::TensorDesc& t = outputs[i].tensor;
      outputs_.push_back(StridesOf(t));
      if (!outputs[i].is_sum) continue;
      sum_of[i] = static_cast<int>(sums_.size());
      sums_.push_back({i, local_bytes_, sum_count_, t.ElementCount(), ShareOf(t, rows).ElementCount()});
      local_bytes_ += Align(sums_.back().share * sizeof(float));
      sum_count_ += t.ElementCount();
    }
    const auto blocks = static_cast<int64_t>(rows.blocks()), threads = static_cast<int64_t>(ThreadPool::Get().size());
    pieces_ = std::min(blocks, threads * kPiecesPerThread);
    std::vector<int64_t> local(block.values.size(), -1);
    uint64_t scratch = 0;
    auto locate = [&](const GraphOperand& operand) -> Operand {
      if (operand.value < 0) return {};
      const auto v = static_cast<size_t>(operand.value);
      const GraphValue& value = block.values[v];
      if (value.graph_input >= 0) return {Operand::Kind::Input, static_cast<size_t>(value.graph_input), operand.offset};
      if (!value.graph_outputs.empty()) {
        const auto output = static_cast<size_t>(value.graph_outputs[0]);
        if (sum_of[output] >= 0) return {Operand::Kind::Local, 0, sums_[static_cast<size_t>(sum_of[output])].local + operand.offset};
        return {Operand::Kind::Output, output, operand.offset};
      }
      if (local[v] < 0) {
        local[v] = static_cast<int64_t>(local_bytes_);
        local_bytes_ += Align(value.size_in_bytes);
      }
      return {Operand::Kind::Local, 0, static_cast<uint64_t>(local[v]) + operand.offset};
    };
    for (GraphStep& step : steps) {
      Step made;
      for (const GraphOperand& operand : step.inputs) made.inputs.push_back(locate(operand));
      for (const GraphOperand& operand : step.outputs) made.outputs.push_back(locate(operand));
      scratch = std::max<uint64_t>(scratch, step.kernel->ScratchBytes());
      max_operands_ = std::max(max_operands_, made.inputs.size() + made.outputs.size());
      made.kernel = std::move(step.kernel);
      steps_.push_back(std::move(made));
    }
    thread_bytes_ = local_bytes_ + Align(scratch);
  }
  size_t ScratchBytes() const override {
    return static_cast<size_t>(thread_bytes_) * static_cast<size_t>(ThreadPool::Get().size()) +
           static_cast<size_t>(static_cast<uint64_t>(pieces_) * sum_count_) * sizeof(double);
  }
  void Run(const KernelArguments& a) const override {
    const auto blocks = static_cast<int64_t>(rows_.blocks());
    ThreadPool& pool = ThreadPool::Get();
    auto* sums = reinterpret_cast<double*>(a.scratch + thread_bytes_ * static_cast<uint64_t>(pool.size()));
    pool.ParallelFor(0, pieces_, 1, [&](int64_t first, int64_t last, int slot) {
      uint8_t* own = a.scratch + static_cast<uint64_t>(slot) * thread_bytes_;
      for (int64_t piece = first; piece < last; ++piece)
        RunBlocks(a, blocks * piece / pieces_, blocks * (piece + 1) / pieces_, own, sums + static_cast<uint64_t>(piece) * sum_count_);
    });
    for (const Sum& sum : sums_) Join(sum, sums, reinterpret_cast<float*>(a.outputs[sum.output]));
  }

 private:
  using Position = std::array<int64_t, schema::kMaxRank>;
  struct Operand {
    enum class Kind : uint8_t { None, Input, Output, Local };
    Kind kind = Kind::None;
    size_t index = 0;
    uint64_t offset = 0;
  };
  struct Step {
    std::shared_ptr<Kernel> kernel;
    std::vector<Operand> inputs, outputs;
  };
  // An output that is a sum over rows.
  struct Sum {
    size_t output;
    uint64_t local, first;  // where a block's share lies among the local bytes, and the first of its elements among all sums
    uint64_t count, share;  // elements, and of a block's share
  };

  // `sums`: of all elements of all sums.
  void RunBlocks(const KernelArguments& a, int64_t first, int64_t last, uint8_t* own, double* sums) const {
    std::vector<const uint8_t*> inputs(max_operands_);
    std::vector<uint8_t*> outputs(max_operands_);
    std::fill_n(sums, sum_count_, 0.0);
    for (int64_t at = first; at < last; ++at) {
      Position position{};
      int64_t rest = at;
      for (uint32_t d = rows_.lead; d-- > 0;) {
        const int64_t count = rows_.sizes[d] / (d + 1 == rows_.lead ? rows_.block : 1);
        position[d] = rest % count * (d + 1 == rows_.lead ? rows_.block : 1);
        rest /= count;
      }
      for (const Step& step : steps_) {
        for (size_t i = 0; i < step.inputs.size(); ++i) inputs[i] = Address(a, own, step.inputs[i], position);
        for (size_t i = 0; i < step.outputs.size(); ++i) outputs[i] = Address(a, own, step.outputs[i], position);
        step.kernel->Run({inputs.data(), outputs.data(), own + local_bytes_});
      }
      for (const Sum& sum : sums_) {
        const auto* share = reinterpret_cast<const float*>(own + sum.local);
        double* to = sums + sum.first + OffsetOf(outputs_[sum.output], position) / static_cast<int64_t>(sizeof(float));
        for (uint64_t i = 0; i < sum.share; ++i) to[i] += static_cast<double>(share[i]);
      }
    }
  }
  void Join(const Sum& sum, const double* sums, float* out) const {
    for (uint64_t i = 0; i < sum.count; ++i) {
      double total = 0;
      for (int64_t piece = 0; piece < pieces_; ++piece) total += sums[static_cast<uint64_t>(piece) * sum_count_ + sum.first + i];
      out[i] = static_cast<float>(total);
    }
  }

  // Bytes from one row to the next of each dimension.
  Position StridesOf(const schema::TensorDesc& t) const {
    Position strides{};
    for (uint32_t d = 0; d < rows_.lead; ++d)
      strides[d] = t.sizes[d] == 1 ? 0 : static_cast<int64_t>(t.strides[d]) * schema::BytesPerElement(t.data_type);
    return strides;
  }
  int64_t OffsetOf(const Position& strides, const Position& position) const {
    int64_t offset = 0;
    for (uint32_t d = 0; d < rows_.lead; ++d) offset += strides[d] * position[d];
    return offset;
  }
  uint8_t* Address(const KernelArguments& a, uint8_t* own, const Operand& operand, const Position& position) const {
    switch (operand.kind) {
      case Operand::Kind::None: return nullptr;
      case Operand::Kind::Input:  // only read
        return const_cast<uint8_t*>(a.inputs[operand.index]) + OffsetOf(inputs_[operand.index], position) + operand.offset;
      case Operand::Kind::Output: return a.outputs[operand.index] + OffsetOf(outputs_[operand.index], position) + operand.offset;
      case Operand::Kind::Local: return own + operand.offset;
    }
    return nullptr;
  }

  const Rows rows_;
  std::vector<Position> inputs_, outputs_;
  std::vector<Step> steps_;
  std::vector<Sum> sums_;
  uint64_t sum_count_ = 0;  // elements of all sums
  int64_t pieces_ = 1;      // of the blocks
  uint64_t local_bytes_ = 0, thread_bytes_ = 0;
  size_t max_operands_ = 0;
};

}  // namespace

uint64_t Rows::count() const {
  uint64_t anchor = 1;
  for (uint32_t d = 0; d < lead; ++d) anchor *= sizes[d];
  return anchor;
}

std::optional<Rows> RowsOf(const schema::OperatorDesc& desc, uint64_t min_bytes) {
  const schema::TensorDesc* largest = desc.Outputs()[0];
  for (const schema::TensorDesc* t : desc.Inputs())
    if (t && t->ElementCount() > largest->ElementCount()) largest = t;
  const uint64_t bytes = largest->ElementCount() * schema::BytesPerElement(largest->data_type);
  if (bytes < min_bytes) return std::nullopt;
  Rows rows;
  rows.rank = largest->rank;
  uint64_t count = 1;
  const auto wanted = static_cast<uint64_t>(ThreadPool::Get().size()) * 2;
  for (uint32_t d = 0; d + 1 < largest->rank; ++d) {
    rows.sizes[d] = largest->sizes[d];
    rows.lead = d + 1;
    count *= largest->sizes[d];
    const uint64_t row = bytes / count;
    if (row > kRowBytes || count < wanted) continue;
    // Not all of an axis: there may be 2^32 - 1 rows.
    for (uint32_t block = 1; block <= rows.sizes[d] && block * row <= kBlockBytes; ++block)
      if (rows.sizes[d] % block == 0 && count / block >= wanted) rows.block = block;
    return rows;
  }
  return std::nullopt;
}

bool RunsByRows(const schema::OperatorDesc& desc, const Rows& rows) {
  if (!KeepsTo(desc, rows.lead)) return false;
  auto has = [&](const schema::TensorDesc* t) { return !t || HasRows(*t, rows); };
  const auto inputs = desc.Inputs(), outputs = desc.Outputs();
  // A block of what is written is to lie in one piece.
  auto is_dense = [&](const schema::TensorDesc* t) {
    if (!t) return true;
    const schema::TensorDesc block = BlockOf(*t, rows);
    return BytesOf(block) == block.ElementCount() * schema::BytesPerElement(block.data_type);
  };
  return std::all_of(inputs.begin(), inputs.end(), has) && std::all_of(outputs.begin(), outputs.end(), has) &&
         std::all_of(outputs.begin(), outputs.end(), is_dense);
}

bool SumsRows(const schema::OperatorDesc& desc, const Rows& rows) {
  if (desc.type() != DML_OPERATOR_REDUCE || desc.UInt("Function") != DML_REDUCE_FUNCTION_SUM) return false;
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  if (!HasRows(in, rows) || out.data_type != DML_TENSOR_DATA_TYPE_FLOAT32 || !out.IsPacked() || out.ElementCount() > kMaxSums) return false;
  const auto& axes = desc.UInts("Axes");
  return std::any_of(axes.begin(), axes.end(), [&](uint32_t axis) { return axis < rows.lead && in.sizes[axis] > 1; });
}

bool SameRows(const schema::TensorDesc& a, const schema::TensorDesc& b, const Rows& rows) {
  for (uint32_t d = 0; d < rows.lead; ++d)
    if (rows.sizes[d] > 1 && a.strides[d] != b.strides[d]) return false;
  return a.data_type == b.data_type && BlockOf(a, rows).size_in_bytes >= BlockOf(b, rows).size_in_bytes;
}

schema::TensorDesc BlockOf(const schema::TensorDesc& tensor, const Rows& rows) {
  schema::TensorDesc block = tensor;
  for (uint32_t d = 0; d < rows.lead; ++d) block.sizes[d] = d + 1 == rows.lead ? rows.block : 1;
  block.has_strides = true;
  block.size_in_bytes = BytesOf(block);
  return block;
}

schema::OperatorDesc BlockOf(const schema::OperatorDesc& desc, const Rows& rows) {
  schema::OperatorDesc block = desc;
  const bool sums = SumsRows(desc, rows);
  for (size_t i = 0; i < block.fields.size(); ++i)
    if (auto* tensor = std::get_if<std::optional<schema::TensorDesc>>(&block.fields[i]))
      if (*tensor)
        *tensor = sums && desc.schema->fields[i].kind == schema::FieldKind::Output ? ShareOf(**tensor, rows) : BlockOf(**tensor, rows);
  return block;
}

schema::TensorDesc ShareOf(const schema::TensorDesc& sum, const Rows& rows) {
  schema::TensorDesc share = sum;
  for (uint32_t d = 0; d < rows.lead; ++d) share.sizes[d] = d + 1 == rows.lead && sum.sizes[d] > 1 ? rows.block : 1;
  share.has_strides = true;
  share.size_in_bytes = BytesOf(share);
  return share;
}

std::unique_ptr<Kernel> MakeRowBlocks(const Rows& rows, const Graph& block, std::vector<GraphStep> steps,
                                      const std::vector<schema::TensorDesc>& inputs, const std::vector<RowOutput>& outputs) {
  return std::make_unique<RowBlocksKernel>(rows, block, std::move(steps), inputs, outputs);
}

}  // namespace dxtensor::software
