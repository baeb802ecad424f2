// The shader executor: memory, control flow, groups, and wrong shaders.
#include "shader_run.h"

namespace dxtensor::test {

namespace {

using namespace software::shader;

Words Ramp(uint32_t count, uint32_t step = 1) {
  Words words(count);
  for (uint32_t i = 0; i < count; ++i) words[i] = i * step + 1;
  return words;
}

// Steps until a number is 1, at max_steps `max_steps`; numbers divisible by 16 are left at once, and count 1000.
uint32_t CollatzSteps(uint32_t x, uint32_t max_steps) {
  uint32_t steps = 0;
  for (;;) {
    if (x % 16 == 0) return 1000;
    if (x == 1 || steps >= max_steps) break;
    ++steps;
    if (x % 2) {
      x = 3 * x + 1;
      continue;
    }
    x /= 2;
  }
  return steps;
}

ShaderCode Collatz(uint32_t threads) {
  ShaderCode code(threads);
  code.Temps(4).Constants(4).Raw(0);
  code.Add(kMov, {To(0), SystemValue(kInputThreadId)}).Add(kUge, {To(3), R(0), Cb(0)}).Add(kRetc | kOpcodeNonZero, {R(3)});
  code.Add(kIadd, {To(1), R(0), I(1)}).Add(kMov, {To(2), I(0)}).Add(kIshl, {To(0), R(0), I(2)});
  code.Add(kLoop);
  code.Add(kAnd, {To(3), R(1), I(15)}).Add(kIf, {R(3)});
  code.Add(kStoreRaw, {MemoryWrite(kUav, 0), R(0), I(1000)}).Add(kRet);
  code.Add(kEndif);
  code.Add(kIeq, {To(3), R(1), I(1)}).Add(kBreakc | kOpcodeNonZero, {R(3)});
  code.Add(kUge, {To(3), R(2), Cb(1)}).Add(kIf | kOpcodeNonZero, {R(3)}).Add(kBreak).Add(kEndif);
  code.Add(kIadd, {To(2), R(2), I(1)});
  code.Add(kAnd, {To(3), R(1), I(1)}).Add(kIf | kOpcodeNonZero, {R(3)});
  code.Add(kImad, {To(1), R(1), I(3), I(1)}).Add(kContinue);
  code.Add(kElse).Add(kUshr, {To(1), R(1), I(1)}).Add(kEndif);
  code.Add(kEndloop);
  return code.Add(kStoreRaw, {MemoryWrite(kUav, 0), R(0), R(2)}).Add(kRet);
}

// The sum of each group's words by a tree in shared memory, and the total by atomics of the groups' first threads.
ShaderCode TreeSum(uint32_t threads) {
  ShaderCode code(threads);
  code.Temps(4).Raw(0).Raw(1).Raw(2).SharedRaw(0, threads * 4);
  const Words flat = {kInputFlatThreadIdInGroup << 12 | 1};
  code.Add(kIshl, {To(0), SystemValue(kInputThreadId), I(2)}).Add(kLdRaw, {To(1), R(0), MemoryRead(kUav, 0)});
  code.Add(kIshl, {To(0), flat, I(2)}).Add(kStoreRaw, {MemoryWrite(kSharedMemory, 0), R(0), R(1)});
  code.Add(kMov, {To(2), I(threads / 2)});
  code.Add(kLoop).Add(kSync | kSyncGroup).Add(kBreakc, {R(2)});
  code.Add(kUlt, {To(3), flat, R(2)}).Add(kIf | kOpcodeNonZero, {R(3)});
  code.Add(kIadd, {To(3), flat, R(2)}).Add(kIshl, {To(3), R(3), I(2)}).Add(kLdRaw, {To(3), R(3), MemoryRead(kSharedMemory, 0)});
  code.Add(kLdRaw, {To(1), R(0), MemoryRead(kSharedMemory, 0)}).Add(kIadd, {To(1), R(1), R(3)});
  code.Add(kStoreRaw, {MemoryWrite(kSharedMemory, 0), R(0), R(1)});
  code.Add(kEndif).Add(kUshr, {To(2), R(2), I(1)}).Add(kEndloop);
  code.Add(kIf, {flat}).Add(kLdRaw, {To(1), I(0), MemoryRead(kSharedMemory, 0)});
  code.Add(kIshl, {To(0), SystemValue(kInputGroupId), I(2)}).Add(kStoreRaw, {MemoryWrite(kUav, 1), R(0), R(1)});
  return code.Add(kAtomicIadd, {U(2), I(0), R(1)}).Add(kEndif).Add(kRet);
}

std::string Refusal(const ShaderCode& code) {
  std::string wrong;
  const std::vector<uint8_t> container = code.Container();
  return Decode(container.data(), container.size(), &wrong) ? "" : wrong;
}

}  // namespace

TEST(shader_divergent_loops) {
  for (uint32_t threads : {64u, 40u, 5u, 1024u}) {
    constexpr uint32_t kCount = 3000;
    std::vector<GuardedBuffer> buffers = {GuardedBuffer(Words(kCount, 5))};
    CHECK(!RunShader(*Decoded(Collatz(threads)), buffers, {kCount, 90}, (kCount + threads - 1) / threads));
    const Words steps = buffers[0].words();
    for (uint32_t i = 0; i < kCount; ++i) CHECK_EQ(steps[i], CollatzSteps(i + 1, 90));
  }
}

TEST(shader_barriers_and_atomics) {
  for (uint32_t threads : {32u, 256u, 1024u}) {
    constexpr uint32_t kGroups = 37;
    const Words in = Ramp(threads * kGroups, 3);
    std::vector<GuardedBuffer> buffers = {GuardedBuffer(in), GuardedBuffer(Words(kGroups)), GuardedBuffer({100})};
    const auto program = Decoded(TreeSum(threads));
    CHECK(!RunShader(*program, buffers, {}, kGroups));
    uint32_t total = 100;
    for (uint32_t g = 0; g < kGroups; ++g) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < threads; ++i) sum += in[g * threads + i];
      CHECK_EQ(buffers[1].words()[g], sum);
      total += sum;
    }
    CHECK_EQ(buffers[2].words()[0], total);
  }
}

