// A training step as a network of operators: layers forward, their gradients backward, an update for each parameter.
//
// Owns the network and the first values of its state. A step reads the old values of the state and writes new ones.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "net.h"

namespace dxtensor::peer {

enum class Optimizer { kSgd, kAdam };

class Tape {
 public:
  explicit Tape(unsigned seed) : seed_(seed) {}

  struct State {
    View before, after;
    std::vector<float> first;
  };
  struct Parameter {
    // Positions in states(): the weights, and the moment that is the gradient times moment_scale after one step.
    size_t state, moment;
  };
  struct Feed {
    View view;
    std::vector<float> values;
  };

  Net& net() { return net_; }
  const Net& net() const { return net_; }
  const std::vector<State>& states() const { return states_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  // The batch, its classes and the optimizer's numbers.
  const std::vector<Feed>& feeds() const { return feeds_; }
  const View& loss() const { return loss_; }
  float moment_scale() const { return moment_scale_; }

  // A batch whose samples scatter around a centre for each of ten classes.
  View Batch(const Sizes& sizes, UINT samples);
  // Normally distributed around mean.
  View Parametrize(const Sizes& sizes, double deviation, double mean = 0);

  View Relu(const View& x);
  View Gelu(const View& x);
  View Add(const View& a, const View& b);
  View MaxPool(const View& x);
  // Mean over axes; their lengths become 1.
  View Mean(const View& x, const Sizes& axes);
  View Linear(const View& x, UINT outputs, double deviation, double bias_deviation = 0, bool with_relu = false);
  View Convolution(const View& x, UINT outputs, UINT kernel, UINT stride, double deviation, bool with_bias);
  View BatchNorm(const View& x);
  View LayerNorm(const View& x);
  // Self-attention of queries, keys and values [1, 1, batch * length, width].
  View Attention(const View& q, const View& k, const View& v, UINT batch, UINT heads);
  // The mean cross entropy of ten classes; then the gradients and the updates.
  void Train(const View& logits, Optimizer optimizer, double rate);

 private:
  bool needs_gradient(const View& x) const { return x.value != batch_.value; }
  void Accumulate(const View& x, const View& gradient);
  View GradientOf(const View& x) const { return gradients_.at(x.value).Reshaped(x.sizes); }
  size_t AddState(const Sizes& sizes, std::vector<float> first);
  View Number(double value, const Sizes& broadcast_to);
  void Momentum(const Parameter& parameter, const View& gradient, double rate);
  void Adam(const Parameter& parameter, const View& gradient, double rate);
  void ConvolutionGradients(const View& x, const View& filter, const View& dy, UINT stride, UINT padding);
  double Uniform();
  double Normal();

  Net net_;
  std::vector<State> states_;
  std::vector<Parameter> parameters_;
  std::vector<Feed> feeds_;
  std::map<int, View> gradients_;
  std::map<double, View> numbers_;
  std::vector<std::function<void()>> backward_;
  View batch_, classes_, loss_;
  float moment_scale_ = 1;
  unsigned seed_;
};

}  // namespace dxtensor::peer
