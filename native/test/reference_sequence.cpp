// Recurrent networks and attention, written as their equations.
#include <cmath>

#include "reference.h"

namespace dxtensor::test {

using schema::OperatorDesc;

namespace {

using Row = std::vector<double>;

struct State {
  Row hidden, cell;
};

// What one direction of one batch item does, step by step.
class Recurrence {
 public:
  Recurrence(const Evaluation& e, uint32_t direction, uint32_t item) : e_(e), direction_(direction), item_(item) {
    lstm_ = e.desc.type() == DML_OPERATOR_LSTM;
    gru_ = e.desc.type() == DML_OPERATOR_GRU;
    hidden_ = e.inputs[2].sizes[3];
    const auto& all = e.desc.Get<std::vector<OperatorDesc>>("ActivationDescs");
    const size_t each = all.size() / e.inputs[2].sizes[1];
    for (size_t i = 0; i < each; ++i) functions_.push_back(&all[direction * each + i]);
  }
  State Start() const {
    auto initial = [&](size_t slot) {
      Row row(hidden_, 0);
      if (slot < e_.inputs.size() && e_.inputs[slot].size())
        for (uint32_t j = 0; j < hidden_; ++j) row[j] = e_.inputs[slot].real[Flat({0, direction_, item_, j}, e_.inputs[slot].sizes)];
      return row;
    };
    return {initial(4), lstm_ ? initial(5) : Row(hidden_, 0)};
  }
  uint32_t Length() const {
    const Values& lengths = e_.inputs[lstm_ ? 6 : 5];
    return lengths.size() ? static_cast<uint32_t>(lengths.whole[item_]) : e_.inputs[0].sizes[1];
  }
  State Step(const State& old, uint32_t time) const {
    State next{Row(hidden_), Row(hidden_)};
    for (uint32_t j = 0; j < hidden_; ++j) {
      if (lstm_) {
        const double in = F(0, Gate(0, j, time, old.hidden) + Peephole(0, j) * old.cell[j]);
        const double forget = F(0, Gate(2, j, time, old.hidden) + Peephole(2, j) * old.cell[j]);
        next.cell[j] = forget * old.cell[j] + in * F(1, Gate(3, j, time, old.hidden));
        next.hidden[j] = F(0, Gate(1, j, time, old.hidden) + Peephole(1, j) * next.cell[j]) * F(2, next.cell[j]);
      } else if (gru_) {
        const double update = F(0, Gate(0, j, time, old.hidden));
        double candidate = FromInput(2, j, time) + Bias(2, j);
        if (e_.desc.Get<bool>("LinearBeforeReset")) {
          candidate += F(0, Gate(1, j, time, old.hidden)) * (FromState(2, j, old.hidden) + Bias(5, j));
        } else {
          Row reset(hidden_);
          for (uint32_t k = 0; k < hidden_; ++k) reset[k] = F(0, Gate(1, k, time, old.hidden)) * old.hidden[k];
          candidate += FromState(2, j, reset) + Bias(5, j);
        }
        next.hidden[j] = (1 - update) * F(1, candidate) + update * old.hidden[j];
      } else {
        next.hidden[j] = F(0, Gate(0, j, time, old.hidden));
      }
    }
    return next;
  }

 private:
  double F(size_t i, double x) const { return Activate(*functions_[i], x); }
  uint32_t Gates() const { return lstm_ ? 4 : gru_ ? 3 : 1; }
  double Bias(uint32_t block, uint32_t j) const {
    const Values& bias = e_.inputs[3];
    return bias.size() ? bias.real[Flat({0, 0, direction_, block * hidden_ + j}, bias.sizes)] : 0;
  }
  double Peephole(uint32_t block, uint32_t j) const {
    const Values& peephole = e_.inputs[7];
    return peephole.size() ? peephole.real[Flat({0, 0, direction_, block * hidden_ + j}, peephole.sizes)] : 0;
  }
  double FromInput(uint32_t gate, uint32_t j, uint32_t time) const {
    const Values &x = e_.inputs[0], &w = e_.inputs[1];
    double sum = 0;
    for (uint32_t k = 0; k < x.sizes[3]; ++k)
      sum += x.real[Flat({0, time, item_, k}, x.sizes)] * w.real[Flat({0, direction_, gate * hidden_ + j, k}, w.sizes)];
    return sum;
  }
  double FromState(uint32_t gate, uint32_t j, const Row& state) const {
    const Values& r = e_.inputs[2];
    double sum = 0;
    for (uint32_t k = 0; k < hidden_; ++k) sum += state[k] * r.real[Flat({0, direction_, gate * hidden_ + j, k}, r.sizes)];
    return sum;
  }
  double Gate(uint32_t gate, uint32_t j, uint32_t time, const Row& state) const {
    return FromInput(gate, j, time) + FromState(gate, j, state) + Bias(gate, j) + Bias(Gates() + gate, j);
  }

