#include "run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/abandon.h"
#include "software/cpu/host/thread_pool.h"
#include "software/shader/block.h"

namespace dxtensor::software::shader {

namespace {

constexpr int64_t kWidest = 16;  // of the vectors of all instruction sets
constexpr int64_t kFewestLanes = 128, kMaxLanes = 1024, kRegisterBytes = 24 << 10;
constexpr int64_t kPieceLanes = 16384;
constexpr int kUndefined = 0xcd;  // group-shared memory before it is written
constexpr size_t kAlignment = 64;

class Words {
 public:
  explicit Words(size_t count)
      : data_(static_cast<uint32_t*>(::operator new (std::max<size_t>(count, 1) * 4, std::align_val_t{kAlignment}))) {
    std::memset(data_.get(), 0, count * 4);
  }
  uint32_t* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(uint32_t* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<uint32_t, Delete> data_;
};

// What is the same for all blocks of a dispatch.
struct Dispatch {
  const Program& program;
  const Arguments& arguments;
  int64_t groups, groups_per_block, blocks, lanes, registers = 0, masks = 0;

  Dispatch(const Program& p, const Arguments& a) : program(p), arguments(a) {
    groups = int64_t{a.groups[0]} * a.groups[1] * a.groups[2];
    const int64_t threads = p.Threads();
    for (const Value& value : p.values) registers += !value.uniform();
    // Shared memory is one group's. Else as many groups as keep the registers in the first cache.
    const int64_t wanted = std::clamp(kRegisterBytes / 4 / std::max<int64_t>(registers, 1), kFewestLanes, kMaxLanes);
    groups_per_block = p.shared_size || threads >= wanted ? 1 : std::min(wanted / threads, groups);
    blocks = (groups + groups_per_block - 1) / groups_per_block;
    lanes = (groups_per_block * threads + kWidest - 1) / kWidest * kWidest;
    masks = 4 + 2 * p.if_levels + 3 * p.loop_levels;
  }
};

// One thread's registers.
class Worker {
 public:
  explicit Worker(const Dispatch& dispatch)
      : dispatch_(dispatch),
        words_(static_cast<size_t>(dispatch.lanes * (dispatch.registers + dispatch.masks + 4) +
                                   kWidest * (static_cast<int64_t>(dispatch.program.values.size()) - dispatch.registers)) +
               dispatch.program.shared_size / 4),
        next_(words_.data()),
        values_(new Lanes[dispatch.program.values.size()]),
        memories_(new MemoryRange[dispatch.program.memories.size() + 1]) {
    const Program& program = dispatch.program;
    for (size_t i = 0; i < program.values.size(); ++i) {
      const Value& value = program.values[i];
      values_[i] = {Take(value.uniform() ? kWidest : dispatch.lanes), value.uniform() ? 0 : ~uint64_t{0}};
      if (value.uniform()) std::fill_n(values_[i].data, kWidest, Uniform(value));
      else if (value.kind == Value::Kind::System) system_[value.index] = values_[i].data;
    }
    for (uint32_t*& scratch : block_.scratch) scratch = Take(dispatch.lanes);
    auto mask = [&](int64_t count = 1) { return reinterpret_cast<int32_t*>(Take(dispatch.lanes * count)); };
    start_ = mask();
    block_.active = mask(), block_.live = mask(), block_.spare = mask();
    block_.if_saved = mask(program.if_levels), block_.if_taken = mask(program.if_levels);
    block_.loop_entered = mask(program.loop_levels), block_.loop_running = mask(program.loop_levels);
    block_.loop_round = mask(program.loop_levels);
    shared_ = reinterpret_cast<uint8_t*>(Take(program.shared_size / 4));
    for (size_t i = 0; i < program.memories.size(); ++i) {
      const Memory& memory = program.memories[i];
      const Buffer& buffer = dispatch.arguments.buffers[i];
      memories_[i] =
          memory.is_shared ? MemoryRange{shared_ + memory.offset, memory.size} : MemoryRange{buffer.data, buffer.data ? buffer.size : 0};
    }
    block_.program = &program;
    block_.values = values_.get();
    block_.memories = memories_.get();
    block_.lanes = dispatch.lanes;
    block_.group_threads = program.Threads();
    block_.start = start_;
    block_.untouched = &untouched_;
    FillThreads();
  }

  const char* RunBlock(int64_t index) {
    const int64_t first = index * dispatch_.groups_per_block, count = std::min(dispatch_.groups_per_block, dispatch_.groups - first);
    SetGroups(first, count);
    if (dispatch_.program.shared_size) std::memset(shared_, kUndefined, dispatch_.program.shared_size);
    block_.abandoned = AbandonFlag();
    return fast::Table().run_shader_block(block_);
  }

