#include "block_program.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "software/cpu/fast/isa/isa_table.h"
#include "software/cpu/host/thread_pool.h"

namespace dxtensor::software::fast {

bool IsEngineType(DML_TENSOR_DATA_TYPE type) {
  return type >= DML_TENSOR_DATA_TYPE_FLOAT32 && type <= DML_TENSOR_DATA_TYPE_INT64 && type != DML_TENSOR_DATA_TYPE_FLOAT64;
}

namespace {

bool IsScalar(const schema::TensorDesc& t) {
  for (uint32_t i = 0; i < t.rank; ++i)
    if (t.sizes[i] != 1 && t.strides[i] != 0) return false;
  return true;
}
bool SameSizes(const schema::TensorDesc& a, const schema::TensorDesc& b) {
  uint32_t i = a.rank, j = b.rank;
  while (i || j) {
    const uint32_t x = i ? a.sizes[--i] : 1, y = j ? b.sizes[--j] : 1;
    if (x != y) return false;
  }
  return true;
}

// What one instruction costs for an element, in tenths of a nanosecond or so: decides how finely work is split.
int CostOf(const MicroOp& op) {
  switch (op.code) {
    case Code::FPow:
    case Code::FPowConstant:
    case Code::FSin:
    case Code::FCos: return 30;
    case Code::FCall:
    case Code::FCall2:
    case Code::IDivide:
    case Code::IRemainderTruncated:
    case Code::IRemainderFloored: return 60;
    case Code::FExp:
    case Code::FLog:
    case Code::FTanh:
    case Code::FErf:
    case Code::FSigmoid:
    case Code::FGelu:
    case Code::FElu:
    case Code::FSoftPlus:
    case Code::FSwish: return 8;
    default: return 1;
  }
}

// Speed (suite, 1 thread, AVX-512): kLargeMemory: within 5 % from 1/4 to 4 times; kMaxBlock 0.92 at 1/4.
constexpr int64_t kLargeMemory = 40 * 1024, kSmallMemory = 4 * 1024;
constexpr int64_t kMaxBlock = 1024;
constexpr int kMaxRegisters = 128;

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------------

class ProgramKernel final : public Kernel {
 public:
  explicit ProgramKernel(ProgramBuilder& builder);
  bool FitsCache() const { return registers_ <= kMaxRegisters && memory_per_element_ * 64 <= kLargeMemory; }
  void Run(const KernelArguments& arguments) const override;
  bool MayOverwrite(size_t input, size_t output) const override;

 private:
  enum class Access : uint8_t { Contiguous, Scalar, Strided };
  struct Operand {
    int slot;
    uint16_t reg;
    Access access;
    bool direct;  // contiguous, or in parts that are, and memory has the register's form
    DML_TENSOR_DATA_TYPE type;
    int bytes;
    std::array<int64_t, schema::kMaxRank> strides;  // of the merged dimensions
  };
  template <int64_t kMemory>
  void RunRange(const KernelArguments& arguments, int64_t first, int64_t last, int64_t block) const;
  void RunBlock(const KernelArguments& arguments, uint8_t** registers, uint8_t* const* homes, int64_t start, int64_t n) const;
  template <typename Step>
  void BoxIterator(const Operand& operand, int64_t start, int64_t n, Step step) const;

  int rank_ = 0;
  std::array<int64_t, schema::kMaxRank> sizes_{};
  int64_t count_ = 1, block_ = kMaxBlock, grain_ = 0;
  int width_;
  decltype(IsaTable::execute) execute_;
  int registers_ = 0;
  int64_t memory_per_element_ = 0;
  std::vector<int64_t> home_bytes_;  // bytes an element of each register's home
  std::vector<MicroOp> ops_;
  std::vector<Operand> loads_, stores_;
  bool has_scalars_ = false;
};

ProgramKernel::ProgramKernel(ProgramBuilder& b) : width_(Table().width), execute_(Table().execute) {
  // Iterate along the first output's memory: its largest strides outermost.
  std::vector<uint32_t> order;
  for (uint32_t d = 0; d < b.rank_; ++d)
    if (b.sizes_[d] != 1) order.push_back(d);
  const Extents& lead = b.stores_[0].strides;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) { return lead[x] > lead[y]; });

  std::vector<const ProgramBuilder::Operand*> operands;
  for (auto& o : b.loads_) operands.push_back(&o);
  for (auto& o : b.stores_) operands.push_back(&o);
  std::vector<std::array<int64_t, schema::kMaxRank>> strides(operands.size());
  for (uint32_t d : order) {
    bool merges = rank_ > 0;
    for (size_t i = 0; i < operands.size() && merges; ++i) merges = strides[i][rank_ - 1] == operands[i]->strides[d] * b.sizes_[d];
    if (!merges) sizes_[rank_++] = 1;
    sizes_[rank_ - 1] *= b.sizes_[d];
    for (size_t i = 0; i < operands.size(); ++i) strides[i][rank_ - 1] = operands[i]->strides[d];
  }
  if (rank_ == 0) {
    sizes_[rank_++] = 1;
    for (auto& s : strides) s[0] = 1;
  }
  for (int d = 0; d < rank_; ++d) count_ *= sizes_[d];

