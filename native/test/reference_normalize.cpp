// Reductions, softmax, batch normalisation and its gradients.
#include <cmath>

#include "reference.h"

namespace dxtensor::test {

using schema::OperatorDesc;

namespace {

using Coordinates = std::vector<uint32_t>;

// The coordinate with every axis of size 1 in `sizes` set to 0.
size_t Reduced(Coordinates at, const std::vector<uint32_t>& sizes) {
  for (size_t d = 0; d < at.size(); ++d)
    if (sizes[d] == 1) at[d] = 0;
  return Flat(at, sizes);
}

// Elements of x by the element of a tensor of `sizes` that they are reduced to, in row-major order.
std::vector<std::vector<size_t>> RowSplit(const Values& x, const std::vector<uint32_t>& sizes) {
  size_t count = 1;
  for (uint32_t size : sizes) count *= size;
  std::vector<std::vector<size_t>> rows(count);
  ForEach(x.sizes, [&](const Coordinates& at, size_t flat) { rows[Reduced(at, sizes)].push_back(flat); });
  return rows;
}

double RealReduction(uint32_t function, const Values& x, const std::vector<size_t>& row) {
  double sum = 0, largest = -INFINITY, smallest = INFINITY, product = 1, l1 = 0, squares = 0;
  for (size_t i : row) {
    const double v = x.AsReal(i);
    sum += v;
    l1 += std::fabs(v);
    squares += v * v;
    product *= v;
    largest = std::max(largest, v);
    smallest = std::min(smallest, v);
  }
  double exponentials = 0;
  if (function == DML_REDUCE_FUNCTION_LOG_SUM_EXP)
    for (size_t i : row) exponentials += std::exp(x.AsReal(i) - largest);
  switch (function) {
    case DML_REDUCE_FUNCTION_AVERAGE: return sum / static_cast<double>(row.size());
    case DML_REDUCE_FUNCTION_L1: return l1;
    case DML_REDUCE_FUNCTION_L2: return std::sqrt(squares);
    case DML_REDUCE_FUNCTION_LOG_SUM: return std::log(sum);
    case DML_REDUCE_FUNCTION_LOG_SUM_EXP: return largest + std::log(exponentials);
    case DML_REDUCE_FUNCTION_MAX: return largest;
    case DML_REDUCE_FUNCTION_MIN: return smallest;
    case DML_REDUCE_FUNCTION_MULTIPLY: return product;
    case DML_REDUCE_FUNCTION_SUM: return sum;
    default: return squares;
  }
}

bool Less(const Values& x, size_t i, size_t k) {
  if (x.is_float()) return x.real[i] < x.real[k];
  if (x.type == DML_TENSOR_DATA_TYPE_UINT64) return static_cast<uint64_t>(x.whole[i]) < static_cast<uint64_t>(x.whole[k]);
  return x.whole[i] < x.whole[k];
}

int64_t WholeReduction(uint32_t function, const Values& x, const std::vector<size_t>& row) {
  uint64_t sum = 0, product = 1, l1 = 0, squares = 0;
  size_t largest = row[0], smallest = row[0];
  for (size_t i : row) {
    const uint64_t v = static_cast<uint64_t>(x.whole[i]);
    sum += v;
    product *= v;
    squares += v * v;
    l1 += IsSigned(x.type) && x.whole[i] < 0 ? 0 - v : v;
    if (Less(x, largest, i)) largest = i;
    if (Less(x, i, smallest)) smallest = i;
  }
  switch (function) {
    case DML_REDUCE_FUNCTION_L1: return static_cast<int64_t>(l1);
    case DML_REDUCE_FUNCTION_MAX: return x.whole[largest];
    case DML_REDUCE_FUNCTION_MIN: return x.whole[smallest];
    case DML_REDUCE_FUNCTION_MULTIPLY: return static_cast<int64_t>(product);
    case DML_REDUCE_FUNCTION_SUM: return static_cast<int64_t>(sum);
    default: return static_cast<int64_t>(squares);
  }
}

// The position of the extreme element in its row; `last`: of the last one among equals.
int64_t Extreme(const Values& x, const std::vector<size_t>& row, bool largest, bool last) {
  size_t best = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    const bool beats = largest ? Less(x, row[best], row[i]) : Less(x, row[i], row[best]);
    const bool ties = !Less(x, row[best], row[i]) && !Less(x, row[i], row[best]);
    if (beats || (ties && last)) best = i;
  }
  return static_cast<int64_t>(best);
}

void Reduce(const Evaluation& e) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  const auto rows = RowSplit(x, y.sizes);
  const bool reduce = e.desc.type() == DML_OPERATOR_REDUCE;
  const uint32_t function = reduce                                 ? e.desc.UInt("Function")
                            : e.desc.type() == DML_OPERATOR_ARGMAX ? uint32_t{DML_REDUCE_FUNCTION_ARGMAX}
                                                                   : uint32_t{DML_REDUCE_FUNCTION_ARGMIN};
  const bool last = !reduce && e.desc.UInt("AxisDirection") == DML_AXIS_DIRECTION_DECREASING;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (function == DML_REDUCE_FUNCTION_ARGMAX || function == DML_REDUCE_FUNCTION_ARGMIN)
      y.SetWhole(i, Extreme(x, rows[i], function == DML_REDUCE_FUNCTION_ARGMAX, last));
    else if (y.is_float()) y.Set(i, RealReduction(function, x, rows[i]));
    else y.SetWhole(i, WholeReduction(function, x, rows[i]));
  }
}

