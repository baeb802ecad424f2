#include "net.h"

#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace dxtensor::peer {

namespace {

Sizes PackedStrides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  UINT step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= sizes[i];
  }
  return strides;
}

const DML_ACTIVATION_RELU_OPERATOR_DESC kFusedRelu{};
const DML_OPERATOR_DESC kFusedActivation{DML_OPERATOR_ACTIVATION_RELU, &kFusedRelu};

}  // namespace

size_t CountOf(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), size_t{1}, std::multiplies<>()); }

View View::Reshaped(const Sizes& to) const {
  if (!strides.empty() || CountOf(to) != count()) throw std::logic_error("only a packed view is reshaped, to as many elements");
  return {value, to, {}};
}

View View::Broadcast(const Sizes& to) const {
  Sizes by = strides.empty() ? PackedStrides(sizes) : strides;
  for (size_t i = 0; i < to.size(); ++i)
    if (sizes[i] != to[i]) by[i] = 0;
  return {value, to, by};
}

View Net::Empty(const Sizes& sizes) {
  values_.push_back({CountOf(sizes) * sizeof(float)});
  return {static_cast<int>(values_.size()) - 1, sizes, {}};
}

View Net::Input(const Sizes& sizes) {
  View view = Empty(sizes);
  values_[view.value].input = static_cast<int>(inputs_.size());
  inputs_.push_back(view.value);
  return view;
}

void Net::Output(const View& view) {
  values_[view.value].output = static_cast<int>(outputs_.size());
  outputs_.push_back(view.value);
}

const DML_TENSOR_DESC* Net::Describe(const View& view) {
  if (!view.is_present()) return nullptr;
  tensors_.push_back({view.sizes, view.strides, {}, {}});
  Tensor& tensor = tensors_.back();
  tensor.buffer = {DML_TENSOR_DATA_TYPE_FLOAT32,
                   DML_TENSOR_FLAG_NONE,
                   static_cast<UINT>(tensor.sizes.size()),
                   tensor.sizes.data(),
                   tensor.strides.empty() ? nullptr : tensor.strides.data(),
                   values_[view.value].bytes,
                   0};
  tensor.desc = {DML_TENSOR_TYPE_BUFFER, &tensor.buffer};
  return &tensor.desc;
}

const UINT* Net::Keep(const Sizes& numbers) {
  numbers_.push_back(numbers);
  return numbers_.back().data();
}

template <typename Desc>
void Net::AddNode(DML_OPERATOR_TYPE type, const Desc& desc, std::vector<View> inputs, std::vector<View> outputs,
                  const std::vector<double>& attributes) {
  Node node{type, std::vector<unsigned char>(sizeof desc), std::move(inputs), std::move(outputs), std::to_string(type)};
  std::memcpy(node.desc.data(), &desc, sizeof desc);
  for (double attribute : attributes) node.key += " " + std::to_string(attribute);
  for (const std::vector<View>* views : {&node.inputs, &node.outputs})
    for (const View& view : *views) {
      node.key += "|";
      for (UINT size : view.sizes) node.key += std::to_string(size) + ",";
      for (UINT stride : view.strides) node.key += "/" + std::to_string(stride);
      if (view.is_present()) node.key += "=" + std::to_string(values_[view.value].bytes);
    }
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i].is_present()) {
      values_[node.outputs[i].value].node = static_cast<int>(nodes_.size());
      values_[node.outputs[i].value].slot = static_cast<int>(i);
    }
  nodes_.push_back(std::move(node));
}

View Net::Binary(DML_OPERATOR_TYPE type, const View& a, const View& b) {
  if (a.sizes != b.sizes) throw std::logic_error("both operands have the same sizes");
  View y = Empty(a.sizes);
  // The four operators' descriptions have the same fields.
  const DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC desc{Describe(a), Describe(b), Describe(y)};
  AddNode(type, desc, {a, b}, {y});
  return y;
}

View Net::Unary(DML_OPERATOR_TYPE type, const View& x, float scale, float bias) {
  View y = Empty(x.sizes);
  scales_.push_back({scale, bias});
  const bool is_plain = scale == 1 && bias == 0;
  const DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC desc{Describe(x), Describe(y), is_plain ? nullptr : &scales_.back()};
  // As multiples of tiny steps: std::to_string keeps six digits.
  AddNode(type, desc, {x}, {y}, {scale * 1e6, bias * 1e9});
  return y;
}

View Net::Activation(DML_OPERATOR_TYPE type, const View& x) {
  View y = Empty(x.sizes);
  const DML_ACTIVATION_RELU_OPERATOR_DESC desc{Describe(x), Describe(y)};
  AddNode(type, desc, {x}, {y});
  return y;
}

View Net::ReluGrad(const View& y, const View& dy) {
  View dx = Empty(y.sizes);
  const DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC desc{Describe(y), Describe(dy), Describe(dx)};
  AddNode(DML_OPERATOR_ACTIVATION_RELU_GRAD, desc, {y, dy}, {dx});
  return dx;
}

