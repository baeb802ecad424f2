#include "unchecked.h"

#include <cstdlib>
#include <cstring>

namespace dxtensor::schema {

namespace {

bool StartsWith(const char* text, const char* start) { return std::strncmp(text, start, std::strlen(start)) == 0; }
bool Contains(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

std::string NullTensor(const OperatorDesc& desc) {
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    const FieldSchema& field = desc.schema->fields[i];
    auto* tensor = std::get_if<std::optional<TensorDesc>>(&desc.fields[i]);
    if (tensor && !*tensor && !field.optional) return std::string(field.name) + " is null";
  }
  return "";
}

// An operator that can't be fused is looked up in a table past its end.
std::string FusedFault(const OperatorDesc& inner) {
  if (!inner.schema->fusable_activation) return std::string(inner.schema->name) + " cannot be fused";
  for (const Field& field : inner.fields)
    if (auto* tensor = std::get_if<std::optional<TensorDesc>>(&field))
      if (*tensor) return std::string("the tensors of the fused ") + inner.schema->name + " are not null";
  return "";
}

std::string FusedFaults(const OperatorDesc& desc) {
  for (const Field& field : desc.fields) {
    if (auto* one = std::get_if<std::shared_ptr<const OperatorDesc>>(&field)) {
      if (*one)
        if (std::string fault = FusedFault(**one); !fault.empty()) return fault;
    } else if (auto* many = std::get_if<std::vector<OperatorDesc>>(&field)) {
      for (const OperatorDesc& inner : *many)
        if (std::string fault = FusedFault(inner); !fault.empty()) return fault;
    }
  }
  return "";
}

// Arrays that are read by the tensors' rank, not by their count.
std::string CountFault(const OperatorDesc& desc) {
  const char* name = desc.schema->name;
  auto tensors = StartsWith(name, "FOLD") ? desc.Outputs() : desc.Inputs();
  if (tensors.empty() || !tensors[0]) return "";
  const uint32_t rank = tensors[0]->rank;
  const bool is_spatial = Contains(name, "CONVOLUTION") || Contains(name, "POOLING") || Contains(name, "FOLD");
  auto require_value = [&](const char* field, uint32_t wanted) -> std::string {
    if (!desc.Has(field) || desc.UInt(field) == wanted) return "";
    return std::string(field) + " is " + std::to_string(desc.UInt(field)) + ", not " + std::to_string(wanted);
  };
  if (is_spatial && rank < 3) return "a tensor of " + std::to_string(rank) + " dimensions has no spatial one";
  if (std::string fault = require_value("DimensionCount", is_spatial ? rank - 2 : rank); !fault.empty()) return fault;
  if (std::string fault = require_value("RepeatsCount", rank); !fault.empty()) return fault;
  return rank == 4 ? require_value("ChannelCount", tensors[0]->sizes[1]) : "";
}

// Kernels divide by strides; an empty window has no result.
std::string ZeroFault(const OperatorDesc& desc) {
  const char* name = desc.schema->name;
  if (!Contains(name, "CONVOLUTION") && !Contains(name, "POOLING") && !Contains(name, "FOLD")) return "";
  for (const char* field : {"Strides", "Dilations", "WindowSize", "WindowSizes"}) {
    if (!desc.Has(field)) continue;
    for (uint32_t value : desc.UInts(field))
      if (value == 0) return std::string("an element of ") + field + " is 0";
  }
  return desc.Has("P") && desc.UInt("P") == 0 ? "P is 0" : "";
}

// A gradient of a slice is written at the indices that the window names.
std::string WindowFault(const OperatorDesc& desc) {
  if (desc.type() != DML_OPERATOR_SLICE_GRAD && desc.type() != DML_OPERATOR_SLICE1) return "";
  const bool grad = desc.type() == DML_OPERATOR_SLICE_GRAD;
  const TensorDesc& large = *desc.Tensor(grad ? "OutputGradientTensor" : "InputTensor");
  const TensorDesc& small = *desc.Tensor(grad ? "InputGradientTensor" : "OutputTensor");
  const auto &offsets = desc.UInts("InputWindowOffsets"), &windows = desc.UInts("InputWindowSizes");
  const auto& strides = desc.Get<std::vector<int32_t>>("InputWindowStrides");
  if (small.rank != large.rank) return "the dimension counts differ";
  for (uint32_t i = 0; i < large.rank; ++i) {
    const uint64_t step = static_cast<uint64_t>(std::abs(int64_t{strides[i]}));
    if (step == 0 || windows[i] == 0) return "a window's size or stride is 0";
    if (uint64_t{offsets[i]} + windows[i] > large.sizes[i]) return "a window reaches outside the tensor";
    if (small.sizes[i] > (windows[i] - 1) / step + 1) return "a window does not hold that many elements";
  }
  return "";
}

// DirectML.dll 1.15.4 looks up and divides by the sizes of the scale before it compares them with the input's.
std::string BlockFault(const OperatorDesc& desc) {
  if (desc.type() != DML_OPERATOR_QUANTIZE && desc.type() != DML_OPERATOR_DEQUANTIZE) return "";
  const uint32_t rank = desc.Tensor("InputTensor")->rank;
  for (const TensorDesc* tensor : desc.Inputs()) {
    if (!tensor) continue;
    if (tensor->rank > rank) return "a tensor of QuantizationTensors has more dimensions than InputTensor";
    for (uint32_t i = 0; i < tensor->rank; ++i)
      if (tensor->sizes[i] == 0) return "a size of a tensor is 0";
  }
  return "";
}

std::string IndexFault(const OperatorDesc& desc) {
  switch (desc.type()) {
    case DML_OPERATOR_GATHER:
      if (desc.UInt("IndexDimensions") > desc.UInt("Axis") + 1) return "IndexDimensions is larger than Axis + 1";
      return "";
    case DML_OPERATOR_GATHER_ND:
    case DML_OPERATOR_GATHER_ND1:
    case DML_OPERATOR_SCATTER_ND: {
      const TensorDesc& indices = *desc.Tensor("IndicesTensor");
      if (indices.sizes[indices.rank - 1] > desc.UInt("InputDimensionCount"))
        return "the last size of IndicesTensor is larger than InputDimensionCount";
      return "";
    }
    case DML_OPERATOR_MULTIHEAD_ATTENTION: return desc.UInt("HeadCount") == 0 ? "HeadCount is 0" : "";
    case DML_OPERATOR_MULTIHEAD_ATTENTION1:
      // No page says what they mean; DirectML.dll refuses most of them, and ends the process for others.
      if (desc.Tensor("PastSequenceLengthsTensor")) return "PastSequenceLengthsTensor is not null, which is not documented";
      return desc.UInt("QueryHeadCount") == 0 || desc.UInt("KeyValueHeadCount") == 0 ? "a head count is 0" : "";
    default: return "";
  }
}

}  // namespace

std::string UncheckedFault(const OperatorDesc& desc) {
  for (auto find : {NullTensor, FusedFaults, CountFault, ZeroFault, WindowFault, BlockFault, IndexFault})
    if (std::string fault = find(desc); !fault.empty()) return fault;
  return "";
}

}  // namespace dxtensor::schema
