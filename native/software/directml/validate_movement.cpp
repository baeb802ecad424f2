// Slices, joins, padding, tiles, blocks, fills, and values whose data type an attribute names.
#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

uint32_t Magnitude(int32_t stride) { return stride < 0 ? 0u - static_cast<uint32_t>(stride) : static_cast<uint32_t>(stride); }

void RequireRankArrays(const OperatorDesc& desc, const TensorDesc& t) {
  Require(desc.UInt("DimensionCount") == t.rank, "DimensionCount is not the tensor's");
}

void Slice(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &output = TensorOf(desc, "OutputTensor");
  RequireRankArrays(desc, input);
  const auto &offsets = desc.UInts("Offsets"), &sizes = desc.UInts("Sizes"), &strides = desc.UInts("Strides");
  for (uint32_t i = 0; i < input.rank; ++i) {
    Require(strides[i] > 0 && strides[i] <= INT32_MAX, "a stride is out of range");
    Require(sizes[i] > 0 && sizes[i] == output.sizes[i], "Sizes are not the output's");
    uint64_t last = offsets[i] + uint64_t{strides[i]} * (sizes[i] - 1);
    Require(last < input.sizes[i], "the slice reaches outside the input");
  }
}

void Window(const OperatorDesc& desc, const TensorDesc& large, const TensorDesc& small) {
  RequireRankArrays(desc, large);
  const auto &offsets = desc.UInts("InputWindowOffsets"), &sizes = desc.UInts("InputWindowSizes");
  const auto& strides = desc.Get<std::vector<int32_t>>("InputWindowStrides");
  for (uint32_t i = 0; i < large.rank; ++i) {
    Require(sizes[i] > 0 && strides[i] != 0, "a window's size or stride is 0");
    Require(uint64_t{offsets[i]} + sizes[i] <= large.sizes[i], "the window reaches outside the tensor");
    Require(small.sizes[i] <= 1 + (sizes[i] - 1) / Magnitude(strides[i]), "the window does not hold that many elements");
  }
}

void Slice1(const OperatorDesc& desc, uint32_t) { Window(desc, TensorOf(desc, "InputTensor"), TensorOf(desc, "OutputTensor")); }
void SliceGrad(const OperatorDesc& desc, uint32_t) {
  Window(desc, TensorOf(desc, "OutputGradientTensor"), TensorOf(desc, "InputGradientTensor"));
}

void Parts(const std::vector<TensorDesc>& parts, const TensorDesc& whole, uint32_t axis) {
  Require(!parts.empty(), "there are no tensors");
  RequireAxis(axis, whole.rank);
  uint64_t sum = 0;
  for (const TensorDesc& part : parts) {
    Require(EqualSizesBut(part, whole, axis), "the sizes differ on another axis");
    sum += part.sizes[axis];
  }
  Require(sum == whole.sizes[axis], "the sizes on the axis do not add up");
}

void Split(const OperatorDesc& desc, uint32_t) {
  Parts(desc.Get<std::vector<TensorDesc>>("OutputTensors"), TensorOf(desc, "InputTensor"), desc.UInt("Axis"));
}
void Join(const OperatorDesc& desc, uint32_t) {
  Parts(desc.Get<std::vector<TensorDesc>>("InputTensors"), TensorOf(desc, "OutputTensor"), desc.UInt("Axis"));
}

void RequireValueType(const OperatorDesc& desc, const char* attribute, const TensorDesc& t) {
  Require(desc.UInt(attribute) == static_cast<uint32_t>(t.data_type), "the value's data type is not the output's");
}

void Padding(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &output = TensorOf(desc, "OutputTensor");
  RequireRankArrays(desc, input);
  if (desc.Has("PaddingValueDataType")) RequireValueType(desc, "PaddingValueDataType", output);
  const auto &start = desc.UInts("StartPadding"), &end = desc.UInts("EndPadding");
  for (uint32_t i = 0; i < input.rank; ++i)
    Require(uint64_t{input.sizes[i]} + start[i] + end[i] == output.sizes[i], "the output's sizes are not the padded ones");
}

void Tile(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &output = TensorOf(desc, "OutputTensor");
  const auto& repeats = desc.UInts("Repeats");
  Require(repeats.size() == input.rank, "RepeatsCount is not the dimension count");
  for (uint32_t i = 0; i < input.rank; ++i)
    Require(repeats[i] > 0 && uint64_t{input.sizes[i]} * repeats[i] == output.sizes[i], "the output's sizes are not the repeated ones");
}

// `deep` has the channels, `wide` the pixels.
void Blocks(const OperatorDesc& desc, const TensorDesc& wide, const TensorDesc& deep) {
  uint64_t block = desc.UInt("BlockSize");
  Require(block > 0 && block <= UINT16_MAX, "BlockSize is out of range");
  Require(wide.sizes[0] == deep.sizes[0] && wide.sizes[1] * block * block == deep.sizes[1] && deep.sizes[2] * block == wide.sizes[2] &&
              deep.sizes[3] * block == wide.sizes[3],
          "the sizes do not follow from the block");
}

