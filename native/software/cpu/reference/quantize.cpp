// Quantizing and back: element by element, by blocks of any size (4-bit integers too), and with a range taken from the data; and the
// sum of two quantized tensors. Quotients and scales are float32 and rounded to the nearest, halves to the even number.
#include "quantize.h"

#include <algorithm>
#include <cmath>

#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// A type of four bits: two elements in a byte, the first one low.
template <bool is_signed>
struct Nibble {
  static constexpr int32_t kLow = is_signed ? -8 : 0, kHigh = is_signed ? 7 : 15;
};

template <typename T>
struct Stored {
  static int64_t Read(const uint8_t* base, uint64_t index) { return static_cast<int64_t>(Load<T>(base, index)); }
  static void Write(uint8_t* base, uint64_t index, float value) { Store<T>(base, index, Saturate<T>(value)); }
  static constexpr float kLow = static_cast<float>(std::numeric_limits<T>::min()),
                         kHigh = static_cast<float>(std::numeric_limits<T>::max());
};
template <bool is_signed>
struct Stored<Nibble<is_signed>> {
  static int64_t Read(const uint8_t* base, uint64_t index) {
    const int32_t bits = base[index / 2] >> (index % 2 * 4) & 15;
    return is_signed && bits > 7 ? bits - 16 : bits;
  }
  static void Write(uint8_t* base, uint64_t index, float value) {
    const auto number = static_cast<uint32_t>(Saturate<int32_t>(std::min(std::max(value, kLow), kHigh)));
    const uint32_t shift = index % 2 * 4;
    base[index / 2] = static_cast<uint8_t>((base[index / 2] & ~(15u << shift)) | (number & 15) << shift);
  }
  static constexpr float kLow = Nibble<is_signed>::kLow, kHigh = Nibble<is_signed>::kHigh;
};

template <typename F>
KernelPointer ByQuantized(DML_TENSOR_DATA_TYPE type, F&& make) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_UINT4: return make(Tag<Nibble<false>>());
    case DML_TENSOR_DATA_TYPE_INT4: return make(Tag<Nibble<true>>());
    default: return ByInteger(type, make);
  }
}

// Half or float32 by the type that is asked at run time: scales of either with data of either.
float LoadFloat(const uint8_t* base, uint64_t index, bool half) { return half ? Load<Half>(base, index) : Load<float>(base, index); }

// One value for each block of elements: as many blocks along a dimension as the tensor has sizes there.
struct Blocks {
  int slot = -1;  // of the inputs
  bool half = false;
  Dimensions each{}, strides{};

  Blocks() = default;
  Blocks(int slot, const schema::TensorDesc& x, const schema::TensorDesc& t)
      : slot(slot), half(t.data_type == DML_TENSOR_DATA_TYPE_FLOAT16) {
    strides = BroadcastStrides(t);
    for (uint32_t d = 0; d < x.rank; ++d) each[d] = x.sizes[d] / t.sizes[d];
  }
  const uint8_t* Data(const KernelArguments& a) const { return slot < 0 ? nullptr : a.inputs[slot]; }
  uint64_t At(uint32_t rank, const Dimensions& at) const {
    uint64_t offset = 0;
    if (slot >= 0)
      for (uint32_t d = 0; d < rank; ++d) offset += at[d] / each[d] * strides[d];
    return offset;
  }
};

struct Quantization {
  uint32_t rank = 0;
  Dimensions sizes{}, from{}, to{};
  Blocks scale, zero;
  int64_t missing_zero = 0;

