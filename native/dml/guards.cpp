#include "guards.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dxtensor::dml {

namespace {

// No float, half or integer that programs compute often; differs from byte to byte, so that a shifted copy shows.
uint8_t PatternAt(uint64_t i) { return static_cast<uint8_t>(0xa5 ^ (i * 29)); }

std::vector<uint8_t> Pattern(uint64_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint64_t i = 0; i < size; ++i) bytes[i] = PatternAt(i);
  return bytes;
}

}  // namespace

void Guards::Fill(Address at, uint64_t size) {
  std::vector<uint8_t> bytes = Pattern(size);
  write_(at, bytes.data(), size);
}

void Guards::Compare(Address at, uint64_t size, const std::string& work, const std::string& where) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(size);
  auto compare = [bytes, work, where, state = state_](const Failure* failure) {
    std::lock_guard<std::mutex> lock(state->mutex);
    --state->pending;
    state->compared.notify_all();
    if (failure) return;
    uint64_t first = 0, last = bytes->size();
    while (first < last && (*bytes)[first] == PatternAt(first)) ++first;
    if (first == last) return;
    while ((*bytes)[last - 1] == PatternAt(last - 1)) --last;
    if (!state->found)
      state->found.emplace(FailureKind::Internal, work + " wrote outside of its memory: bytes " + std::to_string(first) + " to " +
                                                      std::to_string(last - 1) + " of the guard area " + where + " have changed");
  };
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    ++state_->pending;
  }
  try {
    read_(at, bytes->data(), size, std::move(compare));
  } catch (...) {
    std::lock_guard<std::mutex> lock(state_->mutex);
    --state_->pending;
    throw;
  }
}

void Guards::Settle() const {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->compared.wait(lock, [&] { return !state_->pending; });
}

std::optional<Failure> Guards::Found() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->found;
}

// A device that failed tells so itself.
void Guards::Allocated(Address address, uint64_t size, uint64_t capacity) {
  const Block block{RoundUp(size, 4), capacity};
  try {
    Fill(address - kBytes, kBytes);
    Fill(address + block.size, block.capacity - block.size + kBytes);
    blocks_[address] = block;
  } catch (const Failure&) {
  }
}

void Guards::CheckBlock(Address address, const Block& block, const std::string& work) {
  const std::string buffer = " a buffer of " + std::to_string(block.size) + " bytes";
  Compare(address - kBytes, kBytes, work, "in front of" + buffer);
  Compare(address + block.size, block.capacity - block.size + kBytes, work, "behind" + buffer);
}

void Guards::Freed(Address address) {
  auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  const Block block = found->second;
  blocks_.erase(found);
  try {
    CheckBlock(address, block, "work before a buffer was freed");
  } catch (const Failure&) {
  }
}

std::vector<SlotRange> Guards::GapsOf(const Program& program) {
  const auto slot = static_cast<int32_t>(program.scratch_slot());
  std::vector<std::pair<uint64_t, uint64_t>> used;
  auto note = [&](const SlotRange& range) {
    if (range.slot == slot && range.size) used.emplace_back(range.offset, range.offset + RoundUp(range.size, 4));
  };
  for (const DispatchStep& step : program.dispatches) {
    for (const SlotRange& range : step.inputs) note(range);
    for (const SlotRange& range : step.outputs) note(range);
  }
  for (const CopyStep& step : program.copies) {
    note(step.from);
    note(step.to);
  }
  std::sort(used.begin(), used.end());
  std::vector<SlotRange> gaps;
  uint64_t at = 0;
  used.emplace_back(program.scratch, program.scratch);
  for (const auto& [begin, end] : used) {
    if (begin > at) gaps.push_back({slot, at, begin - at});
    at = std::max(at, end);
  }
  return gaps;
}

void Guards::FillGaps(const Program& program, Address scratch) {
  if (!scratch) return;
  for (const SlotRange& gap : program.gaps) Fill(scratch + gap.offset, gap.size);
}

void Guards::Check(const Program& program, const Address* slots) {
  const std::string work = "program '" + program.name + "'";
  std::set<Address> checked;
  try {
    for (uint32_t i = 0; i < program.slot_count; ++i) {
      auto behind = blocks_.upper_bound(slots[i]);
      if (!slots[i] || behind == blocks_.begin()) continue;
      const auto& [address, block] = *--behind;
      if (slots[i] - address < std::max<uint64_t>(block.capacity, 1) && checked.insert(address).second) CheckBlock(address, block, work);
    }
    if (const Address scratch = slots[program.scratch_slot()])
      for (const SlotRange& gap : program.gaps)
        Compare(scratch + gap.offset, gap.size, work, "at byte " + std::to_string(gap.offset) + " of its scratch memory");
  } catch (const Failure&) {
  }
}

}  // namespace dxtensor::dml
