// RNN, LSTM and GRU. All inputs become packed float32 first, where they are not; the input's part of every gate is one GEMM for the
// whole sequence, the state's part one for each time step. Half is rounded when an output is stored, the state stays float32.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "activation.h"
#include "composed.h"
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

// Speed (suite, 1 thread, AVX-512): kWorthThreads: within 5 % from 1/4 to 4 times.
constexpr uint64_t kWorthThreads = 8192;  // values of gates in a step

// Slots by operator; -1 for what an operator does not have.
struct Slots {
  int input = 0, weight = 1, recurrence = 2, bias = 3, hidden = 4, cell = -1, lengths = 5, peephole = -1;
  int sequence = 0, single = 1, cell_single = -1;
};

struct Recurrent {
  DML_OPERATOR_TYPE type{};
  Slots slots;
  uint64_t steps = 0, batch = 0, width = 0, hidden = 0, directions = 1, gates = 1;
  bool starts_backward = false;
  std::vector<ActivationFunction> activations;  // for each direction
  float clip = std::numeric_limits<float>::infinity();
  bool couples = false, linear_before_reset = false;
  std::vector<schema::TensorDesc> inputs, outputs;                        // rank 0 for an absent one
  std::shared_ptr<const FloatGemm> over_sequence, over_step, over_reset;  // the last one: GRU's reset state

  void (*for_each)(uint64_t pieces, const std::function<void(uint64_t piece, uint64_t slot)>& work) = nullptr;
  void (*activate)(const ActivationFunction& f, float* x, uint64_t n) = nullptr;

  uint64_t Rows() const { return gates * hidden; }
  bool Has(int slot) const { return slot >= 0 && inputs[slot].rank; }
  bool ReadsInPlace(int slot) const {
    return Has(slot) && inputs[slot].data_type == DML_TENSOR_DATA_TYPE_FLOAT32 && inputs[slot].IsPacked();
  }
};

// Addresses in the scratch memory, which is laid out by the same steps that count its bytes; of inputs, where these need to be gathered.
struct Scratch {
  float *input, *weight, *recurrence, *bias, *hidden_init, *cell_init, *peephole;
  float *from_input, *from_state, *hidden, *cell, *reset, *from_reset;
  uint8_t *prepacked_step, *prepacked_reset, *gemm;
  size_t bytes = 0;

  Scratch(const Recurrent& r, uint8_t* base) {
    auto take_bytes = [&](uint64_t count) {
      uint8_t* at = base + bytes;
      bytes += (count + 63) / 64 * 64;
      return at;
    };
    auto take = [&](uint64_t floats) { return reinterpret_cast<float*>(take_bytes(floats * sizeof(float))); };
    auto prepack = [&](const std::shared_ptr<const FloatGemm>& p) { return take_bytes(p ? p->PrepackedBytes() : 0); };
    auto gather = [&](int slot, uint64_t floats) { return take(r.ReadsInPlace(slot) ? 0 : floats); };
    const uint64_t d = r.directions, state = r.batch * r.hidden;
    input = gather(r.slots.input, r.steps * r.batch * r.width);
    weight = gather(r.slots.weight, d * r.Rows() * r.width);
    recurrence = gather(r.slots.recurrence, d * r.Rows() * r.hidden);
    bias = take(d * 2 * r.Rows());
    hidden_init = take(d * state);
    cell_init = take(d * state);
    peephole = take(d * 3 * r.hidden);
    from_input = take(r.steps * r.batch * r.Rows());
    from_state = take(r.batch * r.Rows());
    hidden = take(state);
    cell = take(state);
    reset = take(state);
    from_reset = take(state);
    prepacked_step = prepack(r.over_step);
    prepacked_reset = prepack(r.over_reset);
    gemm = base + bytes;
    for (auto* p : {r.over_sequence.get(), r.over_step.get(), r.over_reset.get()})
      if (p) scratch_bytes_ = std::max(scratch_bytes_, p->ScratchBytes());
    bytes += scratch_bytes_;
  }

 private:
  size_t scratch_bytes_ = 0;
};

// All inputs as packed float32.
struct Inputs {
  const float *input, *weight, *recurrence, *bias, *hidden_init, *cell_init, *peephole;
};

