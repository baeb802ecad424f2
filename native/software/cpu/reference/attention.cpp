// MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1: softmax(scale * Q K^T + position bias + mask) V for each head.
//
// Packs keys and values as float32 first, the past ones in front; the queries are taken in blocks of rows, so that the scores of
// one block exist at a time. Half is rounded when the output is stored.
#include <algorithm>
#include <cmath>
#include <vector>

#include "composed.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kBlock = 128;  // queries at a time

// Query, key or value in a tensor of its own or stacked with others: strides by batch, position, head and element.
struct Part {
  int slot = -1;
  uint64_t start = 0, batch = 0, position = 0, head = 0, element = 0;
  uint64_t size = 0, length = 0;  // of a head; positions

  uint64_t At(uint64_t b, uint64_t i, uint64_t h) const { return start + b * batch + i * position + h * head; }
};

Part Alone(int slot, const schema::TensorDesc& t, uint64_t heads) {
  const Dimensions s = BroadcastStrides(t);
  const uint64_t size = t.sizes[t.rank - 1] / heads;
  return {slot, 0, s[t.rank - 3], s[t.rank - 2], size * s[t.rank - 1], s[t.rank - 1], size, t.sizes[t.rank - 2]};
}

Part Stacked(int slot, const schema::TensorDesc& t, uint64_t part) {
  const Dimensions s = BroadcastStrides(t);
  return {slot, part * s[3], s[0], s[1], s[2], s[4], t.sizes[4], t.sizes[1]};
}

// The last dimensions of a tensor of any rank: at(i, j, k, l) with as many as it has.
struct Tail {
  std::array<uint64_t, 4> strides{};

  Tail() = default;
  explicit Tail(const schema::TensorDesc& t) {
    const Dimensions s = BroadcastStrides(t);
    for (uint32_t d = 0; d < 4 && d < t.rank; ++d) strides[3 - d] = s[t.rank - 1 - d];
  }
  uint64_t At(uint64_t i, uint64_t j, uint64_t k, uint64_t l) const {
    return i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3];
  }
};

struct Attention {
  Part query, key, value;
  uint64_t batch = 1, heads = 1, key_heads = 1, past = 0, total = 0;
  uint32_t mask_type = DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE;
  float scale = 1, filter = 0;
  bool replaces_bias = false;
  int bias = -1, mask = -1, position = -1, past_key = -1, past_value = -1;  // slots
  Tail bias_at, mask_at, position_at, past_key_at, past_value_at, output_at, present_key_at, present_value_at;
  bool has_present_key = false, has_present_value = false;
  std::shared_ptr<const FloatGemm> scores[2], outputs[2];  // of a whole block and of the last one

  uint64_t Blocks() const { return (query.length + kBlock - 1) / kBlock; }
  uint64_t RowsOf(uint64_t block) const { return std::min(kBlock, query.length - block * kBlock); }
};

struct Scratch {
  float *keys, *values;              // {batch, key heads, total, size}, {batch, key heads, size, total}
  std::vector<float*> rows, scores;  // for each slot: a block of queries, later of outputs; its scores
  std::vector<uint8_t*> gemm;
  size_t bytes = 0;

  Scratch(const Attention& at, uint64_t slots, uint8_t* base) {
    auto take = [&](uint64_t count) {
      uint8_t* p = base + bytes;
      bytes += (count + 63) / 64 * 64;
      return p;
    };
    auto floats = [&](uint64_t count) { return reinterpret_cast<float*>(take(count * sizeof(float))); };
    keys = floats(at.batch * at.key_heads * at.total * at.key.size);
    values = floats(at.batch * at.key_heads * at.total * at.value.size);
    const uint64_t block = std::min(kBlock, at.query.length);
    size_t scratch = 0;
    for (auto& p : {at.scores[0], at.scores[1], at.outputs[0], at.outputs[1]})
      if (p) scratch = std::max(scratch, p->ScratchBytes());
    for (uint64_t i = 0; i < slots; ++i) {
      rows.push_back(floats(block * std::max(at.query.size, at.value.size)));
      scores.push_back(floats(block * at.total));
      gemm.push_back(take(scratch));
    }
  }
};

template <typename T>
class Run {
 public:
  Run(const Attention& at, const MatrixKernels& kernels, const KernelArguments& a)
      : at_(at), kernels_(kernels), a_(a), s_(at, kernels.slots(), a.scratch) {}

  void operator()() {
    kernels_.for_each(at_.batch * at_.key_heads, [&](uint64_t i, uint64_t) {
      Keys(i / at_.key_heads, i % at_.key_heads);
      Values(i / at_.key_heads, i % at_.key_heads);
    });
    const uint64_t blocks = at_.Blocks();
    kernels_.for_each(at_.batch * at_.heads * blocks,
                      [&](uint64_t i, uint64_t slot) { Block(i / blocks / at_.heads, i / blocks % at_.heads, i % blocks, slot); });
  }

