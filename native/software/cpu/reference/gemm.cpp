// GEMM: act(Alpha * opA(A) x opB(B) + Beta * C) for each batch and channel.
#include <cmath>
#include <limits>
#include <utility>

#include "activation.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

struct Matrix {
  uint64_t row = 0, column = 0;  // strides
};

struct Gemm {
  uint64_t m = 0, n = 0, k = 0;
  Matrix a, b, c, out;
  float alpha = 1, beta = 0;
  ActivationFunction activation;
};

Matrix MatrixOf(const schema::TensorDesc& tensor, bool transposed) {
  const Dimensions strides = BroadcastStrides(tensor);
  Matrix m{strides[tensor.rank - 2], strides[tensor.rank - 1]};
  if (transposed) std::swap(m.row, m.column);
  return m;
}

// Softmax over the output's own elements, which are read back: for the fused one, which reads the rounded results.
template <typename T>
void SoftmaxInPlace(uint8_t* out, const BoxIterator<1>& rows, const BoxIterator<1>& elements) {
  rows([&](const Offsets<1>& softmax_row) {
    float largest = -std::numeric_limits<float>::infinity();
    elements([&](const Offsets<1>& at) { largest = std::fmax(largest, Load<T>(out, at[0])); }, softmax_row);
    double sum = 0;
    elements([&](const Offsets<1>& at) { sum += std::exp(Load<T>(out, at[0]) - largest); }, softmax_row);
    elements([&](const Offsets<1>& at) { Store<T>(out, at[0], static_cast<float>(std::exp(Load<T>(out, at[0]) - largest) / sum)); },
             softmax_row);
  });
}

}  // namespace

KernelPointer MakeGemm(const schema::OperatorDesc& desc) {
  const auto inputs = desc.Inputs();
  const schema::TensorDesc &a = *inputs[0], &b = *inputs[1], &out = *desc.Outputs()[0];
  const schema::TensorDesc* c = inputs[2];
  Gemm g;
  const bool transposes_a = desc.UInt("TransA") == DML_MATRIX_TRANSFORM_TRANSPOSE;
  g.m = out.sizes[out.rank - 2];
  g.n = out.sizes[out.rank - 1];
  g.k = a.sizes[transposes_a ? a.rank - 2 : a.rank - 1];
  g.a = MatrixOf(a, transposes_a);
  g.b = MatrixOf(b, desc.UInt("TransB") == DML_MATRIX_TRANSFORM_TRANSPOSE);
  g.out = MatrixOf(out, false);
  if (c) g.c = MatrixOf(*c, false);
  g.alpha = desc.Float("Alpha");
  g.beta = desc.Float("Beta");
  uint32_t softmax_axes = 0;
  const bool softmax = FusesSoftmax(desc, out.rank, &softmax_axes);
  if (!softmax) g.activation = FusedActivation(desc);

  const uint32_t batches = (1u << (out.rank - 2)) - 1;
  const Dimensions none{};
  BoxIterator<4> batch =
      IterateSome<4>(out, {BroadcastStrides(a), BroadcastStrides(b), c ? BroadcastStrides(*c) : none, BroadcastStrides(out)}, batches);
  BoxIterator<1> rows = IterateSome<1>(out, {BroadcastStrides(out)}, ~softmax_axes),
                 elements = IterateSome<1>(out, {BroadcastStrides(out)}, softmax_axes);
  return ByFloat(out.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([g, batch, softmax, rows, elements](const KernelArguments& args) {
      batch([&](const Offsets<4>& at) {
        for (uint64_t i = 0; i < g.m; ++i) {
          CheckAbandoned();
          for (uint64_t j = 0; j < g.n; ++j) {
            double sum = 0;
            uint64_t from_a = at[0] + i * g.a.row, from_b = at[1] + j * g.b.column;
            for (uint64_t l = 0; l < g.k; ++l, from_a += g.a.column, from_b += g.b.row)
              sum += static_cast<double>(Load<T>(args.inputs[0], from_a)) * Load<T>(args.inputs[1], from_b);
            sum *= g.alpha;
            if (args.inputs[2]) sum += static_cast<double>(g.beta) * Load<T>(args.inputs[2], at[2] + i * g.c.row + j * g.c.column);
            Store<T>(args.outputs[0], at[3] + i * g.out.row + j * g.out.column, g.activation(static_cast<float>(sum)));
          }
        }
      });
      if (softmax) SoftmaxInPlace<T>(args.outputs[0], rows, elements);
    });
  });
}

}  // namespace dxtensor::software
