// Binding tables, operator initialisation and recording.
#include <algorithm>
#include <cstring>

#include "check.h"
#include "describe.h"
#include "gpu.h"

namespace dxtensor::test {

namespace {

const char* const kAdd = "ELEMENT_WISE_ADD ATensor=f32[64] BTensor=f32[64] OutputTensor=f32[64]";

// Buffers of 64 floats, filled from the processor and read back.
class Floats {
 public:
  Floats(Gpu& gpu, size_t buffers) : gpu_(gpu), size_(buffers * kStep) {
    memory_ = gpu.Buffer(size_);
    upload_ = gpu.Buffer(size_, D3D12_HEAP_TYPE_UPLOAD);
    readback_ = gpu.Buffer(size_, D3D12_HEAP_TYPE_READBACK);
  }
  static constexpr uint64_t kStep = 256;

  void Set(size_t buffer, float start, float step) {
    uint8_t* p = nullptr;
    CHECK_OK(upload_->Map(0, nullptr, reinterpret_cast<void**>(&p)));
    for (size_t i = 0; i < 64; ++i) {
      const float value = start + step * static_cast<float>(i);
      std::memcpy(p + buffer * kStep + i * 4, &value, 4);
    }
    upload_->Unmap(0, nullptr);
  }
  // Records the copies in, then leaves the memory for dispatches.
  void RecordUpload() {
    D3D12_RESOURCE_BARRIER barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST);
    gpu_.list()->ResourceBarrier(1, &barrier);
    gpu_.list()->CopyBufferRegion(memory_.get(), 0, upload_.get(), 0, size_);
    barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
    gpu_.list()->ResourceBarrier(1, &barrier);
  }
  void RecordReadback() {
    D3D12_RESOURCE_BARRIER barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    gpu_.list()->ResourceBarrier(1, &barrier);
    gpu_.list()->CopyBufferRegion(readback_.get(), 0, memory_.get(), 0, size_);
    barrier = Transition(memory_.get(), D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COMMON);
    gpu_.list()->ResourceBarrier(1, &barrier);
  }
  void Expect(size_t buffer, float start, float step) {
    uint8_t* p = nullptr;
    D3D12_RANGE range{0, static_cast<SIZE_T>(size_)}, nothing{0, 0};
    CHECK_OK(readback_->Map(0, &range, reinterpret_cast<void**>(&p)));
    std::string wrong;
    for (size_t i = 0; i < 64 && wrong.empty(); ++i) {
      float value;
      std::memcpy(&value, p + buffer * kStep + i * 4, 4);
      if (value != start + step * static_cast<float>(i)) wrong = "element " + std::to_string(i) + " is " + std::to_string(value);
    }
    readback_->Unmap(0, &nothing);
    if (!wrong.empty()) throw Failure{"buffer " + std::to_string(buffer) + ": " + wrong};
  }
  DML_BUFFER_BINDING At(size_t buffer) const { return {memory_.get(), buffer * kStep, kStep}; }
  ID3D12Resource* memory() const { return memory_.get(); }
  ID3D12Resource* upload() const { return upload_.get(); }
  ID3D12Resource* readback() const { return readback_.get(); }

 private:
  Gpu& gpu_;
  uint64_t size_;
  Ref<ID3D12Resource> memory_, upload_, readback_;
};

void Bind(IDMLBindingTable* table, const std::vector<DML_BUFFER_BINDING>& inputs, const std::vector<DML_BUFFER_BINDING>& outputs) {
  std::vector<DML_BINDING_DESC> in, out;
  for (const DML_BUFFER_BINDING& b : inputs)
    in.push_back({b.Buffer ? DML_BINDING_TYPE_BUFFER : DML_BINDING_TYPE_NONE, b.Buffer ? &b : nullptr});
  for (const DML_BUFFER_BINDING& b : outputs) out.push_back({DML_BINDING_TYPE_BUFFER, &b});
  table->BindInputs(static_cast<UINT>(in.size()), in.data());
  table->BindOutputs(static_cast<UINT>(out.size()), out.data());
}

// Compiled, initialised, without temporary or persistent memory.
Ref<IDMLCompiledOperator> Ready(Gpu& gpu, const std::string& text, DML_EXECUTION_FLAGS flags = DML_EXECUTION_FLAG_NONE) {
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.Compile(Parse(text), compiled, flags));
  IDMLCompiledOperator* targets[] = {compiled.get()};
  Ref<IDMLOperatorInitializer> initializer;
  CHECK_OK(gpu.dml()->CreateOperatorInitializer(1, targets, __uuidof(IDMLOperatorInitializer), initializer.out_void()));
  CHECK_EQ(initializer->GetBindingProperties().PersistentResourceSize, 0u);
  if (compiled->GetBindingProperties().PersistentResourceSize || initializer->GetBindingProperties().TemporaryResourceSize ||
      compiled->GetBindingProperties().TemporaryResourceSize)
    throw Skip{"the runtime needs extra memory for an operator of this test"};
  gpu.Begin();
  Ref<IDMLBindingTable> table = gpu.Table(initializer.get());
  gpu.recorder()->RecordDispatch(gpu.list(), initializer.get(), table.get());
  gpu.Finish();
  return compiled;
}

}  // namespace