  explicit Quantization(const schema::OperatorDesc& desc) {
    const auto in = desc.Inputs();
    const schema::TensorDesc& x = *in[0];
    rank = x.rank;
    sizes = SizesOf(x);
    from = BroadcastStrides(x);
    to = BroadcastStrides(*desc.Outputs()[0]);
    if (in.size() > 1) scale = Blocks(1, x, *in[1]);
    if (in.size() > 2 && in[2]) zero = Blocks(2, x, *in[2]);
    // Unsigned integers that have a scale alone lie around the middle of their range, but for the elementwise operators.
    if (!desc.Has("QuantizationType") || in.size() > 2) return;
    for (const schema::TensorDesc* t : {in[0], desc.Outputs()[0]}) {
      if (t->data_type == DML_TENSOR_DATA_TYPE_UINT8) missing_zero = 128;
      if (t->data_type == DML_TENSOR_DATA_TYPE_UINT4) missing_zero = 8;
    }
  }
  // visit(x, scale, zero point, output), all offsets.
  template <typename F>
  void ForEach(F&& visit) const {
    ForEachPosition(rank, sizes, [&](const Dimensions& at) {
      visit(OffsetAt(rank, at, from), scale.At(rank, at), zero.At(rank, at), OffsetAt(rank, at, to));
    });
  }
};

template <typename Q, typename T>
KernelPointer Quantizing(const Quantization& q) {
  return KernelFrom([q](const KernelArguments& a) {
    const uint8_t *scale = q.scale.Data(a), *zero = q.zero.Data(a);
    q.ForEach([&](uint64_t from, uint64_t scale_at, uint64_t zero_at, uint64_t to) {
      const auto x = static_cast<float>(Load<T>(a.inputs[0], from));
      const float value = std::nearbyint(scale ? x / LoadFloat(scale, scale_at, q.scale.half) : x);
      Stored<Q>::Write(a.outputs[0], to, value + static_cast<float>(zero ? Stored<Q>::Read(zero, zero_at) : q.missing_zero));
    });
  });
}

template <typename Q, typename T>
KernelPointer Dequantizing(const Quantization& q) {
  return KernelFrom([q](const KernelArguments& a) {
    const uint8_t *scale = q.scale.Data(a), *zero = q.zero.Data(a);
    q.ForEach([&](uint64_t from, uint64_t scale_at, uint64_t zero_at, uint64_t to) {
      const int64_t x = Stored<Q>::Read(a.inputs[0], from) - (zero ? Stored<Q>::Read(zero, zero_at) : q.missing_zero);
      const float rate = scale ? LoadFloat(scale, scale_at, q.scale.half) : 1.0f;
      Store<T>(a.outputs[0], to, static_cast<float>(static_cast<double>(x) * rate));
    });
  });
}

}  // namespace

KernelPointer MakeQuantize(const schema::OperatorDesc& desc) {
  const Quantization q(desc);
  const DML_TENSOR_DATA_TYPE from = desc.Inputs()[0]->data_type, to = desc.Outputs()[0]->data_type;
  return ByQuantized(to, [&](auto quantized) -> KernelPointer {
    using Q = typename decltype(quantized)::Type;
    if (from == DML_TENSOR_DATA_TYPE_INT32) return Quantizing<Q, int32_t>(q);
    return ByFloat(from, [&](auto tag) { return Quantizing<Q, typename decltype(tag)::Type>(q); });
  });
}

KernelPointer MakeDequantize(const schema::OperatorDesc& desc) {
  const Quantization q(desc);
  return ByQuantized(desc.Inputs()[0]->data_type, [&](auto quantized) {
    using Q = typename decltype(quantized)::Type;
    return ByFloat(desc.Outputs()[0]->data_type, [&](auto tag) { return Dequantizing<Q, typename decltype(tag)::Type>(q); });
  });
}

KernelPointer MakeDynamicQuantize(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &in = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  BoxIterator<2> iterate(out, {&in, &out});
  return ByQuantized(out.data_type, [&](auto quantized) {
    using Q = typename decltype(quantized)::Type;
    return ByFloat(in.data_type, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      return KernelFrom([iterate](const KernelArguments& a) {
        // The range holds 0, so that 0 has a number of its own.
        float low = 0, high = 0;
        iterate([&](const Offsets<2>& at) {
          const float x = Load<T>(a.inputs[0], at[0]);
          low = std::fmin(low, x);
          high = std::fmax(high, x);
        });
        const float scale = (high - low) / (Stored<Q>::kHigh - Stored<Q>::kLow);
        // Nothing but zeros: 0 / 0, and the lowest number stands for 0.
        const float zero = std::nearbyint(std::fmin(std::fmax(Stored<Q>::kLow - low / scale, Stored<Q>::kLow), Stored<Q>::kHigh));
        Store<float>(a.outputs[1], 0, scale);
        Stored<Q>::Write(a.outputs[2], 0, zero);
        iterate([&](const Offsets<2>& at) {
          const float value = std::nearbyint(Load<T>(a.inputs[0], at[0]) / scale) + zero;
          Stored<Q>::Write(a.outputs[0], at[1], std::fmax(value, Stored<Q>::kLow));
        });
      });
    });
  });
}

