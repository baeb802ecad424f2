// A training step through DirectML alone: recorded once, closed lists replayed, in three forms that have to agree.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "forms.h"
#include "networks.h"
#include "options.h"

namespace dxtensor::peer {

namespace {

constexpr char kUsage[] =
    "directml_steps --dxcore FILE --d3d12 FILE --directml FILE [--small] [mlp|lenet|resnet|encoder]...\n"
    "directml_steps --software FILE [--small] [NAME]...\n";
// Lists that are submitted before the first of them has to be over: two for each direction of the state.
constexpr size_t kInFlight = 4;
constexpr size_t kWindow = 24;
constexpr int kChecked = 4;

// The network's inputs and outputs on the device: two sets of the state, which steps read and write in turn.
class Memory {
 public:
  Memory(Device& device, const Tape& tape) : device_(device), tape_(tape) {
    uint64_t bytes = 0;
    for (const Tape::State& state : tape.states()) {
      offsets_.push_back(bytes);
      bytes += Aligned(state.before.count() * sizeof(float));
    }
    floats_ = bytes / sizeof(float);
    for (Ref<ID3D12Resource>& set : sets_) set = device.Buffer(bytes);
    loss_ = device.Buffer(sizeof(float));
    for (const Tape::Feed& feed : tape.feeds()) {
      feeds_.push_back(device.Buffer(feed.values.size() * sizeof(float)));
      device.Upload(feeds_.back().get(), feed.values);
    }
  }

  std::vector<float> First() const {
    std::vector<float> all(floats_, 0);
    for (size_t i = 0; i < offsets_.size(); ++i) {
      const std::vector<float>& first = tape_.states()[i].first;
      std::copy(first.begin(), first.end(), all.begin() + static_cast<std::ptrdiff_t>(At(i)));
    }
    return all;
  }
  void Set(const std::vector<float>& state) { device_.Upload(sets_[0].get(), state); }
  std::vector<float> State(int set) { return device_.Download(sets_[set].get(), floats_); }
  float Loss() { return device_.Download(loss_.get(), 1)[0]; }
  size_t At(size_t state) const { return offsets_[state] / sizeof(float); }

  std::vector<Range> Inputs(int set) const {
    std::vector<Range> ranges(tape_.net().inputs().size());
    const auto put = [&](const View& view, const Range& range) { ranges[tape_.net().values()[view.value].input] = range; };
    for (size_t i = 0; i < feeds_.size(); ++i) put(tape_.feeds()[i].view, {feeds_[i].get(), 0, BytesOf(tape_.feeds()[i].view)});
    for (size_t i = 0; i < offsets_.size(); ++i) put(tape_.states()[i].before, StateRange(i, set));
    return ranges;
  }
  std::vector<Range> Outputs(int set) const {
    std::vector<Range> ranges(tape_.net().outputs().size());
    const auto put = [&](const View& view, const Range& range) { ranges[tape_.net().values()[view.value].output] = range; };
    put(tape_.loss(), {loss_.get(), 0, sizeof(float)});
    for (size_t i = 0; i < offsets_.size(); ++i) put(tape_.states()[i].after, StateRange(i, set));
    return ranges;
  }

 private:
  static uint64_t Aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
  uint64_t BytesOf(const View& view) const { return tape_.net().values()[view.value].bytes; }
  Range StateRange(size_t i, int set) const { return {sets_[set].get(), offsets_[i], BytesOf(tape_.states()[i].before)}; }

  Device& device_;
  const Tape& tape_;
  std::vector<uint64_t> offsets_;
  size_t floats_ = 0;
  std::array<Ref<ID3D12Resource>, 2> sets_;
  std::vector<Ref<ID3D12Resource>> feeds_;
  Ref<ID3D12Resource> loss_;
};

struct Timing {
  double ms = 1e30, processor_us = 1e30;
};

class Replay {
 public:
  Replay(Device& device, Form& form, const Memory& memory) : device_(device) {
    for (size_t i = 0; i < kInFlight; ++i) {
      const int set = static_cast<int>(i % 2);
      lists_.push_back(form.Record(memory.Inputs(set), memory.Outputs(1 - set)));
    }
  }

