#include "profiler.h"

#include <algorithm>
#include <limits>

#include "failure.h"
#include "timeline.h"

namespace dxtensor::dml {

namespace {

constexpr int kRounds = 4;

// Takes the times of the program's kernels, where the library shows them.
class KernelClock {
 public:
  KernelClock(const Context& context, const Program& program) {
    if (!context.software) return;
    for (const CompiledOperator& op : program.operators) operators_.push_back(op.object.get());
  }
  ~KernelClock() {
    for (IDMLCompiledOperator* op : operators_)
      if (op) TakeTimes(op, false);
  }
  void Begin() {
    for (IDMLCompiledOperator* op : operators_)
      if (op) TakeTimes(op, true);
  }
  std::vector<std::vector<KernelTime>> Times() const {
    std::vector<std::vector<KernelTime>> times;
    for (IDMLCompiledOperator* op : operators_) times.push_back(KernelsOf(op));
    return times;
  }

 private:
  std::vector<IDMLCompiledOperator*> operators_;  // null: a shader
};

}  // namespace

ProfileTimes ProfileRecording(const Context& context, ListRecorder& recorder, const Recording& recording, uint32_t patience_ms,
                              const Look& look) {
  const auto count = static_cast<UINT>(recording.program().dispatches.size());
  std::vector<double> seconds(count, std::numeric_limits<double>::infinity());
  if (!count) return {};
  UINT64 frequency = 0;
  Check(context.queue->GetTimestampFrequency(&frequency), "ID3D12CommandQueue::GetTimestampFrequency");
  D3D12_QUERY_HEAP_DESC desc{D3D12_QUERY_HEAP_TYPE_TIMESTAMP, count * 2, 0};
  ComPtr<ID3D12QueryHeap> stamps;
  Check(context.d3d->CreateQueryHeap(&desc, __uuidof(ID3D12QueryHeap), stamps.put_void()), "ID3D12Device::CreateQueryHeap");
  ComPtr<ID3D12Resource> results = context.CreateBuffer(D3D12_HEAP_TYPE_READBACK, count * 2 * sizeof(UINT64));
  ComPtr<ID3D12CommandAllocator> allocator;
  ComPtr<ID3D12GraphicsCommandList> list;
  Check(context.d3d->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), allocator.put_void()),
        "ID3D12Device::CreateCommandAllocator");
  Check(context.d3d->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocator.get(), nullptr, __uuidof(ID3D12GraphicsCommandList),
                                       list.put_void()),
        "ID3D12Device::CreateCommandList");
  recorder.Begin(list.get());
  recorder.Stamp(stamps.get());
  recording.RecordInto(recorder);
  recorder.End();
  recorder.Stamp(nullptr);
  list->ResolveQueryData(stamps.get(), D3D12_QUERY_TYPE_TIMESTAMP, 0, count * 2, results.get(), 0);
  Check(list->Close(), "ID3D12GraphicsCommandList::Close", recording.program().name.c_str());

  Timeline timeline(context, patience_ms);
  Event event;
  KernelClock clock(context, recording.program());
  for (int round = 0; round < kRounds; ++round) {
    if (round == 1) clock.Begin();
    ID3D12CommandList* lists[] = {list.get()};
    context.queue->ExecuteCommandLists(1, lists);
    try {
      timeline.WaitOrThrow(timeline.Signal(), event, look);
    } catch (...) {
      // The device still uses them.
      if (!timeline.IsLeft()) list.Leak(), allocator.Leak(), results.Leak(), stamps.Leak();
      throw;
    }
    void* memory = nullptr;
    Check(results->Map(0, nullptr, &memory), "ID3D12Resource::Map");
    const auto* ticks = static_cast<const UINT64*>(memory);
    for (UINT i = 0; i < count && round; ++i)
      seconds[i] = std::min(seconds[i], static_cast<double>(ticks[2 * i + 1] - ticks[2 * i]) / static_cast<double>(frequency));
    results->Unmap(0, nullptr);
  }
  return {std::move(seconds), clock.Times()};
}

}  // namespace dxtensor::dml