TEST(binding_table_descriptions) {
  Gpu& gpu = suite.gpu();
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.Compile(Parse(kAdd), compiled));
  const UINT needed = compiled->GetBindingProperties().RequiredDescriptorCount;
  CHECK(needed > 0);
  Ref<IDMLBindingTable> table;
  DML_BINDING_TABLE_DESC desc = gpu.TableDesc(compiled.get(), 0, needed - 1);
  CHECK_HR(gpu.dml()->CreateBindingTable(&desc, __uuidof(IDMLBindingTable), table.out_void()), E_INVALIDARG);
  CHECK_OK(gpu.dml()->CreateBindingTable(nullptr, __uuidof(IDMLBindingTable), table.out_void()));
  desc = gpu.TableDesc(compiled.get(), 0, needed);
  CHECK_OK(table->Reset(&desc));
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
}

TEST(rebinding_in_one_list) {
  Gpu& gpu = suite.gpu();
  Floats memory(gpu, 5);
  Ref<IDMLCompiledOperator> add = Ready(gpu, kAdd);
  memory.Set(0, 1, 1);
  memory.Set(1, 10, 0.5f);
  const UINT count = add->GetBindingProperties().RequiredDescriptorCount;
  gpu.Begin();
  memory.RecordUpload();
  // One table, moved on to fresh descriptors; the bindings recorded before stay.
  Ref<IDMLBindingTable> table = gpu.Table(add.get(), 100);
  Bind(table.get(), {memory.At(0), memory.At(1)}, {memory.At(2)});
  gpu.recorder()->RecordDispatch(gpu.list(), add.get(), table.get());
  D3D12_RESOURCE_BARRIER barrier = UavBarrier(memory.memory());
  gpu.list()->ResourceBarrier(1, &barrier);
  DML_BINDING_TABLE_DESC next = gpu.TableDesc(add.get(), 100 + count, count);
  CHECK_OK(table->Reset(&next));
  Bind(table.get(), {memory.At(2), memory.At(2)}, {memory.At(3)});
  gpu.recorder()->RecordDispatch(gpu.list(), add.get(), table.get());
  gpu.list()->ResourceBarrier(1, &barrier);
  next = gpu.TableDesc(add.get(), 100 + 2 * count, count);
  CHECK_OK(table->Reset(&next));
  Bind(table.get(), {memory.At(3), memory.At(0)}, {memory.At(4)});
  gpu.recorder()->RecordDispatch(gpu.list(), add.get(), table.get());
  memory.RecordReadback();
  gpu.Finish();
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
  memory.Expect(2, 11, 1.5f);
  memory.Expect(3, 22, 3);
  memory.Expect(4, 23, 4);
}

TEST(in_place) {
  Gpu& gpu = suite.gpu();
  Floats memory(gpu, 2);
  Ref<IDMLCompiledOperator> add = Ready(gpu, kAdd);
  memory.Set(0, 1, 1);
  memory.Set(1, 10, 0.5f);
  gpu.Begin();
  memory.RecordUpload();
  Ref<IDMLBindingTable> table = gpu.Table(add.get());
  Bind(table.get(), {memory.At(0), memory.At(1)}, {memory.At(0)});
  gpu.recorder()->RecordDispatch(gpu.list(), add.get(), table.get());
  memory.RecordReadback();
  gpu.Finish();
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
  memory.Expect(0, 11, 1.5f);
  memory.Expect(1, 10, 0.5f);
}

