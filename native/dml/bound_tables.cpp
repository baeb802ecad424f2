#include "bound_tables.h"

#include <algorithm>
#include <cstring>

#include "failure.h"

namespace dxtensor::dml {

namespace {

// Descriptions for the calls of IDMLBindingTable; valid until the next use on this thread.
class Bindings {
 public:
  void Clear() {
    buffers_.clear();
    descs_.clear();
  }
  void Add(ID3D12Resource* resource, uint64_t offset, uint64_t size) { buffers_.push_back({resource, offset, size}); }
  UINT count() const { return static_cast<UINT>(buffers_.size()); }
  const DML_BINDING_DESC* data() {
    for (DML_BUFFER_BINDING& buffer : buffers_)
      descs_.push_back(buffer.Buffer ? DML_BINDING_DESC{DML_BINDING_TYPE_BUFFER, &buffer}
                                     : DML_BINDING_DESC{DML_BINDING_TYPE_NONE, nullptr});
    return descs_.data();
  }

 private:
  std::vector<DML_BUFFER_BINDING> buffers_;
  std::vector<DML_BINDING_DESC> descs_;
};

}  // namespace

BoundSet::BoundSet(const Context& context, DescriptorHeaps& heaps, const Program& program)
    : context_(context), heaps_(heaps), program_(program) {
  tables_.resize(program.dispatches.size());
  for (const DispatchStep& step : program.dispatches) regions_.push_back(heaps.Allocate(program.operators[step.op].descriptors));
}

BoundSet::~BoundSet() {
  for (const auto& region : regions_) heaps_.Free(region);
}

bool BoundSet::IsBoundTo(const Address* slots, uint32_t epoch) const {
  return epoch_ == epoch && std::memcmp(slots_.data(), slots, slots_.size() * sizeof(Address)) == 0;
}

void BoundSet::Bind(const HeapPool& pool, const Address* slots) {
  slots_.assign(slots, slots + program_.slot_count);
  epoch_ = pool.epoch();
  for (size_t i = 0; i < program_.dispatches.size(); ++i) BindDispatch(pool, i);
}

void BoundSet::BindDispatch(const HeapPool& pool, size_t index) {
  const DispatchStep& step = program_.dispatches[index];
  const CompiledOperator& op = program_.operators[step.op];
  const DescriptorHeaps::Region& region = regions_[index];
  if (op.shader) return BindViews(pool, step, region);
  DML_BINDING_TABLE_DESC desc = {op.object.get(), region.cpu, region.gpu, region.count};
  ComPtr<IDMLBindingTable>& table = tables_[index];
  if (table) {
    Check(table->Reset(&desc), "IDMLBindingTable::Reset", op.name.c_str());
  } else {
    Check(context_.dml->CreateBindingTable(&desc, __uuidof(IDMLBindingTable), table.put_void()), "IDMLDevice::CreateBindingTable",
          op.name.c_str());
  }
  static thread_local Bindings bindings;
  auto add = [&](Address address, uint64_t size) { bindings.Add(pool.Resource(ChunkOf(address)), OffsetOf(address), size); };
  auto add_ranges = [&](const std::vector<SlotRange>& ranges) {
    bindings.Clear();
    for (const SlotRange& range : ranges) {
      if (range.slot < 0) bindings.Add(nullptr, 0, 0);
      else add(slots_[static_cast<size_t>(range.slot)] + range.offset, range.size);
    }
  };
  add_ranges(step.inputs);
  table->BindInputs(bindings.count(), bindings.data());
  add_ranges(step.outputs);
  table->BindOutputs(bindings.count(), bindings.data());
  if (op.temporary) {
    bindings.Clear();
    add(slots_[program_.temporary_slot()] + step.temporary_offset, op.temporary);
    table->BindTemporaryResource(bindings.data());
  }
  if (op.persistent) {
    bindings.Clear();
    add(op.persistent_address, op.persistent);
    table->BindPersistentResource(bindings.data());
  }
}

// A last structure or texel that the range ends in is seen as a whole: what is bound begins and ends at multiples of 16 bytes.
void BoundSet::BindViews(const HeapPool& pool, const DispatchStep& step, const DescriptorHeaps::Region& region) const {
  const UINT increment = context_.d3d->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
  D3D12_CPU_DESCRIPTOR_HANDLE at = region.cpu;
  for (const ShaderView& view_of : program_.operators[step.op].views) {
    const bool is_input = view_of.buffer < step.inputs.size();
    const SlotRange& range = is_input ? step.inputs[view_of.buffer] : step.outputs[view_of.buffer - step.inputs.size()];
    const Address address = slots_[static_cast<size_t>(range.slot)] + range.offset;
    const bool raw = view_of.form == ShaderView::kRaw, texels = view_of.form == ShaderView::kTexels;
    const uint64_t unit = raw ? 4 : texels ? 16 : view_of.form;
    D3D12_UNORDERED_ACCESS_VIEW_DESC view{};
    view.Format = raw ? DXGI_FORMAT_R32_TYPELESS : texels ? DXGI_FORMAT_R32G32B32A32_UINT : DXGI_FORMAT_UNKNOWN;
    view.ViewDimension = D3D12_UAV_DIMENSION_BUFFER;
    view.Buffer.FirstElement = OffsetOf(address) / unit;
    view.Buffer.NumElements = static_cast<UINT>((range.size + unit - 1) / unit);
    view.Buffer.StructureByteStride = raw || texels ? 0 : view_of.form;
    view.Buffer.Flags = raw ? D3D12_BUFFER_UAV_FLAG_RAW : D3D12_BUFFER_UAV_FLAG_NONE;
    context_.d3d->CreateUnorderedAccessView(pool.Resource(ChunkOf(address)), nullptr, &view, at);
    at.ptr += increment;
  }
}

uint32_t BoundTables::Hash(const Address* slots, size_t count) {
  uint64_t h = 0;
  for (size_t i = 0; i < count; ++i) h = (h ^ (slots[i] >> 4)) * 0x9E3779B97F4A7C15ull;
  return static_cast<uint32_t>(h >> 32);
}

void BoundTables::Forget(uint32_t set) {
  // Sets after it in its run move up, so that no gap hides them.
  size_t mask = index_.size() - 1, at = hash_of_[set] & mask;
  while (index_[at] != set + 1) at = (at + 1) & mask;
  for (size_t hole = at;;) {
    index_[hole] = 0;
    size_t probe = hole;
    for (;;) {
      probe = (probe + 1) & mask;
      if (!index_[probe]) return;
      size_t home = hash_of_[index_[probe] - 1] & mask;
      if (((probe - home) & mask) >= ((probe - hole) & mask)) break;
    }
    index_[hole] = index_[probe];
    hole = probe;
  }
}

void BoundTables::Remember(uint32_t set) {
  if (index_.empty()) index_.assign(kMaxSets * 2, 0);
  size_t mask = index_.size() - 1, at = hash_of_[set] & mask;
  while (index_[at]) at = (at + 1) & mask;
  index_[at] = set + 1;
}

BoundSet* BoundTables::Get(const Context& context, DescriptorHeaps& heaps, const HeapPool& pool, const Program& program,
                           const Address* slots, uint64_t completed, bool* written) {
  *written = false;
  uint32_t epoch = pool.epoch();
  if (last_ < sets_.size() && sets_[last_]->IsBoundTo(slots, epoch)) return sets_[last_].get();
  uint32_t hash = Hash(slots, program.slot_count);
  if (!index_.empty()) {
    size_t mask = index_.size() - 1;
    for (size_t at = hash & mask; index_[at]; at = (at + 1) & mask) {
      uint32_t set = index_[at] - 1;
      if (hash_of_[set] == hash && sets_[set]->IsBoundTo(slots, epoch)) {
        last_ = set;
        return sets_[set].get();
      }
    }
  }
  uint32_t set;
  size_t max_sets = std::clamp<size_t>(kMaxDescriptors / std::max(program.descriptors, 1u), 4, kMaxSets);
  // A few sets are made before the first is bound a second time, so that a loop over a few buffers finds all of its own.
  bool free = !sets_.empty() && sets_[next_]->last_use <= completed;
  if (sets_.size() < (free ? std::min(max_sets, kFewSets) : max_sets)) {
    sets_.push_back(std::make_unique<BoundSet>(context, heaps, program));
    hash_of_.push_back(0);
    set = static_cast<uint32_t>(sets_.size() - 1);
  } else if (free) {
    set = next_;
    next_ = (next_ + 1) % static_cast<uint32_t>(sets_.size());
    Forget(set);
  } else {
    return nullptr;
  }
  hash_of_[set] = hash;
  sets_[set]->Bind(pool, slots);
  Remember(set);
  last_ = set;
  *written = true;
  return sets_[set].get();
}

}  // namespace dxtensor::dml
