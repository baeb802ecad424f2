// Matrix-vector products and skinny GEMM (small M, K-contiguous B): dot products or axpys, nothing is packed.
#pragma once

#include <memory>

#include "software/cpu/fast/elementwise/epilogue.h"
#include "software/cpu/kernel.h"

namespace dxtensor::software::fast {

// An operand of GEMM: a matrix for each of two batch dimensions; strides in elements.
struct Matrix {
  DML_TENSOR_DATA_TYPE type = DML_TENSOR_DATA_TYPE_UNKNOWN;
  int bytes = 0;
  int64_t outer = 0, inner = 0, row = 0, column = 0;

  Matrix() = default;
  Matrix(const schema::TensorDesc& t, bool transposed) : type(t.data_type), bytes(static_cast<int>(schema::BytesPerElement(t.data_type))) {
    auto stride = [&](uint32_t from_end) {
      return t.rank > from_end && t.sizes[t.rank - 1 - from_end] != 1 ? static_cast<int64_t>(t.strides[t.rank - 1 - from_end]) : 0;
    };
    row = stride(transposed ? 0 : 1);
    column = stride(transposed ? 1 : 0);
    inner = stride(2);
    outer = stride(3);
  }
};

// A GEMM's sizes and operands, after transpositions.
struct GemmShape {
  Matrix a, b, c, out;
  int64_t batch = 1, channels = 1, m = 1, n = 1, k = 1;
  float alpha = 1, beta = 0;
  bool adds_c = false;
  Activations activations;
};

// Null where there are too many vectors, or the matrix is not float32 with a contiguous dimension.
std::unique_ptr<Kernel> MakeMatrixVectorKernel(const GemmShape& shape);

}  // namespace dxtensor::software::fast