TEST(shader_atomics_give_each_thread_its_own) {
  struct Atomic {
    uint32_t opcode, start, operand;
  };
  // Tickets: each number of 0 to n - 1 is given once.
  constexpr uint32_t kThreads = 64, kGroups = 200, kCount = kThreads * kGroups;
  ShaderCode code(kThreads);
  code.Temps(3).Raw(0).Raw(1).Add(kImmAtomicIadd, {To(0), U(0), I(0), I(1)}).Add(kIshl, {To(1), R(0), I(2)});
  code.Add(kAtomicIadd, {U(1), R(1), I(1)}).Add(kRet);
  std::vector<GuardedBuffer> buffers = {GuardedBuffer({0}), GuardedBuffer(Words(kCount))};
  CHECK(!RunShader(*Decoded(code), buffers, {}, kGroups));
  CHECK_EQ(buffers[0].words()[0], kCount);
  CHECK(buffers[1].words() == Words(kCount, 1));
  // Each kind over all threads' numbers + 1.
  ShaderCode all(kThreads);
  all.Temps(2).Raw(0).Add(kIadd, {To(0), SystemValue(kInputThreadId), I(1)});
  const uint32_t kinds[] = {kAtomicImax, kAtomicImin, kAtomicUmax, kAtomicUmin, kAtomicOr, kAtomicAnd, kAtomicXor};
  for (uint32_t i = 0; i < 7; ++i) all.Add(kinds[i], {U(0), I(4 * i), R(0)});
  all.Add(kImmAtomicCmpExch, {To(1), U(0), I(28), I(9), I(10)}).Add(kAtomicIadd, {U(0), I(1 << 20), R(0)}).Add(kRet);
  const uint32_t low = static_cast<uint32_t>(-5), high = 0xfffffff0;
  buffers = {GuardedBuffer({low, 7, 3, high, 0, UINT32_MAX, 0, 9})};
  CHECK(!RunShader(*Decoded(all), buffers, {}, kGroups));
  uint32_t any = 0, every = UINT32_MAX, odd = 0;
  for (uint32_t i = 1; i <= kCount; ++i) any |= i, every &= i, odd ^= i;
  const Words want = {kCount, 1, kCount, 1, any, every, odd, 10};
  for (size_t i = 0; i < want.size(); ++i) CHECK_EQ(buffers[0].words()[i], want[i]);
}