  // From the first set of the state; with an even number of steps it ends there.
  Timing Run(int steps) {
    using Clock = std::chrono::steady_clock;
    const auto ms = [](Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
    std::array<uint64_t, kInFlight> values{};
    Clock::duration processor{};
    const Clock::time_point start = Clock::now();
    for (int step = 0; step < steps; ++step) {
      const size_t i = static_cast<size_t>(step) % kInFlight;
      device_.Wait(values[i]);
      const Clock::time_point before = Clock::now();
      values[i] = device_.Submit(lists_[i]);
      processor += Clock::now() - before;
    }
    device_.Wait(*std::max_element(values.begin(), values.end()));
    return {ms(Clock::now() - start) / steps, ms(processor) * 1e3 / steps};
  }

 private:
  Device& device_;
  std::vector<CommandList> lists_;
};

// Per tensor, relative to its largest element.
double Difference(const Tape& tape, const Memory& memory, const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (size_t i = 0; i < tape.states().size(); ++i) {
    double largest = 1e-6, off = 0;
    for (size_t k = memory.At(i); k < memory.At(i) + tape.states()[i].before.count(); ++k) {
      largest = std::max<double>(largest, std::fabs(a[k]));
      // A NaN stays.
      const double difference = std::fabs(a[k] - b[k]);
      if (!(difference <= off)) off = difference;
    }
    if (!(off / largest <= worst)) worst = off / largest;
  }
  return worst;
}

// How the loss changes along the gradient, by its slope and by two steps: their ratio.
double GradientRatio(const Tape& tape, Memory& memory, Replay& replay) {
  const std::vector<float> first = memory.First();
  memory.Set(first);
  replay.Run(1);
  const std::vector<float> after = memory.State(1);
  std::vector<float> gradient(first.size(), 0);
  double square = 0;
  for (const Tape::Parameter& parameter : tape.parameters())
    for (size_t k = 0; k < tape.states()[parameter.state].before.count(); ++k) {
      const float g = after[memory.At(parameter.moment) + k] / tape.moment_scale();
      gradient[memory.At(parameter.state) + k] = g;
      square += double(g) * g;
    }
  const double change = 0.02;
  double losses[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<float> moved = first;
    const double by = (side ? -0.5 : 0.5) * change / square;
    for (size_t k = 0; k < moved.size(); ++k) moved[k] = static_cast<float>(moved[k] + by * gradient[k]);
    memory.Set(moved);
    replay.Run(1);
    losses[side] = memory.Loss();
  }
  return (losses[0] - losses[1]) / change;
}

bool Measure(Device& device, const std::string& name, bool is_small) {
  const std::unique_ptr<Tape> tape = MakeNetwork(name, is_small);
  const Net& net = tape->net();
  size_t parameters = 0;
  for (const Tape::Parameter& parameter : tape->parameters()) parameters += tape->states()[parameter.state].before.count();
  std::printf("%s: %zu nodes, %zu parameters\n", name.c_str(), net.nodes().size(), parameters);
  const int steps = is_small ? 4 : net.nodes().size() > 300 ? 24 : 60, rounds = is_small ? 1 : 5;
  Memory memory(device, *tape);
  struct Kind {
    const char* name;
    std::unique_ptr<Form> form;
  };
  Kind kinds[] = {{"list", MakeList(device, net, InOrder(net))},
                  {"groups", MakeList(device, net, InGroups(net, kWindow))},
                  {"graph", MakeGraph(device, net)}};
  std::string times;
  std::vector<float> expected;
  double difference = 0, ratio = 0, losses[2] = {};
  for (const Kind& kind : kinds) {
    Replay replay(device, *kind.form, memory);
    memory.Set(memory.First());
    replay.Run(kChecked);
    device.CheckAlive();
    const std::vector<float> state = memory.State(0);
    if (expected.empty()) {
      expected = state;
      ratio = GradientRatio(*tape, memory, replay);
      memory.Set(memory.First());
      replay.Run(1);
      losses[0] = memory.Loss();
      memory.Set(memory.First());
      replay.Run(2 * kChecked);
      losses[1] = memory.Loss();
    } else {
      const double off = Difference(*tape, memory, expected, state);
      if (!(off <= difference)) difference = off;
    }
    Timing best;
    memory.Set(memory.First());
    for (int round = 0; round < rounds; ++round) {
      const Timing timing = replay.Run(steps);
      best = {std::min(best.ms, timing.ms), std::min(best.processor_us, timing.processor_us)};
    }
    char text[160];
    std::snprintf(text, sizeof text, "%s%s replayed %.4f ms (processor %.0f us)", times.empty() ? "" : ", ", kind.name, best.ms,
                  best.processor_us);
    times += text;
    std::printf("  %s: compiled in %.0f ms, %d dispatches recorded, %d barriers between them\n", kind.name, kind.form->compile_ms(),
                kind.form->counts().dispatches, kind.form->counts().barriers);
  }
  const bool is_right = difference < 1e-3 && std::fabs(ratio - 1) < 0.05 && losses[1] < losses[0];
  std::printf("  loss %.5f to %.5f in %d steps, slope along the gradient %.4f of what it says, the forms' states differ by %.2g: %s\n",
              losses[0], losses[1], 2 * kChecked, ratio, difference, is_right ? "right" : "WRONG");
  std::printf("  %d steps in flight, ms a step: %s\n", steps, times.c_str());
  std::fflush(stdout);
  device.CheckAlive();
  return is_right;
}

int Run(const Options& options) {
  Device device(options.paths);
  bool is_right = true;
  for (const std::string& name : options.names.empty() ? NetworkNames() : options.names)
    is_right = Measure(device, name, options.is_small) && is_right;
  return is_right ? 0 : 1;
}

}  // namespace

}  // namespace dxtensor::peer

int main(int argc, char** argv) { return dxtensor::peer::Main(argc, argv, dxtensor::peer::kUsage, dxtensor::peer::Run); }