TEST(bindings_at_multiples_of_16) {
  Gpu& gpu = suite.gpu();
  Floats memory(gpu, 4);
  Ref<IDMLCompiledOperator> identity = Ready(gpu, "ELEMENT_WISE_IDENTITY InputTensor=f32[32] OutputTensor=f32[32]");
  memory.Set(0, 0, 1);
  gpu.Begin();
  memory.RecordUpload();
  Ref<IDMLBindingTable> table = gpu.Table(identity.get());
  DML_BUFFER_BINDING from = memory.At(0), to = memory.At(2);
  from.Offset += 48;
  from.SizeInBytes = 128;
  to.SizeInBytes = 128;
  Bind(table.get(), {from}, {to});
  gpu.recorder()->RecordDispatch(gpu.list(), identity.get(), table.get());
  D3D12_RESOURCE_BARRIER barrier = UavBarrier(memory.memory());
  gpu.list()->ResourceBarrier(1, &barrier);
  to.Offset += 128;
  from.Offset += 80;
  const UINT count = identity->GetBindingProperties().RequiredDescriptorCount;
  DML_BINDING_TABLE_DESC next = gpu.TableDesc(identity.get(), count, count);
  CHECK_OK(table->Reset(&next));
  Bind(table.get(), {from}, {to});
  gpu.recorder()->RecordDispatch(gpu.list(), identity.get(), table.get());
  memory.RecordReadback();
  gpu.Finish();
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
  uint8_t* p = nullptr;
  CHECK_OK(memory.readback()->Map(0, nullptr, reinterpret_cast<void**>(&p)));
  float first, second;
  std::memcpy(&first, p + 512, 4);
  std::memcpy(&second, p + 512 + 128, 4);
  memory.readback()->Unmap(0, nullptr);
  CHECK_EQ(first, 12.0f);
  CHECK_EQ(second, 32.0f);
}

TEST(owned_input_is_kept) {
  // The persistent memory holds the input: what its buffer says later does not matter.
  Gpu& gpu = suite.gpu();
  Ref<IDMLCompiledOperator> add;
  CHECK_OK(gpu.Compile(Parse("ELEMENT_WISE_ADD ATensor=f32[64] BTensor=f32[64]! OutputTensor=f32[64]"), add));
  IDMLCompiledOperator* targets[] = {add.get()};
  Ref<IDMLOperatorInitializer> initializer;
  CHECK_OK(gpu.dml()->CreateOperatorInitializer(1, targets, __uuidof(IDMLOperatorInitializer), initializer.out_void()));
  const DML_BINDING_PROPERTIES prepare = initializer->GetBindingProperties(), run = add->GetBindingProperties();
  CHECK(run.PersistentResourceSize >= 256);
  Floats memory(gpu, 3);
  Ref<ID3D12Resource> persistent = gpu.Buffer((run.PersistentResourceSize + 255) / 256 * 256);
  Ref<ID3D12Resource> temporary = gpu.Buffer(std::max<uint64_t>(256, std::max(prepare.TemporaryResourceSize, run.TemporaryResourceSize)));
  memory.Set(0, 1, 1);
  memory.Set(1, 10, 0.5f);
  gpu.Begin();
  memory.RecordUpload();
  Ref<IDMLBindingTable> table = gpu.Table(initializer.get());
  DML_BUFFER_BINDING owned[] = {{}, memory.At(1)};
  DML_BUFFER_ARRAY_BINDING array{2, owned};
  DML_BINDING_DESC array_binding{DML_BINDING_TYPE_BUFFER_ARRAY, &array};
  DML_BUFFER_BINDING persistent_range{persistent.get(), 0, run.PersistentResourceSize};
  DML_BINDING_DESC persistent_binding{DML_BINDING_TYPE_BUFFER, &persistent_range};
  table->BindInputs(1, &array_binding);
  table->BindOutputs(1, &persistent_binding);
  DML_BUFFER_BINDING temporary_range{temporary.get(), 0, prepare.TemporaryResourceSize};
  DML_BINDING_DESC temporary_binding{DML_BINDING_TYPE_BUFFER, &temporary_range};
  if (prepare.TemporaryResourceSize) table->BindTemporaryResource(&temporary_binding);
  gpu.recorder()->RecordDispatch(gpu.list(), initializer.get(), table.get());
  memory.RecordReadback();
  gpu.Finish();
  memory.Set(1, 999, 0);
  for (float start : {1.0f, 5.0f}) {
    memory.Set(0, start, 1);
    gpu.Begin();
    memory.RecordUpload();
    Ref<IDMLBindingTable> again = gpu.Table(add.get(), 200);
    Bind(again.get(), {memory.At(0), {}}, {memory.At(2)});
    again->BindPersistentResource(&persistent_binding);
    temporary_range.SizeInBytes = run.TemporaryResourceSize;
    if (run.TemporaryResourceSize) again->BindTemporaryResource(&temporary_binding);
    gpu.recorder()->RecordDispatch(gpu.list(), add.get(), again.get());
    memory.RecordReadback();
    gpu.Finish();
    CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
    memory.Expect(2, start + 10, 1.5f);
  }
}

