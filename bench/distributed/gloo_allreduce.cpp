// Gloo's all-reduce of float32 alone: gloo_allreduce FOLDER RANK SIZE REPEATS BYTES... prints {"wall": [...], "processor": [...]}, the
// median seconds of each size. What `npm run bench -- --filter distributed` compares ours with.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

namespace {

constexpr int kWarmUp = 1000;

double Processor() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double Middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(const char* name, const std::vector<double>& values, const char* end) {
  std::printf("\"%s\": [", name);
  for (size_t i = 0; i < values.size(); i++) std::printf("%s%.9f", i == 0 ? "" : ", ", values[i]);
  std::printf("]%s", end);
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) return 2;
  const int rank = std::atoi(words[2]);
  const int size = std::atoi(words[3]);
  const int repeats = std::atoi(words[4]);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto store = std::make_shared<gloo::rendezvous::FileStore>(words[1]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(*store, device);
  const auto reduce = [&](float* data, size_t elements) {
    gloo::AllreduceOptions options(context);
    options.setOutput(data, elements);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  };
  // New processes share a CPU for some milliseconds, until the system moves one of them.
  float first = 1;
  for (int i = 0; i < kWarmUp; i++) reduce(&first, 1);
  std::vector<double> wall, processor;
  for (int at = 5; at < count; at++) {
    const size_t elements = std::strtoull(words[at], nullptr, 10) / sizeof(float);
    std::vector<float> data(elements, 1.0F);
    std::vector<double> times, used;
    for (int i = 0; i < repeats + 2; i++) {
      gloo::BarrierOptions together(context);
      gloo::barrier(together);
      const double before = Processor();
      const auto start = std::chrono::steady_clock::now();
      reduce(data.data(), elements);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (i < 2) continue;
      times.push_back(took.count());
      used.push_back(Processor() - before);
    }
    wall.push_back(Middle(times));
    processor.push_back(Middle(used));
  }
  std::printf("{");
  Print("wall", wall, ", ");
  Print("processor", processor, "}\n");
  return 0;
}
