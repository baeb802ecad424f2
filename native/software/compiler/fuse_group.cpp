#include "fuse_group.h"

#include <algorithm>

#include "software/cpu/fast/elementwise/elementwise.h"
#include "software/cpu/fast/tensor/operand.h"
#include "software/cpu/fast/tensor/row_split.h"

namespace dxtensor::software {

bool SameLayout(const schema::TensorDesc& a, const schema::TensorDesc& b) {
  return a.data_type == b.data_type && a.ElementCount() == b.ElementCount() && fast::ProgramBuilder::Fits(a, b) &&
         fast::ProgramBuilder::StridesIn(a, a) == fast::ProgramBuilder::StridesIn(a, b);
}

int64_t OffsetInInput(const schema::OperatorDesc& desc, size_t slot) {
  const auto inputs = desc.Inputs(), outputs = desc.Outputs();
  switch (desc.type()) {
    case DML_OPERATOR_ACTIVATION_IDENTITY: return SameLayout(*inputs[0], *outputs[0]) ? 0 : -1;
    case DML_OPERATOR_ELEMENT_WISE_IDENTITY:
      return !desc.Get<std::optional<DML_SCALE_BIAS>>("ScaleBias") && SameLayout(*inputs[0], *outputs[0]) ? 0 : -1;
    case DML_OPERATOR_SLICE1: {
      const schema::TensorDesc &in = *inputs[0], &out = *outputs[0];
      int64_t offset = 0;
      for (uint32_t d = 0; d < in.rank; ++d) {
        const int64_t step = desc.Get<std::vector<int32_t>>("InputWindowStrides")[d];
        int64_t start = desc.UInts("InputWindowOffsets")[d];
        if (step < 0) start += static_cast<int64_t>(desc.UInts("InputWindowSizes")[d]) - 1;
        if (out.sizes[d] != 1 && step * in.strides[d] != out.strides[d]) return -1;
        offset += start * in.strides[d];
      }
      return offset * schema::BytesPerElement(in.data_type);
    }
    case DML_OPERATOR_SPLIT: {
      const schema::TensorDesc& in = *inputs[0];
      const uint32_t axis = desc.UInt("Axis");
      int64_t offset = 0;
      for (size_t i = 0; i < slot; ++i) offset += static_cast<int64_t>(outputs[i]->sizes[axis]) * in.strides[axis];
      for (uint32_t d = 0; d < in.rank; ++d)
        if (outputs[slot]->sizes[d] != 1 && outputs[slot]->strides[d] != in.strides[d]) return -1;
      return offset * schema::BytesPerElement(in.data_type);
    }
    default: return -1;
  }
}

bool FitsGroup(const Graph& graph, const Group& group, const GraphNode& node, const std::vector<int>& producer_of_value) {
  const auto inputs = node.desc->Inputs(), outputs = node.desc->Outputs();
  if (outputs[0]->ElementCount() != group.box.ElementCount() || !fast::ProgramBuilder::Fits(group.box, *outputs[0])) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!fast::ProgramBuilder::Fits(group.box, *inputs[i])) return false;
    const int producer = producer_of_value[static_cast<size_t>(node.inputs[i])];
    if (producer < 0 || std::find(group.nodes.begin(), group.nodes.end(), producer) == group.nodes.end()) continue;
    const schema::TensorDesc& written = *graph.nodes[static_cast<size_t>(producer)].desc->Outputs()[0];
    if (written.data_type != inputs[i]->data_type ||
        fast::ProgramBuilder::StridesIn(group.box, written) != fast::ProgramBuilder::StridesIn(group.box, *inputs[i]))
      return false;
  }
  return true;
}