Rescale::Rescale(const schema::OperatorDesc& desc, const char* side) {
  const std::string prefix(side);
  const auto in = desc.Inputs();
  // Slots of inputs are counted as the fields come.
  int slot = 0;
  for (size_t i = 0; i < desc.fields.size(); ++i) {
    const schema::FieldSchema& f = desc.schema->fields[i];
    if (f.kind != schema::FieldKind::Input) continue;
    if (f.name == prefix + "ScaleTensor" && in[slot]) scale_slot_ = slot;
    if (f.name == prefix + "ZeroPointTensor" && in[slot]) {
      zero_slot_ = slot;
      zero_type_ = in[slot]->data_type;
    }
    ++slot;
  }
  if (scale_slot_ >= 0) half_scale_ = in[scale_slot_]->data_type == DML_TENSOR_DATA_TYPE_FLOAT16;
}

float Rescale::Scale(const KernelArguments& a, uint64_t offset) const {
  return scale_slot_ < 0 ? 1.0f : LoadFloat(a.inputs[scale_slot_], offset, half_scale_);
}

int64_t Rescale::Zero(const KernelArguments& a, uint64_t offset) const {
  if (zero_slot_ < 0 || !a.inputs[zero_slot_]) return 0;
  return LoadInteger(zero_type_, a.inputs[zero_slot_], offset);
}

int64_t LoadInteger(DML_TENSOR_DATA_TYPE type, const uint8_t* base, uint64_t index) {
  switch (type) {
    case DML_TENSOR_DATA_TYPE_UINT8: return Load<uint8_t>(base, index);
    case DML_TENSOR_DATA_TYPE_INT8: return Load<int8_t>(base, index);
    case DML_TENSOR_DATA_TYPE_UINT16: return Load<uint16_t>(base, index);
    case DML_TENSOR_DATA_TYPE_INT16: return Load<int16_t>(base, index);
    case DML_TENSOR_DATA_TYPE_UINT32: return Load<uint32_t>(base, index);
    default: return Load<int32_t>(base, index);
  }
}

void StoreQuantized(DML_TENSOR_DATA_TYPE type, uint8_t* base, uint64_t index, float value) {
  if (type == DML_TENSOR_DATA_TYPE_UINT8) Store<uint8_t>(base, index, Saturate<uint8_t>(value));
  else Store<int8_t>(base, index, Saturate<int8_t>(value));
}

KernelPointer MakeQuantizedAdd(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &a = desc.Tensor("ATensor").value(), &b = desc.Tensor("BTensor").value(), &out = *desc.Outputs()[0];
  const Rescale left(desc, "A"), right(desc, "B"), result(desc, "Output");
  BoxIterator<3> iterate(out, {&a, &b, &out});
  const int b_slot = 3;  // A, its scale and zero point come first
  return KernelFrom([=, a_type = a.data_type, b_type = b.data_type, type = out.data_type](const KernelArguments& args) {
    const float a_scale = left.Scale(args, 0), b_scale = right.Scale(args, 0), scale = result.Scale(args, 0);
    const int64_t a_zero = left.Zero(args, 0), b_zero = right.Zero(args, 0);
    const auto zero = static_cast<float>(result.Zero(args, 0));
    iterate([&](const Offsets<3>& at) {
      const auto x = static_cast<float>(LoadInteger(a_type, args.inputs[0], at[0]) - a_zero) * a_scale;
      const auto y = static_cast<float>(LoadInteger(b_type, args.inputs[b_slot], at[1]) - b_zero) * b_scale;
      StoreQuantized(type, args.outputs[0], at[2], std::nearbyint((x + y) / scale) + zero);
    });
  });
}

}  // namespace dxtensor::software