  // Homes by lifetime. A scalar keeps its home to itself, since it is filled once for many blocks; so do
  // operands that are read or written without a copy, since their register may be the tensor's own memory.
  const int virtual_count = static_cast<int>(b.types_.size());
  std::vector<int> last_use(virtual_count, -1), home(virtual_count, -1);
  for (int k = 0; k < b.op_count(); ++k)
    for (uint16_t r : {b.ops_[k].a, b.ops_[k].b, b.ops_[k].c}) last_use[r] = k;
  std::vector<bool> pinned(virtual_count, false);
  for (auto& s : b.stores_) {
    last_use[s.reg] = b.op_count();
    pinned[s.reg] = true;
  }
  auto access_of = [&](size_t i) {
    bool scalar = true, contiguous = true;
    int64_t step = 1;
    for (int d = rank_ - 1; d >= 0; --d) {
      scalar &= strides[i][d] == 0 || sizes_[d] == 1;
      contiguous &= strides[i][d] == step;
      step *= sizes_[d];
    }
    return contiguous ? Access::Contiguous : scalar ? Access::Scalar : Access::Strided;
  };
  // Whether a block of it often lies in one piece.
  auto has_parts = [&](size_t i) { return strides[i][rank_ - 1] == 1 && sizes_[rank_ - 1] >= kMaxBlock / 2; };
  std::vector<int> free4, free8;
  auto take = [&](int reg) {
    auto& pool = RegisterBytes(b.types_[reg]) == 8 ? free8 : free4;
    if (pool.empty() || pinned[reg]) {
      home[reg] = registers_++;
      home_bytes_.push_back(RegisterBytes(b.types_[reg]));
    } else {
      home[reg] = pool.back();
      pool.pop_back();
    }
  };
  for (size_t i = 0; i < b.loads_.size(); ++i) {
    if (access_of(i) != Access::Strided || has_parts(i)) pinned[b.loads_[i].reg] = true;
    take(b.loads_[i].reg);
  }
  std::vector<std::vector<int>> dies(b.op_count() + 1);
  for (int r = 0; r < virtual_count; ++r)
    if (last_use[r] >= 0 && last_use[r] < b.op_count() && !pinned[r]) dies[last_use[r]].push_back(r);
  ops_ = b.ops_;
  for (int k = 0; k < b.op_count(); ++k) {
    MicroOp& op = ops_[k];
    const int d = op.d;
    // The result takes a block of its own: instructions that change the width of elements cannot work in place.
    take(d);
    op.a = static_cast<uint16_t>(home[op.a]);
    op.b = static_cast<uint16_t>(home[op.b]);
    op.c = static_cast<uint16_t>(home[op.c]);
    for (int r : dies[k]) (RegisterBytes(b.types_[r]) == 8 ? free8 : free4).push_back(home[r]);
    if (last_use[d] < 0) (RegisterBytes(b.types_[d]) == 8 ? free8 : free4).push_back(home[d]);
    op.d = static_cast<uint16_t>(home[d]);
  }
  for (int64_t bytes : home_bytes_) memory_per_element_ += bytes;

  for (size_t i = 0; i < operands.size(); ++i) {
    const ProgramBuilder::Operand& from = *operands[i];
    Operand o{from.slot,    static_cast<uint16_t>(home[from.reg]),
              access_of(i), false,
              from.type,    static_cast<int>(schema::BytesPerElement(from.type)),
              strides[i]};
    const bool is_load = i < b.loads_.size();
    o.direct = (o.access == Access::Contiguous || (is_load && has_parts(i))) && o.bytes == RegisterBytes(b.types_[from.reg]);
    has_scalars_ |= o.access == Access::Scalar;
    if (is_load) {
      loads_.push_back(o);
      continue;
    }
    for (auto& s : b.stores_) o.direct &= &s == &from || s.reg != from.reg;
    for (auto& l : b.loads_) o.direct &= l.reg != from.reg;
    stores_.push_back(o);
  }

  int cost = 1;
  for (auto& op : ops_) cost += CostOf(op);
  for (auto& o : loads_) cost += o.access == Access::Strided ? 8 : 1;
  for (auto& o : stores_) cost += o.access == Access::Contiguous ? 1 : 8;
  grain_ = std::max<int64_t>(kMaxBlock, 100000 / cost / kMaxBlock * kMaxBlock);
  // A few chunks for each thread, so that a delayed thread does not delay all.
  grain_ = std::max(grain_, (count_ / (ThreadPool::Get().size() * 8) + kMaxBlock) / kMaxBlock * kMaxBlock);
  block_ = std::clamp<int64_t>(kLargeMemory / std::max<int64_t>(memory_per_element_, 4) / 64 * 64, 64, kMaxBlock);
}

