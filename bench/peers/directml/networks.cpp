#include "networks.h"

#include <cmath>
#include <stdexcept>

namespace dxtensor::peer {

namespace {

void Mlp(Tape& tape, bool is_small) {
  const UINT batch = is_small ? 16 : 64;
  View x = tape.Batch({1, 1, batch, 784}, batch);
  View hidden = tape.Linear(x, 128, 0.03, 0.01, true);
  tape.Train(tape.Linear(hidden, 10, 0.1, 0.01), Optimizer::kSgd, 0.01);
}

void Lenet(Tape& tape, bool is_small) {
  const UINT batch = is_small ? 8 : 64;
  View x = tape.Batch({batch, 1, 28, 28}, batch);
  x = tape.MaxPool(tape.Relu(tape.Convolution(x, 16, 5, 1, 0.2, true)));
  x = tape.MaxPool(tape.Relu(tape.Convolution(x, 32, 5, 1, 0.05, true)));
  tape.Train(tape.Linear(x.Reshaped({1, 1, batch, 32 * 49}), 10, 0.025, 0.01), Optimizer::kAdam, 0.001);
}

View NormalizedConvolution(Tape& tape, const View& x, UINT outputs, UINT kernel, UINT stride) {
  const double deviation = std::sqrt(2.0 / (outputs * kernel * kernel));
  return tape.BatchNorm(tape.Convolution(x, outputs, kernel, stride, deviation, false));
}

// ResNet-18 for images of 32x32.
void Resnet(Tape& tape, bool is_small) {
  const UINT batch = is_small ? 2 : 16, size = is_small ? 16 : 32, width = is_small ? 8 : 64;
  View x = tape.Relu(NormalizedConvolution(tape, tape.Batch({batch, 3, size, size}, batch), width, 3, 1));
  for (UINT stage = 0; stage < 4; ++stage)
    for (UINT block = 0; block < 2; ++block) {
      const UINT outputs = width << stage, stride = stage > 0 && block == 0 ? 2 : 1;
      View y = tape.Relu(NormalizedConvolution(tape, x, outputs, 3, stride));
      y = NormalizedConvolution(tape, y, outputs, 3, 1);
      x = tape.Relu(tape.Add(y, stride == 2 ? NormalizedConvolution(tape, x, outputs, 1, stride) : x));
    }
  tape.Train(tape.Linear(tape.Mean(x, {2, 3}).Reshaped({1, 1, batch, width * 8}), 10, 0.05), Optimizer::kSgd, 0.01);
}

// Two layers of a transformer's encoder, normalised after each part.
void Encoder(Tape& tape, bool is_small) {
  const UINT batch = is_small ? 2 : 8, length = is_small ? 16 : 64, width = is_small ? 32 : 128, heads = 4;
  const double narrow = 1 / std::sqrt(static_cast<double>(width)), wide = narrow / 2;
  View x = tape.Batch({1, 1, batch * length, width}, batch);
  for (int layer = 0; layer < 2; ++layer) {
    View q = tape.Linear(x, width, narrow), k = tape.Linear(x, width, narrow), v = tape.Linear(x, width, narrow);
    x = tape.LayerNorm(tape.Add(x, tape.Linear(tape.Attention(q, k, v, batch, heads), width, narrow)));
    x = tape.LayerNorm(tape.Add(x, tape.Linear(tape.Gelu(tape.Linear(x, 4 * width, narrow)), width, wide)));
  }
  View mean = tape.Mean(x.Reshaped({1, batch, length, width}), {2});
  tape.Train(tape.Linear(mean.Reshaped({1, 1, batch, width}), 10, 0.05), Optimizer::kAdam, 0.001);
}

struct Network {
  const char* name;
  void (*make)(Tape&, bool);
};
constexpr Network kNetworks[] = {{"mlp", Mlp}, {"lenet", Lenet}, {"resnet", Resnet}, {"encoder", Encoder}};

}  // namespace

const std::vector<std::string>& NetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Network& network : kNetworks) all.emplace_back(network.name);
    return all;
  }();
  return names;
}

std::unique_ptr<Tape> MakeNetwork(const std::string& name, bool is_small) {
  for (const Network& network : kNetworks)
    if (name == network.name) {
      auto tape = std::make_unique<Tape>(7);
      network.make(*tape, is_small);
      return tape;
    }
  throw std::runtime_error("there is no network \"" + name + "\"");
}

}  // namespace dxtensor::peer
