// A network of DirectML operators over values: each value is packed float32, and operators see it by views.
//
// Owns the descriptions of its operators, which point into it: it is neither copied nor moved.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "../../../native/abi/abi.h"

namespace dxtensor::peer {

using Sizes = std::vector<UINT>;

size_t CountOf(const Sizes& sizes);

// Of a value, seen with these sizes and strides; no strides: packed. No value: an operand that is left out.
struct View {
  int value = -1;
  Sizes sizes, strides;

  bool is_present() const { return value >= 0; }
  size_t count() const { return CountOf(sizes); }
  // Packed views only.
  View Reshaped(const Sizes& to) const;
  View Strided(const Sizes& to, const Sizes& by) const { return {value, to, by}; }
  // Axes of length 1 become those of `to`.
  View Broadcast(const Sizes& to) const;
};

struct Value {
  uint64_t bytes = 0;
  // Who makes it, or which input it is.
  int node = -1, slot = 0, input = -1, output = -1;
};

struct Node {
  DML_OPERATOR_TYPE type;
  std::vector<unsigned char> desc;
  std::vector<View> inputs, outputs;
  // Equal for nodes that the same compiled operator serves.
  std::string key;
};

struct Window {
  UINT stride = 1, dilation = 1;
  Sizes start, end;
};

class Net {
 public:
  Net() = default;
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }

  View Input(const Sizes& sizes);
  void Output(const View& view);
  // To be written by an operator that receives it as its output.
  View Empty(const Sizes& sizes);

  View Add(const View& a, const View& b) { return Binary(DML_OPERATOR_ELEMENT_WISE_ADD, a, b); }
  View Subtract(const View& a, const View& b) { return Binary(DML_OPERATOR_ELEMENT_WISE_SUBTRACT, a, b); }
  View Multiply(const View& a, const View& b) { return Binary(DML_OPERATOR_ELEMENT_WISE_MULTIPLY, a, b); }
  View Divide(const View& a, const View& b) { return Binary(DML_OPERATOR_ELEMENT_WISE_DIVIDE, a, b); }
  // f(scale * x + bias)
  View Unary(DML_OPERATOR_TYPE type, const View& x, float scale = 1, float bias = 0);
  View Scale(const View& x, float scale, float bias = 0) { return Unary(DML_OPERATOR_ELEMENT_WISE_IDENTITY, x, scale, bias); }
  View Relu(const View& x) { return Activation(DML_OPERATOR_ACTIVATION_RELU, x); }
  View Gelu(const View& x) { return Activation(DML_OPERATOR_ACTIVATION_GELU, x); }
  View ReluGrad(const View& y, const View& dy);
  // alpha * op(a) op(b) + c, then max(0, .) when asked for; into: where the result goes.
  View Gemm(const View& a, bool is_a_transposed, const View& b, bool is_b_transposed, float alpha = 1, const View& c = {},
            bool with_relu = false, const View& into = {});
  View Reduce(const View& x, const Sizes& axes, DML_REDUCE_FUNCTION function);
  View Sum(const View& x, const Sizes& axes) { return Reduce(x, axes, DML_REDUCE_FUNCTION_SUM); }
  View Mean(const View& x, const Sizes& axes) { return Reduce(x, axes, DML_REDUCE_FUNCTION_AVERAGE); }
  // Over the last axis.
  View Softmax(const View& x) { return SoftmaxOf(DML_OPERATOR_ACTIVATION_SOFTMAX1, x); }
  View LogSoftmax(const View& x) { return SoftmaxOf(DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1, x); }
  void Convolution(const View& x, const View& filter, const View& bias, const View& into, const Window& window,
                   DML_CONVOLUTION_DIRECTION direction = DML_CONVOLUTION_DIRECTION_FORWARD, UINT output_padding = 0);
  // Adjacent windows of 2x2.
  View MaxPool(const View& x);
  View MaxPoolGrad(const View& x, const View& dy);
  struct Normalized {
    View y, mean, variance;
  };
  Normalized BatchNorm(const View& x, const View& scale, const View& bias, float epsilon);
  struct NormalizedGrad {
    View dx, dscale, dbias;
  };
  NormalizedGrad BatchNormGrad(const View& x, const View& dy, const Normalized& forward, const View& scale, float epsilon);

 private:
  struct Tensor {
    Sizes sizes, strides;
    DML_BUFFER_TENSOR_DESC buffer;
    DML_TENSOR_DESC desc;
  };

  View Binary(DML_OPERATOR_TYPE type, const View& a, const View& b);
  View Activation(DML_OPERATOR_TYPE type, const View& x);
  View SoftmaxOf(DML_OPERATOR_TYPE type, const View& x);
  const DML_TENSOR_DESC* Describe(const View& view);
  const UINT* Keep(const Sizes& numbers);
  template <typename Desc>
  void AddNode(DML_OPERATOR_TYPE type, const Desc& desc, std::vector<View> inputs, std::vector<View> outputs,
               const std::vector<double>& attributes = {});

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<int> inputs_, outputs_;
  std::deque<Tensor> tensors_;
  std::deque<Sizes> numbers_;
  std::deque<DML_SCALE_BIAS> scales_;
};

}  // namespace dxtensor::peer
