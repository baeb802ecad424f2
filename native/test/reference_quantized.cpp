// Quantized numbers, and integer GEMMs and convolutions.
#include <cmath>
#include <string>

#include "reference.h"

namespace dxtensor::test {

namespace {

using Coordinates = std::vector<uint32_t>;

int Slot(const Evaluation& e, const std::string& name) {
  int slot = 0;
  for (size_t i = 0; i < e.desc.fields.size(); ++i) {
    if (e.desc.schema->fields[i].kind != schema::FieldKind::Input) continue;
    if (e.desc.schema->fields[i].name == name) return slot;
    ++slot;
  }
  return -1;
}
const Values& Input(const Evaluation& e, const std::string& name) {
  static const Values none;
  const int slot = Slot(e, name);
  return slot < 0 ? none : e.inputs[static_cast<size_t>(slot)];
}

// The element of a scale or zero point for row i of the whole; `missing` where there is none.
double Parameter(const Evaluation& e, const std::string& name, size_t i, double missing) {
  const Values& v = Input(e, name);
  return v.size() ? v.AsReal(v.size() == 1 ? 0 : i) : missing;
}
double Scale(const Evaluation& e, const std::string& side, size_t i) { return Parameter(e, side + "ScaleTensor", i, 1); }
double Zero(const Evaluation& e, const std::string& side, size_t i) { return Parameter(e, side + "ZeroPointTensor", i, 0); }

void SetQuantized(Values& y, size_t i, double value) {
  const double low = IsSigned(y.type) ? -128 : 0;
  y.SetWhole(i, static_cast<int64_t>(std::fmin(std::fmax(value, low), low + 255)));
}

void IntegerGemm(const Evaluation& e) {
  const Values &a = Input(e, "ATensor"), &b = Input(e, "BTensor"), &bias = Input(e, "BiasTensor");
  Values& y = e.outputs[0];
  const size_t row = y.sizes.size() - 2, column = row + 1;
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    double sum = 0;
    for (uint32_t k = 0; k < a.sizes[column]; ++k) {
      Coordinates left = at, right = at;
      left[column] = right[row] = k;
      sum += (a.AsReal(Flat(left, a.sizes)) - Zero(e, "A", at[row])) * (b.AsReal(Flat(right, b.sizes)) - Zero(e, "B", at[column]));
    }
    sum *= Scale(e, "A", at[row]) * Scale(e, "B", at[column]);
    if (y.is_float()) y.Set(flat, sum + (bias.size() ? bias.real[flat] : 0));
    else if (y.type == DML_TENSOR_DATA_TYPE_INT32) y.SetWhole(flat, static_cast<int64_t>(sum));
    else SetQuantized(y, flat, std::nearbyint(sum / Scale(e, "Output", at[row])) + Zero(e, "Output", at[row]));
  });
}

void Convolution(const Evaluation& e) {
  const Values &x = Input(e, "InputTensor"), &w = Input(e, "FilterTensor");
  Values& y = e.outputs[0];
  const auto &stride = e.desc.UInts("Strides"), &dilation = e.desc.UInts("Dilations"), &start = e.desc.UInts("StartPadding");
  const uint32_t per_group = y.sizes[1] / e.desc.UInt("GroupCount");
  ForEach(y.sizes, [&](const Coordinates& at, size_t flat) {
    double sum = Parameter(e, "BiasTensor", at[1], 0);
    ForEach(w.sizes, [&](const Coordinates& tap, size_t i) {
      if (tap[0] != at[1]) return;
      Coordinates from{at[0], at[1] / per_group * w.sizes[1] + tap[1]};
      for (size_t d = 0; d < stride.size(); ++d) {
        const int64_t position = int64_t{at[d + 2]} * stride[d] + int64_t{tap[d + 2]} * dilation[d] - start[d];
        if (position < 0 || position >= x.sizes[d + 2]) return;
        from.push_back(static_cast<uint32_t>(position));
      }
      sum += (x.AsReal(Flat(from, x.sizes)) - Zero(e, "Input", 0)) * (w.AsReal(i) - Zero(e, "Filter", at[1]));
    });
    if (y.type == DML_TENSOR_DATA_TYPE_INT32) return y.SetWhole(flat, static_cast<int64_t>(sum));
    sum *= Scale(e, "Input", 0) * Scale(e, "Filter", at[1]);
    SetQuantized(y, flat, std::nearbyint(sum / Scale(e, "Output", 0)) + Zero(e, "Output", 0));
  });
}

// Element by element, or one scale for each block.
void Elements(const Evaluation& e, bool quantizes) {
  const Values &x = e.inputs[0], &scale = e.inputs[1];
  const Values& zero = e.inputs.size() > 2 ? e.inputs[2] : Input(e, "");
  Values& y = e.outputs[0];
  ForEach(x.sizes, [&](const Coordinates& at, size_t flat) {
    Coordinates block = at;
    for (size_t d = 0; d < at.size(); ++d) block[d] = at[d] / (x.sizes[d] / scale.sizes[d]);
    const size_t i = Flat(block, scale.sizes);
    const double offset = zero.size() ? zero.AsReal(i) : 0;
    if (quantizes) SetQuantized(y, flat, std::nearbyint(x.AsReal(flat) / scale.AsReal(i)) + offset);
    else y.Set(flat, (x.AsReal(flat) - offset) * scale.AsReal(i));
  });
}

void Sum(const Evaluation& e) {
  for (size_t i = 0; i < e.outputs[0].size(); ++i) {
    auto part = [&](const char* side) { return (Input(e, std::string(side) + "Tensor").AsReal(i) - Zero(e, side, 0)) * Scale(e, side, 0); };
    SetQuantized(e.outputs[0], i, std::nearbyint((part("A") + part("B")) / Scale(e, "Output", 0)) + Zero(e, "Output", 0));
  }
}

void Dynamic(const Evaluation& e) {
  const Values& x = e.inputs[0];
  double low = 0, high = 0;
  for (double v : x.real) {
    low = std::fmin(low, v);
    high = std::fmax(high, v);
  }
  const double scale = (high - low) / 255, lowest = IsSigned(e.outputs[0].type) ? -128 : 0, zero = std::nearbyint(lowest - low / scale);
  for (size_t i = 0; i < x.size(); ++i) SetQuantized(e.outputs[0], i, std::nearbyint(x.real[i] / scale) + zero);
  e.outputs[1].Set(0, scale);
  SetQuantized(e.outputs[2], 0, zero);
}

}  // namespace

bool EvaluateQuantized(const Evaluation& e) {
  switch (e.desc.type()) {
    case DML_OPERATOR_MATRIX_MULTIPLY_INTEGER:
    case DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT:
    case DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY: IntegerGemm(e); return true;
    case DML_OPERATOR_CONVOLUTION_INTEGER:
    case DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION: Convolution(e); return true;
    case DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR:
    case DML_OPERATOR_QUANTIZE: Elements(e, true); return true;
    case DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR:
    case DML_OPERATOR_DEQUANTIZE: Elements(e, false); return true;
    case DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD: Sum(e); return true;
    case DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR: Dynamic(e); return true;
    default: return false;
  }
}

}  // namespace dxtensor::test