void Softmax(const Evaluation& e, bool logarithm) {
  const Values& x = e.inputs[0];
  Values& y = e.outputs[0];
  std::vector<uint32_t> sizes = x.sizes;
  if (e.desc.Has("Axes"))
    for (uint32_t axis : e.desc.UInts("Axes")) sizes[axis] = 1;
  else sizes.back() = 1;
  for (const std::vector<size_t>& row : RowSplit(x, sizes)) {
    double largest = -INFINITY, sum = 0;
    for (size_t i : row) largest = std::max(largest, x.real[i]);
    for (size_t i : row) sum += std::exp(x.real[i] - largest);
    for (size_t i : row) y.Set(i, logarithm ? x.real[i] - largest - std::log(sum) : std::exp(x.real[i] - largest) / sum);
  }
}

// Its element for a coordinate of the input.
double At(const Values& parameter, const Coordinates& at) { return parameter.real[Reduced(at, parameter.sizes)]; }

void BatchNormalization(const Evaluation& e) {
  const Values &x = e.inputs[0], &mean = e.inputs[1], &variance = e.inputs[2], &scale = e.inputs[3], &bias = e.inputs[4];
  const double epsilon = static_cast<double>(e.desc.Float("Epsilon"));
  const OperatorDesc* fused = e.desc.Get<std::shared_ptr<const OperatorDesc>>("FusedActivation").get();
  ForEach(x.sizes, [&](const Coordinates& at, size_t flat) {
    const double v = At(scale, at) * (x.real[flat] - At(mean, at)) / std::sqrt(At(variance, at) + epsilon) + At(bias, at);
    e.outputs[0].Set(flat, fused ? Activate(*fused, v) : v);
  });
}

void BatchNormalizationTraining(const Evaluation& e) {
  const Values &x = e.inputs[0], &scale = e.inputs[1], &bias = e.inputs[2], &add = e.inputs[3];
  const double epsilon = static_cast<double>(e.desc.Float("Epsilon"));
  const OperatorDesc* fused = e.desc.Get<std::shared_ptr<const OperatorDesc>>("FusedActivation").get();
  const auto rows = RowSplit(x, scale.sizes);
  std::vector<double> means, variances;
  for (const auto& row : rows) {
    double mean = 0, variance = 0;
    for (size_t i : row) mean += x.real[i] / static_cast<double>(row.size());
    for (size_t i : row) variance += (x.real[i] - mean) * (x.real[i] - mean) / static_cast<double>(row.size());
    means.push_back(mean);
    variances.push_back(variance);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    e.outputs[1].Set(i, means[i]);
    e.outputs[2].Set(i, variances[i]);
  }
  ForEach(x.sizes, [&](const Coordinates& at, size_t flat) {
    const size_t row = Reduced(at, scale.sizes);
    double v = At(scale, at) * (x.real[flat] - means[row]) / std::sqrt(variances[row] + epsilon) + At(bias, at);
    if (add.size()) v += add.real[flat];
    e.outputs[0].Set(flat, fused ? Activate(*fused, v) : v);
  });
}

// Input gradient, scale gradient and bias gradient; `training`: mean and variance depend on the input.
void BatchNormalizationGrad(const Evaluation& e, bool training) {
  const Values &x = e.inputs[0], &dy = e.inputs[1], &mean = e.inputs[2], &variance = e.inputs[3], &scale = e.inputs[4];
  const double epsilon = static_cast<double>(e.desc.Float("Epsilon"));
  const auto rows = RowSplit(x, mean.sizes);
  for (size_t i = 0; i < rows.size(); ++i) {
    const double inverse = 1 / std::sqrt(variance.real[i] + epsilon), count = static_cast<double>(rows[i].size());
    double sum = 0, product = 0;
    for (size_t k : rows[i]) {
      sum += dy.real[k];
      product += dy.real[k] * (x.real[k] - mean.real[i]) * inverse;
    }
    for (size_t k : rows[i]) {
      const double normal = (x.real[k] - mean.real[i]) * inverse;
      const double g = training ? dy.real[k] - sum / count - normal * product / count : dy.real[k];
      e.outputs[0].Set(k, g * scale.real[i] * inverse);
    }
    e.outputs[1].Set(i, product);
    e.outputs[2].Set(i, sum);
  }
}

}  // namespace

bool EvaluateNormalize(const Evaluation& e) {
  switch (e.desc.type()) {
    case DML_OPERATOR_REDUCE:
    case DML_OPERATOR_ARGMAX:
    case DML_OPERATOR_ARGMIN: Reduce(e); return true;
    case DML_OPERATOR_ACTIVATION_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_SOFTMAX1: Softmax(e, false); return true;
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1: Softmax(e, true); return true;
    case DML_OPERATOR_BATCH_NORMALIZATION: BatchNormalization(e); return true;
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING: BatchNormalizationTraining(e); return true;
    case DML_OPERATOR_BATCH_NORMALIZATION_GRAD: BatchNormalizationGrad(e, false); return true;
    case DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD: BatchNormalizationGrad(e, true); return true;
    default: return false;
  }
}

}  // namespace dxtensor::test
