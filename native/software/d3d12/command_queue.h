// Command queues: each runs its lists, signals and waits in order on a thread of its own.
//
// The caller only hands work over; fences are set by the thread, later. The queue lives until its last reference goes and its
// work is done; waits that can no longer end are given up then. Setting kIidAbandon ends its work as well: running commands stop, and
// fences are signalled as if they were done. Any thread may call.
#pragma once

#include <condition_variable>
#include <thread>

#include "command_list.h"
#include "fence.h"

namespace dxtensor::software {

class CommandQueue final : public DeviceChild<ID3D12CommandQueue, ID3D12Pageable, ID3D12CommandQueue> {
 public:
  static HRESULT Create(Device* device, const D3D12_COMMAND_QUEUE_DESC* desc, REFIID iid, void** out);

  void STDMETHODCALLTYPE UpdateTileMappings(ID3D12Resource*, UINT, const D3D12_TILED_RESOURCE_COORDINATE*, const D3D12_TILE_REGION_SIZE*,
                                            ID3D12Heap*, UINT, const D3D12_TILE_RANGE_FLAGS*, const UINT*, const UINT*,
                                            D3D12_TILE_MAPPING_FLAGS) override {}
  void STDMETHODCALLTYPE CopyTileMappings(ID3D12Resource*, const D3D12_TILED_RESOURCE_COORDINATE*, ID3D12Resource*,
                                          const D3D12_TILED_RESOURCE_COORDINATE*, const D3D12_TILE_REGION_SIZE*,
                                          D3D12_TILE_MAPPING_FLAGS) override {}
  void STDMETHODCALLTYPE ExecuteCommandLists(UINT count, ID3D12CommandList* const* lists) override;
  void STDMETHODCALLTYPE SetMarker(UINT, const void*, UINT) override {}
  void STDMETHODCALLTYPE BeginEvent(UINT, const void*, UINT) override {}
  void STDMETHODCALLTYPE EndEvent() override {}
  HRESULT STDMETHODCALLTYPE Signal(ID3D12Fence* fence, UINT64 value) override;
  HRESULT STDMETHODCALLTYPE Wait(ID3D12Fence* fence, UINT64 value) override;
  HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID guid, UINT size, const void* data) override;
  HRESULT STDMETHODCALLTYPE GetTimestampFrequency(UINT64* frequency) override;
  HRESULT STDMETHODCALLTYPE GetClockCalibration(UINT64* gpu, UINT64* cpu) override;
  DXT_STRUCT_METHOD(D3D12_COMMAND_QUEUE_DESC, GetDesc) override { DXT_RETURN_STRUCT(desc_); }

 private:
  struct Task {
    enum class Kind : uint8_t { Execute, Signal, Wait } kind;
    Held<Recording> recording;
    Held<Fence> fence;
    uint64_t value = 0;   // of the fence
    uint64_t serial = 0;  // of the submission that this task ends, else 0
  };

  CommandQueue(Device* device, const D3D12_COMMAND_QUEUE_DESC& desc, QueueProgress* progress, UINT index);
  ~CommandQueue() override;
  void OnReleased() override;
  std::string CheckLists(UINT count, ID3D12CommandList* const* lists, uint64_t stamp);
  void Push(Task task);
  void Wake();
  void Remove(HRESULT reason, const std::string& why);
  void BlameMe();
  void Hang();
  void ThreadMain();
  void RunTask(Task& task);
  static void RunCommands(const Recording& recording);

  const D3D12_COMMAND_QUEUE_DESC desc_;
  QueueProgress* const progress_;
  const UINT index_;
  std::mutex mutex_;  // the four below; also makes a submission and its serial one step
  std::condition_variable wake_;
  std::vector<Task> incoming_;
  bool sleeping_ = false;
  std::atomic<bool> stop_{false};
  std::atomic<bool> has_work_{false};
  std::atomic<bool> abandoned_{false};   // never unset
  std::atomic<bool> ends_waits_{false};  // abandoned or stopped
  std::thread thread_;
};

}  // namespace dxtensor::software
