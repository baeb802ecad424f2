// Mistakes that a GPU forgives today: the software adapter removes the device. And its faults on demand.
#include <cstring>

#include "../abi/software_control.h"
#include "check.h"
#include "describe.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

void SoftwareOnly(Suite& suite) {
  if (!suite.runtime().software()) throw Skip{"only the software adapter looks for it"};
}

// Runs `record` on a device of its own and expects that its execution removes the device, or not.
void Execute(Suite& suite, bool removed, const std::function<void(Gpu&)>& record) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  gpu.Begin();
  record(gpu);
  gpu.list()->Close();
  ID3D12CommandList* lists[] = {gpu.list()};
  gpu.queue()->ExecuteCommandLists(1, lists);
  if (!removed) {
    gpu.Wait();
    CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
    return;
  }
  CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
  // Fences go to their last value, and what is called afterwards says that the device is gone.
  CHECK_EQ(gpu.fence()->GetCompletedValue(), UINT64_MAX);
  Ref<ID3D12Fence> fence;
  CHECK_HR(gpu.d3d()->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.out_void()), DXGI_ERROR_DEVICE_REMOVED);
  CHECK_FAILS(gpu.dml()->GetDeviceRemovedReason());
}

void SubmitNothing(Gpu& gpu) {
  gpu.Begin();
  gpu.list()->Close();
  ID3D12CommandList* lists[] = {gpu.list()};
  gpu.queue()->ExecuteCommandLists(1, lists);
}

struct Adding {
  Ref<IDMLCompiledOperator> add;
  Ref<ID3D12Resource> memory;
  std::vector<Ref<IDMLBindingTable>> tables;

  explicit Adding(Gpu& gpu) : memory(gpu.Buffer(4096)) {
    CHECK_OK(gpu.Compile(Parse("ELEMENT_WISE_ADD ATensor=f32[64] BTensor=f32[64] OutputTensor=f32[64]"), add));
  }
  // to = a + b, by blocks of 256 bytes.
  void Record(Gpu& gpu, uint64_t a, uint64_t b, uint64_t to) {
    tables.push_back(gpu.Table(add.get(), static_cast<uint32_t>(64 * tables.size())));
    DML_BUFFER_BINDING in[] = {{memory.get(), a * 256, 256}, {memory.get(), b * 256, 256}}, out{memory.get(), to * 256, 256};
    DML_BINDING_DESC inputs[] = {{DML_BINDING_TYPE_BUFFER, &in[0]}, {DML_BINDING_TYPE_BUFFER, &in[1]}},
                     output{DML_BINDING_TYPE_BUFFER, &out};
    tables.back()->BindInputs(2, inputs);
    tables.back()->BindOutputs(1, &output);
    gpu.recorder()->RecordDispatch(gpu.list(), add.get(), tables.back().get());
  }
  void Barrier(Gpu& gpu) {
    D3D12_RESOURCE_BARRIER barrier = UavBarrier(memory.get());
    gpu.list()->ResourceBarrier(1, &barrier);
  }
};

}  // namespace

TEST_LAST(misuse_missing_uav_barrier) {
  std::unique_ptr<Adding> adding;
  for (bool barrier : {true, false})
    Execute(suite, !barrier, [&](Gpu& gpu) {
      adding = std::make_unique<Adding>(gpu);
      adding->Record(gpu, 0, 1, 2);
      if (barrier) adding->Barrier(gpu);
      adding->Record(gpu, 2, 1, 3);
    });
}

TEST_LAST(misuse_write_after_read) {
  std::unique_ptr<Adding> adding;
  for (bool barrier : {true, false})
    Execute(suite, !barrier, [&](Gpu& gpu) {
      adding = std::make_unique<Adding>(gpu);
      adding->Record(gpu, 0, 1, 2);
      if (barrier) adding->Barrier(gpu);
      adding->Record(gpu, 3, 4, 0);
    });
}

TEST_LAST(misuse_independent_dispatches_need_no_barrier) {
  std::unique_ptr<Adding> adding;
  Execute(suite, false, [&](Gpu& gpu) {
    adding = std::make_unique<Adding>(gpu);
    adding->Record(gpu, 0, 1, 2);
    adding->Record(gpu, 0, 1, 3);
    adding->Record(gpu, 4, 4, 5);
  });
}

