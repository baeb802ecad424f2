#include "budget.h"

#include <algorithm>

#ifdef _WIN32
#include <dxgi1_4.h>
#endif

namespace dxtensor::dml {

namespace {

constexpr uint64_t kMaxHeadroom = 512ull << 20;

struct Budget {
  uint64_t bytes = 0;  // 0: unknown
  uint64_t used = 0;   // by this process
};

Budget ByDxcore(IUnknown* object) {
  ComPtr<IDXCoreAdapter> adapter;
  if (FAILED(object->QueryInterface(__uuidof(IDXCoreAdapter), adapter.put_void()))) return {};
  if (!adapter->IsQueryStateSupported(DXCoreAdapterState::AdapterMemoryBudget)) return {};
  DXCoreAdapterMemoryBudgetNodeSegmentGroup group{};
  group.segmentGroup = DXCoreSegmentGroup::Local;
  DXCoreAdapterMemoryBudget answer{};
  if (FAILED(adapter->QueryState(DXCoreAdapterState::AdapterMemoryBudget, sizeof group, &group, sizeof answer, &answer))) return {};
  return {answer.budget, answer.currentUsage};
}

#ifdef _WIN32
Budget ByDxgi(IUnknown* object) {
  ComPtr<IDXGIAdapter3> adapter;
  DXGI_QUERY_VIDEO_MEMORY_INFO answer{};
  if (FAILED(object->QueryInterface(__uuidof(IDXGIAdapter3), adapter.put_void())) ||
      FAILED(adapter->QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &answer)))
    return {};
  return {answer.Budget, answer.CurrentUsage};
}
#endif

Budget QueryBudget(const Adapter& adapter) {
  if (!adapter.object) return {};
  Budget budget = ByDxcore(adapter.object.get());
#ifdef _WIN32
  if (!budget.bytes) budget = ByDxgi(adapter.object.get());
#endif
  return budget;
}

uint64_t WithHeadroom(uint64_t bytes) { return bytes - std::min(bytes / 16, kMaxHeadroom); }

}  // namespace

uint64_t UsableMemory(const Adapter& adapter) {
  Budget budget = QueryBudget(adapter);
  return budget.bytes ? WithHeadroom(budget.bytes) : adapter.dedicated_memory + adapter.shared_memory;
}

uint64_t MemoryLeft(const Adapter& adapter) {
  Budget budget = QueryBudget(adapter);
  if (!budget.bytes) return UINT64_MAX;
  uint64_t usable = WithHeadroom(budget.bytes);
  return usable - std::min(usable, budget.used);
}

}  // namespace dxtensor::dml
