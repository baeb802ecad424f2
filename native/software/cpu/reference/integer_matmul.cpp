// Integer matrix multiplication: MATRIX_MULTIPLY_INTEGER, MATRIX_MULTIPLY_INTEGER_TO_FLOAT and QUANTIZED_LINEAR_MATRIX_MULTIPLY.
//
// Sums are exact in 64 bits; scales come after them.
#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"
#include "quantize.h"

namespace dxtensor::software {

namespace {

// Leading dimensions of 1 up to a rank.
schema::TensorDesc Widened(const schema::TensorDesc& t, uint32_t rank) {
  schema::TensorDesc wide = t;
  wide.rank = rank;
  for (uint32_t d = 0; d < rank; ++d) {
    wide.sizes[d] = d + t.rank < rank ? 1 : t.sizes[d + t.rank - rank];
    wide.strides[d] = d + t.rank < rank ? 0 : t.strides[d + t.rank - rank];
  }
  return wide;
}

// A scale or zero point of one element, or of one for each row (or column): the stride between rows.
uint64_t RowStride(const schema::OperatorDesc& desc, const std::string& name, bool columns) {
  if (!desc.Has(name.c_str()) || !desc.Tensor(name.c_str())) return 0;
  const schema::TensorDesc t = Widened(*desc.Tensor(name.c_str()), std::max(2u, desc.Tensor(name.c_str())->rank));
  const uint32_t axis = columns ? t.rank - 1 : t.rank - 2;
  return t.sizes[axis] == 1 ? 0 : t.strides[axis];
}

struct RowSplit {
  Rescale values;
  uint64_t scale_stride, zero_stride;

  RowSplit(const schema::OperatorDesc& desc, const char* side, bool columns)
      : values(desc, side),
        scale_stride(RowStride(desc, std::string(side) + "ScaleTensor", columns)),
        zero_stride(RowStride(desc, std::string(side) + "ZeroPointTensor", columns)) {}
  float Scale(const KernelArguments& a, uint64_t row) const { return values.Scale(a, row * scale_stride); }
  int64_t Zero(const KernelArguments& a, uint64_t row) const { return values.Zero(a, row * zero_stride); }
};

int SlotOf(const schema::OperatorDesc& desc, const char* name) {
  int slot = 0;
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    const schema::FieldSchema& f = desc.schema->fields[i];
    if (f.kind != schema::FieldKind::Input) continue;
    if (f.name == std::string(name)) return slot;
    ++slot;
  }
  return -1;
}

}  // namespace

KernelPointer MakeIntegerMatmul(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &desc_a = *desc.Tensor("ATensor"), &desc_b = *desc.Tensor("BTensor"), &desc_out = *desc.Outputs()[0];
  const uint32_t rank = std::max({desc_a.rank, desc_b.rank, desc_out.rank});
  const schema::TensorDesc a = Widened(desc_a, rank), b = Widened(desc_b, rank), out = Widened(desc_out, rank);
  const uint64_t m = out.sizes[rank - 2], n = out.sizes[rank - 1], k = a.sizes[rank - 1];
  const Dimensions as = BroadcastStrides(a), bs = BroadcastStrides(b), os = BroadcastStrides(out);
  const RowSplit left(desc, "A", false), right(desc, "B", true), result(desc, "Output", false);
  const int b_slot = SlotOf(desc, "BTensor"), bias_slot = SlotOf(desc, "BiasTensor");
  Dimensions bias{};
  if (bias_slot >= 0 && desc.Inputs()[bias_slot]) bias = BroadcastStrides(Widened(*desc.Inputs()[bias_slot], rank));
  BoxIterator<4> batches = IterateSome<4>(out, {as, bs, bias, os}, (1u << (rank - 2)) - 1);
  const DML_OPERATOR_TYPE type = desc.type();
  auto make = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return KernelFrom([=, a_type = a.data_type, b_type = b.data_type](const KernelArguments& args) {
      batches([&](const Offsets<4>& at) {
        for (uint64_t i = 0; i < m; ++i) {
          const int64_t a_zero = left.Zero(args, i);
          for (uint64_t j = 0; j < n; ++j) {
            const int64_t b_zero = right.Zero(args, j);
            int64_t sum = 0;
            for (uint64_t l = 0; l < k; ++l) {
              const int64_t x = LoadInteger(a_type, args.inputs[0], at[0] + i * as[rank - 2] + l * as[rank - 1]) - a_zero;
              const int64_t y = LoadInteger(b_type, args.inputs[b_slot], at[1] + l * bs[rank - 2] + j * bs[rank - 1]) - b_zero;
              sum = Wrap(sum, Wrap(x, y, [](auto p, auto q) { return p * q; }), [](auto p, auto q) { return p + q; });
            }
            const uint64_t to = at[3] + i * os[rank - 2] + j * os[rank - 1];
            if constexpr (std::is_same_v<T, int32_t>) {
              Store<int32_t>(args.outputs[0], to, static_cast<int32_t>(sum));
            } else {
              const float scaled = static_cast<float>(sum) * (left.Scale(args, i) * right.Scale(args, j));
              if constexpr (std::is_integral_v<T>) {
                const auto zero = static_cast<float>(result.Zero(args, i));
                Store<T>(args.outputs[0], to, Saturate<T>(std::nearbyint(scaled / result.Scale(args, i)) + zero));
              } else {
                const bool has_bias = bias_slot >= 0 && args.inputs[bias_slot];
                const uint64_t from = at[2] + i * bias[rank - 2] + j * bias[rank - 1];
                Store<T>(args.outputs[0], to, has_bias ? scaled + Load<T>(args.inputs[bias_slot], from) : scaled);
              }
            }
          }
        }
      });
    });
  };
  if (type == DML_OPERATOR_MATRIX_MULTIPLY_INTEGER) return make(Tag<int32_t>());
  if (type == DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT) return ByFloat(out.data_type, make);
  return out.data_type == DML_TENSOR_DATA_TYPE_UINT8 ? make(Tag<uint8_t>()) : make(Tag<int8_t>());
}

}  // namespace dxtensor::software
