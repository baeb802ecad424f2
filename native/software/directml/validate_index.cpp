// Gather and scatter, top-k, one-hot, coordinates, random state, quantisation with scalar parameters.
#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

void RequireLeadingOnes(const TensorDesc& t, uint32_t meaningful) {
  for (uint32_t i = 0; i + meaningful < t.rank; ++i) Require(t.sizes[i] == 1, "a size before those that count is not 1");
}

void Gather(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &indices = TensorOf(desc, "IndicesTensor");
  const TensorDesc& output = TensorOf(desc, "OutputTensor");
  uint32_t axis = desc.UInt("Axis"), count = desc.UInt("IndexDimensions"), rank = input.rank;
  RequireAxis(axis, rank);
  Require(count <= rank, "IndexDimensions is larger than the dimension count");
  RequireLeadingOnes(indices, count);
  // The input's sizes with the axis replaced by those of the indices, right aligned.
  std::vector<uint32_t> sizes(input.sizes.begin(), input.sizes.begin() + axis);
  sizes.insert(sizes.end(), indices.sizes.begin() + (rank - count), indices.sizes.begin() + rank);
  sizes.insert(sizes.end(), input.sizes.begin() + axis + 1, input.sizes.begin() + rank);
  while (sizes.size() > rank) sizes.erase(sizes.begin());
  while (sizes.size() < rank) sizes.insert(sizes.begin(), 1);
  for (uint32_t i = 0; i < rank; ++i) Require(sizes[i] == output.sizes[i], "the output's sizes do not follow from the indices");
}

void GatherElements(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &indices = TensorOf(desc, "IndicesTensor");
  RequireAxis(desc.UInt("Axis"), input.rank);
  Require(EqualSizes(indices, TensorOf(desc, "OutputTensor")), "the sizes of indices and output differ");
  Require(EqualSizesBut(input, indices, desc.UInt("Axis")), "the sizes differ on another axis");
}

void ScatterElements(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &indices = TensorOf(desc, "IndicesTensor");
  RequireAxis(desc.UInt("Axis"), input.rank);
  Require(EqualSizes(input, TensorOf(desc, "OutputTensor")), "the sizes of input and output differ");
  Require(EqualSizes(indices, TensorOf(desc, "UpdatesTensor")), "the sizes of indices and updates differ");
  uint32_t axis = desc.UInt("Axis");
  Require(EqualSizesBut(input, indices, axis), "the sizes differ on another axis");
  Require(indices.sizes[axis] <= input.sizes[axis], "there are more updates than elements along the axis");
}

// `gathered` is what the tuples of `indices` select from `input`.
void Tuples(const OperatorDesc& desc, const TensorDesc& gathered) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &indices = TensorOf(desc, "IndicesTensor");
  uint32_t rank = input.rank, indices_rank = indices.rank, input_count = desc.UInt("InputDimensionCount"),
           index_count = desc.UInt("IndicesDimensionCount");
  uint32_t batch = desc.Has("BatchDimensionCount") ? desc.UInt("BatchDimensionCount") : 0;
  Require(input_count >= 1 && input_count <= rank && index_count >= 1 && index_count <= indices_rank, "a dimension count is out of range");
  Require(batch < input_count && batch < index_count, "BatchDimensionCount is out of range");
  RequireLeadingOnes(input, input_count);
  RequireLeadingOnes(indices, index_count);
  uint32_t tuple = indices.sizes[indices_rank - 1];
  Require(tuple <= input_count - batch, "the index tuples are too long");
  std::vector<uint32_t> sizes(indices.sizes.begin() + (indices_rank - index_count), indices.sizes.begin() + indices_rank - 1);
  sizes.insert(sizes.end(), input.sizes.begin() + (rank - input_count + batch + tuple), input.sizes.begin() + rank);
  Require(sizes.size() <= gathered.rank, "the output has too few dimensions");
  while (sizes.size() < gathered.rank) sizes.insert(sizes.begin(), 1);
  for (uint32_t i = 0; i < gathered.rank; ++i) Require(sizes[i] == gathered.sizes[i], "the sizes do not follow from the indices");
}