TEST(shader_loads_and_stores_of_several_words) {
  // Three words a thread, read with a swizzle, written contiguously: some threads reach beyond both buffers.
  for (uint32_t words : {2u, 3u, 4u}) {
    ShaderCode code(64);
    code.Temps(4).Raw(0).Raw(1).Add(kImul, {Null(), To(0), SystemValue(kInputThreadId), I(4 * words)});
    const uint32_t mask = (1u << words) - 1;
    code.Add(kLdRaw, {To(1, mask), R(0), MemoryRead(kUav, 0)}).Add(kStoreRaw, {MemoryWrite(kUav, 1, mask), R(0), Swizzled(1, 1, 0, 2, 3)});
    code.Add(kRet);
    const Words in = Ramp(501);
    std::vector<GuardedBuffer> buffers = {GuardedBuffer(in), GuardedBuffer(Words(300, 9))};
    CHECK(!RunShader(*Decoded(code), buffers, {}, 4));
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t thread = i / words, word = i % words, from = thread * words + (word < 2 ? 1 - word : word);
      CHECK_EQ(buffers[1].words()[i], thread < 256 ? (from < 501 ? in[from] : 0) : 9);
    }
  }
  // Addresses that no vector has: all the same, at the end of the address space, not at a word.
  ShaderCode code(64);
  code.Temps(4).Raw(0).Raw(1).Add(kIshl, {To(0), SystemValue(kInputThreadId), I(2)});
  code.Add(kLdRaw, {To(1), I(4), MemoryRead(kUav, 0)}).Add(kStoreRaw, {MemoryWrite(kUav, 1), R(0), R(1)});
  code.Add(kLdRaw, {To(1, 15), Cb(0), MemoryRead(kUav, 0)}).Add(kStoreRaw, {MemoryWrite(kUav, 1), Cb(0), I(3)});
  code.Add(kIadd, {To(2), R(0), I(256)}).Add(kStoreRaw, {MemoryWrite(kUav, 1), R(2), R(1, 3)});
  code.Add(kIadd, {To(2), R(0), I(512 + 3)})
      .Add(kStoreRaw, {MemoryWrite(kUav, 1), R(2), SystemValue(kInputThreadId)})
      .Constants(4)
      .Add(kRet);
  ShaderCode first(64);
  first.Constants(4);
  Words tokens = first.tokens();
  tokens.insert(tokens.end(), code.tokens().begin() + 4, code.tokens().end());
  std::string wrong;
  const std::vector<uint8_t> container = ShaderCode::ContainerOf(tokens);
  const auto program = Decode(container.data(), container.size(), &wrong);
  if (!program) throw Failure{wrong};
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(Ramp(16)), GuardedBuffer(Words(192, 9))};
  CHECK(!RunShader(*program, buffers, {0xfffffff8}, 1));
  for (uint32_t i = 0; i < 64; ++i) {
    CHECK_EQ(buffers[1].words()[i], 2u);
    CHECK_EQ(buffers[1].words()[64 + i], 0u);
    CHECK_EQ(buffers[1].words()[128 + i], i);
  }
}

TEST(shader_structures) {
  ShaderCode code(32, 2);
  code.Temps(4).Structured(0, 12).Structured(1, 8).Add(kDclTgsmStructured, {G(0), {4}, {64}});
  const Words flat = {kInputFlatThreadIdInGroup << 12 | 1};
  code.Add(kLdStructured, {To(1, 3), flat, I(4), MemoryRead(kUav, 0)});
  code.Add(kStoreStructured, {MemoryWrite(kSharedMemory, 0), flat, I(0), R(1)}).Add(kSync | kSyncGroup);
  code.Add(kXor, {To(2), flat, I(63)}).Add(kLdStructured, {To(1), R(2), I(0), MemoryRead(kSharedMemory, 0)});
  code.Add(kStoreStructured, {MemoryWrite(kUav, 1, 3), flat, I(0), Swizzled(1, 0, 1, 0, 0)});
  code.Add(kIadd, {To(2), flat, I(1000)}).Add(kStoreStructured, {MemoryWrite(kUav, 1), R(2), I(0), I(5)});
  code.Add(kStoreStructured, {MemoryWrite(kUav, 1), flat, I(8), I(5)}).Add(kRet);
  const Words in = Ramp(3 * 50);
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(in), GuardedBuffer(Words(2 * 60, 9))};
  CHECK(!RunShader(*Decoded(code), buffers, {}, 1));
  for (uint32_t i = 0; i < 60; ++i) {
    const uint32_t other = 63 - i;
    CHECK_EQ(buffers[1].words()[2 * i], other < 50 ? in[3 * other + 1] : 0);
    CHECK_EQ(buffers[1].words()[2 * i + 1], i < 50 ? in[3 * i + 2] : 0);
  }
}

