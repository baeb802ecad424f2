// RANDOM_GENERATOR: Philox 4x32-10. State words 0 to 3 are the counter, least significant first, 4 and 5 the key; each step of
// the counter gives four output elements.
#include "element.h"
#include "iterate.h"
#include "kernels.h"

namespace dxtensor::software {

namespace {

using Counter = std::array<uint32_t, 4>;

Counter Philox(Counter c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(p1), static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key1,
         static_cast<uint32_t>(p0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return c;
}

Counter Advance(const Counter& c, uint64_t blocks) {
  const uint64_t low = c[0] | uint64_t{c[1]} << 32, high = c[2] | uint64_t{c[3]} << 32;
  const uint64_t sum = low + blocks, carried = high + (sum < low ? 1 : 0);
  return {static_cast<uint32_t>(sum), static_cast<uint32_t>(sum >> 32), static_cast<uint32_t>(carried),
          static_cast<uint32_t>(carried >> 32)};
}

}  // namespace

KernelPointer MakeRandom(const schema::OperatorDesc& desc) {
  const schema::TensorDesc &state = *desc.Inputs()[0], &out = *desc.Outputs()[0];
  const schema::TensorDesc* next = desc.Outputs()[1];
  const uint64_t in_stride = state.strides[state.rank - 1], out_stride = next ? next->strides[next->rank - 1] : 0;
  BoxIterator<1> iterate(out, {&out});
  return KernelFrom([=](const KernelArguments& a) {
    std::array<uint32_t, 6> words;  // read first: the state may be updated in place
    for (size_t i = 0; i < 6; ++i) words[i] = Load<uint32_t>(a.inputs[0], i * in_stride);
    const Counter start = {words[0], words[1], words[2], words[3]};
    Counter block{};
    uint64_t k = 0;
    iterate([&](const Offsets<1>& at) {
      if (k % 4 == 0) block = Philox(Advance(start, k / 4), words[4], words[5]);
      Store<uint32_t>(a.outputs[0], at[0], block[k % 4]);
      ++k;
    });
    if (!a.outputs[1]) return;
    const Counter after = Advance(start, (k + 3) / 4);
    for (size_t i = 0; i < 6; ++i) Store<uint32_t>(a.outputs[1], i * out_stride, i < 4 ? after[i] : words[i]);
  });
}

}  // namespace dxtensor::software
