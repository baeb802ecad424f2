// Single operators through DirectML alone: many in one list, a barrier after each, by the device's timestamps.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "../../../native/abi/abi_calls.h"
#include "forms.h"
#include "options.h"

namespace dxtensor::peer {

namespace {

constexpr char kUsage[] =
    "directml_operators --dxcore FILE --d3d12 FILE --directml FILE [--small]\n"
    "directml_operators --software FILE [--small]\n";

// Seconds of one execution of a network of one node; the median of five lists that are long enough to be timed.
double Seconds(Device& device, const Net& net, bool is_small, int fixed_count = 0) {
  const Node& node = net.nodes()[0];
  Ref<IDMLOperator> op;
  Ref<IDMLCompiledOperator> compiled;
  const DML_OPERATOR_DESC desc{node.type, node.desc.data()};
  Check(device.dml()->CreateOperator(&desc, __uuidof(IDMLOperator), op.out_void()), "CreateOperator");
  Check(device.dml()->CompileOperator(op.get(), DML_EXECUTION_FLAG_NONE, __uuidof(IDMLCompiledOperator), compiled.out_void()),
        "CompileOperator");
  const DML_BINDING_PROPERTIES properties = BindingProperties(compiled.get());
  std::vector<Ref<ID3D12Resource>> buffers;
  const auto range = [&](uint64_t bytes) {
    if (!bytes) return Range{};
    buffers.push_back(device.Buffer(bytes));
    return Range{buffers.back().get(), 0, bytes};
  };
  const auto bind = [&](const std::vector<View>& views) {
    std::vector<Range> ranges;
    for (const View& view : views) ranges.push_back(range(view.is_present() ? net.values()[view.value].bytes : 0));
    return ranges;
  };
  const std::vector<Range> inputs = bind(node.inputs), outputs = bind(node.outputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].buffer) device.Upload(inputs[i].buffer, std::vector<float>(inputs[i].bytes / sizeof(float), 0.5f));
  const Range temporary = range(properties.TemporaryResourceSize), persistent = range(properties.PersistentResourceSize);
  device.Initialize({compiled.get()}, {persistent});
  const Ref<IDMLBindingTable> table = device.Table(compiled.get());
  BindTable(table.get(), inputs, outputs, temporary, persistent);
  const auto timed = [&](int count) {
    CommandList list = device.Open();
    device.StampStart(list);
    for (int i = 0; i < count; ++i) {
      device.recorder()->RecordDispatch(list.get(), compiled.get(), table.get());
      list.Barrier();
    }
    device.StampEnd(list);
    device.Run(list);
    device.CheckAlive();
    return std::max(device.StampedSeconds(), 1e-9) / count;
  };
  timed(2);
  const double least = is_small ? 0.005 : 0.05;
  const int count = fixed_count ? fixed_count : std::clamp(static_cast<int>(std::ceil(least / timed(4))), 4, 2000);
  std::vector<double> rounds;
  for (int i = 0; i < 5; ++i) rounds.push_back(timed(count));
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

void Products(Device& device, bool is_small) {
  for (UINT n : is_small ? Sizes{64, 256} : Sizes{512, 1024, 2048, 8192}) {
    Net net;
    View a = net.Input({1, 1, n, n}), b = net.Input({1, 1, n, n});
    net.Output(net.Gemm(a, false, b, false));
    const double seconds = Seconds(device, net, is_small);
    std::printf("GEMM f32 %u: %.5f ms, %.4f TFLOP/s\n", n, seconds * 1e3, 2.0 * n * n * n / seconds / 1e12);
    std::fflush(stdout);
  }
}

void Convolutions(Device& device, bool is_small) {
  const UINT batch = 8, size = is_small ? 14 : 56;
  for (const auto& [channels, kernel] : {std::pair<UINT, UINT>{64, 3}, {256, 1}}) {
    Net net;
    View x = net.Input({batch, channels, size, size}), filter = net.Input({channels, channels, kernel, kernel});
    View y = net.Empty(x.sizes);
    net.Convolution(x, filter, View(), y, {1, 1, {kernel / 2, kernel / 2}, {kernel / 2, kernel / 2}});
    net.Output(y);
    std::printf("CONVOLUTION f32 %ux%ux%ux%u %ux%u: %.5f ms\n", batch, channels, size, size, kernel, kernel,
                Seconds(device, net, is_small) * 1e3);
    std::fflush(stdout);
  }
}

void Bandwidths(Device& device, bool is_small) {
  const UINT n = is_small ? 1u << 18 : 1u << 26;
  const auto told = [&](const char* name, int moved, const Net& net) {
    const double seconds = Seconds(device, net, is_small);
    std::printf("%s f32 %u: %.5f ms, %.1f GB/s\n", name, n, seconds * 1e3, moved * 4.0 * n / seconds / 1e9);
    std::fflush(stdout);
  };
  const Sizes sizes{1, 1, 1, n};
  Net add, relu, identity, sum;
  View a = add.Input(sizes);
  add.Output(add.Add(a, add.Input(sizes)));
  told("ADD", 3, add);
  relu.Output(relu.Relu(relu.Input(sizes)));
  told("RELU", 2, relu);
  identity.Output(identity.Scale(identity.Input(sizes), 1));
  told("IDENTITY", 2, identity);
  sum.Output(sum.Sum(sum.Input(sizes), {3}));
  told("SUM", 1, sum);
}

void SmallAdds(Device& device, bool is_small) {
  Net net;
  View a = net.Input({1, 1, 1, 16});
  net.Output(net.Add(a, net.Input({1, 1, 1, 16})));
  const double seconds = Seconds(device, net, is_small, 2000);
  std::printf("ADD f32 16, 2000 in one command list, a barrier after each: GPU %.3f us\n", seconds * 1e6);
}

int Run(const Options& options) {
  Device device(options.paths);
  Products(device, options.is_small);
  Convolutions(device, options.is_small);
  Bandwidths(device, options.is_small);
  SmallAdds(device, options.is_small);
  return 0;
}

}  // namespace

}  // namespace dxtensor::peer

int main(int argc, char** argv) { return dxtensor::peer::Main(argc, argv, dxtensor::peer::kUsage, dxtensor::peer::Run); }
