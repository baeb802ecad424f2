// Graphs whose outputs lie over their inputs, which the software adapter compiles beyond DirectML.
#include "../abi/software_control.h"
#include "float_buffers.h"
#include "graph_builder.h"

namespace dxtensor::test {

namespace {

void SoftwareOnly(Suite& suite) {
  if (!suite.runtime().software()) throw Skip{"DirectML has no such graphs"};
}

const char* const kIdentity = "ELEMENT_WISE_IDENTITY InputTensor=f32[64] OutputTensor=f32[64]";
const char* const kJoin = "JOIN Axis=0 InputTensors=[f32[64],f32[64]] OutputTensor=f32[128]";

// Runs it so often, over buffers of one memory, and reads that back.
void Execute(Gpu& gpu, IDMLCompiledOperator* compiled, Floats& memory, const std::vector<DML_BUFFER_BINDING>& inputs,
             const std::vector<DML_BUFFER_BINDING>& outputs, int times) {
  IDMLCompiledOperator* targets[] = {compiled};
  Ref<IDMLOperatorInitializer> initializer;
  CHECK_OK(gpu.dml()->CreateOperatorInitializer(1, targets, __uuidof(IDMLOperatorInitializer), initializer.out_void()));
  const uint64_t temporary = BindingProperties(compiled).TemporaryResourceSize;
  Ref<ID3D12Resource> workspace = gpu.Buffer(std::max<uint64_t>(256, temporary));
  gpu.Begin();
  Ref<IDMLBindingTable> prepare = gpu.Table(initializer.get());
  gpu.recorder()->RecordDispatch(gpu.list(), initializer.get(), prepare.get());
  gpu.Finish();
  gpu.Begin();
  memory.RecordUpload();
  Ref<IDMLBindingTable> table = gpu.Table(compiled);
  Bind(table.get(), inputs, outputs);
  const DML_BUFFER_BINDING scratch{workspace.get(), 0, temporary};
  const DML_BINDING_DESC binding{DML_BINDING_TYPE_BUFFER, &scratch};
  if (temporary) table->BindTemporaryResource(&binding);
  for (int i = 0; i < times; ++i) {
    gpu.recorder()->RecordDispatch(gpu.list(), compiled, table.get());
    D3D12_RESOURCE_BARRIER barrier = UavBarrier();
    gpu.list()->ResourceBarrier(1, &barrier);
  }
  memory.RecordReadback();
  gpu.Finish();
  CHECK_OK(gpu.dml()->GetDeviceRemovedReason());
}

// (a + b) + b
void AddTwice(GraphBuilder& graph) {
  const UINT add = graph.Node(kAdd), second = graph.Node(kAdd);
  graph.Input(0, add, 0);
  graph.Input(1, add, 1);
  graph.Link(add, 0, second, 0);
  graph.Input(1, second, 1);
  graph.Output(second, 0, 0);
}

}  // namespace

// m = m + x, and what m was; three times.
TEST(overwrites_state) {
  SoftwareOnly(suite);
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT add = graph.Node(kAdd), old = graph.Node(kIdentity);
  graph.Input(0, add, 0);
  graph.Input(1, add, 1);
  graph.Input(0, old, 0);
  graph.Output(add, 0, 0);
  graph.Output(old, 0, 1);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.CompileOver({{0, 0, 0}}, compiled));
  Floats memory(gpu, 3);
  memory.Set(0, 1, 1);
  memory.Set(1, 10, 0.5f);
  Execute(gpu, compiled.get(), memory, {memory.At(0), memory.At(1)}, {memory.At(0), memory.At(2)}, 3);
  memory.Expect(0, 31, 2.5f);
  memory.Expect(1, 10, 0.5f);
  memory.Expect(2, 21, 2);
}

// Each takes the other's value: one of them cannot be written before the other was read.
TEST(overwrites_that_cross) {
  SoftwareOnly(suite);
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT first = graph.Node(kIdentity), second = graph.Node(kIdentity);
  graph.Input(0, first, 0);
  graph.Input(1, second, 0);
  graph.Output(second, 0, 0);
  graph.Output(first, 0, 1);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.CompileOver({{0, 0, 0}, {1, 1, 0}}, compiled));
  for (int times : {1, 2, 3}) {
    Floats memory(gpu, 2);
    memory.Set(0, 1, 1);
    memory.Set(1, 10, 0.5f);
    Execute(gpu, compiled.get(), memory, {memory.At(0), memory.At(1)}, {memory.At(0), memory.At(1)}, times);
    memory.Expect(times % 2, 1, 1);
    memory.Expect(1 - times % 2, 10, 0.5f);
  }
}

// The new first half is the old second one; the second half grows.
TEST(overwrites_of_joined_pieces) {
  SoftwareOnly(suite);
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  const UINT move = graph.Node(kIdentity), add = graph.Node(kAdd), join = graph.Node(kJoin);
  graph.Input(0, move, 0);
  graph.Input(0, add, 0);
  graph.Input(1, add, 1);
  graph.Link(move, 0, join, 0);
  graph.Link(add, 0, join, 1);
  graph.Output(join, 0, 0);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_OK(graph.CompileOver({{0, 0, 256}}, compiled));
  Floats memory(gpu, 3);
  memory.Set(0, 0, 0);
  memory.Set(1, 1, 1);
  memory.Set(2, 10, 0.5f);
  DML_BUFFER_BINDING whole = memory.At(0);
  whole.SizeInBytes = 512;
  Execute(gpu, compiled.get(), memory, {memory.At(1), memory.At(2)}, {whole}, 3);
  memory.Expect(0, 21, 2);
  memory.Expect(1, 31, 2.5f);
}

TEST(overwrites_refused) {
  SoftwareOnly(suite);
  Gpu& gpu = suite.gpu();
  GraphBuilder graph(gpu);
  AddTwice(graph);
  Ref<IDMLCompiledOperator> compiled;
  CHECK_HR(graph.CompileOver({{1, 0, 0}}, compiled), E_INVALIDARG);
  CHECK_HR(graph.CompileOver({{0, 2, 0}}, compiled), E_INVALIDARG);
  CHECK_HR(graph.CompileOver({{0, 0, 16}}, compiled), E_INVALIDARG);
  CHECK_HR(graph.CompileOver({{0, 0, UINT64_MAX}}, compiled), E_INVALIDARG);
  CHECK_OK(graph.CompileOver({{0, 0, 0}}, compiled));
}

// Bound elsewhere than it was compiled for.
TEST_LAST(overwrites_bound_elsewhere) {
  SoftwareOnly(suite);
  for (const std::vector<DxtensorOverwrite>& overwrites : {std::vector<DxtensorOverwrite>{{0, 0, 0}}, std::vector<DxtensorOverwrite>{}}) {
    Gpu gpu(suite.runtime());
    GraphBuilder graph(gpu);
    AddTwice(graph);
    Ref<IDMLCompiledOperator> compiled;
    CHECK_OK(graph.CompileOver(overwrites, compiled));
    Floats memory(gpu, 3);
    gpu.Begin();
    Ref<IDMLBindingTable> table = gpu.Table(compiled.get());
    Bind(table.get(), {memory.At(0), memory.At(1)}, {memory.At(overwrites.empty() ? 0 : 2)});
    gpu.recorder()->RecordDispatch(gpu.list(), compiled.get(), table.get());
    CHECK_FAILS(gpu.dml()->GetDeviceRemovedReason());
  }
}

}  // namespace dxtensor::test
