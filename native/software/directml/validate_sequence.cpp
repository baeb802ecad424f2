// Recurrent networks and attention.
#include "validate_rules.h"

namespace dxtensor::software {

using namespace schema;

namespace {

struct Gates {
  uint32_t weights;      // gates in the weight's rows
  uint32_t activations;  // for one direction
};

Gates GatesOf(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_LSTM: return {4, 3};
    case DML_OPERATOR_GRU: return {3, 2};
    default: return {1, 1};
  }
}

void RequireSizes(const TensorDesc* t, std::array<uint64_t, 4> sizes, const char* why) {
  if (!t) return;
  Require(t->rank == 4, why);
  for (uint32_t i = 0; i < 4; ++i) Require(t->sizes[i] == sizes[i], why);
}

void Recurrent(const OperatorDesc& desc, uint32_t) {
  const Gates gates = GatesOf(desc.type());
  const TensorDesc &input = TensorOf(desc, "InputTensor"), &recurrence = TensorOf(desc, "RecurrenceTensor");
  const uint64_t directions = desc.UInt("Direction") == DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL ? 2 : 1;
  const uint64_t steps = input.sizes[1], batch = input.sizes[2], width = input.sizes[3], hidden = recurrence.sizes[3];
  for (const TensorDesc* t : desc.Inputs())
    if (t) Require(t->flags == 0, "OWNED_BY_DML is not allowed here");
  Require(input.sizes[0] == 1, "the input is not {1, steps, batch, width}");
  RequireSizes(&TensorOf(desc, "WeightTensor"), {1, directions, gates.weights * hidden, width}, "the weight's sizes do not fit");
  RequireSizes(&recurrence, {1, directions, gates.weights * hidden, hidden}, "the recurrence's sizes do not fit");
  RequireSizes(OptionalTensor(desc, "BiasTensor"), {1, 1, directions, 2 * gates.weights * hidden}, "the bias's sizes do not fit");
  RequireSizes(OptionalTensor(desc, "HiddenInitTensor"), {1, directions, batch, hidden}, "the initial state's sizes do not fit");
  RequireSizes(OptionalTensor(desc, "SequenceLengthsTensor"), {1, 1, 1, batch}, "the sequence lengths' sizes do not fit");
  RequireSizes(OptionalTensor(desc, "OutputSequenceTensor"), {steps, directions, batch, hidden}, "the output's sizes do not fit");
  RequireSizes(OptionalTensor(desc, "OutputSingleTensor"), {1, directions, batch, hidden}, "the last output's sizes do not fit");
  if (desc.type() == DML_OPERATOR_LSTM) {
    RequireSizes(OptionalTensor(desc, "CellMemInitTensor"), {1, directions, batch, hidden}, "the initial cell's sizes do not fit");
    RequireSizes(OptionalTensor(desc, "OutputCellSingleTensor"), {1, directions, batch, hidden}, "the last cell's sizes do not fit");
    RequireSizes(OptionalTensor(desc, "PeepholeTensor"), {1, 1, directions, 3 * hidden}, "the peephole's sizes do not fit");
  }
  Require(desc.Get<std::vector<OperatorDesc>>("ActivationDescs").size() == gates.activations * directions,
          "the number of activations does not fit");
  bool any = false;
  for (const TensorDesc* t : desc.Outputs()) any = any || t;
  Require(any, "there is no output");
}

// Sizes of an attention.
struct Heads {
  uint64_t batch, queries, keys, key_width, value_width;  // widths over all heads of the query
};

void RequireStacked(const TensorDesc& t, uint64_t heads, uint64_t parts) {
  Require(t.rank == 5 && t.sizes[2] == heads && t.sizes[3] == parts, "a stacked tensor is not {batch, length, heads, parts, width}");
}

// The last sizes are these, those before are 1.
void RequireTail(const TensorDesc* t, std::initializer_list<uint64_t> sizes, const char* why) {
  if (!t) return;
  Require(t->rank >= sizes.size(), why);
  uint32_t at = t->rank - static_cast<uint32_t>(sizes.size());
  for (uint32_t i = 0; i < at; ++i) Require(t->sizes[i] == 1, why);
  for (uint64_t size : sizes) Require(t->sizes[at++] == size, why);
}

// Several heads of the query may share one of key and value.
Heads ReadHeads(const OperatorDesc& desc, uint64_t heads, uint64_t key_heads) {
  const TensorDesc *query = OptionalTensor(desc, "QueryTensor"), *key = OptionalTensor(desc, "KeyTensor");
  const TensorDesc *value = OptionalTensor(desc, "ValueTensor"), *query_key = OptionalTensor(desc, "StackedQueryKeyTensor");
  const TensorDesc* key_value = OptionalTensor(desc, "StackedKeyValueTensor");
  const TensorDesc* all = OptionalTensor(desc, "StackedQueryKeyValueTensor");
  const TensorDesc& output = TensorOf(desc, "OutputTensor");
  for (const TensorDesc* t : {query, key, value})
    if (t) Require(t->rank == output.rank, "the dimension counts differ");
  Require(output.rank >= 3, "the output has fewer than 3 dimensions");
  auto size = [](const TensorDesc& t, uint32_t from_end) -> uint64_t { return t.sizes[t.rank - from_end]; };
  if (all || query_key) Require(heads == key_heads, "stacked queries have another number of heads");
  if (all) {
    Require(!query && !key && !value && !query_key && !key_value, "query, key and value are given twice");
    RequireStacked(*all, heads, 3);
    const uint64_t width = heads * all->sizes[4];
    return {all->sizes[0], all->sizes[1], all->sizes[1], width, width};
  }
  if (key_value) {
    Require(query && !key && !value && !query_key, "query, key and value are not given once");
    RequireStacked(*key_value, key_heads, 2);
    const uint64_t width = heads * key_value->sizes[4];
    RequireTail(query, {key_value->sizes[0], size(*query, 2), width}, "the query's sizes do not fit");
    return {key_value->sizes[0], size(*query, 2), key_value->sizes[1], width, width};
  }
  if (query_key) {
    Require(!query && !key && value, "query, key and value are not given once");
    RequireStacked(*query_key, heads, 2);
    const uint64_t length = query_key->sizes[1];
    RequireTail(value, {query_key->sizes[0], length, size(*value, 1)}, "the value's sizes do not fit");
    return {query_key->sizes[0], length, length, heads * query_key->sizes[4], size(*value, 1)};
  }
  Require(query && key && value, "query, key and value are not given once");
  RequireTail(query, {size(*query, 3), size(*query, 2), size(*query, 1)}, "the query's sizes do not fit");
  RequireTail(key, {size(*query, 3), size(*key, 2), size(*query, 1) / heads * key_heads}, "the key's sizes do not fit");
  RequireTail(value, {size(*query, 3), size(*key, 2), size(*value, 1)}, "the value's sizes do not fit");
  Require(size(*value, 1) % key_heads == 0, "the head count does not divide the widths");
  return {size(*query, 3), size(*query, 2), size(*key, 2), size(*query, 1), size(*value, 1) / key_heads * heads};
}

void RequireMask(const TensorDesc* mask, uint32_t type, const Heads& h, uint64_t heads, uint64_t total) {
  if (!mask) return;
  const char* why = "the mask's sizes do not fit its type";
  switch (type) {
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH: RequireTail(mask, {1, h.batch}, why); break;
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START: RequireTail(mask, {2, h.batch}, why); break;
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END: RequireTail(mask, {3 * h.batch + 2}, why); break;
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN: RequireTail(mask, {h.batch, heads, h.queries, total}, why); break;
    default: Require(false, "there is a mask of type NONE");
  }
}

void Attention(const OperatorDesc& desc, uint32_t) {
  const uint64_t heads = desc.Has("HeadCount") ? desc.UInt("HeadCount") : desc.UInt("QueryHeadCount");
  const uint64_t key_heads = desc.Has("HeadCount") ? heads : desc.UInt("KeyValueHeadCount");
  Require(heads > 0 && key_heads > 0 && heads % key_heads == 0, "the head counts do not fit");
  const Heads h = ReadHeads(desc, heads, key_heads);
  Require(h.key_width % heads == 0 && h.value_width % heads == 0, "the head count does not divide the widths");
  const uint64_t key_size = h.key_width / heads, value_size = h.value_width / heads;
  const TensorDesc *past_key = OptionalTensor(desc, "PastKeyTensor"), *past_value = OptionalTensor(desc, "PastValueTensor");
  // Its meaning is written nowhere; schema::UncheckedFault refuses it before DirectML is asked.
  if (desc.Has("PastSequenceLengthsTensor"))
    Require(!OptionalTensor(desc, "PastSequenceLengthsTensor"), "lengths of what is past are not supported");
  Require((past_key != nullptr) == (past_value != nullptr), "one of past key and past value is null");
  const uint64_t past = past_key && past_key->rank >= 2 ? past_key->sizes[past_key->rank - 2] : 0, total = past + h.keys;
  RequireTail(past_key, {h.batch, key_heads, past, key_size}, "the past key's sizes do not fit");
  RequireTail(past_value, {h.batch, key_heads, past, value_size}, "the past value's sizes do not fit");
  RequireTail(OptionalTensor(desc, "OutputPresentKeyTensor"), {h.batch, key_heads, total, key_size}, "the present key's sizes do not fit");
  RequireTail(OptionalTensor(desc, "OutputPresentValueTensor"), {h.batch, key_heads, total, value_size},
              "the present value's sizes do not fit");
  RequireTail(OptionalTensor(desc, "BiasTensor"), {h.key_width + (key_size + value_size) * key_heads}, "the bias's sizes do not fit");
  RequireTail(OptionalTensor(desc, "RelativePositionBiasTensor"), {h.batch, heads, h.queries, total},
              "the position bias's sizes do not fit");
  RequireTail(&TensorOf(desc, "OutputTensor"), {h.batch, h.queries, h.value_width}, "the output's sizes do not fit");
  RequireMask(OptionalTensor(desc, "MaskTensor"), desc.UInt("MaskType"), h, heads, total);
}

}  // namespace

ShapeRule FindSequenceRule(DML_OPERATOR_TYPE type) {
  switch (type) {
    case DML_OPERATOR_RNN:
    case DML_OPERATOR_LSTM:
    case DML_OPERATOR_GRU: return Recurrent;
    case DML_OPERATOR_MULTIHEAD_ATTENTION:
    case DML_OPERATOR_MULTIHEAD_ATTENTION1: return Attention;
    default: return nullptr;
  }
}

}  // namespace dxtensor::software