namespace {

using OptionalTensor = std::optional<schema::TensorDesc>;

void SetTensor(schema::OperatorDesc* desc, const char* name, const schema::TensorDesc& tensor) {
  for (int i = 0; i < desc->schema->field_count; ++i)
    if (std::string(desc->schema->fields[i].name) == name) desc->fields[static_cast<size_t>(i)] = OptionalTensor(tensor);
}
void SetFloat(schema::OperatorDesc* desc, const char* name, float value) {
  for (int i = 0; i < desc->schema->field_count; ++i)
    if (std::string(desc->schema->fields[i].name) == name) desc->fields[static_cast<size_t>(i)] = value;
}
// The tensor as one of the box's sizes, whatever its rank; nothing where that takes a copy.
OptionalTensor SeenIn(const schema::TensorDesc& box, const schema::TensorDesc& tensor) {
  if (!fast::ProgramBuilder::Fits(box, tensor)) return std::nullopt;
  schema::TensorDesc seen = tensor;
  const fast::Extents strides = fast::ProgramBuilder::StridesIn(box, tensor);
  seen.rank = box.rank;
  for (uint32_t d = 0; d < box.rank; ++d) {
    seen.sizes[d] = box.sizes[d];
    seen.strides[d] = static_cast<uint32_t>(strides[d]);
  }
  return seen;
}
bool HasFusedActivation(const schema::OperatorDesc& desc) {
  return desc.Get<std::shared_ptr<const schema::OperatorDesc>>("FusedActivation") != nullptr;
}

// What a convolution leaves alone behind its last output would have been added to as well.
bool PadsOutput(const schema::OperatorDesc& convolution) {
  const auto& padding = convolution.UInts("OutputPadding");
  return std::any_of(padding.begin(), padding.end(), [](uint32_t p) { return p != 0; });
}

// One number, wherever it is read.
bool IsNumber(const schema::TensorDesc& t) {
  for (uint32_t d = 0; d < t.rank; ++d)
    if (t.sizes[d] != 1 && t.strides[d] != 0) return false;
  return true;
}

// A value for each channel, whatever the other dimensions.
bool IsPerChannel(const schema::TensorDesc& t) {
  for (uint32_t d = 0; d < t.rank; ++d)
    if (d != 1 && t.sizes[d] != 1 && t.strides[d] != 0) return false;
  return true;
}

constexpr size_t kConvolutionInputs = 10, kNormInput = 3, kResidualInput = 7, kClampInput = 8;

// An addition to an anchor without an epilogue becomes its C or bias tensor; to a convolution also a residual. Not for half: it would have
// been rounded in between.
bool AbsorbAddition(Group* g, const GraphNode& node, const schema::TensorDesc& stored) {
  const bool is_gemm = g->anchor.type() == DML_OPERATOR_GEMM;
  const char* field = is_gemm ? "CTensor" : "BiasTensor";
  if (HasFusedActivation(g->anchor) || !g->after.empty() || g->has_residual) return false;
  if (g->stored.data_type != DML_TENSOR_DATA_TYPE_FLOAT32) return false;
  const auto inputs = node.desc->Inputs();
  if (inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return false;
  const size_t own = node.inputs[0] == g->result ? 0 : 1, other = 1 - own;
  if (!SameLayout(g->stored, *inputs[own])) return false;
  const OptionalTensor seen = SeenIn(g->stored, *inputs[other]);
  if (!seen || seen->data_type != g->stored.data_type) return false;
  schema::TensorDesc added = *seen;
  if (is_gemm) {
    if (g->anchor.Tensor(field)) return false;
    SetTensor(&g->anchor, field, added);
    SetFloat(&g->anchor, "Beta", 1);
    g->anchor_inputs[2] = node.inputs[other];
    return true;
  }
  if (PadsOutput(g->anchor)) return false;
  if (IsPerChannel(added) && !g->norm && !g->anchor.Tensor(field)) {
    for (uint32_t d = 0; d < added.rank; ++d)
      if (d != 1) added.sizes[d] = 1;
    SetTensor(&g->anchor, field, added);
    g->anchor_inputs[2] = node.inputs[other];
    return true;
  }
  if (!SameLayout(stored, added)) return false;
  g->has_residual = true;
  g->anchor_inputs.resize(kConvolutionInputs, -1);
  g->anchor_inputs[kResidualInput] = node.inputs[other];
  return true;
}

// A BATCH_NORMALIZATION of the bare convolution.
bool AbsorbNorm(Group* g, const GraphNode& node) {
  if (g->anchor.type() != DML_OPERATOR_CONVOLUTION || PadsOutput(g->anchor)) return false;
  if (HasFusedActivation(g->anchor) || !g->after.empty() || g->has_residual || g->norm) return false;
  if (g->stored.data_type != DML_TENSOR_DATA_TYPE_FLOAT32) return false;
  const auto inputs = node.desc->Inputs();
  if (node.inputs[0] != g->result || inputs[0]->rank != g->stored.rank || !SameLayout(g->stored, *inputs[0])) return false;
  for (uint32_t d = 0; d < g->stored.rank; ++d)
    if (inputs[0]->sizes[d] != g->stored.sizes[d]) return false;
  for (size_t i = 1; i < inputs.size(); ++i)
    if (!fast::IsFloatType(inputs[i]->data_type) || !IsPerChannel(*inputs[i])) return false;
  g->norm = *node.desc;
  g->anchor_inputs.resize(kConvolutionInputs, -1);
  for (size_t i = 1; i < inputs.size(); ++i) g->anchor_inputs[kNormInput + i - 1] = node.inputs[i];
  return true;
}

}  // namespace

bool Absorb(Group* g, const GraphNode& node) {
  const schema::OperatorDesc& desc = *node.desc;
  const schema::TensorDesc& out = *desc.Outputs()[0];
  const OptionalTensor stored = SeenIn(g->stored, out);
  if (out.data_type != g->stored.data_type || out.ElementCount() != g->stored.ElementCount() || !stored) return false;
  if (g->has_residual && !SameLayout(g->stored, *stored)) return false;  // it would have to be read as the result is written
  const bool is_addition = desc.type() == DML_OPERATOR_ELEMENT_WISE_ADD || desc.type() == DML_OPERATOR_ELEMENT_WISE_ADD1;
  const bool normalizes = desc.type() == DML_OPERATOR_BATCH_NORMALIZATION;
  fast::Activations more;
  if (is_addition || normalizes) {
    auto activations = fast::FusedActivations(desc);
    if (!activations) return false;
    more = *activations;
    if (normalizes ? !AbsorbNorm(g, node) : !AbsorbAddition(g, node, *stored)) return false;
  } else {
    const auto inputs = desc.Inputs();
    if (inputs.size() != 1 || !SameLayout(g->stored, *inputs[0])) return false;
    fast::ProgramBuilder builder(out);
    int x = builder.Load(0, *inputs[0]);
    if (out.data_type == DML_TENSOR_DATA_TYPE_FLOAT16) x = fast::Settle(builder, out.data_type, x);
    if (fast::EmitElementwise(builder, desc, &x) < 0) return false;
    more = builder.ops();
    for (fast::MicroOp& op : more) {
      if (op.code >= fast::Code::FAdd) return false;  // of one float, in place
      op.d = op.a = op.b = op.c = 0;
    }
  }
  g->after.insert(g->after.end(), more.begin(), more.end());
  g->result = node.outputs[0];
  g->stored = *stored;
  return true;
}

namespace {

// Whether `node` reads the group's result as it is stored.
bool ReadsResult(const Group& g, const GraphNode& node, size_t slot) {
  return node.inputs[slot] == g.result && SameLayout(g.stored, *node.desc->Inputs()[slot]);
}

// Whether `choose` gives the group's result where `test` says that it is NaN, else `clamped`; the group then ends with it.
bool EndWithChoice(Group* g, const GraphNode& test, const GraphNode& choose, int clamped) {
  if (!ReadsResult(*g, test, 0) || !ReadsResult(*g, choose, 1)) return false;
  if (choose.inputs[0] != test.outputs[0] || choose.inputs[2] != clamped) return false;
  const schema::TensorDesc& out = *choose.desc->Outputs()[0];
  const OptionalTensor stored = SeenIn(g->stored, out);
  if (out.data_type != DML_TENSOR_DATA_TYPE_FLOAT32 || g->stored.data_type != out.data_type || !stored) return false;
  if (out.ElementCount() != g->stored.ElementCount() || (g->has_residual && !SameLayout(g->stored, *stored))) return false;
  g->result = choose.outputs[0];
  g->stored = *stored;
  return true;
}

}  // namespace

bool AbsorbClamp(Group* g, const Graph& graph, const std::vector<int>& nodes) {
  auto find = [&](DML_OPERATOR_TYPE type) -> const GraphNode* {
    for (int n : nodes)
      if (graph.nodes[static_cast<size_t>(n)].desc->type() == type) return &graph.nodes[static_cast<size_t>(n)];
    return nullptr;
  };
  const GraphNode *test = find(DML_OPERATOR_ELEMENT_WISE_IS_NAN), *choose = find(DML_OPERATOR_ELEMENT_WISE_IF);
  if (!test || !choose) return false;
  if (nodes.size() == 3) {
    const GraphNode* clip = find(DML_OPERATOR_ELEMENT_WISE_CLIP);
    if (!clip || clip->desc->Get<std::optional<DML_SCALE_BIAS>>("ScaleBias") || !ReadsResult(*g, *clip, 0)) return false;
    if (!EndWithChoice(g, *test, *choose, clip->outputs[0])) return false;
    fast::MicroOp clamp{fast::Code::FClamp};
    clamp.p = clip->desc->Float("Min");
    clamp.q = clip->desc->Float("Max");
    g->after.push_back(clamp);
    return true;
  }
  const GraphNode *raise = find(DML_OPERATOR_ELEMENT_WISE_MAX), *lower = find(DML_OPERATOR_ELEMENT_WISE_MIN);
  if (g->anchor.type() != DML_OPERATOR_CONVOLUTION || !g->after.empty() || nodes.size() != 4 || !raise || !lower) return false;
  // The slot of the number to which the node clamps.
  auto other_operand = [&](const GraphNode* node, int value) -> int {
    for (size_t slot = 0; slot < 2; ++slot)
      if (node->inputs[1 - slot] == value && node->inputs[slot] != value && IsNumber(*node->desc->Inputs()[slot]))
        return static_cast<int>(slot);
    return -1;
  };
  const int low = other_operand(raise, g->result), high = other_operand(lower, raise->outputs[0]);
  if (low < 0 || high < 0 || !ReadsResult(*g, *raise, static_cast<size_t>(1 - low))) return false;
  if (!EndWithChoice(g, *test, *choose, lower->outputs[0])) return false;
  g->clamps = true;
  g->anchor_inputs.resize(kConvolutionInputs, -1);
  g->anchor_inputs[kClampInput] = raise->inputs[static_cast<size_t>(low)];
  g->anchor_inputs[kClampInput + 1] = lower->inputs[static_cast<size_t>(high)];
  return true;
}

}  // namespace dxtensor::software