  const Evaluation& e_;
  uint32_t direction_, item_, hidden_ = 0;
  bool lstm_ = false, gru_ = false;
  std::vector<const OperatorDesc*> functions_;
};

void Recurrent(const Evaluation& e) {
  const Values &x = e.inputs[0], &r = e.inputs[2];
  const bool backward = e.desc.UInt("Direction") == DML_RECURRENT_NETWORK_DIRECTION_BACKWARD;
  auto store = [&](size_t slot, uint32_t time, uint32_t direction, uint32_t item, const Row& row) {
    if (slot >= e.outputs.size() || !e.outputs[slot].size()) return;
    for (uint32_t j = 0; j < row.size(); ++j) e.outputs[slot].Set(Flat({time, direction, item, j}, e.outputs[slot].sizes), row[j]);
  };
  for (uint32_t d = 0; d < r.sizes[1]; ++d)
    for (uint32_t item = 0; item < x.sizes[2]; ++item) {
      const Recurrence one(e, d, item);
      State now = one.Start();
      const uint32_t length = one.Length();
      for (uint32_t i = 0; i < length; ++i) {
        const uint32_t time = backward || d == 1 ? length - 1 - i : i;
        now = one.Step(now, time);
        store(0, time, d, item, now.hidden);
      }
      store(1, 0, d, item, now.hidden);
      store(2, 0, d, item, now.cell);
    }
}

// Query, key and value of their own; a BOOLEAN mask, a position bias and what is past.
void Attention(const Evaluation& e) {
  const Values &q = e.inputs[0], &k = e.inputs[1], &v = e.inputs[2], &bias = e.inputs[6], &mask = e.inputs[7], &position = e.inputs[8];
  const Values &past_key = e.inputs[9], &past_value = e.inputs[10];
  const bool grouped = e.desc.Has("QueryHeadCount");
  const uint32_t heads = e.desc.UInt(grouped ? "QueryHeadCount" : "HeadCount");
  const uint32_t key_heads = grouped ? e.desc.UInt("KeyValueHeadCount") : heads;
  const uint32_t size = q.sizes[2] / heads, value_size = v.sizes[2] / key_heads, past = past_key.size() ? past_key.sizes[2] : 0;
  const uint32_t total = past + k.sizes[1];
  auto bias_at = [&](uint32_t i) { return bias.size() ? bias.real[i] : 0.0; };
  auto key = [&](uint32_t b, uint32_t h, uint32_t i, uint32_t c) {
    if (i < past) return past_key.real[Flat({b, h, i, c}, past_key.sizes)];
    return k.real[Flat({b, i - past, h * size + c}, k.sizes)] + bias_at(q.sizes[2] + h * size + c);
  };
  auto value = [&](uint32_t b, uint32_t h, uint32_t i, uint32_t c) {
    if (i < past) return past_value.real[Flat({b, h, i, c}, past_value.sizes)];
    return v.real[Flat({b, i - past, h * value_size + c}, v.sizes)] + bias_at(q.sizes[2] + k.sizes[2] + h * value_size + c);
  };
  const double scale = static_cast<double>(e.desc.Float("Scale")), filter = static_cast<double>(e.desc.Float("MaskFilterValue"));
  for (uint32_t b = 0; b < q.sizes[0]; ++b)
    for (uint32_t h = 0; h < heads; ++h)
      for (uint32_t i = 0; i < q.sizes[1]; ++i) {
        const uint32_t group = h / (heads / key_heads);
        Row scores(total);
        double sum = 0;
        for (uint32_t j = 0; j < total; ++j) {
          for (uint32_t c = 0; c < size; ++c)
            scores[j] += scale * (q.real[Flat({b, i, h * size + c}, q.sizes)] + bias_at(h * size + c)) * key(b, group, j, c);
          if (position.size()) scores[j] += position.real[Flat({b, h, i, j}, position.sizes)];
          if (mask.size() && !mask.whole[Flat({b, h, i, j}, mask.sizes)]) scores[j] += filter;
          sum += std::exp(scores[j]);
        }
        for (uint32_t c = 0; c < value_size; ++c) {
          double out = 0;
          for (uint32_t j = 0; j < total; ++j) out += std::exp(scores[j]) / sum * value(b, group, j, c);
          e.outputs[0].Set(Flat({b, i, h * value_size + c}, e.outputs[0].sizes), out);
        }
      }
  auto present = [&](Values& to, auto&& read) {
    if (to.size()) ForEach(to.sizes, [&](const std::vector<uint32_t>& at, size_t flat) { to.Set(flat, read(at[0], at[1], at[2], at[3])); });
  };
  present(e.outputs[1], key);
  present(e.outputs[2], value);
}

}  // namespace

bool EvaluateSequence(const Evaluation& e) {
  switch (e.desc.type()) {
    case DML_OPERATOR_RNN:
    case DML_OPERATOR_LSTM:
    case DML_OPERATOR_GRU: Recurrent(e); return true;
    case DML_OPERATOR_MULTIHEAD_ATTENTION:
    case DML_OPERATOR_MULTIHEAD_ATTENTION1: Attention(e); return true;
    default: return false;
  }
}

}  // namespace dxtensor::test