// An input's elements as packed float32, in place or in `buffer`; zeros for an absent one.
template <typename T>
const float* Gather(const Recurrent& r, const KernelArguments& a, int slot, float* buffer, uint64_t count) {
  if (!r.Has(slot) || !a.inputs[slot]) {
    std::fill(buffer, buffer + count, 0.0f);
    return buffer;
  }
  if (r.ReadsInPlace(slot)) return reinterpret_cast<const float*>(a.inputs[slot]);
  const schema::TensorDesc& tensor = r.inputs[slot];
  float* to = buffer;
  BoxIterator<1> iterate(tensor.rank, SizesOf(tensor), {BroadcastStrides(tensor)});
  iterate([&](const Offsets<1>& at) { *to++ = Load<T>(a.inputs[slot], at[0]); });
  return buffer;
}

// One direction of one call.
template <typename T>
class Pass {
 public:
  Pass(const Recurrent& r, const Inputs& in, const Scratch& s, const KernelArguments& a, uint64_t direction)
      : r_(r), in_(in), s_(s), a_(a), direction_(direction), backward_(direction == 1 || r.starts_backward) {
    const uint64_t each = r.activations.size() / r.directions;
    f_ = &r.activations[direction * each];
    bias_ = in.bias + direction * 2 * r.Rows();
    peephole_ = in.peephole + direction * 3 * r.hidden;
  }

  void Run() {
    const uint64_t rows = r_.Rows(), state = r_.batch * r_.hidden;
    r_.over_sequence->Run(in_.input, in_.weight + direction_ * rows * r_.width, nullptr, s_.from_input, s_.gemm);
    std::copy_n(in_.hidden_init + direction_ * state, state, s_.hidden);
    std::copy_n(in_.cell_init + direction_ * state, state, s_.cell);
    const float* recurrence = in_.recurrence + direction_ * rows * r_.hidden;
    r_.over_step->Prepack(recurrence, s_.prepacked_step);
    if (r_.over_reset) r_.over_reset->Prepack(OfReset(recurrence), s_.prepacked_reset);
    for (uint64_t t = 0; t < r_.steps; ++t) {
      CheckAbandoned();
      r_.over_step->Run(s_.hidden, recurrence, s_.prepacked_step, s_.from_state, s_.gemm);
      if (r_.over_reset) Reset(t, recurrence);
      ForBatch([&](uint64_t b) { Step(t, b); });
    }
    for (uint64_t b = 0; b < r_.batch; ++b) {
      StoreRow(r_.slots.single, 0, b, s_.hidden + b * r_.hidden);
      StoreRow(r_.slots.cell_single, 0, b, s_.cell + b * r_.hidden);
    }
  }

 private:
  const float* OfReset(const float* recurrence) const { return recurrence + 2 * r_.hidden * r_.hidden; }
  // A few items of a small network are not worth the threads.
  template <typename F>
  void ForBatch(F&& visit) const {
    if (r_.batch * r_.Rows() >= kWorthThreads) return r_.for_each(r_.batch, [&](uint64_t b, uint64_t) { visit(b); });
    for (uint64_t b = 0; b < r_.batch; ++b) visit(b);
  }
  uint64_t Length(uint64_t b) const {
    const int slot = r_.slots.lengths;
    const schema::TensorDesc& t = r_.inputs[slot];
    if (!t.rank || !a_.inputs[slot]) return r_.steps;
    return std::min<uint64_t>(Load<uint32_t>(a_.inputs[slot], b * BroadcastStrides(t)[3]), r_.steps);
  }
  uint64_t TimeOf(uint64_t t, uint64_t length) const { return backward_ ? length - 1 - t : t; }
  // The gates' rows of an item: the input's part, and the state's part, which the gates then overwrite.
  float* FromInput(uint64_t time, uint64_t b) const { return s_.from_input + (time * r_.batch + b) * r_.Rows(); }
  float* FromState(uint64_t b) const { return s_.from_state + b * r_.Rows(); }
  // to = to + x + both biases, over `count` gates from `first` on
  void Sum(float* to, const float* x, uint64_t first, uint64_t count) const {
    const float *wb = bias_, *rb = bias_ + r_.Rows();
    for (uint64_t j = first * r_.hidden; j < (first + count) * r_.hidden; ++j) to[j] = x[j] + to[j] + (wb[j] + rb[j]);
  }
  void Activate(uint64_t function, float* x) const {
    if (r_.clip < std::numeric_limits<float>::infinity())
      for (uint64_t j = 0; j < r_.hidden; ++j) x[j] = std::max(std::min(x[j], r_.clip), -r_.clip);
    r_.activate(f_[function], x, r_.hidden);
  }