 private:
  // The bias of a part of width heads * size that begins at `first`.
  float Bias(uint64_t first, uint64_t head, uint64_t size, uint64_t i) const {
    return at_.bias < 0 ? 0.0f : Load<T>(a_.inputs[at_.bias], at_.bias_at.At(0, 0, 0, first + head * size + i));
  }
  uint64_t KeyBias() const { return at_.heads * at_.query.size; }
  uint64_t ValueBias() const { return KeyBias() + at_.key_heads * at_.key.size; }

  // store(position, element, value) for what is past and then for what is new of one head.
  template <typename F>
  void Past(const Part& part, int past_slot, const Tail& past, uint64_t first_bias, uint64_t b, uint64_t h, F&& store) const {
    for (uint64_t i = 0; i < at_.past; ++i)
      for (uint64_t e = 0; e < part.size; ++e) store(i, e, Load<T>(a_.inputs[past_slot], past.At(b, h, i, e)));
    for (uint64_t i = 0; i < part.length; ++i)
      for (uint64_t e = 0; e < part.size; ++e)
        store(at_.past + i, e, Load<T>(a_.inputs[part.slot], part.At(b, i, h) + e * part.element) + Bias(first_bias, h, part.size, e));
  }

  void Keys(uint64_t b, uint64_t h) const {
    float* to = s_.keys + (b * at_.key_heads + h) * at_.total * at_.key.size;
    Past(at_.key, at_.past_key, at_.past_key_at, KeyBias(), b, h, [&](uint64_t i, uint64_t e, float value) {
      to[i * at_.key.size + e] = value;
      if (at_.has_present_key) Store<T>(a_.outputs[1], at_.present_key_at.At(b, h, i, e), value);
    });
  }
  void Values(uint64_t b, uint64_t h) const {
    float* to = s_.values + (b * at_.key_heads + h) * at_.total * at_.value.size;
    Past(at_.value, at_.past_value, at_.past_value_at, ValueBias(), b, h, [&](uint64_t i, uint64_t e, float value) {
      to[e * at_.total + i] = value;
      if (at_.has_present_value) Store<T>(a_.outputs[2], at_.present_value_at.At(b, h, i, e), value);
    });
  }

  int32_t Mask(uint64_t i, uint64_t j, uint64_t k, uint64_t l) const {
    return Load<int32_t>(a_.inputs[at_.mask], at_.mask_at.At(i, j, k, l));
  }
  int32_t Mask(uint64_t i) const { return Mask(0, 0, 0, i); }

  // How much of the filter is added to a score: BOOLEAN's elements are read as numbers.
  float Masked(uint64_t b, uint64_t h, uint64_t row, uint64_t column) const {
    const auto i = static_cast<int64_t>(row), j = static_cast<int64_t>(column);
    switch (at_.mask_type) {
      case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH: return j >= Mask(b) ? 1.0f : 0.0f;
      case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START: return j >= Mask(0, 0, 0, b) || j < Mask(0, 0, 1, b) ? 1.0f : 0.0f;
      case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END: {
        // Starts count over all batches one after the other.
        const uint64_t n = at_.batch;
        const auto query = static_cast<int64_t>(b * at_.query.length) + i, key = static_cast<int64_t>(b * at_.total) + j;
        const int64_t first = Mask(2 * n + 1 + b);
        const bool valid = query >= Mask(n + b) && query < Mask(n + b + 1) && key >= first && key < first + Mask(b);
        return valid ? 0.0f : 1.0f;
      }
      case DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN: return 1.0f - static_cast<float>(Mask(b, h, row, column));
      default: return 0.0f;
    }
  }

  void Softmax(float* slice, uint64_t b, uint64_t h, uint64_t row) const {
    float largest = -std::numeric_limits<float>::infinity();
    for (uint64_t j = 0; j < at_.total; ++j) {
      float added = at_.position >= 0 ? Load<T>(a_.inputs[at_.position], at_.position_at.At(b, h, row, j)) : 0.0f;
      if (at_.mask >= 0) {
        const float masked = Masked(b, h, row, j);
        if (at_.mask_type == DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN) added *= at_.scale;  // the position bias too
        // Masks by lengths, ends and starts replace the position bias by the filter value, as Microsoft's library does.
        if (masked == 1 && at_.replaces_bias) added = 0;
        added += masked * at_.filter;
      }
      slice[j] = slice[j] * at_.scale + added;
      largest = std::max(largest, slice[j]);
    }
    double sum = 0;
    for (uint64_t j = 0; j < at_.total; ++j) {
      slice[j] = std::exp(slice[j] - largest);
      sum += slice[j];
    }
    const auto rate = static_cast<float>(1 / sum);
    for (uint64_t j = 0; j < at_.total; ++j) slice[j] *= rate;
  }