// Calls step(element in the block, offset in memory, length) for every segment along the innermost dimension.
template <typename Step>
void ProgramKernel::BoxIterator(const Operand& o, int64_t start, int64_t n, Step step) const {
  std::array<int64_t, schema::kMaxRank> at;
  int64_t rest = start, offset = 0;
  for (int d = rank_ - 1; d >= 0; --d) {
    at[d] = rest % sizes_[d];
    rest /= sizes_[d];
    offset += at[d] * o.strides[d];
  }
  const int inner = rank_ - 1;
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(sizes_[inner] - at[inner], n - done);
    step(done, offset, length);
    done += length;
    offset += length * o.strides[inner];
    at[inner] += length;
    for (int d = inner; d > 0 && at[d] == sizes_[d]; --d) {
      offset += o.strides[d - 1] - at[d] * o.strides[d];
      at[d] = 0;
      ++at[d - 1];
    }
  }
}

void ProgramKernel::RunBlock(const KernelArguments& arguments, uint8_t** registers, uint8_t* const* homes, int64_t start, int64_t n) const {
  const IsaTable& table = Table();
  const bool whole = n % width_ == 0;
  for (const Operand& o : loads_) {
    if (o.access == Access::Scalar) continue;
    const uint8_t* from = arguments.inputs[o.slot];
    if (o.access == Access::Contiguous) {
      from += start * o.bytes;
      if (o.direct && whole) {
        registers[o.reg] = const_cast<uint8_t*>(from);
      } else {
        registers[o.reg] = homes[o.reg];
        table.load(o.type, homes[o.reg], from, 1, n);
      }
      continue;
    }
    registers[o.reg] = homes[o.reg];
    const int64_t inner = o.strides[rank_ - 1];
    const int64_t bytes = home_bytes_[o.reg];
    BoxIterator(o, start, n, [&](int64_t done, int64_t offset, int64_t length) {
      if (o.direct && whole && length == n) registers[o.reg] = const_cast<uint8_t*>(from) + offset * o.bytes;
      else table.load(o.type, homes[o.reg] + done * bytes, from + offset * o.bytes, inner, length);
    });
  }
  for (const Operand& o : stores_)
    if (o.direct) registers[o.reg] = whole ? arguments.outputs[o.slot] + start * o.bytes : homes[o.reg];
  execute_(ops_.data(), static_cast<int>(ops_.size()), registers, (n + width_ - 1) / width_ * width_);
  for (const Operand& o : stores_) {
    uint8_t* to = arguments.outputs[o.slot];
    if (o.access == Access::Contiguous) {
      if (!o.direct || !whole) table.store(o.type, to + start * o.bytes, registers[o.reg], 1, n);
      continue;
    }
    const int64_t inner = o.strides[rank_ - 1];
    const int64_t bytes = home_bytes_[o.reg];
    BoxIterator(o, start, n, [&](int64_t done, int64_t offset, int64_t length) {
      table.store(o.type, to + offset * o.bytes, registers[o.reg] + done * bytes, inner, length);
    });
  }
}

template <int64_t kMemory>
void ProgramKernel::RunRange(const KernelArguments& arguments, int64_t first, int64_t last, int64_t block) const {
  constexpr int kRegisters = kMemory == kSmallMemory ? 16 : kMaxRegisters;
  alignas(64) uint8_t memory[kMemory];
  uint8_t* homes[kRegisters];
  uint8_t* registers[kRegisters];
  uint8_t* next = memory;
  for (int r = 0; r < registers_; ++r) {
    homes[r] = registers[r] = next;
    next += home_bytes_[r] * block;
  }
  if (has_scalars_) {
    const IsaTable& table = Table();
    const int64_t filled = std::min(block, (last - first + width_ - 1) / width_ * width_);
    for (const Operand& o : loads_)
      if (o.access == Access::Scalar) table.load(o.type, homes[o.reg], arguments.inputs[o.slot], 0, filled);
  }
  for (int64_t start = first; start < last; start += block) {
    const int64_t n = std::min(block, last - start);
    const int64_t whole = n / width_ * width_;
    if (whole) RunBlock(arguments, registers, homes, start, whole);
    if (whole < n) RunBlock(arguments, registers, homes, start + whole, n - whole);
  }
}