void SpaceToDepth(const OperatorDesc& desc, uint32_t) { Blocks(desc, TensorOf(desc, "InputTensor"), TensorOf(desc, "OutputTensor")); }
void DepthToSpace(const OperatorDesc& desc, uint32_t) { Blocks(desc, TensorOf(desc, "OutputTensor"), TensorOf(desc, "InputTensor")); }

void Fill(const OperatorDesc& desc, uint32_t) { RequireValueType(desc, "ValueDataType", TensorOf(desc, "OutputTensor")); }

void DiagonalMatrix1(const OperatorDesc& desc, uint32_t level) {
  Fill(desc, level);
  if (const TensorDesc* input = OptionalTensor(desc, "InputTensor"))
    Require(EqualSizes(*input, TensorOf(desc, "OutputTensor")), "the sizes differ");
}

void ClipGrad1(const OperatorDesc& desc, uint32_t) { RequireValueType(desc, "MinMaxDataType", *desc.Outputs()[0]); }

void ValueScale(const OperatorDesc& desc, uint32_t) {
  uint32_t channels = desc.UInt("ChannelCount");
  Require(channels == TensorOf(desc, "InputTensor").sizes[1], "ChannelCount is not the tensor's");
  Require(channels == 1 || channels == 3, "ChannelCount is neither 1 nor 3");
}

void Softplus(const OperatorDesc& desc, uint32_t level) {
  if (level < 0x6400) Require(desc.Float("Steepness") >= 1.0f, "Steepness is below 1");
}

// Blocks of a window: one side {N, C * window, blocks}, the other {N, C, spatial...}.
void Folding(const OperatorDesc& desc, const TensorDesc& image, const TensorDesc& blocks) {
  uint32_t count = desc.UInt("DimensionCount");
  Require(count >= 1 && count <= 6 && image.rank == count + 2 && blocks.rank == 3, "the dimension counts do not fit");
  // The table lists no types for them, so nothing before this has compared any.
  Require(image.data_type == blocks.data_type, "the data types differ");
  uint64_t window = 1, total = 1;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t size = desc.UInts("WindowSizes")[i], stride = desc.UInts("Strides")[i], dilation = desc.UInts("Dilations")[i];
    Require(size > 0 && stride > 0 && dilation > 0, "a window, stride or dilation is 0");
    uint64_t padded = uint64_t{image.sizes[i + 2]} + desc.UInts("StartPadding")[i] + desc.UInts("EndPadding")[i];
    uint64_t reach = dilation * (size - 1) + 1;
    Require(reach <= padded, "the window is larger than the image");
    window *= size;
    total *= (padded - reach) / stride + 1;
  }
  Require(image.sizes[0] == blocks.sizes[0] && image.sizes[1] * window == blocks.sizes[1] && total == blocks.sizes[2],
          "the sizes do not follow from the window");
}

void Fold(const OperatorDesc& desc, uint32_t) { Folding(desc, TensorOf(desc, "OutputTensor"), TensorOf(desc, "InputTensor")); }
void Unfold(const OperatorDesc& desc, uint32_t) { Folding(desc, TensorOf(desc, "InputTensor"), TensorOf(desc, "OutputTensor")); }

}  // namespace

ShapeRule FindMovementRule(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_SLICE: return Slice;
    case DML_OPERATOR_SLICE1: return Slice1;
    case DML_OPERATOR_SLICE_GRAD: return SliceGrad;
    case DML_OPERATOR_SPLIT: return Split;
    case DML_OPERATOR_JOIN: return Join;
    case DML_OPERATOR_PADDING:
    case DML_OPERATOR_PADDING1: return Padding;
    case DML_OPERATOR_TILE: return Tile;
    case DML_OPERATOR_SPACE_TO_DEPTH:
    case DML_OPERATOR_SPACE_TO_DEPTH1: return SpaceToDepth;
    case DML_OPERATOR_DEPTH_TO_SPACE:
    case DML_OPERATOR_DEPTH_TO_SPACE1: return DepthToSpace;
    case DML_OPERATOR_FILL_VALUE_CONSTANT:
    case DML_OPERATOR_FILL_VALUE_SEQUENCE: return Fill;
    case DML_OPERATOR_DIAGONAL_MATRIX1: return DiagonalMatrix1;
    case DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD1: return ClipGrad1;
    case DML_OPERATOR_VALUE_SCALE_2D: return ValueScale;
    case DML_OPERATOR_ACTIVATION_SOFTPLUS: return Softplus;
    case DML_OPERATOR_FOLD: return Fold;
    case DML_OPERATOR_UNFOLD: return Unfold;
    default: return nullptr;
  }
}

}  // namespace dxtensor::software
