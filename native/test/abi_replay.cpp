// Closed lists submitted again and again, and several in flight.
#include "float_buffers.h"

namespace dxtensor::test {

TEST(closed_lists_replayed) {
  // Three lists that depend on each other, closed once, submitted one after the other many times over changing data.
  Gpu& gpu = suite.gpu();
  Floats memory(gpu, 3);
  Ref<IDMLCompiledOperator> add = Ready(gpu, kAdd);
  std::vector<Ref<ID3D12CommandAllocator>> allocators(3);
  std::vector<Ref<ID3D12GraphicsCommandList>> lists(3);
  std::vector<Ref<IDMLBindingTable>> tables;
  ID3D12DescriptorHeap* heap = gpu.heap();
  for (size_t i = 0; i < 3; ++i) {
    CHECK_OK(
        gpu.d3d()->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), allocators[i].out_void()));
    CHECK_OK(gpu.d3d()->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocators[i].get(), nullptr,
                                          __uuidof(ID3D12GraphicsCommandList), lists[i].out_void()));
    lists[i]->SetDescriptorHeaps(1, &heap);
  }
  D3D12_RESOURCE_BARRIER to_copy = Transition(memory.memory(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
  D3D12_RESOURCE_BARRIER to_compute = Transition(memory.memory(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
  lists[0]->ResourceBarrier(1, &to_copy);
  lists[0]->CopyBufferRegion(memory.memory(), 0, memory.upload(), 0, 512);
  lists[0]->ResourceBarrier(1, &to_compute);
  // b += a, twice, in one list with a barrier.
  tables.push_back(gpu.Table(add.get(), 300));
  Bind(tables.back().get(), {memory.At(0), memory.At(1)}, {memory.At(2)});
  gpu.recorder()->RecordDispatch(lists[1].get(), add.get(), tables.back().get());
  D3D12_RESOURCE_BARRIER uav = UavBarrier();
  lists[1]->ResourceBarrier(1, &uav);
  tables.push_back(gpu.Table(add.get(), 400));
  Bind(tables.back().get(), {memory.At(0), memory.At(2)}, {memory.At(2)});
  gpu.recorder()->RecordDispatch(lists[1].get(), add.get(), tables.back().get());
  D3D12_RESOURCE_BARRIER to_read = Transition(memory.memory(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
  D3D12_RESOURCE_BARRIER to_common = Transition(memory.memory(), D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
  lists[2]->ResourceBarrier(1, &to_read);
  lists[2]->CopyBufferRegion(memory.readback(), 0, memory.memory(), 0, 768);
  lists[2]->ResourceBarrier(1, &to_common);
  for (auto& list : lists) CHECK_OK(list->Close());
  ID3D12CommandList* submitted[] = {lists[0].get(), lists[1].get(), lists[2].get()};
  for (int step = 0; step < 50; ++step) {
    const float x = static_cast<float>(step);
    memory.Set(0, x, 1);
    memory.Set(1, 100, x);
    gpu.queue()->ExecuteCommandLists(3, submitted);
    gpu.Wait();
    memory.Expect(2, 2 * x + 100, 2 + x);
  }
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
}

TEST(several_lists_in_flight) {
  // Submitted without waiting in between, each with its own descriptors; the queue keeps their order.
  Gpu& gpu = suite.gpu();
  Floats memory(gpu, 2);
  Ref<IDMLCompiledOperator> add = Ready(gpu, kAdd);
  memory.Set(0, 1, 0);
  memory.Set(1, 0, 0);
  gpu.Begin();
  memory.RecordUpload();
  D3D12_RESOURCE_BARRIER back = Transition(memory.memory(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COMMON);
  gpu.list()->ResourceBarrier(1, &back);
  gpu.Finish();
  ID3D12DescriptorHeap* heap = gpu.heap();
  std::vector<Ref<ID3D12CommandAllocator>> allocators(8);
  std::vector<Ref<ID3D12GraphicsCommandList>> lists(8);
  std::vector<Ref<IDMLBindingTable>> tables;
  for (size_t i = 0; i < 8; ++i) {
    CHECK_OK(
        gpu.d3d()->CreateCommandAllocator(D3D12_COMMAND_LIST_TYPE_COMPUTE, __uuidof(ID3D12CommandAllocator), allocators[i].out_void()));
    CHECK_OK(gpu.d3d()->CreateCommandList(0, D3D12_COMMAND_LIST_TYPE_COMPUTE, allocators[i].get(), nullptr,
                                          __uuidof(ID3D12GraphicsCommandList), lists[i].out_void()));
    lists[i]->SetDescriptorHeaps(1, &heap);
    tables.push_back(gpu.Table(add.get(), static_cast<uint32_t>(500 + 50 * i)));
    Bind(tables.back().get(), {memory.At(0), memory.At(1)}, {memory.At(1)});
    gpu.recorder()->RecordDispatch(lists[i].get(), add.get(), tables.back().get());
    CHECK_OK(lists[i]->Close());
    ID3D12CommandList* submitted[] = {lists[i].get()};
    gpu.queue()->ExecuteCommandLists(1, submitted);
  }
  gpu.Wait();
  gpu.Begin();
  D3D12_RESOURCE_BARRIER to_compute = Transition(memory.memory(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
  gpu.list()->ResourceBarrier(1, &to_compute);
  memory.RecordReadback();
  gpu.Finish();
  memory.Expect(1, 8, 0);
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
}

}  // namespace dxtensor::test
