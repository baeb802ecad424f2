// Wrong bindings remove the DirectML device.
#include "float_buffers.h"

namespace dxtensor::test {

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
