// Binding tables and operator initialisation.
#include "float_buffers.h"

namespace dxtensor::test {

TEST(binding_table_descriptions) {
  Gpu& gpu = suite.gpu();
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.Compile(Parse(kAdd), compiled));
  const UINT needed = BindingProperties(compiled.get()).RequiredDescriptorCount;
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
  const UINT count = BindingProperties(add.get()).RequiredDescriptorCount;
  gpu.Begin();
  memory.RecordUpload();
  // One table, moved on to new descriptors; the bindings recorded before stay.
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
  const UINT count = BindingProperties(identity.get()).RequiredDescriptorCount;
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
  const DML_BINDING_PROPERTIES prepare = BindingProperties(initializer.get()), run = BindingProperties(add.get());
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
  CHECK_EQ(BindingProperties(initializer.get()).PersistentResourceSize, 0u);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(gpu.Compile(Parse(kAdd), compiled));
  IDMLCompiledOperator* targets[] = {compiled.get(), compiled.get()};
  CHECK_OK(initializer->Reset(2, targets));
  CHECK_OK(initializer->Reset(0, nullptr));
}

}  // namespace dxtensor::test