View Net::Gemm(const View& a, bool is_a_transposed, const View& b, bool is_b_transposed, float alpha, const View& c, bool with_relu,
               const View& into) {
  View y = into.is_present() ? into : Empty({a.sizes[0], a.sizes[1], a.sizes[is_a_transposed ? 3 : 2], b.sizes[is_b_transposed ? 2 : 3]});
  const View addend = c.is_present() ? c.Broadcast(y.sizes) : c;
  const auto transform = [](bool is_transposed) { return is_transposed ? DML_MATRIX_TRANSFORM_TRANSPOSE : DML_MATRIX_TRANSFORM_NONE; };
  const DML_GEMM_OPERATOR_DESC desc{Describe(a),
                                    Describe(b),
                                    Describe(addend),
                                    Describe(y),
                                    transform(is_a_transposed),
                                    transform(is_b_transposed),
                                    alpha,
                                    addend.is_present() ? 1.0f : 0.0f,
                                    with_relu ? &kFusedActivation : nullptr};
  const double flags = is_a_transposed + 2.0 * is_b_transposed + 4.0 * with_relu;
  AddNode(DML_OPERATOR_GEMM, desc, {a, b, addend}, {y}, {flags, alpha * 1e6});
  return y;
}

View Net::Reduce(const View& x, const Sizes& axes, DML_REDUCE_FUNCTION function) {
  Sizes sizes = x.sizes;
  for (UINT axis : axes) sizes[axis] = 1;
  View y = Empty(sizes);
  const DML_REDUCE_OPERATOR_DESC desc{function, Describe(x), Describe(y), static_cast<UINT>(axes.size()), Keep(axes)};
  std::vector<double> attributes(axes.begin(), axes.end());
  attributes.push_back(100.0 + function);
  AddNode(DML_OPERATOR_REDUCE, desc, {x}, {y}, attributes);
  return y;
}

View Net::SoftmaxOf(DML_OPERATOR_TYPE type, const View& x) {
  View y = Empty(x.sizes);
  const DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC desc{Describe(x), Describe(y), 1, Keep({static_cast<UINT>(x.sizes.size()) - 1})};
  AddNode(type, desc, {x}, {y});
  return y;
}

void Net::Convolution(const View& x, const View& filter, const View& bias, const View& into, const Window& window,
                      DML_CONVOLUTION_DIRECTION direction, UINT output_padding) {
  const DML_CONVOLUTION_OPERATOR_DESC desc{Describe(x),
                                           Describe(filter),
                                           Describe(bias),
                                           Describe(into),
                                           DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                                           direction,
                                           2,
                                           Keep({window.stride, window.stride}),
                                           Keep({window.dilation, window.dilation}),
                                           Keep(window.start),
                                           Keep(window.end),
                                           Keep({output_padding, output_padding}),
                                           1,
                                           nullptr};
  std::vector<double> attributes{double(window.stride), double(window.dilation), double(direction), double(output_padding)};
  for (const Sizes* padding : {&window.start, &window.end}) attributes.insert(attributes.end(), padding->begin(), padding->end());
  AddNode(DML_OPERATOR_CONVOLUTION, desc, {x, filter, bias}, {into}, attributes);
}

View Net::MaxPool(const View& x) {
  View y = Empty({x.sizes[0], x.sizes[1], x.sizes[2] / 2, x.sizes[3] / 2});
  const UINT *twos = Keep({2, 2}), *zeros = Keep({0, 0}), *ones = Keep({1, 1});
  const DML_MAX_POOLING2_OPERATOR_DESC desc{Describe(x), Describe(y), nullptr, 2, twos, twos, zeros, zeros, ones};
  AddNode(DML_OPERATOR_MAX_POOLING2, desc, {x}, {y, View()});
  return y;
}

View Net::MaxPoolGrad(const View& x, const View& dy) {
  View dx = Empty(x.sizes);
  const UINT *twos = Keep({2, 2}), *zeros = Keep({0, 0}), *ones = Keep({1, 1});
  const DML_MAX_POOLING_GRAD_OPERATOR_DESC desc{Describe(x), Describe(dy), Describe(dx), 2, twos, twos, zeros, zeros, ones};
  AddNode(DML_OPERATOR_MAX_POOLING_GRAD, desc, {x, dy}, {dx});
  return dx;
}

Net::Normalized Net::BatchNorm(const View& x, const View& scale, const View& bias, float epsilon) {
  const Normalized result{Empty(x.sizes), Empty(scale.sizes), Empty(scale.sizes)};
  const DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC desc{
      Describe(x),           Describe(scale),           Describe(bias), nullptr, Describe(result.y),
      Describe(result.mean), Describe(result.variance), epsilon,        nullptr};
  AddNode(DML_OPERATOR_BATCH_NORMALIZATION_TRAINING, desc, {x, scale, bias, View()}, {result.y, result.mean, result.variance},
          {epsilon * 1e9});
  return result;
}

Net::NormalizedGrad Net::BatchNormGrad(const View& x, const View& dy, const Normalized& forward, const View& scale, float epsilon) {
  const NormalizedGrad result{Empty(x.sizes), Empty(scale.sizes), Empty(scale.sizes)};
  const DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC desc{
      Describe(x),     Describe(dy),        Describe(forward.mean),  Describe(forward.variance),
      Describe(scale), Describe(result.dx), Describe(result.dscale), Describe(result.dbias),
      epsilon};
  AddNode(DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD, desc, {x, dy, forward.mean, forward.variance, scale},
          {result.dx, result.dscale, result.dbias}, {epsilon * 1e9});
  return result;
}

}  // namespace dxtensor::peer
