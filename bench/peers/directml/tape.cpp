#include "tape.h"

#include <algorithm>
#include <cmath>

namespace dxtensor::peer {

namespace {

constexpr UINT kClasses = 10;
constexpr float kNormEpsilon = 1e-5f;
// Above the rounding of gradients that are zero in exact numbers, as of the keys' biases: Adam would make steps of it.
constexpr float kAdamEpsilon = 1e-5f;

}  // namespace

double Tape::Uniform() {
  seed_ = seed_ * 1664525u + 1013904223u;
  return (seed_ >> 8) / 16777216.0;
}

double Tape::Normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += Uniform();
  return sum;
}

View Tape::Batch(const Sizes& sizes, UINT samples) {
  batch_ = net_.Input(sizes);
  classes_ = net_.Input({1, 1, samples, kClasses});
  const size_t features = batch_.count() / samples;
  std::vector<float> centers(kClasses * features), batch(batch_.count()), classes(classes_.count());
  for (float& x : centers) x = static_cast<float>(0.5 * Normal());
  for (size_t i = 0; i < batch.size(); ++i)
    batch[i] = centers[i / features % kClasses * features + i % features] + static_cast<float>(Normal());
  for (size_t i = 0; i < samples; ++i) classes[i * kClasses + i % kClasses] = 1;
  feeds_.push_back({batch_, std::move(batch)});
  feeds_.push_back({classes_, std::move(classes)});
  return batch_;
}

size_t Tape::AddState(const Sizes& sizes, std::vector<float> first) {
  states_.push_back({net_.Input(sizes), {}, std::move(first)});
  return states_.size() - 1;
}

View Tape::Parametrize(const Sizes& sizes, double deviation, double mean) {
  std::vector<float> first(CountOf(sizes));
  for (float& x : first) x = static_cast<float>(deviation == 0 ? mean : mean + deviation * Normal());
  parameters_.push_back({AddState(sizes, std::move(first)), 0});
  return states_.back().before;
}

View Tape::Number(double value, const Sizes& broadcast_to) {
  auto [found, is_new] = numbers_.try_emplace(value);
  if (is_new) {
    found->second = net_.Input({1, 1, 1, 1});
    feeds_.push_back({found->second, {static_cast<float>(value)}});
  }
  return found->second.Broadcast(broadcast_to);
}

void Tape::Accumulate(const View& x, const View& gradient) {
  if (!needs_gradient(x)) return;
  auto [found, is_new] = gradients_.try_emplace(x.value, gradient);
  if (!is_new) found->second = net_.Add(found->second.Reshaped(x.sizes), gradient.Reshaped(x.sizes));
}

View Tape::Relu(const View& x) {
  View y = net_.Relu(x);
  backward_.push_back([=] { Accumulate(x, net_.ReluGrad(y, GradientOf(y))); });
  return y;
}

View Tape::Gelu(const View& x) {
  View y = net_.Gelu(x);
  backward_.push_back([=] {
    // Phi(x) + x phi(x), with the normal distribution's function and density.
    View below = net_.Scale(net_.Unary(DML_OPERATOR_ELEMENT_WISE_ERF, x, std::sqrt(0.5f)), 0.5f, 0.5f);
    View density = net_.Unary(DML_OPERATOR_ELEMENT_WISE_EXP, net_.Multiply(net_.Scale(x, -0.5f), x));
    View slope = net_.Add(below, net_.Multiply(net_.Scale(x, 0.3989422804f), density));
    Accumulate(x, net_.Multiply(GradientOf(y), slope));
  });
  return y;
}

View Tape::Add(const View& a, const View& b) {
  View y = net_.Add(a, b);
  backward_.push_back([=] {
    for (const View& x : {a, b}) Accumulate(x, GradientOf(y));
  });
  return y;
}

View Tape::MaxPool(const View& x) {
  View y = net_.MaxPool(x);
  backward_.push_back([=] { Accumulate(x, net_.MaxPoolGrad(x, GradientOf(y))); });
  return y;
}

View Tape::Mean(const View& x, const Sizes& axes) {
  View y = net_.Mean(x, axes);
  backward_.push_back([=] {
    const float share = static_cast<float>(y.count()) / static_cast<float>(x.count());
    Accumulate(x, net_.Scale(GradientOf(y).Broadcast(x.sizes), share));
  });
  return y;
}

View Tape::Linear(const View& x, UINT outputs, double deviation, double bias_deviation, bool with_relu) {
  View weight = Parametrize({1, 1, outputs, x.sizes[3]}, deviation), bias = Parametrize({1, 1, 1, outputs}, bias_deviation);
  View y = net_.Gemm(x, false, weight, true, 1, bias, with_relu);
  backward_.push_back([=] {
    View dy = with_relu ? net_.ReluGrad(y, GradientOf(y)) : GradientOf(y);
    Accumulate(weight, net_.Gemm(dy, true, x, false));
    Accumulate(bias, net_.Sum(dy, {2}));
    if (needs_gradient(x)) Accumulate(x, net_.Gemm(dy, false, weight, false));
  });
  return y;
}

