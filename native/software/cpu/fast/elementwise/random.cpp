// RANDOM_GENERATOR into a packed output.
#include <algorithm>
#include <cstring>

#include "software/cpu/fast/families.h"
#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"
#include "block_program.h"

namespace dxtensor::software::fast {

namespace {

class RandomKernel final : public Kernel {
 public:
  explicit RandomKernel(const schema::OperatorDesc& desc) : count_(static_cast<int64_t>(desc.Outputs()[0]->ElementCount())) {
    const schema::TensorDesc &state = *desc.Inputs()[0], *next = desc.Outputs()[1];
    in_stride_ = state.strides[state.rank - 1];
    if (next) out_stride_ = next->strides[next->rank - 1];
  }
  void Run(const KernelArguments& a) const override {
    uint32_t words[6];  // read first: the state may be updated in place
    for (int i = 0; i < 6; ++i) std::memcpy(&words[i], a.inputs[0] + i * in_stride_ * 4, 4);
    const uint64_t low = words[0] | uint64_t{words[1]} << 32, high = words[2] | uint64_t{words[3]} << 32;
    auto* out = reinterpret_cast<uint32_t*>(a.outputs[0]);
    const int64_t blocks = (count_ + 3) / 4, whole = count_ / 4;
    ThreadPool::Get().ParallelFor(0, whole, 8192, [&](int64_t first, int64_t last, int) {
      const uint64_t at = low + static_cast<uint64_t>(first);
      Table().philox(at, high + (at < low ? 1 : 0), words[4], words[5], out + first * 4, last - first);
    });
    if (whole < blocks) {
      uint32_t rest[4];
      const uint64_t at = low + static_cast<uint64_t>(whole);
      Table().philox(at, high + (at < low ? 1 : 0), words[4], words[5], rest, 1);
      std::memcpy(out + whole * 4, rest, static_cast<size_t>(count_ - whole * 4) * 4);
    }
    if (!a.outputs[1]) return;
    const uint64_t after = low + static_cast<uint64_t>(blocks), carried = high + (after < low ? 1 : 0);
    words[0] = static_cast<uint32_t>(after);
    words[1] = static_cast<uint32_t>(after >> 32);
    words[2] = static_cast<uint32_t>(carried);
    words[3] = static_cast<uint32_t>(carried >> 32);
    for (int i = 0; i < 6; ++i) std::memcpy(a.outputs[1] + i * out_stride_ * 4, &words[i], 4);
  }

 private:
  int64_t count_, in_stride_, out_stride_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> MakeRandomKernel(const schema::OperatorDesc& desc) {
  const schema::TensorDesc& out = *desc.Outputs()[0];
  uint64_t step = 1;
  for (uint32_t d = out.rank; d-- > 0; step *= out.sizes[d])
    if (out.sizes[d] != 1 && out.strides[d] != step) return nullptr;
  return std::make_unique<RandomKernel>(desc);
}

}  // namespace dxtensor::software::fast
