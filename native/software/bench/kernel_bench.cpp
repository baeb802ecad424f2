// Speed of the fast kernels compared with this machine's multiply-add peak of the same run: a table, or JSON.
//
//   kernel_bench [--json] [--peak] [--cpu] [--prepacked] [--filter TEXT] [--case TEXT]
//
// --peak measures nothing else; --cpu takes this process's CPU time, which other work on the machine disturbs less, and is for one
// thread (DXTENSOR_THREADS=1); --prepacked packs the kernels' weights before, as a program that runs again does; --case
// measures one description. Each figure is the best of many short runs, so that other work on the machine disturbs it little;
// the peak is measured again with each group of figures.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "software/cpu/prepacking_kernel.h"
#include "test/describe.h"

namespace {

using dxtensor::schema::OperatorDesc;
using dxtensor::schema::TensorDesc;
namespace software = dxtensor::software;
namespace fast = dxtensor::software::fast;

bool takes_cpu_time = false, prepacks = false;

double Now() {
  if (takes_cpu_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The shortest of many calls, in seconds; of CPU times, which a busy host of virtual machines disturbs both ways, the median.
template <typename F>
double Shortest(double budget, const F& f) {
  f();
  std::vector<double> times;
  const double start = Now();
  for (int n = 0; n < 3 || Now() - start < budget; ++n) {
    const double before = Now();
    f();
    times.push_back(Now() - before);
  }
  const auto middle = takes_cpu_time ? times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2) : times.begin();
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Multiply-adds of all threads, in GFLOP/s.
double Peak(double budget) {
  software::ThreadPool& pool = software::ThreadPool::Get();
  constexpr int64_t kSteps = 20000;
  int64_t operations = 0;
  const double seconds = Shortest(budget, [&] {
    pool.ParallelFor(0, pool.size(), 1, [&](int64_t first, int64_t last, int) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t done = fast::Table().multiply_add(kSteps);
        if (i == 0) operations = done;
      }
    });
  });
  return static_cast<double>(operations) * pool.size() / seconds / 1e9;
}

// A kernel with memory for its tensors, aligned as a device's buffers are.
class Bound {
 public:
  explicit Bound(const std::string& text) : desc_(dxtensor::test::Parse(text)), kernel_(software::MakeKernel(desc_)) {
    if (!kernel_) throw std::runtime_error("no kernel for " + text);
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> values(-1, 1);
    for (const TensorDesc* t : desc_.Inputs()) {
      inputs_.push_back(t ? Memory(t->size_in_bytes) : nullptr);
      if (!t) continue;
      if (t->data_type == DML_TENSOR_DATA_TYPE_UINT32) {  // indices
        auto* to = reinterpret_cast<uint32_t*>(const_cast<uint8_t*>(inputs_.back()));
        for (uint64_t i = 0; i < t->size_in_bytes / sizeof(uint32_t); ++i) to[i] = static_cast<uint32_t>(generator() % 50000);
        continue;
      }
      auto* to = reinterpret_cast<float*>(const_cast<uint8_t*>(inputs_.back()));
      for (uint64_t i = 0; i < t->size_in_bytes / sizeof(float); ++i) to[i] = values(generator);
    }
    for (const TensorDesc* t : desc_.Outputs()) outputs_.push_back(t ? Memory(t->size_in_bytes) : nullptr);
    arguments_ = {inputs_.data(), outputs_.data(), Memory(kernel_->ScratchBytes())};
    prepacking_ = prepacks ? software::PrepackingKernel::Of(kernel_.get()) : nullptr;
    if (!prepacking_) return;
    form_ = Memory(prepacking_->PrepackedBytes());
    prepacking_->Prepack(arguments_, form_);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  void operator()() const {
    if (prepacking_) prepacking_->RunPrepacked(arguments_, form_);
    else kernel_->Run(arguments_);
  }

 private:
  uint8_t* Memory(uint64_t bytes) {
    memory_.push_back(std::make_unique<uint8_t[]>(bytes + 64));
    uint8_t* p = memory_.back().get();
    return p + (64 - reinterpret_cast<uintptr_t>(p) % 64);
  }

  OperatorDesc desc_;
  std::unique_ptr<software::Kernel> kernel_;
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
  std::vector<const uint8_t*> inputs_;
  std::vector<uint8_t*> outputs_;
  software::KernelArguments arguments_{};
  const software::PrepackingKernel* prepacking_ = nullptr;
  uint8_t* form_ = nullptr;
};

struct Case {
  std::string name, text;
  double operations;  // floating point operations of a call, 0 when elements are what counts
  double elements;
  double bytes;
  int repeats = 1;
};

std::string Shape(const std::vector<int64_t>& sizes) {
  std::string s = "f32[";
  for (size_t i = 0; i < sizes.size(); ++i) s += (i ? "," : "") + std::to_string(sizes[i]);
  return s + "]";
}

Case Gemm(int64_t n, bool transposed = false) {
  const std::string shape = Shape({1, 1, n, n});
  const double d = static_cast<double>(n);
  return {"gemm " + std::to_string(n) + (transposed ? " transposed B" : ""),
          "GEMM ATensor=" + shape + " BTensor=" + shape + " OutputTensor=" + shape + " Alpha=1 TransB=" + (transposed ? "1" : "0"),
          2 * d * d * d, 0, 0};
}

// A layer with a bias, as nn.Linear is.
Case Linear(int64_t rows, int64_t inputs, int64_t outputs, bool activates) {
  std::string text = "GEMM ATensor=" + Shape({1, 1, rows, inputs}) + " BTensor=" + Shape({1, 1, outputs, inputs}) +
                     " CTensor=" + Shape({1, 1, rows, outputs}) + "/[0,0,0,1] OutputTensor=" + Shape({1, 1, rows, outputs}) +
                     " Alpha=1 Beta=1 TransB=1";
  if (activates) text += " FusedActivation={ACTIVATION_THRESHOLDED_RELU Alpha=0}";
  return {
      "linear " + std::to_string(rows) + " x " + std::to_string(inputs) + " to " + std::to_string(outputs) + (activates ? ", relu" : ""),
      text, 2.0 * static_cast<double>(rows * inputs * outputs), 0, 0};
}

// Channels in and out, height and width of the output, kernel.
Case Convolution(const char* name, int64_t ci, int64_t co, int64_t size, int64_t k, int64_t groups = 1, bool backward = false) {
  const int64_t pad = k / 2;
  auto pair = [](int64_t v) { return "[" + std::to_string(v) + "," + std::to_string(v) + "]"; };
  const std::string filter = backward ? Shape({ci, co / groups, k, k}) : Shape({co, ci / groups, k, k});
  return {name,
          "CONVOLUTION InputTensor=" + Shape({8, ci, size, size}) + " FilterTensor=" + filter +
              " OutputTensor=" + Shape({8, co, size, size}) + " Mode=1 Direction=" + (backward ? "1" : "0") + " Strides=" + pair(1) +
              " Dilations=" + pair(1) + " StartPadding=" + pair(pad) + " EndPadding=" + pair(pad) + " OutputPadding=" + pair(0) +
              " GroupCount=" + std::to_string(groups),
          2.0 * 8 * static_cast<double>(co * size * size * ci / groups * k * k), 0, 0};
}

// The weight gradient of a 3x3 convolution: batch and channels are exchanged.
Case WeightGradient() {
  const std::string strided = "f32[64,8,56,56]/[3136,200704,56,1]";
  return {"conv 3x3 weight gradient",
          "CONVOLUTION InputTensor=" + strided + " FilterTensor=" + strided +
              " OutputTensor=f32[64,64,3,3]/[9,576,3,1] Mode=1 Strides=[1,1] Dilations=[1,1] StartPadding=[1,1] EndPadding=[1,1] "
              "OutputPadding=[0,0] GroupCount=1",
          2.0 * 64 * 64 * 9 * 8 * 3136, 0, 0};
}

// What a step of a small network for images of 28 x 28 consists of, batch 64: few channels.
std::vector<Case> SmallImages() {
  auto conv = [](const char* name, const char* tensors, const char* rest, double multiply_adds) {
    return Case{name,
                "CONVOLUTION " + std::string(tensors) + " Mode=1 Strides=[1,1] Dilations=[1,1] OutputPadding=[0,0] GroupCount=1 " + rest,
                2 * multiply_adds, 0, 0};
  };
  const char *forward = "Direction=0 StartPadding=[0,0] EndPadding=[0,0]", *backward = "Direction=1 StartPadding=[0,0] EndPadding=[0,0]";
  auto pool = [](const char* name, const std::string& text, double elements) { return Case{name, text, 0, elements, elements * 4}; };
  const std::string window = " DimensionCount=2 Strides=[2,2] WindowSize=[2,2] StartPadding=[0,0] EndPadding=[0,0]";
  return {
      conv("small conv 1 to 8", "InputTensor=f32[64,1,28,28] FilterTensor=f32[8,1,5,5] OutputTensor=f32[64,8,24,24]", forward,
           64.0 * 8 * 576 * 25),
      conv("small conv 8 to 16", "InputTensor=f32[64,8,12,12] FilterTensor=f32[16,8,5,5] OutputTensor=f32[64,16,8,8]", forward,
           64.0 * 16 * 64 * 200),
      conv("small conv 16 to 8, data gradient", "InputTensor=f32[64,16,8,8] FilterTensor=f32[16,8,5,5] OutputTensor=f32[64,8,12,12]",
           backward, 64.0 * 16 * 64 * 200),
      conv("small conv 8 to 16, weight gradient",
           "InputTensor=f32[8,64,12,12]/[144,1152,12,1] FilterTensor=f32[16,64,8,8]/[64,1024,8,1] "
           "OutputTensor=f32[8,16,5,5]/[25,200,5,1]",
           forward, 64.0 * 16 * 64 * 200),
      conv("small conv 1 to 8, weight gradient",
           "InputTensor=f32[1,64,28,28]/[784,784,28,1] FilterTensor=f32[8,64,24,24]/[576,4608,24,1] "
           "OutputTensor=f32[1,8,5,5]/[25,25,5,1]",
           forward, 64.0 * 8 * 576 * 25),
      pool("small max pool", "MAX_POOLING InputTensor=f32[64,8,24,24] OutputTensor=f32[64,8,12,12]" + window, 64 * 8 * 576),
      pool("small max pool gradient",
           "MAX_POOLING_GRAD InputTensor=f32[64,8,24,24] InputGradientTensor=f32[64,8,12,12] OutputGradientTensor=f32[64,8,24,24]" + window,
           64 * 8 * 576)};
}

Case Unary(const char* name, const char* op, const std::vector<int64_t>& sizes) {
  const std::string shape = Shape(sizes);
  double n = 1;
  for (int64_t v : sizes) n *= static_cast<double>(v);
  return {name, std::string(op) + " InputTensor=" + shape + " OutputTensor=" + shape, 0, n, n * 8};
}
Case Add(int64_t n, int repeats) {
  const std::string shape = Shape({n});
  return {"add " + std::to_string(n),
          "ELEMENT_WISE_ADD ATensor=" + shape + " BTensor=" + shape + " OutputTensor=" + shape,
          0,
          static_cast<double>(n),
          static_cast<double>(n) * 12,
          repeats};
}
Case Reduce(const char* name, const char* axes, const std::vector<int64_t>& in, const std::vector<int64_t>& out) {
  double n = 1;
  for (int64_t v : in) n *= static_cast<double>(v);
  return {name, "REDUCE Function=10 InputTensor=" + Shape(in) + " OutputTensor=" + Shape(out) + " Axes=" + axes, 0, n, n * 4};
}

// What networks for images and for text consist of, one call of each.
std::vector<Case> Layers() {
  auto pair = [](int64_t v) { return "[" + std::to_string(v) + "," + std::to_string(v) + "]"; };
  auto conv = [&](const std::string& name, int64_t n, int64_t ci, int64_t size, int64_t co, int64_t k, int64_t stride, int64_t pad,
                  int64_t groups) {
    const int64_t out = (size + 2 * pad - k) / stride + 1;
    return Case{"layer " + name + " b" + std::to_string(n),
                "CONVOLUTION InputTensor=" + Shape({n, ci, size, size}) + " FilterTensor=" + Shape({co, ci / groups, k, k}) +
                    " OutputTensor=" + Shape({n, co, out, out}) + " Mode=1 Direction=0 Strides=" + pair(stride) + " Dilations=" + pair(1) +
                    " StartPadding=" + pair(pad) + " EndPadding=" + pair(pad) + " OutputPadding=" + pair(0) +
                    " GroupCount=" + std::to_string(groups),
                2.0 * static_cast<double>(n * co * out * out * (ci / groups) * k * k), 0, 0};
  };
  auto moved = [](const std::string& name, const std::string& text, double bytes) {
    return Case{"layer " + name, text, 0, bytes / 4, bytes};
  };
  std::vector<Case> cases;
  for (int64_t n : {1, 8}) {
    cases.push_back(conv("conv 3x3 64", n, 64, 56, 64, 3, 1, 1, 1));
    cases.push_back(conv("conv 1x1 256", n, 256, 56, 64, 1, 1, 0, 1));
    cases.push_back(conv("conv 1x1 960 7x7", n, 960, 7, 160, 1, 1, 0, 1));
    cases.push_back(conv("conv 1x1 64 14x14", n, 64, 14, 384, 1, 1, 0, 1));
    cases.push_back(conv("conv 7x7 stride 2", n, 3, 224, 64, 7, 2, 3, 1));
    cases.push_back(conv("conv 3x3 stride 2", n, 128, 56, 128, 3, 2, 1, 1));
    cases.push_back(conv("conv 3x3 512", n, 512, 7, 512, 3, 1, 1, 1));
    cases.push_back(conv("depthwise 256 56x56", n, 256, 56, 256, 3, 1, 1, 256));
    cases.push_back(conv("depthwise 96 stride 2", n, 96, 112, 96, 3, 2, 1, 96));
    cases.push_back(conv("depthwise 576 14x14", n, 576, 14, 576, 3, 1, 1, 576));
    const double plane = static_cast<double>(n) * 64;
    const std::string in = Shape({n, 64, 112, 112}), out = Shape({n, 64, 56, 56}), b = " b" + std::to_string(n);
    const std::string window = " DimensionCount=2 Strides=[2,2] WindowSize=[3,3] StartPadding=[1,1] EndPadding=[1,1]";
    const double pooled = plane * 4 * (112 * 112 + 56 * 56);
    cases.push_back(moved("max pool 3x3" + b, "MAX_POOLING InputTensor=" + in + " OutputTensor=" + out + window, pooled));
    cases.push_back(
        moved("average pool 3x3" + b, "AVERAGE_POOLING InputTensor=" + in + " OutputTensor=" + out + window + " IncludePadding=0", pooled));
    const std::string x = Shape({n, 64, 56, 56}), one = Shape({1, 64, 1, 1});
    cases.push_back(moved("batch norm training" + b,
                          "BATCH_NORMALIZATION_TRAINING InputTensor=" + x + " ScaleTensor=" + one + " BiasTensor=" + one +
                              " OutputTensor=" + x + " OutputMeanTensor=" + one + " OutputVarianceTensor=" + one + " Epsilon=0.001",
                          plane * 3136 * 8));
    cases.push_back(moved("batch norm training gradient" + b,
                          "BATCH_NORMALIZATION_TRAINING_GRAD InputTensor=" + x + " InputGradientTensor=" + x + " MeanTensor=" + one +
                              " VarianceTensor=" + one + " ScaleTensor=" + one + " OutputGradientTensor=" + x +
                              " OutputScaleGradientTensor=" + one + " OutputBiasGradientTensor=" + one + " Epsilon=0.001",
                          plane * 3136 * 12));
    cases.push_back(moved("batch norm" + b,
                          "BATCH_NORMALIZATION InputTensor=" + x + " MeanTensor=" + one + " VarianceTensor=" + one + " ScaleTensor=" + one +
                              " BiasTensor=" + one + " OutputTensor=" + x + " Spatial=1 Epsilon=0.001",
                          plane * 3136 * 8));
    cases.push_back(moved("group norm" + b,
                          "MEAN_VARIANCE_NORMALIZATION1 InputTensor=" + Shape({n, 32, 2, 3136}) + " ScaleTensor=" + Shape({1, 32, 2, 1}) +
                              " BiasTensor=" + Shape({1, 32, 2, 1}) + " OutputTensor=" + Shape({n, 32, 2, 3136}) +
                              " Axes=[2,3] NormalizeVariance=1 Epsilon=0.001",
                          plane * 3136 * 8));
  }
  for (int64_t width : {64, 256, 1024, 16384}) {
    const int64_t rows = (4 << 20) / width;
    cases.push_back(moved("layer norm " + std::to_string(width),
                          "MEAN_VARIANCE_NORMALIZATION1 InputTensor=" + Shape({rows, width}) + " ScaleTensor=" + Shape({1, width}) +
                              " BiasTensor=" + Shape({1, width}) + " OutputTensor=" + Shape({rows, width}) +
                              " Axes=[1] NormalizeVariance=1 Epsilon=0.001",
                          8.0 * (4 << 20)));
  }
  auto gemm = [](const std::string& name, const std::string& a, const std::string& b, const std::string& out, const char* rest,
                 double multiply_adds) {
    return Case{"layer " + name, "GEMM ATensor=" + a + " BTensor=" + b + " OutputTensor=" + out + " Alpha=1" + rest, 2 * multiply_adds, 0,
                0};
  };
  const double square = 4096.0 * 4096;
  cases.push_back(gemm("matrix times vector", "f32[1,1,4096,4096]", "f32[1,1,4096,1]", "f32[1,1,4096,1]", "", square));
  cases.push_back(gemm("vector times matrix", "f32[1,1,1,4096]", "f32[1,1,4096,4096]", "f32[1,1,1,4096]", "", square));
  cases.push_back(gemm("vector times transposed", "f32[1,1,1,4096]", "f32[1,1,4096,4096]", "f32[1,1,1,4096]", " TransB=1", square));
  cases.push_back(gemm("matrix times vector 256", "f32[1,1,256,256]", "f32[1,1,256,1]", "f32[1,1,256,1]", "", 256.0 * 256));
  cases.push_back(gemm("gemm 64 of 48 batches", "f32[48,1,64,64]", "f32[48,1,64,64]", "f32[48,1,64,64]", "", 48.0 * 64 * 64 * 64));
  cases.push_back(Reduce("layer sum first", "[0]", {4096, 4096}, {1, 4096}));
  cases.push_back(Reduce("layer sum middle", "[1]", {64, 512, 512}, {64, 1, 512}));
  cases.push_back(Reduce("layer sum last", "[1]", {4096, 4096}, {4096, 1}));
  cases.push_back(moved("cast to f16", "CAST InputTensor=f32[16777216] OutputTensor=f16[16777216]", 6.0 * (16 << 20)));
  cases.push_back(moved("gather rows",
                        "GATHER InputTensor=f32[1,50000,256] IndicesTensor=u32[1,1,8192] OutputTensor=f32[1,8192,256] Axis=1 "
                        "IndexDimensions=1",
                        8.0 * 8192 * 256));
  return cases;
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {Gemm(64),
                             Gemm(128),
                             Gemm(256),
                             Gemm(512),
                             Gemm(1024),
                             Gemm(1024, true),
                             Gemm(2048),
                             Linear(512, 128, 512, true),
                             Linear(512, 128, 384, false),
                             Linear(512, 512, 128, false),
                             Linear(512, 128, 1000, false),
                             Linear(1024, 256, 1024, true),
                             Convolution("conv 3x3 8x64x56x56", 64, 64, 56, 3),
                             Convolution("conv 3x3 data gradient", 64, 64, 56, 3, 1, true),
                             WeightGradient(),
                             Convolution("conv 1x1 8x256x56x56", 256, 64, 56, 1),
                             Convolution("conv 3x3 8x512x7x7", 512, 512, 7, 3),
                             Convolution("conv 3x3 depthwise 64", 64, 64, 56, 3, 64),
                             Add(16, 10000),
                             Add(1000, 1000),
                             Add(100000, 10),
                             Add(8000000, 1),
                             Unary("exp 1000000", "ELEMENT_WISE_EXP", {1000000}),
                             Unary("tanh 1000000", "ELEMENT_WISE_TANH", {1000000}),
                             Unary("erf 1000000", "ELEMENT_WISE_ERF", {1000000}),
                             Unary("softmax rows of 1000", "ACTIVATION_SOFTMAX", {1000, 1000}),
                             Reduce("sum all 4000000", "[0,1]", {1000, 4000}, {1, 1}),
                             Reduce("sum rows 1000x4000", "[1]", {1000, 4000}, {1000, 1}),
                             Reduce("sum columns 1000x4000", "[0]", {1000, 4000}, {1, 4000})};
  for (Case& c : SmallImages()) cases.push_back(std::move(c));
  for (Case& c : Layers()) cases.push_back(std::move(c));
  return cases;
}

// Microseconds until another thread begins its part of a call, after the pool had nothing to do for so long: the median. 0: there is none.
double HandOver(std::chrono::microseconds rest) {
  if (software::ThreadPool::Get().size() == 1) return 0;
  constexpr int kTimes = 200;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const auto until = Clock::now() + rest;
    while (Clock::now() < until) {
    }
    const auto caller = std::this_thread::get_id();
    std::atomic<int64_t> begun{0};
    const auto start = Clock::now();
    auto passed = [&] { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count(); };
    software::ThreadPool::Get().ParallelFor(0, 2, 1, [&](int64_t, int64_t, int) {
      if (std::this_thread::get_id() != caller) begun.store(passed());
      else
        while (!begun.load() && passed() < 5000000) {
        }
    });
    if (const int64_t at = begun.load()) times.push_back(static_cast<double>(at) / 1000);
  }
  if (times.empty()) return 0;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false, peak_only = false;
  std::string filter, only;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--json")) json = true;
    else if (!std::strcmp(argv[i], "--peak")) peak_only = true;
    else if (!std::strcmp(argv[i], "--cpu")) takes_cpu_time = true;
    else if (!std::strcmp(argv[i], "--prepacked")) prepacks = true;
    else if (!std::strcmp(argv[i], "--filter") && i + 1 < argc) filter = argv[++i];
    else if (!std::strcmp(argv[i], "--case") && i + 1 < argc) only = argv[++i];
    else {
      std::fprintf(stderr, "kernel_bench [--json] [--peak] [--cpu] [--prepacked] [--filter TEXT] [--case TEXT]\n");
      return 2;
    }
  }
  double peak = Peak(peak_only ? 0.1 : 0.3);
  std::string rows;
  if (!json)
    std::printf("%s, %d threads\n%-28s %10s %10s %8s %10s\n", fast::IsaName(fast::ActiveIsa()), software::ThreadPool::Get().size(),
                "kernel", "us", "GFLOP/s", "of peak", "GB/s");
  const std::vector<Case> cases = peak_only ? std::vector<Case>() : only.empty() ? Cases() : std::vector<Case>{{"case", only, 0, 0, 0}};
  for (const Case& c : cases) {
    if (c.name.find(filter) == std::string::npos) continue;
    const Bound run(c.text);
    const double seconds = Shortest(c.operations > 1e9 ? 0.4 : 0.1,
                                    [&] {
                                      for (int i = 0; i < c.repeats; ++i) run();
                                    }) /
                           c.repeats;
    if (c.operations > 0) peak = std::max(peak, Peak(0.02));
    char text[256];
    const double gflops = c.operations / seconds / 1e9, gbytes = c.bytes / seconds / 1e9;
    if (json) {
      std::snprintf(text, sizeof text, "%s{\"name\":\"%s\",\"seconds\":%.9f,\"gflops\":%.2f,\"gbytes\":%.2f,\"ns_per_element\":%.4f}",
                    rows.empty() ? "" : ",", c.name.c_str(), seconds, gflops, gbytes, c.elements > 0 ? seconds * 1e9 / c.elements : 0.0);
      rows += text;
    } else if (c.operations > 0) {
      std::printf("%-28s %10.2f %10.1f %7.0f%% %10s\n", c.name.c_str(), seconds * 1e6, gflops, 100 * gflops / peak, "");
    } else {
      std::printf("%-28s %10.3f %10s %8s %10.1f\n", c.name.c_str(), seconds * 1e6, "", "", gbytes);
    }
  }
  const double awake = HandOver(std::chrono::microseconds(5)), asleep = HandOver(std::chrono::milliseconds(2));
  if (json)
    std::printf("{\"isa\":\"%s\",\"threads\":%d,\"peak_gflops\":%.2f,\"hand_over_us\":{\"awake\":%.2f,\"asleep\":%.2f},\"results\":[%s]}\n",
                fast::IsaName(fast::ActiveIsa()), software::ThreadPool::Get().size(), peak, awake, asleep, rows.c_str());
  else
    std::printf("multiply-add peak: %.1f GFLOP/s; hand-over to an awake thread %.2f us, to a sleeping one %.1f us\n", peak, awake, asleep);
  return 0;
}