TEST(initializer_of_none) {
  Gpu& gpu = suite.gpu();
  Ref<IDMLOperatorInitializer> initializer;
  CHECK_OK(gpu.dml()->CreateOperatorInitializer(0, nullptr, __uuidof(IDMLOperatorInitializer), initializer.out_void()));
  CHECK_EQ(initializer->GetBindingProperties().PersistentResourceSize, 0u);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.Compile(Parse(kAdd), compiled));
  IDMLCompiledOperator* targets[] = {compiled.get(), compiled.get()};
  CHECK_OK(initializer->Reset(2, targets));
  CHECK_OK(initializer->Reset(0, nullptr));
}

TEST(closed_lists_replayed) {
  // Three lists that depend on each other, closed once, submitted in turn many times over changing data.
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

// Wrong bindings remove the DirectML device, so each has a device of its own.
namespace {

void ExpectRemoved(Suite& suite, const std::function<void(Gpu&, Floats&, IDMLCompiledOperator*, IDMLBindingTable*)>& misuse) {
  Gpu gpu(suite.runtime());
  Floats memory(gpu, 4);
  Ref<IDMLCompiledOperator> add = Ready(gpu, kAdd);
  gpu.Begin();
  memory.RecordUpload();
  Ref<IDMLBindingTable> table = gpu.Table(add.get());
  misuse(gpu, memory, add.get(), table.get());
  gpu.recorder()->RecordDispatch(gpu.list(), add.get(), table.get());
  CHECK_FAILS(gpu.dml()->GetDeviceRemovedReason());
  Ref<IDMLOperator> op;
  CHECK_HR(gpu.Create(Parse(kAdd), op), DXGI_ERROR_DEVICE_REMOVED);
}

}  // namespace

TEST_LAST(removed_by_too_few_inputs) {
  ExpectRemoved(suite,
                [](Gpu&, Floats& memory, IDMLCompiledOperator*, IDMLBindingTable* table) { Bind(table, {memory.At(0)}, {memory.At(2)}); });
}

TEST_LAST(removed_by_no_output) {
  ExpectRemoved(suite, [](Gpu&, Floats& memory, IDMLCompiledOperator*, IDMLBindingTable* table) {
    Bind(table, {memory.At(0), memory.At(1)}, {});
  });
}

TEST_LAST(removed_by_a_small_buffer) {
  ExpectRemoved(suite, [](Gpu&, Floats& memory, IDMLCompiledOperator*, IDMLBindingTable* table) {
    DML_BUFFER_BINDING small = memory.At(1);
    small.SizeInBytes = 128;
    Bind(table, {memory.At(0), small}, {memory.At(2)});
  });
}

TEST_LAST(removed_by_an_offset) {
  ExpectRemoved(suite, [](Gpu&, Floats& memory, IDMLCompiledOperator*, IDMLBindingTable* table) {
    DML_BUFFER_BINDING odd = memory.At(1);
    odd.Offset += 4;
    Bind(table, {memory.At(0), odd}, {memory.At(2)});
  });
}

TEST_LAST(removed_by_a_range_past_the_end) {
  ExpectRemoved(suite, [](Gpu&, Floats& memory, IDMLCompiledOperator*, IDMLBindingTable* table) {
    DML_BUFFER_BINDING past = memory.At(3);
    past.SizeInBytes = 4096;
    Bind(table, {memory.At(0), past}, {memory.At(2)});
  });
}

TEST_LAST(removed_by_overlapping_output) {
  // Input and output ranges that meet without being the same.
  if (!suite.runtime().software()) throw Skip{"only the software adapter looks for it"};
  ExpectRemoved(suite, [](Gpu&, Floats& memory, IDMLCompiledOperator*, IDMLBindingTable* table) {
    DML_BUFFER_BINDING shifted = memory.At(0);
    shifted.Offset += 128;
    Bind(table, {memory.At(0), memory.At(2)}, {shifted});
  });
}

TEST_LAST(removed_by_missing_bindings) {
  ExpectRemoved(suite, [](Gpu&, Floats&, IDMLCompiledOperator*, IDMLBindingTable*) {});
}

}  // namespace dxtensor::test