TEST_LAST(misuse_wrong_state) {
  Ref<ID3D12Resource> a, b;
  Execute(suite, true, [&](Gpu& gpu) {
    a = gpu.Buffer(256);
    b = gpu.Buffer(256);
    D3D12_RESOURCE_BARRIER barrier = Transition(a.get(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_SOURCE);
    gpu.list()->ResourceBarrier(1, &barrier);
    gpu.list()->CopyBufferRegion(a.get(), 0, b.get(), 0, 256);
  });
}

TEST_LAST(misuse_wrong_state_before) {
  Ref<ID3D12Resource> a;
  Execute(suite, true, [&](Gpu& gpu) {
    a = gpu.Buffer(256);
    D3D12_RESOURCE_BARRIER barrier = Transition(a.get(), D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COPY_DEST);
    D3D12_RESOURCE_BARRIER first = Transition(a.get(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    gpu.list()->ResourceBarrier(1, &first);
    gpu.list()->ResourceBarrier(1, &barrier);
  });
}

TEST_LAST(misuse_copy_within_a_buffer) {
  Ref<ID3D12Resource> a;
  Execute(suite, true, [&](Gpu& gpu) {
    a = gpu.Buffer(1024);
    gpu.list()->CopyBufferRegion(a.get(), 0, a.get(), 512, 256);
  });
}

TEST_LAST(misuse_copy_past_the_end) {
  Ref<ID3D12Resource> a, b;
  Execute(suite, true, [&](Gpu& gpu) {
    a = gpu.Buffer(256);
    b = gpu.Buffer(256);
    gpu.list()->CopyBufferRegion(a.get(), 8, b.get(), 0, 256);
  });
}

TEST_LAST(misuse_dispatch_without_heap) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  Adding adding(gpu);
  CHECK_OK(gpu.allocator()->Reset());
  CHECK_OK(gpu.list()->Reset(gpu.allocator(), nullptr));
  adding.Record(gpu, 0, 1, 2);
  gpu.list()->Close();
  ID3D12CommandList* lists[] = {gpu.list()};
  gpu.queue()->ExecuteCommandLists(1, lists);
  CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
}

TEST_LAST(misuse_resubmission_while_executing) {
  SoftwareOnly(suite);
  for (bool wait : {true, false}) {
    Gpu gpu(suite.runtime());
    Adding adding(gpu);
    Ref<ID3D12Fence> gate;
    CHECK_OK(gpu.d3d()->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), gate.out_void()));
    gpu.Begin();
    adding.Record(gpu, 0, 1, 2);
    CHECK_OK(gpu.list()->Close());
    ID3D12CommandList* lists[] = {gpu.list()};
    if (!wait) CHECK_OK(gpu.queue()->Wait(gate.get(), 1));  // the first execution cannot end
    gpu.queue()->ExecuteCommandLists(1, lists);
    if (wait) gpu.Wait();
    gpu.queue()->ExecuteCommandLists(1, lists);
    if (wait) {
      gpu.Wait();
      CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
    } else {
      CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
    }
    gate->Signal(1);
  }
}

TEST_LAST(misuse_allocator_reset_while_executing) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  Adding adding(gpu);
  Ref<ID3D12Fence> gate;
  CHECK_OK(gpu.d3d()->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), gate.out_void()));
  gpu.Begin();
  adding.Record(gpu, 0, 1, 2);
  CHECK_OK(gpu.list()->Close());
  ID3D12CommandList* lists[] = {gpu.list()};
  CHECK_OK(gpu.queue()->Wait(gate.get(), 1));
  gpu.queue()->ExecuteCommandLists(1, lists);
  gpu.allocator()->Reset();
  CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
  gate->Signal(1);
}

TEST_LAST(misuse_execution_of_an_open_list) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  gpu.Begin();
  ID3D12CommandList* lists[] = {gpu.list()};
  gpu.queue()->ExecuteCommandLists(1, lists);
  CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
}