void GatherNd(const OperatorDesc& desc, uint32_t) { Tuples(desc, TensorOf(desc, "OutputTensor")); }
void ScatterNd(const OperatorDesc& desc, uint32_t) {
  Require(EqualSizes(TensorOf(desc, "InputTensor"), TensorOf(desc, "OutputTensor")), "the sizes of input and output differ");
  const TensorDesc& indices = TensorOf(desc, "IndicesTensor");
  for (uint32_t i = 0; i < indices.rank; ++i) Require(indices.sizes[i] == 1 || indices.strides[i] != 0, "the indices are broadcast");
  Tuples(desc, TensorOf(desc, "UpdatesTensor"));
}

void TopK(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &values = TensorOf(desc, "OutputValueTensor");
  uint32_t axis = desc.UInt("Axis"), k = desc.UInt("K");
  RequireAxis(axis, input.rank);
  Require(k > 0 && k <= input.sizes[axis], "K is out of range");
  Require(EqualSizesBut(input, values, axis) && values.sizes[axis] == k, "the output's sizes do not follow from K");
  Require(EqualSizes(values, TensorOf(desc, "OutputIndexTensor")), "the sizes of values and indices differ");
}

void OneHot(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &indices = TensorOf(desc, "IndicesTensor"), &output = TensorOf(desc, "OutputTensor");
  uint32_t axis = desc.UInt("Axis");
  RequireAxis(axis, output.rank);
  Require(EqualSizesBut(indices, output, axis) && indices.sizes[axis] == 1, "the indices are not the output with size 1 on the axis");
  Require(TensorOf(desc, "ValuesTensor").ElementCount() >= 2, "there are fewer than two values");
}

void ReverseSubsequences(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &lengths = TensorOf(desc, "SequenceLengthsTensor");
  RequireAxis(desc.UInt("Axis"), input.rank);
  Require(EqualSizes(input, TensorOf(desc, "OutputTensor")), "the sizes of input and output differ");
  Require(EqualSizesBut(input, lengths, desc.UInt("Axis")) && lengths.sizes[desc.UInt("Axis")] == 1,
          "the lengths are not the input with size 1 on the axis");
}

void Nonzero(const OperatorDesc& desc, uint32_t) {
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &coordinates = TensorOf(desc, "OutputCoordinatesTensor");
  Require(TensorOf(desc, "OutputCountTensor").ElementCount() == 1, "the count is not one element");
  Require(coordinates.rank >= 2, "the coordinates have fewer than two dimensions");
  uint32_t columns = coordinates.sizes[coordinates.rank - 1];
  Require(coordinates.sizes[coordinates.rank - 2] == input.ElementCount(), "the coordinates have not a row for each element");
  Require(EffectiveRank(input) <= columns && columns <= input.rank, "the coordinates have not a column for each dimension");
  for (uint32_t i = 0; i + 2 < coordinates.rank; ++i) Require(coordinates.sizes[i] == 1, "leading sizes are not 1");
}

void RequireState(const TensorDesc& t) { Require(t.ElementCount() == 6 && t.sizes[t.rank - 1] == 6, "the state does not have 6 elements"); }

void Random(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& state = TensorOf(desc, "InputStateTensor");
  RequireState(state);
  if (const TensorDesc* output = OptionalTensor(desc, "OutputStateTensor")) Require(EqualSizes(state, *output), "the sizes differ");
}

void Adam(const OperatorDesc& desc, uint32_t) {
  Require(TensorOf(desc, "TrainingStepTensor").ElementCount() == 1, "the training step is not one element");
}

void RequireOneElement(const OperatorDesc& desc, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const TensorDesc* t = OptionalTensor(desc, name)) Require(t->ElementCount() == 1, "a scale or zero point is not one element");
}