View Tape::Convolution(const View& x, UINT outputs, UINT kernel, UINT stride, double deviation, bool with_bias) {
  const UINT padding = kernel / 2, size = (x.sizes[2] + 2 * padding - kernel) / stride + 1;
  View filter = Parametrize({outputs, x.sizes[1], kernel, kernel}, deviation);
  View bias = with_bias ? Parametrize({1, outputs, 1, 1}, 0.01) : View();
  View y = net_.Empty({x.sizes[0], outputs, size, size});
  net_.Convolution(x, filter, bias, y, {stride, 1, {padding, padding}, {padding, padding}});
  backward_.push_back([=] {
    View dy = GradientOf(y);
    if (with_bias) Accumulate(bias, net_.Sum(dy, {0, 2, 3}));
    ConvolutionGradients(x, filter, dy, stride, padding);
  });
  return y;
}

void Tape::ConvolutionGradients(const View& x, const View& filter, const View& dy, UINT stride, UINT padding) {
  const UINT samples = x.sizes[0], inputs = x.sizes[1], size = x.sizes[2], outputs = filter.sizes[0], kernel = filter.sizes[2];
  const UINT reduced = dy.sizes[2], reach = (reduced - 1) * stride + kernel;
  if (needs_gradient(x)) {
    View dx = net_.Empty(x.sizes);
    // DirectML leaves rows of OutputPadding 0, so it goes into the end padding as far as that reaches.
    const UINT missing = size + 2 * padding - reach, folded = std::min(missing, padding), end = padding - folded;
    net_.Convolution(dy, filter, View(), dx, {stride, 1, {padding, padding}, {end, end}}, DML_CONVOLUTION_DIRECTION_BACKWARD,
                     missing - folded);
    Accumulate(x, dx);
  }
  // The filter's gradient: a convolution whose samples are the channels, dilated by the stride.
  View gradient = net_.Empty(filter.sizes);
  const int end = static_cast<int>(reach) - static_cast<int>(size + padding);
  const UINT seen = end < 0 ? static_cast<UINT>(static_cast<int>(size) + end) : size, end_padding = end < 0 ? 0 : static_cast<UINT>(end);
  const UINT area = size * size, reduced_area = reduced * reduced, filter_area = kernel * kernel;
  View images = x.Strided({inputs, samples, seen, seen}, {area, inputs * area, size, 1});
  View slopes = dy.Strided({outputs, samples, reduced, reduced}, {reduced_area, outputs * reduced_area, reduced, 1});
  View into = gradient.Strided({inputs, outputs, kernel, kernel}, {filter_area, inputs * filter_area, kernel, 1});
  net_.Convolution(images, slopes, View(), into, {1, stride, {padding, padding}, {end_padding, end_padding}});
  Accumulate(filter, gradient);
}

View Tape::BatchNorm(const View& x) {
  const Sizes sizes{1, x.sizes[1], 1, 1};
  View scale = Parametrize(sizes, 0, 1), bias = Parametrize(sizes, 0);
  const size_t mean = AddState(sizes, std::vector<float>(sizes[1], 0)), variance = AddState(sizes, std::vector<float>(sizes[1], 1));
  const Net::Normalized forward = net_.BatchNorm(x, scale, bias, kNormEpsilon);
  const float count = static_cast<float>(x.count()) / static_cast<float>(sizes[1]);
  const auto move = [this](State& state, const View& seen, float share) {
    state.after = net_.Add(net_.Scale(state.before, 0.9f), net_.Scale(seen, share));
  };
  move(states_[mean], forward.mean, 0.1f);
  move(states_[variance], forward.variance, 0.1f * count / (count - 1));
  backward_.push_back([=] {
    const Net::NormalizedGrad gradient = net_.BatchNormGrad(x, GradientOf(forward.y), forward, scale, kNormEpsilon);
    Accumulate(x, gradient.dx);
    Accumulate(scale, gradient.dscale);
    Accumulate(bias, gradient.dbias);
  });
  return forward.y;
}

View Tape::LayerNorm(const View& x) {
  const Sizes sizes{1, 1, 1, x.sizes[3]};
  View scale = Parametrize(sizes, 0, 1), bias = Parametrize(sizes, 0);
  View centered = net_.Subtract(x, net_.Mean(x, {3}).Broadcast(x.sizes));
  View variance = net_.Mean(net_.Multiply(centered, centered), {3});
  View deviation = net_.Unary(DML_OPERATOR_ELEMENT_WISE_SQRT, variance, 1, kNormEpsilon);
  View inverse = net_.Unary(DML_OPERATOR_ELEMENT_WISE_RECIP, deviation).Broadcast(x.sizes);
  View normal = net_.Multiply(centered, inverse);
  View y = net_.Add(net_.Multiply(normal, scale.Broadcast(x.sizes)), bias.Broadcast(x.sizes));
  backward_.push_back([=] {
    View dy = GradientOf(y), dnormal = net_.Multiply(dy, scale.Broadcast(x.sizes));
    View mean = net_.Mean(dnormal, {3}).Broadcast(x.sizes), along = net_.Mean(net_.Multiply(dnormal, normal), {3}).Broadcast(x.sizes);
    Accumulate(scale, net_.Sum(net_.Multiply(dy, normal), {2}));
    Accumulate(bias, net_.Sum(dy, {2}));
    Accumulate(x, net_.Multiply(net_.Subtract(net_.Subtract(dnormal, mean), net_.Multiply(normal, along)), inverse));
  });
  return y;
}