  void Block(uint64_t b, uint64_t h, uint64_t block, uint64_t slot) const {
    const uint64_t rows = at_.RowsOf(block), first = block * kBlock, group = h * at_.key_heads / at_.heads, size = at_.query.size;
    const uint64_t pair = b * at_.key_heads + group;
    const int which = rows == std::min(kBlock, at_.query.length) ? 0 : 1;
    float *queries = s_.rows[slot], *scores = s_.scores[slot];
    for (uint64_t i = 0; i < rows; ++i)
      for (uint64_t e = 0; e < size; ++e)
        queries[i * size + e] =
            Load<T>(a_.inputs[at_.query.slot], at_.query.At(b, first + i, h) + e * at_.query.element) + Bias(0, h, size, e);
    at_.scores[which]->Run(queries, s_.keys + pair * at_.total * size, nullptr, scores, s_.gemm[slot]);
    for (uint64_t i = 0; i < rows; ++i) Softmax(scores + i * at_.total, b, h, first + i);
    const uint64_t width = at_.value.size;
    at_.outputs[which]->Run(scores, s_.values + pair * at_.total * width, nullptr, queries, s_.gemm[slot]);
    for (uint64_t i = 0; i < rows; ++i)
      for (uint64_t e = 0; e < width; ++e)
        Store<T>(a_.outputs[0], at_.output_at.At(0, b, first + i, h * width + e), queries[i * width + e]);
  }

  const Attention& at_;
  const MatrixKernels& kernels_;
  const KernelArguments& a_;
  Scratch s_;
};

}  // namespace

KernelPointer MakeAttentionWith(const schema::OperatorDesc& desc, const MatrixKernels& kernels) {
  const auto in = desc.Inputs(), out = desc.Outputs();
  enum { kQuery, kKey, kValue, kQueryKey, kKeyValue, kAll, kBias, kMask, kPosition, kPastKey, kPastValue };
  Attention at;
  at.heads = desc.Has("HeadCount") ? desc.UInt("HeadCount") : desc.UInt("QueryHeadCount");
  at.key_heads = desc.Has("HeadCount") ? at.heads : desc.UInt("KeyValueHeadCount");
  if (in[kAll]) {
    at.query = Stacked(kAll, *in[kAll], 0);
    at.key = Stacked(kAll, *in[kAll], 1);
    at.value = Stacked(kAll, *in[kAll], 2);
  } else if (in[kKeyValue]) {
    at.query = Alone(kQuery, *in[kQuery], at.heads);
    at.key = Stacked(kKeyValue, *in[kKeyValue], 0);
    at.value = Stacked(kKeyValue, *in[kKeyValue], 1);
  } else if (in[kQueryKey]) {
    at.query = Stacked(kQueryKey, *in[kQueryKey], 0);
    at.key = Stacked(kQueryKey, *in[kQueryKey], 1);
    at.value = Alone(kValue, *in[kValue], at.key_heads);
  } else {
    at.query = Alone(kQuery, *in[kQuery], at.heads);
    at.key = Alone(kKey, *in[kKey], at.key_heads);
    at.value = Alone(kValue, *in[kValue], at.key_heads);
  }
  auto tail = [](const schema::TensorDesc* t) { return t ? Tail(*t) : Tail(); };
  auto slot = [&](int i) { return in[i] ? i : -1; };
  at.batch = out[0]->sizes[out[0]->rank - 3];
  at.past = in[kPastKey] ? in[kPastKey]->sizes[in[kPastKey]->rank - 2] : 0;
  at.total = at.past + at.key.length;
  at.bias = slot(kBias);
  at.mask = slot(kMask);
  at.position = slot(kPosition);
  at.past_key = slot(kPastKey);
  at.past_value = slot(kPastValue);
  at.bias_at = tail(in[kBias]);
  at.mask_at = tail(in[kMask]);
  at.position_at = tail(in[kPosition]);
  at.past_key_at = tail(in[kPastKey]);
  at.past_value_at = tail(in[kPastValue]);
  at.output_at = tail(out[0]);
  at.present_key_at = tail(out[1]);
  at.present_value_at = tail(out[2]);
  at.has_present_key = out[1] != nullptr;
  at.has_present_value = out[2] != nullptr;
  at.mask_type = desc.UInt("MaskType");
  at.replaces_bias = at.mask_type == DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH ||
                     at.mask_type == DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START;
  at.scale = desc.Float("Scale");
  at.filter = desc.Float("MaskFilterValue");
  const uint64_t whole = std::min(kBlock, at.query.length), last = at.RowsOf(at.Blocks() - 1);
  at.scores[0] = kernels.gemm(whole, at.total, at.query.size, false);
  at.outputs[0] = kernels.gemm(whole, at.value.size, at.total, false);
  if (last != whole) {
    at.scores[1] = kernels.gemm(last, at.total, at.query.size, false);
    at.outputs[1] = kernels.gemm(last, at.value.size, at.total, false);
  }
  return ByFloat(out[0]->data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const size_t bytes = Scratch(at, kernels.slots(), nullptr).bytes;
    return KernelFrom([at, &kernels](const KernelArguments& a) { Run<T>(at, kernels, a)(); }, bytes);
  });
}

KernelPointer MakeAttention(const schema::OperatorDesc& desc) { return MakeAttentionWith(desc, kPlainMatrixKernels); }

}  // namespace dxtensor::software