  // GRU whose reset gate comes before the GEMM: r * H for every item, and its GEMM with the last gate's recurrence.
  void Reset(uint64_t t, const float* recurrence) {
    const uint64_t h = r_.hidden;
    ForBatch([&](uint64_t b) {
      const uint64_t length = Length(b);
      float *to = s_.reset + b * h, *gates = FromState(b);
      if (t >= length) return std::fill_n(to, h, 0.0f), void();
      Sum(gates, FromInput(TimeOf(t, length), b), 1, 1);
      Activate(0, gates + h);
      for (uint64_t j = 0; j < h; ++j) to[j] = gates[h + j] * s_.hidden[b * h + j];
    });
    r_.over_reset->Run(s_.reset, OfReset(recurrence), s_.prepacked_reset, s_.from_reset, s_.gemm);
  }

  // Past an item's length its state stays and its output is 0.
  void Step(uint64_t t, uint64_t b) {
    const uint64_t length = Length(b);
    float* hidden = s_.hidden + b * r_.hidden;
    if (t >= length) {
      StoreRow(r_.slots.sequence, t, b, nullptr);
      return;
    }
    const uint64_t time = TimeOf(t, length);
    switch (r_.type) {
      case DML_OPERATOR_LSTM: Lstm(time, b, hidden, s_.cell + b * r_.hidden); break;
      case DML_OPERATOR_GRU: Gru(time, b, hidden); break;
      default: Rnn(time, b, hidden);
    }
    StoreRow(r_.slots.sequence, time, b, hidden);
  }

  void Rnn(uint64_t time, uint64_t b, float* hidden) {
    float* gate = FromState(b);
    Sum(gate, FromInput(time, b), 0, 1);
    Activate(0, gate);
    std::copy_n(gate, r_.hidden, hidden);
  }

  // Gates i, o, f, c; peepholes i, o, f.
  void Lstm(uint64_t time, uint64_t b, float* hidden, float* cell) {
    const uint64_t h = r_.hidden;
    float *in = FromState(b), *out = in + h, *forget = out + h, *candidate = forget + h;
    Sum(in, FromInput(time, b), 0, 4);
    if (HasPeepholes()) {
      Peep(in, peephole_, cell);
      Peep(forget, peephole_ + 2 * h, cell);
    }
    Activate(0, in);
    if (!r_.couples) Activate(0, forget);
    Activate(1, candidate);
    for (uint64_t j = 0; j < h; ++j) cell[j] = (r_.couples ? 1 - in[j] : forget[j]) * cell[j] + in[j] * candidate[j];
    if (HasPeepholes()) Peep(out, peephole_ + h, cell);
    Activate(0, out);
    std::copy_n(cell, h, hidden);
    r_.activate(f_[2], hidden, h);
    for (uint64_t j = 0; j < h; ++j) hidden[j] *= out[j];
  }
  bool HasPeepholes() const { return r_.Has(r_.slots.peephole); }
  void Peep(float* gate, const float* peephole, const float* cell) const {
    for (uint64_t j = 0; j < r_.hidden; ++j) gate[j] += peephole[j] * cell[j];
  }

  // Gates z, r, h.
  void Gru(uint64_t time, uint64_t b, float* hidden) {
    const uint64_t h = r_.hidden;
    float *update = FromState(b), *reset = update + h, *candidate = reset + h;
    const float *x = FromInput(time, b), *wb = bias_ + 2 * h, *rb = wb + r_.Rows();
    Sum(update, x, 0, 1);
    Activate(0, update);
    if (r_.linear_before_reset) {
      Sum(update, x, 1, 1);
      Activate(0, reset);
      for (uint64_t j = 0; j < h; ++j) candidate[j] = x[2 * h + j] + wb[j] + reset[j] * (candidate[j] + rb[j]);
    } else {
      for (uint64_t j = 0; j < h; ++j) candidate[j] = x[2 * h + j] + wb[j] + (s_.from_reset[b * h + j] + rb[j]);
    }
    r_.activate(f_[1], candidate, h);
    for (uint64_t j = 0; j < h; ++j) hidden[j] = (1 - update[j]) * candidate[j] + update[j] * hidden[j];
  }