void QuantizedAdd(const OperatorDesc& desc, uint32_t) {
  const TensorDesc& output = TensorOf(desc, "OutputTensor");
  for (const char* name : {"ATensor", "BTensor"}) {
    const TensorDesc& t = TensorOf(desc, name);
    Require(t.rank == output.rank && EqualSizes(t, output), "the sizes differ");
  }
  RequireOneElement(desc,
                    {"AScaleTensor", "AZeroPointTensor", "BScaleTensor", "BZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"});
}

void DynamicQuantize(const OperatorDesc& desc, uint32_t) {
  RequireOneElement(desc, {"OutputScaleTensor", "OutputZeroPointTensor"});
  Require(EqualSizes(TensorOf(desc, "InputTensor"), TensorOf(desc, "OutputTensor")), "the sizes differ");
}

void QuantizeLinear(const OperatorDesc& desc, uint32_t) {
  DML_TENSOR_DATA_TYPE input = TensorOf(desc, "InputTensor").data_type, scale = TensorOf(desc, "ScaleTensor").data_type;
  Require(scale == (input == DML_TENSOR_DATA_TYPE_INT32 ? DML_TENSOR_DATA_TYPE_FLOAT32 : input), "the scale's data type does not fit");
}

void BlockQuantize(const OperatorDesc& desc, uint32_t) {
  const auto& parameters = desc.Get<std::vector<TensorDesc>>("QuantizationTensors");
  const TensorDesc& input = TensorOf(desc, "InputTensor");
  Require(EqualSizes(input, TensorOf(desc, "OutputTensor")), "the sizes differ");
  Require(desc.UInt("QuantizationType") != DML_QUANTIZATION_TYPE_NONE, "there is no scale");
  Require(parameters.size() == desc.UInt("QuantizationType"), "the number of tensors is not that of the quantization type");
  const bool quantizes = desc.type() == DML_OPERATOR_QUANTIZE;
  const TensorDesc &real = quantizes ? input : TensorOf(desc, "OutputTensor"), &whole = quantizes ? TensorOf(desc, "OutputTensor") : input;
  Require(parameters[0].data_type == real.data_type, "the scale's data type does not fit");
  Require(parameters.size() < 2 || parameters[1].data_type == whole.data_type, "the zero point's data type does not fit");
  for (const TensorDesc& t : parameters) {
    Require(EqualSizes(t, parameters[0]), "the sizes of scale and zero point differ");
    for (uint32_t i = 0; i < t.rank; ++i) Require(input.sizes[i] % t.sizes[i] == 0, "the blocks do not divide the tensor");
  }
}

}  // namespace

ShapeRule FindIndexRule(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_GATHER: return Gather;
    case DML_OPERATOR_GATHER_ELEMENTS: return GatherElements;
    case DML_OPERATOR_SCATTER: return ScatterElements;
    case DML_OPERATOR_GATHER_ND:
    case DML_OPERATOR_GATHER_ND1: return GatherNd;
    case DML_OPERATOR_SCATTER_ND: return ScatterNd;
    case DML_OPERATOR_TOP_K:
    case DML_OPERATOR_TOP_K1: return TopK;
    case DML_OPERATOR_ONE_HOT: return OneHot;
    case DML_OPERATOR_REVERSE_SUBSEQUENCES: return ReverseSubsequences;
    case DML_OPERATOR_NONZERO_COORDINATES: return Nonzero;
    case DML_OPERATOR_RANDOM_GENERATOR: return Random;
    case DML_OPERATOR_ADAM_OPTIMIZER: return Adam;
    case DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD: return QuantizedAdd;
    case DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR: return DynamicQuantize;
    case DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR: return QuantizeLinear;
    case DML_OPERATOR_QUANTIZE:
    case DML_OPERATOR_DEQUANTIZE: return BlockQuantize;
    default: return nullptr;
  }
}

}  // namespace dxtensor::software