void ProgramKernel::Run(const KernelArguments& arguments) const {
  if (count_ <= 64 && registers_ <= 16 && memory_per_element_ * 64 <= kSmallMemory) {
    RunRange<kSmallMemory>(arguments, 0, count_, 64);
    return;
  }
  ThreadPool::Get().ParallelFor(0, count_, grain_,
                                [&](int64_t first, int64_t last, int) { RunRange<kLargeMemory>(arguments, first, last, block_); });
}

bool ProgramKernel::MayOverwrite(size_t input, size_t output) const {
  for (const Operand& to : stores_) {
    if (to.slot != static_cast<int>(output)) continue;
    for (const Operand& from : loads_) {
      if (from.slot != static_cast<int>(input)) continue;
      if (from.access != Access::Contiguous || to.access != Access::Contiguous || from.bytes != to.bytes) return false;
      // A block that is a copy keeps what was loaded.
      if (!from.direct) continue;
      // A value that is stored as it was loaded is read when all instructions have run, and after other outputs are stored.
      for (const Operand& other : stores_)
        if (&other != &to && other.reg == from.reg) return false;
      // A block that is stored when all has run is written last.
      if (!to.direct) continue;
      bool written = false;
      for (const MicroOp& op : ops_) {
        if (written && (op.a == from.reg || op.b == from.reg || op.c == from.reg)) return false;
        written |= op.d == to.reg;
      }
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------------

ProgramBuilder::ProgramBuilder(const schema::TensorDesc& box) : box_(box), rank_(box.rank) {
  for (uint32_t d = 0; d < rank_; ++d) sizes_[d] = box.sizes[d];
}

bool ProgramBuilder::Fits(const schema::TensorDesc& box, const schema::TensorDesc& tensor) {
  return SameSizes(box, tensor) || IsScalar(tensor) || (box.ElementCount() == tensor.ElementCount() && tensor.IsPacked());
}

Extents ProgramBuilder::StridesIn(const schema::TensorDesc& box, const schema::TensorDesc& tensor) {
  Extents strides{};
  if (SameSizes(box, tensor)) {
    for (uint32_t i = 0; i < std::min(box.rank, tensor.rank); ++i) {
      const uint32_t d = box.rank - 1 - i, t = tensor.rank - 1 - i;
      strides[d] = box.sizes[d] == 1 ? 0 : tensor.strides[t];
    }
    return strides;
  }
  if (IsScalar(tensor)) return strides;
  int64_t step = 1;
  for (uint32_t d = box.rank; d-- > 0; step *= box.sizes[d]) strides[d] = box.sizes[d] == 1 ? 0 : step;
  return strides;
}

int ProgramBuilder::Load(int slot, const schema::TensorDesc& tensor) {
  const int reg = static_cast<int>(types_.size());
  types_.push_back(RegisterOf(tensor.data_type));
  loads_.push_back({slot, reg, tensor.data_type, StridesIn(box_, tensor)});
  return reg;
}

int ProgramBuilder::Emit(MicroOp op, RegisterType result, int a, int b, int c) {
  const int reg = static_cast<int>(types_.size());
  types_.push_back(result);
  op.d = static_cast<uint16_t>(reg);
  if (a < 0) a = reg;  // an instruction without operands
  op.a = static_cast<uint16_t>(a);
  op.b = static_cast<uint16_t>(b < 0 ? a : b);
  op.c = static_cast<uint16_t>(c < 0 ? a : c);
  ops_.push_back(op);
  return reg;
}

const MicroOp* ProgramBuilder::MakerOf(int reg) const {
  const auto found = std::find_if(ops_.rbegin(), ops_.rend(), [&](const MicroOp& op) { return op.d == reg; });
  return found == ops_.rend() ? nullptr : &*found;
}

void ProgramBuilder::Store(int slot, const schema::TensorDesc& tensor, int reg) {
  stores_.push_back({slot, reg, tensor.data_type, StridesIn(box_, tensor)});
}

// What became part of another instruction is not computed.
void ProgramBuilder::DropUnused() {
  std::vector<bool> used(types_.size(), false);
  for (const Operand& o : stores_) used[o.reg] = true;
  std::vector<MicroOp> kept;
  for (size_t k = ops_.size(); k-- > 0;) {
    if (!used[ops_[k].d]) continue;
    for (uint16_t r : {ops_[k].a, ops_[k].b, ops_[k].c}) used[r] = true;
    kept.push_back(ops_[k]);
  }
  ops_.assign(kept.rbegin(), kept.rend());
  loads_.erase(std::remove_if(loads_.begin(), loads_.end(), [&](const Operand& o) { return !used[o.reg]; }), loads_.end());
}

std::unique_ptr<Kernel> ProgramBuilder::Finish() {
  DropUnused();
  auto kernel = std::make_unique<ProgramKernel>(*this);
  if (!kernel->FitsCache()) return nullptr;
  return kernel;
}

}  // namespace dxtensor::software::fast