  // A row of hidden values, or zeros, at {time, direction, b}.
  void StoreRow(int slot, uint64_t time, uint64_t b, const float* values) {
    if (slot < 0 || !r_.outputs[slot].rank || !a_.outputs[slot]) return;
    const Dimensions strides = BroadcastStrides(r_.outputs[slot]);
    const uint64_t start = time * strides[0] + direction_ * strides[1] + b * strides[2];
    for (uint64_t j = 0; j < r_.hidden; ++j) Store<T>(a_.outputs[slot], start + j * strides[3], values ? values[j] : 0.0f);
  }

  const Recurrent& r_;
  const Inputs& in_;
  const Scratch& s_;
  const KernelArguments& a_;
  uint64_t direction_;
  bool backward_;
  const ActivationFunction* f_;
  const float *bias_, *peephole_;
};

template <typename T>
void RunRecurrent(const Recurrent& r, const KernelArguments& a) {
  const Scratch s(r, a.scratch);
  const uint64_t d = r.directions, state = r.batch * r.hidden;
  auto gather = [&](int slot, float* buffer, uint64_t count) { return Gather<T>(r, a, slot, buffer, count); };
  const Inputs in = {gather(r.slots.input, s.input, r.steps * r.batch * r.width),
                     gather(r.slots.weight, s.weight, d * r.Rows() * r.width),
                     gather(r.slots.recurrence, s.recurrence, d * r.Rows() * r.hidden),
                     gather(r.slots.bias, s.bias, d * 2 * r.Rows()),
                     gather(r.slots.hidden, s.hidden_init, d * state),
                     gather(r.slots.cell, s.cell_init, d * state),
                     gather(r.slots.peephole, s.peephole, d * 3 * r.hidden)};
  for (uint64_t direction = 0; direction < d; ++direction) Pass<T>(r, in, s, a, direction).Run();
}

}  // namespace

KernelPointer MakeRecurrentWith(const schema::OperatorDesc& desc, const MatrixKernels& kernels) {
  Recurrent r;
  r.type = desc.type();
  if (r.type == DML_OPERATOR_LSTM) {
    r.slots = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2};
    r.gates = 4;
    if (desc.Get<bool>("UseClipThreshold")) r.clip = desc.Float("ClipThreshold");
    r.couples = desc.Get<bool>("CoupleInputForget");
  } else if (r.type == DML_OPERATOR_GRU) {
    r.gates = 3;
    r.linear_before_reset = desc.Get<bool>("LinearBeforeReset");
  }
  for (const schema::TensorDesc* t : desc.Inputs()) r.inputs.push_back(t ? *t : schema::TensorDesc{});
  for (const schema::TensorDesc* t : desc.Outputs()) r.outputs.push_back(t ? *t : schema::TensorDesc{});
  const schema::TensorDesc &input = r.inputs[0], &recurrence = r.inputs[2];
  r.steps = input.sizes[1];
  r.batch = input.sizes[2];
  r.width = input.sizes[3];
  r.hidden = recurrence.sizes[3];
  r.directions = recurrence.sizes[1];
  r.starts_backward = desc.UInt("Direction") == DML_RECURRENT_NETWORK_DIRECTION_BACKWARD;
  for (const schema::OperatorDesc& inner : desc.Get<std::vector<schema::OperatorDesc>>("ActivationDescs")) {
    auto f = FindActivation(inner);
    if (!f) return nullptr;
    r.activations.push_back(*f);
  }
  r.for_each = kernels.for_each;
  r.activate = kernels.activate;
  r.over_sequence = kernels.gemm(r.steps * r.batch, r.Rows(), r.width, false);
  r.over_step = kernels.gemm(r.batch, r.Rows(), r.hidden, r.steps > 1);
  if (r.type == DML_OPERATOR_GRU && !r.linear_before_reset) r.over_reset = kernels.gemm(r.batch, r.hidden, r.hidden, r.steps > 1);
  return ByFloat(input.data_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const size_t bytes = Scratch(r, nullptr).bytes;
    return KernelFrom([r](const KernelArguments& a) { RunRecurrent<T>(r, a); }, bytes);
  });
}

KernelPointer MakeRecurrent(const schema::OperatorDesc& desc) { return MakeRecurrentWith(desc, kPlainMatrixKernels); }

}  // namespace dxtensor::software