View Tape::Attention(const View& q, const View& k, const View& v, UINT batch, UINT heads) {
  const UINT width = q.sizes[3], length = q.sizes[2] / batch, size = width / heads;
  const auto by_head = [=](const View& x) { return x.Strided({batch, heads, length, size}, {length * width, size, width, 1}); };
  const float share = 1 / std::sqrt(static_cast<float>(size));
  View weights = net_.Softmax(net_.Gemm(by_head(q), false, by_head(k), true, share)), y = net_.Empty(q.sizes);
  net_.Gemm(weights, false, by_head(v), false, 1, {}, false, by_head(y));
  backward_.push_back([=] {
    View dy = by_head(GradientOf(y)), dq = net_.Empty(q.sizes), dk = net_.Empty(k.sizes), dv = net_.Empty(v.sizes);
    net_.Gemm(weights, true, dy, false, 1, {}, false, by_head(dv));
    View dweights = net_.Gemm(dy, false, by_head(v), true);
    View along = net_.Sum(net_.Multiply(dweights, weights), {3}).Broadcast(weights.sizes);
    View scores = net_.Multiply(weights, net_.Subtract(dweights, along));
    net_.Gemm(scores, false, by_head(k), false, share, {}, false, by_head(dq));
    net_.Gemm(scores, true, by_head(q), false, share, {}, false, by_head(dk));
    Accumulate(q, dq);
    Accumulate(k, dk);
    Accumulate(v, dv);
  });
  return y;
}

void Tape::Momentum(const Parameter& parameter, const View& gradient, double rate) {
  State &weights = states_[parameter.state], &moment = states_[parameter.moment];
  const Sizes& sizes = weights.before.sizes;
  moment.after = net_.Add(net_.Multiply(moment.before, Number(0.9, sizes)), gradient);
  weights.after = net_.Subtract(weights.before, net_.Multiply(moment.after, Number(rate, sizes)));
}

void Tape::Adam(const Parameter& parameter, const View& gradient, double rate) {
  State &weights = states_[parameter.state], &first = states_[parameter.moment], &second = states_[parameter.moment + 1];
  const Sizes& sizes = weights.before.sizes;
  first.after = net_.Add(net_.Scale(first.before, 0.9f), net_.Scale(gradient, 0.1f));
  second.after = net_.Add(net_.Scale(second.before, 0.999f), net_.Scale(net_.Multiply(gradient, gradient), 0.001f));
  // The corrections of the moments are inputs, for they change from step to step; here they stay those of the first.
  View root = net_.Multiply(net_.Unary(DML_OPERATOR_ELEMENT_WISE_SQRT, second.after), Number(1 / std::sqrt(1 - 0.999), sizes));
  View quotient = net_.Divide(first.after, net_.Scale(root, 1, kAdamEpsilon));
  weights.after = net_.Subtract(weights.before, net_.Multiply(quotient, Number(rate / (1 - 0.9), sizes)));
}

void Tape::Train(const View& logits, Optimizer optimizer, double rate) {
  const float share = 1 / static_cast<float>(logits.sizes[2]);
  View logarithms = net_.LogSoftmax(logits);
  loss_ = net_.Scale(net_.Sum(net_.Multiply(classes_, logarithms), {2, 3}), -share);
  Accumulate(logits, net_.Scale(net_.Subtract(net_.Unary(DML_OPERATOR_ELEMENT_WISE_EXP, logarithms), classes_), share));
  for (size_t i = backward_.size(); i-- > 0;) backward_[i]();
  const bool is_adam = optimizer == Optimizer::kAdam;
  moment_scale_ = is_adam ? 0.1f : 1;
  for (Parameter& parameter : parameters_) {
    const Sizes sizes = states_[parameter.state].before.sizes;
    const std::vector<float> zeros(CountOf(sizes), 0);
    parameter.moment = AddState(sizes, zeros);
    if (is_adam) AddState(sizes, zeros);
    const View gradient = GradientOf(states_[parameter.state].before);
    if (is_adam) Adam(parameter, gradient, rate);
    else Momentum(parameter, gradient, rate);
  }
  net_.Output(loss_);
  for (const State& state : states_) net_.Output(state.after);
}

}  // namespace dxtensor::peer