TEST_LAST(misuse_descriptors_written_while_executing) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  Adding adding(gpu);
  Ref<ID3D12Fence> gate;
  CHECK_OK(gpu.d3d()->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), gate.out_void()));
  gpu.Begin();
  adding.Record(gpu, 0, 1, 2);
  CHECK_OK(gpu.list()->Close());
  ID3D12CommandList* lists[] = {gpu.list()};
  CHECK_OK(gpu.queue()->Wait(gate.get(), 1));
  gpu.queue()->ExecuteCommandLists(1, lists);
  DML_BUFFER_BINDING in[] = {{adding.memory.get(), 0, 256}, {adding.memory.get(), 1024, 256}};
  DML_BINDING_DESC inputs[] = {{DML_BINDING_TYPE_BUFFER, &in[0]}, {DML_BINDING_TYPE_BUFFER, &in[1]}};
  adding.tables[0]->BindInputs(2, inputs);
  CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
  gate->Signal(1);
}

TEST_LAST(fault_device_removal) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  Ref<IDxtensorSoftware> control;
  CHECK_OK(gpu.d3d()->QueryInterface(kIidSoftware, control.out_void()));
  CHECK(control->Traits() & kTraitFusesGraphs);
  Ref<ID3D12Fence> fence;
  CHECK_OK(gpu.d3d()->CreateFence(0, D3D12_FENCE_FLAG_NONE, __uuidof(ID3D12Fence), fence.out_void()));
  Event event;
  CHECK_OK(fence->SetEventOnCompletion(100, event.get()));
  CHECK_OK(control->InjectFault(kFaultRemoveDevice));
  SubmitNothing(gpu);  // the fault comes with the next submission
  CHECK(event.Wait(5000));
  CHECK_EQ(fence->GetCompletedValue(), UINT64_MAX);
  CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
  Ref<IDMLOperator> op;
  CHECK_FAILS(gpu.Create(Parse("ACTIVATION_RELU InputTensor=f32[4] OutputTensor=f32[4]"), op));
}

TEST_LAST(fault_out_of_memory) {
  SoftwareOnly(suite);
  Gpu gpu(suite.runtime());
  Ref<IDxtensorSoftware> control;
  CHECK_OK(gpu.d3d()->QueryInterface(kIidSoftware, control.out_void()));
  D3D12_HEAP_PROPERTIES properties{};
  properties.Type = D3D12_HEAP_TYPE_DEFAULT;
  D3D12_RESOURCE_DESC desc = BufferDesc(4096, D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS);
  Ref<ID3D12Resource> buffer;
  auto create = [&] {
    return gpu.d3d()->CreateCommittedResource(&properties, D3D12_HEAP_FLAG_NONE, &desc, D3D12_RESOURCE_STATE_COMMON, nullptr,
                                              __uuidof(ID3D12Resource), buffer.out_void());
  };
  CHECK_OK(control->InjectFault(kFaultOutOfMemory));
  CHECK_HR(create(), E_OUTOFMEMORY);
  CHECK_OK(create());
  D3D12_HEAP_DESC heap_desc{};
  heap_desc.SizeInBytes = 65536;
  heap_desc.Properties = properties;
  heap_desc.Flags = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
  Ref<ID3D12Heap> heap;
  CHECK_OK(control->InjectFault(kFaultOutOfMemory));
  CHECK_HR(gpu.d3d()->CreateHeap(&heap_desc, __uuidof(ID3D12Heap), heap.out_void()), E_OUTOFMEMORY);
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
  CHECK_HR(control->InjectFault(77), E_INVALIDARG);
}

TEST(software_control_is_ours_alone) {
  Ref<IUnknown> control;
  HRESULT hr = suite.gpu().d3d()->QueryInterface(kIidSoftware, control.out_void());
  CHECK_HR(hr, suite.runtime().software() ? S_OK : E_NOINTERFACE);
}

TEST_LAST(device_after_a_removal) {
  // A removed device lets go; a new one works.
  SoftwareOnly(suite);
  {
    Gpu gpu(suite.runtime());
    Ref<IDxtensorSoftware> control;
    CHECK_OK(gpu.d3d()->QueryInterface(kIidSoftware, control.out_void()));
    CHECK_OK(control->InjectFault(kFaultRemoveDevice));
    SubmitNothing(gpu);
    CHECK_FAILS(gpu.d3d()->GetDeviceRemovedReason());
  }
  Gpu gpu(suite.runtime());
  CHECK_OK(gpu.d3d()->GetDeviceRemovedReason());
  Bytes in(16, 0);
  CHECK_EQ(gpu.Run(Parse("ACTIVATION_RELU InputTensor=f32[4] OutputTensor=f32[4]"), {in})[0].size(), 16u);
}

}  // namespace dxtensor::test
