#include "timing.h"

#include <algorithm>
#include <utility>

#include "context.h"
#include "failure.h"

namespace dxtensor::dml {

namespace {

// Timestamps of a query heap.
constexpr UINT kChunk = 4096;

void TakeProgramTimes(const Program& program, bool taken) {
  for (const CompiledOperator& op : program.operators)
    if (op.object && !op.kernels.empty()) TakeTimes(op.object.get(), taken);
}

}  // namespace

Timing::Timing(const Context& context) : context_(context) {
  Check(context.queue->GetTimestampFrequency(&frequency_), "ID3D12CommandQueue::GetTimestampFrequency");
  if (!frequency_) throw Failure(FailureKind::Unsupported, "the device's queue has no timestamps");
  AddChunk();
  UINT64 host = 0;
  const Clock::time_point before = Clock::now();
  // Where clocks cannot be compared, the device's first timestamp counts as the time at which its work was recorded.
  if (FAILED(context.queue->GetClockCalibration(&device_start_, &host))) device_start_ = 0;
  start_ = before + (Clock::now() - before) / 2;
}

Timing::~Timing() {
  try {
    for (const Seen& seen : seen_)
      if (seen.program) TakeProgramTimes(*seen.program, false);
  } catch (const Failure&) {
    // Of a removed device: its operators take no times any more.
    return;
  }
}

void Timing::AddChunk() {
  Chunk chunk;
  D3D12_QUERY_HEAP_DESC desc{D3D12_QUERY_HEAP_TYPE_TIMESTAMP, kChunk, 0};
  Check(context_.d3d->CreateQueryHeap(&desc, __uuidof(ID3D12QueryHeap), chunk.stamps.put_void()), "ID3D12Device::CreateQueryHeap");
  chunk.results = context_.CreateBuffer(D3D12_HEAP_TYPE_READBACK, kChunk * sizeof(UINT64));
  chunks_.push_back(std::move(chunk));
}

void Timing::Begin(const Program& program) {
  Work work;
  work.stamp = stamps_;
  work.begin = work.end = Clock::now();
  works_.push_back(work);
  if (!context_.software) return;
  if (std::any_of(seen_.begin(), seen_.end(), [&](const Seen& seen) { return seen.program == &program; })) return;
  // Nothing of it runs now: what ran before the timing is done.
  TakeProgramTimes(program, true);
  seen_.push_back({&program, static_cast<uint32_t>(works_.size() - 1)});
}

void Timing::End() {
  works_.back().stamps = stamps_ - works_.back().stamp;
  works_.back().end = Clock::now();
}

void Timing::Stamp(ID3D12GraphicsCommandList* list) {
  if (stamps_ == chunks_.size() * kChunk) AddChunk();
  list->EndQuery(chunks_[stamps_ / kChunk].stamps.get(), D3D12_QUERY_TYPE_TIMESTAMP, static_cast<UINT>(stamps_ % kChunk));
  ++stamps_;
}

void Timing::Resolve(ID3D12GraphicsCommandList* list) {
  while (resolved_ < stamps_) {
    const Chunk& chunk = chunks_[resolved_ / kChunk];
    const size_t first = resolved_ % kChunk, count = std::min<size_t>(stamps_ - resolved_, kChunk - first);
    list->ResolveQueryData(chunk.stamps.get(), D3D12_QUERY_TYPE_TIMESTAMP, static_cast<UINT>(first), static_cast<UINT>(count),
                           chunk.results.get(), first * sizeof(UINT64));
    resolved_ += count;
  }
}

std::vector<std::vector<KernelTime>> Timing::KernelsOfProgram(const Program& program) const {
  std::vector<std::vector<KernelTime>> kernels;
  for (const CompiledOperator& op : program.operators)
    kernels.push_back(op.kernels.empty() ? std::vector<KernelTime>{} : KernelsOf(op.object.get()));
  return kernels;
}

void Timing::Forget(const Program* program) {
  for (Seen& seen : seen_) {
    if (seen.program != program) continue;
    result_.programs.push_back({seen.work, KernelsOfProgram(*program)});
    seen.program = nullptr;
  }
}

void Timing::Drop(const Program* program) {
  for (Seen& seen : seen_)
    if (seen.program == program) seen.program = nullptr;
}

void Timing::ForgetAll() {
  for (Seen& seen : seen_) {
    if (!seen.program) continue;
    const Program& program = *std::exchange(seen.program, nullptr);
    result_.programs.push_back({seen.work, KernelsOfProgram(program)});
    TakeProgramTimes(program, false);
  }
}

void Timing::DropAll() {
  for (Seen& seen : seen_) seen.program = nullptr;
}

std::vector<UINT64> Timing::Ticks() const {
  std::vector<UINT64> ticks(resolved_);
  for (size_t at = 0; at < resolved_; at += kChunk) {
    const Chunk& chunk = chunks_[at / kChunk];
    void* memory = nullptr;
    Check(chunk.results->Map(0, nullptr, &memory), "ID3D12Resource::Map");
    std::copy_n(static_cast<const UINT64*>(memory), std::min<size_t>(kChunk, resolved_ - at), ticks.begin() + static_cast<ptrdiff_t>(at));
    chunk.results->Unmap(0, nullptr);
  }
  return ticks;
}

TimingResult Timing::Result() {
  const std::vector<UINT64> ticks = Ticks();
  const double per_ms = static_cast<double>(frequency_) / 1e3;
  double offset = 0;
  if (!device_start_ && !ticks.empty()) {
    device_start_ = ticks[0];
    for (const Work& work : works_)
      if (work.stamps) {
        offset = Ms(work.begin);
        break;
      }
  }
  auto ms = [&](UINT64 tick) { return static_cast<double>(static_cast<INT64>(tick - device_start_)) / per_ms + offset; };
  for (size_t w = 0; w < works_.size(); ++w) {
    const Work& work = works_[w];
    for (size_t i = 0; 2 * i + 1 < work.stamps && work.stamp + 2 * i + 1 < ticks.size(); ++i)
      result_.dispatches.push_back({static_cast<uint32_t>(w), static_cast<uint32_t>(i), Ms(work.begin), Ms(work.end),
                                    ms(ticks[work.stamp + 2 * i]), ms(ticks[work.stamp + 2 * i + 1])});
  }
  return std::move(result_);
}

}  // namespace dxtensor::dml
