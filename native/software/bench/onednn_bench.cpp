// oneDNN's GEMM on this machine, to compare ours with: onednn_bench N... prints {"gflops":{"N":value,...}}.
// Built only where libdnnl-dev is installed; never shipped.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.h>
#include <vector>

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  std::printf("{\"gflops\":{");
  for (int i = 1; i < argc; ++i) {
    const int n = std::atoi(argv[i]);
    if (n < 1) return 2;
    std::vector<float> a(static_cast<size_t>(n) * n, 0.5f), b(a), c(a);
    double best = 1e9;
    const auto start = Clock::now();
    do {
      const auto from = Clock::now();
      if (dnnl_sgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n) != dnnl_success) return 1;
      best = std::min(best, std::chrono::duration<double>(Clock::now() - from).count());
    } while (Clock::now() - start < std::chrono::milliseconds(400));
    std::printf("%s\"%d\":%.2f", i > 1 ? "," : "", n, 2.0 * n * n * n / best / 1e9);
  }
  std::printf("}}\n");
  return 0;
}