// u1[i] = u0[i + 1] with its words reversed; beyond the last texel nothing is read or written. u2 is raw.
TEST(shader_texels) {
  ShaderCode code(64);
  code.Temps(3).Texels(0).Texels(1).Raw(2);
  const Words flat = {kInputFlatThreadIdInGroup << 12 | 1};
  code.Add(kIadd, {To(0), flat, I(1)}).Add(kLdUavTyped, {To(1, 15), R(0), MemoryRead(kUav, 0)});
  code.Add(kStoreUavTyped, {MemoryWrite(kUav, 1, 15), flat, Swizzled(1, 3, 2, 1, 0)});
  code.Add(kImad, {To(2), flat, I(16), I(16 * 40)}).Add(kStoreRaw, {MemoryWrite(kUav, 2), R(2), flat}).Add(kRet);
  const Words in = Ramp(4 * 33);
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(in), GuardedBuffer(Words(4 * 40, 9)), GuardedBuffer(Words(4 * 50, 9))};
  CHECK(!RunShader(*Decoded(code), buffers, {}, 1));
  for (uint32_t i = 0; i < 40; ++i)
    for (uint32_t word = 0; word < 4; ++word) CHECK_EQ(buffers[1].words()[4 * i + word], i < 32 ? in[4 * (i + 1) + 3 - word] : 0);
  for (uint32_t i = 0; i < 50; ++i) CHECK_EQ(buffers[2].words()[4 * i], i < 40 ? 9 : i - 40);
}

TEST(shader_numbers_of_threads_and_groups) {
  ShaderCode code(4, 3, 2);
  code.Temps(3).Raw(0);
  const Words flat = {kInputFlatThreadIdInGroup << 12 | 1};
  // Position: ((group z, y, x), flat); word: thread id and position in the group packed.
  code.Add(kImad, {To(0), SystemValue(kInputGroupId, 2), I(2), SystemValue(kInputGroupId, 1)});
  code.Add(kImad, {To(0), R(0), I(5), SystemValue(kInputGroupId, 0)}).Add(kImad, {To(0), R(0), I(24), flat});
  code.Add(kIshl, {To(0), R(0), I(2)}).Add(kMov, {To(1), I(0)});
  for (uint32_t axis = 0; axis < 3; ++axis)
    code.Add(kImad, {To(1), R(1), I(32), SystemValue(kInputThreadId, axis)})
        .Add(kImad, {To(1), R(1), I(4), SystemValue(kInputThreadIdInGroup, axis)});
  code.Add(kStoreRaw, {MemoryWrite(kUav, 0), R(0), R(1)}).Add(kRet);
  std::vector<GuardedBuffer> buffers = {GuardedBuffer(Words(5 * 2 * 3 * 24))};
  CHECK(!RunShader(*Decoded(code), buffers, {}, 5, 2, 3));
  const uint32_t size[3] = {4, 3, 2};
  for (uint32_t at = 0; at < 5 * 2 * 3 * 24; ++at) {
    const uint32_t flat_id = at % 24, group = at / 24;
    const uint32_t position[3] = {flat_id % 4, flat_id / 4 % 3, flat_id / 12}, groups[3] = {group % 5, group / 5 % 2, group / 10};
    uint32_t want = 0;
    for (int axis = 0; axis < 3; ++axis) want = (want * 32 + groups[axis] * size[axis] + position[axis]) * 4 + position[axis];
    CHECK_EQ(buffers[0].words()[at], want);
  }
}