 private:
  uint32_t* Take(int64_t count) {
    uint32_t* taken = next_;
    next_ += count;
    return taken;
  }

  uint32_t Uniform(const Value& value) const {
    const Arguments& a = dispatch_.arguments;
    switch (value.kind) {
      case Value::Kind::Constant: return value.index < a.constant_count ? a.constants[value.index] : 0;
      case Value::Kind::Elements:
        return a.buffers[value.index].data
                   ? static_cast<uint32_t>(a.buffers[value.index].size / dispatch_.program.memories[value.index].stride)
                   : 0;
      default: return value.index;
    }
  }

  // What threads know of their position in the group.
  void FillThreads() {
    const uint32_t* size = dispatch_.program.group;
    const int64_t threads = block_.group_threads;
    for (int64_t lane = 0; lane < dispatch_.groups_per_block * threads; ++lane) {
      const auto flat = static_cast<uint32_t>(lane % threads);
      const uint32_t position[3] = {flat % size[0], flat / size[0] % size[1], flat / size[0] / size[1]};
      if (uint32_t* to = system_[kFlatThreadIdInGroup]) to[lane] = flat;
      for (uint32_t axis = 0; axis < 3; ++axis)
        if (uint32_t* to = system_[kThreadIdInGroup + axis]) to[lane] = position[axis];
    }
  }

  void SetGroups(int64_t first, int64_t count) {
    const uint32_t* groups = dispatch_.arguments.groups;
    const uint32_t* size = dispatch_.program.group;
    const int64_t threads = block_.group_threads;
    if (count != groups_) {
      for (int64_t lane = 0; lane < block_.lanes; ++lane) start_[lane] = lane < count * threads ? -1 : 0;
      groups_ = count;
      block_.whole = count * threads == block_.lanes;
      untouched_ = false;
    }
    for (int64_t g = 0; g < count; ++g) {
      const int64_t group = first + g;
      const int64_t position[3] = {group % groups[0], group / groups[0] % groups[1], group / groups[0] / groups[1]};
      const int64_t begin = g * threads;
      for (uint32_t axis = 0; axis < 3; ++axis) {
        const auto at = static_cast<uint32_t>(position[axis]);
        if (uint32_t* to = system_[kGroupId + axis]) std::fill_n(to + begin, threads, at);
        if (uint32_t* to = system_[kThreadId + axis]) FillIds(to + begin, axis, at * size[axis]);
      }
    }
  }

  void FillIds(uint32_t* to, uint32_t axis, uint32_t base) const {
    const uint32_t* size = dispatch_.program.group;
    const uint32_t threads = block_.group_threads;
    if (axis == 0 && size[0] == threads) {
      for (uint32_t i = 0; i < threads; ++i) to[i] = base + i;
      return;
    }
    const uint32_t below = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
    for (uint32_t i = 0; i < threads; ++i) to[i] = base + i / below % size[axis];
  }

  const Dispatch& dispatch_;
  Words words_;
  uint32_t* next_;
  std::unique_ptr<Lanes[]> values_;
  std::unique_ptr<MemoryRange[]> memories_;
  uint32_t* system_[kSystemValues] = {};
  int32_t* start_ = nullptr;
  uint8_t* shared_ = nullptr;
  int64_t groups_ = 0;
  bool untouched_ = false;
  Block block_{};
};

}  // namespace

const char* Run(const Program& program, const Arguments& arguments) {
  const Dispatch dispatch(program, arguments);
  ThreadPool& pool = ThreadPool::Get();
  const int64_t max_grain = std::max<int64_t>(1, kPieceLanes / dispatch.lanes);
  const int64_t grain = std::clamp<int64_t>(dispatch.blocks / (8 * pool.size()), 1, max_grain);
  // Made here, since what runs on the pool must not throw.
  std::vector<std::unique_ptr<Worker>> workers(dispatch.blocks > grain ? static_cast<size_t>(pool.size()) : 1);
  for (auto& worker : workers) worker = std::make_unique<Worker>(dispatch);
  std::atomic<const char*> fault{nullptr};
  pool.ParallelFor(0, dispatch.blocks, grain, [&](int64_t first, int64_t last, int slot) {
    for (int64_t i = first; i < last && !fault.load(std::memory_order_relaxed); ++i)
      if (const char* wrong = workers[static_cast<size_t>(slot)]->RunBlock(i)) fault.store(wrong, std::memory_order_relaxed);
  });
  // A loop that was left is no fault.
  CheckAbandoned();
  return fault.load();
}

}  // namespace dxtensor::software::shader