TEST(shader_mistakes_are_told) {
  ShaderCode apart(64);
  apart.Temps(1).Add(kUlt, {To(0), SystemValue(kInputThreadId), I(70)}).Add(kIf | kOpcodeNonZero, {R(0)});
  apart.Add(kSync | kSyncGroup).Add(kEndif).Add(kRet);
  std::vector<GuardedBuffer> none;
  CHECK(!RunShader(*Decoded(apart), none, {}, 1));  // all of the first group
  CHECK(RunShader(*Decoded(apart), none, {}, 2));
  CHECK_EQ(Refusal(ShaderCode(64).Add(69, {To(0)})), "sample is not part of the software adapter");
  CHECK_EQ(Refusal(ShaderCode(64).Add(300)), "opcode 300 is not part of the software adapter");
  CHECK_EQ(Refusal(ShaderCode(64).Add(kMov, {To(0), I(1)})), "register r0 is not declared");
  CHECK_EQ(Refusal(ShaderCode(64).Temps(1).Add(kMov, {To(0), Cb(0)})), "cb0[0] is not declared");
  CHECK_EQ(Refusal(ShaderCode(64).Temps(1).Add(kLdRaw, {To(0), I(0), MemoryRead(kUav, 0)})),
           "ld_raw names a resource that is not declared");
  CHECK_EQ(Refusal(ShaderCode(64).Raw(0).Add(kStoreStructured, {MemoryWrite(kUav, 0), I(0), I(0), I(0)})),
           "store_structured names a resource of another kind");
  CHECK_EQ(Refusal(ShaderCode(64).Temps(1).Texels(0).Add(kLdRaw, {To(0), I(0), MemoryRead(kUav, 0)})),
           "ld_raw names a resource of another kind");
  CHECK_EQ(Refusal(ShaderCode(64).Texels(0).Add(kStoreUavTyped, {MemoryWrite(kUav, 0, 7), I(0), I(0)})), "store_uav_typed is malformed");
  CHECK_EQ(Refusal(ShaderCode(64).Texels(0).Add(kAtomicIadd, {{kUav << 12 | 1u << 20, 0}, I(0), I(1)})),
           "atomic_iadd names a resource of another kind");
  CHECK_EQ(Refusal(ShaderCode(64).Add(kDclUavTyped | 1u << 11, {U(0), {0x5555}})),
           "typed views of other than four unsigned words are not part of the software adapter");
  CHECK_EQ(Refusal(ShaderCode(64).Raw(0).Raw(0)), "dcl_uav_raw declares a resource twice, or too many");
  CHECK_EQ(Refusal(ShaderCode(64).SharedRaw(0, 32772)), "the shader declares more than 32 KiB of group-shared memory");
  CHECK_EQ(Refusal(ShaderCode(1024, 2)), "a thread group has more than 1024 threads");
  CHECK_EQ(Refusal(ShaderCode(64).Add(kBreak)), "break outside of a loop");
  CHECK_EQ(Refusal(ShaderCode(64).Add(kElse)), "else without if");
  CHECK_EQ(Refusal(ShaderCode(64).Add(kLoop)), "a loop is not closed");
  CHECK_EQ(Refusal(ShaderCode(64).Temps(1).Add(kMov, {To(0)})), "an instruction is cut short");
  ShaderCode deep(64);
  for (int i = 0; i < 65; ++i) deep.Add(kIf, {I(0)});
  CHECK_EQ(Refusal(deep), "the shader nests deeper than 64 levels");
}

TEST(shader_malformed) {
  const std::vector<ShaderCode> seeds = {Collatz(64), TreeSum(64)};
  uint32_t state = suite.seed * 747796405u + 1;
  auto next = [&](uint32_t below) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % below;
  };
  unsigned ran = 0;
  for (unsigned round = 0; round < suite.rounds * 100; ++round) {
    Words tokens = seeds[round % seeds.size()].tokens();
    for (uint32_t changes = 1 + next(3); changes; --changes) {
      uint32_t& word = tokens[next(static_cast<uint32_t>(tokens.size()))];
      switch (next(5)) {
        case 0: word ^= 1u << next(32); break;
        case 1: word = next(256); break;
        case 2: word = (word & ~0x7ffu) | next(200); break;
        case 3: tokens.resize(1 + next(static_cast<uint32_t>(tokens.size()))); break;
        default: word = tokens[next(static_cast<uint32_t>(tokens.size()))]; break;
      }
    }
    std::vector<uint8_t> container = ShaderCode::ContainerOf(tokens);
    std::string wrong;
    // The container itself, with a checksum that is right all the same.
    if (round % 4 == 0) {
      container[20 + next(static_cast<uint32_t>(container.size() - 20))] ^= static_cast<uint8_t>(1 + next(255));
      uint32_t sum[4];
      Checksum(container.data(), container.size(), sum);
      std::memcpy(container.data() + 4, sum, 16);
    }
    const auto program = Decode(container.data(), container.size(), &wrong);
    CHECK(!program == !wrong.empty());
    // A changed loop may not end: only those without one are run.
    if (!program || program->loop_levels) continue;
    std::vector<GuardedBuffer> buffers = {GuardedBuffer(Ramp(50)), GuardedBuffer(Ramp(20)), GuardedBuffer({1})};
    RunShader(*program, buffers, {30, 20}, 2);
    ++ran;
  }
  CHECK(ran > 0);
  const std::vector<uint8_t> whole = seeds[0].Container();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string wrong;
    const std::vector<uint8_t> part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    CHECK(!Decode(part.data(), part.size(), &wrong));
  }
}

}  // namespace dxtensor::test
