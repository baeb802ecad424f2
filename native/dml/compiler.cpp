#include "compiler.h"

#include "../abi/abi_calls.h"
#include "../abi/software_control.h"
#include "../schema/unchecked.h"
#include "failure.h"

namespace dxtensor::dml {

namespace {

ComPtr<IDMLOperator> CreateOperator(const Context& context, const schema::OperatorDesc& desc) {
  if (std::string fault = schema::UncheckedFault(desc); !fault.empty())
    throw Failure(FailureKind::Invalid, std::string(desc.schema->name) + ": " + fault);
  schema::DmlDesc dml(desc);
  ComPtr<IDMLOperator> op;
  Check(context.dml->CreateOperator(dml.get(), __uuidof(IDMLOperator), op.put_void()), "IDMLDevice::CreateOperator", desc.schema->name);
  return op;
}

void TakeProperties(CompiledOperator& compiled) {
  DML_BINDING_PROPERTIES properties = BindingProperties(compiled.object.get());
  compiled.descriptors = properties.RequiredDescriptorCount;
  compiled.temporary = properties.TemporaryResourceSize;
  compiled.persistent = properties.PersistentResourceSize;
}

std::string GraphName(const GraphDesc& desc) {
  constexpr size_t kListed = 4;
  std::string name = "graph of ";
  for (size_t i = 0; i < desc.nodes.size() && i < kListed; ++i) name += (i ? ", " : "") + std::string(desc.nodes[i].schema->name);
  if (desc.nodes.size() > kListed) name += " and " + std::to_string(desc.nodes.size() - kListed) + " more";
  return name;
}

}  // namespace

CompiledOperator CompileOperator(const Context& context, const schema::OperatorDesc& desc) {
  CompiledOperator compiled;
  compiled.name = desc.schema->name;
  ComPtr<IDMLOperator> op = CreateOperator(context, desc);
  Check(context.dml->CompileOperator(op.get(), DML_EXECUTION_FLAG_NONE, __uuidof(IDMLCompiledOperator), compiled.object.put_void()),
        "IDMLDevice::CompileOperator", desc.schema->name);
  TakeProperties(compiled);
  return compiled;
}

CompiledOperator CompileGraph(const Context& context, GraphDesc desc) {
  CompiledOperator compiled;
  compiled.name = GraphName(desc);
  std::vector<ComPtr<IDMLOperator>> operators;
  for (schema::OperatorDesc& node : desc.nodes) {
    operators.push_back(CreateOperator(context, node));
    // DirectML has its own: a large graph is megabytes.
    node = {};
  }
  std::vector<DML_OPERATOR_GRAPH_NODE_DESC> node_descs;
  for (const auto& op : operators) node_descs.push_back({op.get(), nullptr});
  std::vector<DML_GRAPH_NODE_DESC> nodes;
  for (const auto& node : node_descs) nodes.push_back({DML_GRAPH_NODE_TYPE_OPERATOR, &node});
  std::vector<DML_INPUT_GRAPH_EDGE_DESC> input_descs;
  for (const auto& e : desc.input_edges) input_descs.push_back({e.input, e.to, e.to_input, nullptr});
  std::vector<DML_INTERMEDIATE_GRAPH_EDGE_DESC> edge_descs;
  for (const auto& e : desc.edges) edge_descs.push_back({e.from, e.from_output, e.to, e.to_input, nullptr});
  std::vector<DML_OUTPUT_GRAPH_EDGE_DESC> output_descs;
  for (const auto& e : desc.output_edges) output_descs.push_back({e.from, e.from_output, e.output, nullptr});
  std::vector<DML_GRAPH_EDGE_DESC> inputs, edges, outputs;
  for (const auto& e : input_descs) inputs.push_back({DML_GRAPH_EDGE_TYPE_INPUT, &e});
  for (const auto& e : edge_descs) edges.push_back({DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &e});
  for (const auto& e : output_descs) outputs.push_back({DML_GRAPH_EDGE_TYPE_OUTPUT, &e});
  DML_GRAPH_DESC graph{};
  graph.InputCount = desc.input_count;
  graph.OutputCount = desc.output_count;
  graph.NodeCount = static_cast<UINT>(nodes.size());
  graph.Nodes = nodes.data();
  graph.InputEdgeCount = static_cast<UINT>(inputs.size());
  graph.InputEdges = inputs.data();
  graph.OutputEdgeCount = static_cast<UINT>(outputs.size());
  graph.OutputEdges = outputs.data();
  graph.IntermediateEdgeCount = static_cast<UINT>(edges.size());
  graph.IntermediateEdges = edges.data();
  HRESULT made = S_OK;
  if (desc.overwrites.empty()) {
    made = context.dml->CompileGraph(&graph, DML_EXECUTION_FLAG_NONE, __uuidof(IDMLCompiledOperator), compiled.object.put_void());
  } else {
    std::vector<DxtensorOverwrite> overwrites;
    for (const auto& o : desc.overwrites) overwrites.push_back({o.output, o.input, o.offset});
    ComPtr<IDxtensorGraphs> graphs;
    if (FAILED(context.dml->QueryInterface(kIidGraphs, graphs.put_void())))
      throw Failure(FailureKind::Unsupported, "this DirectML has no graphs whose outputs lie over inputs");
    made = graphs->CompileGraph(&graph, DML_EXECUTION_FLAG_NONE, overwrites.data(), static_cast<UINT>(overwrites.size()),
                                __uuidof(IDMLCompiledOperator), compiled.object.put_void());
  }
  Check(made, "IDMLDevice1::CompileGraph", compiled.name.c_str());
  TakeProperties(compiled);
  if (context.software) compiled.kernels = KernelsOf(compiled.object.get());
  return compiled;
}

void PrepareShaders(const Context& context, ShaderCache& cache, const ProgramDesc& desc) {
  if (!context.serialize_root_signature) return;
  std::vector<const ShaderDesc*> shaders;
  for (const DispatchableDesc& dispatchable : desc.dispatchables)
    if (auto* shader = std::get_if<ShaderDesc>(&dispatchable)) shaders.push_back(shader);
  if (shaders.size() > 1) cache.Prepare(shaders);
}

CompiledOperator CompileShader(const Context& context, ShaderCache& cache, const ShaderDesc& desc, uint32_t buffers) {
  for (const ShaderView& view : desc.views)
    if (view.buffer >= buffers) throw Failure(FailureKind::Invalid, "a shader's view is of a buffer that its step does not bind");
  if (!context.serialize_root_signature)
    throw Failure(FailureKind::Unsupported, "this Direct3D 12 exports no D3D12SerializeVersionedRootSignature: it runs no shaders");
  CompiledOperator compiled;
  compiled.name = "shader";
  compiled.shader = cache.Get(desc);
  compiled.descriptors = static_cast<uint32_t>(desc.views.size());
  compiled.views = desc.views;
  compiled.constants = desc.constants;
  compiled.groups = desc.groups;
  return compiled;
}

Initialiser::Initialiser(const Context& context, const Program& program) : context_(context), program_(program) {
  std::vector<IDMLCompiledOperator*> operators;
  for (const CompiledOperator& op : program.operators) {
    if (op.shader) continue;
    operators_.push_back(&op);
    operators.push_back(op.object.get());
  }
  Check(context.dml->CreateOperatorInitializer(static_cast<UINT>(operators.size()), operators.data(), __uuidof(IDMLOperatorInitializer),
                                               object_.put_void()),
        "IDMLDevice::CreateOperatorInitializer", program.name.c_str());
  DML_BINDING_PROPERTIES properties = BindingProperties(object_.get());
  descriptors_ = properties.RequiredDescriptorCount;
  temporary_ = properties.TemporaryResourceSize;
}

std::unique_ptr<InitialiseWork> Initialiser::Bind(DescriptorHeaps& heaps, const HeapPool& pool, Address temporary) {
  auto work = std::make_unique<InitialiseWork>();
  work->initializer = object_;
  work->region = heaps.Allocate(descriptors_);
  DML_BINDING_TABLE_DESC desc = {object_.get(), work->region.cpu, work->region.gpu, work->region.count};
  HRESULT hr = context_.dml->CreateBindingTable(&desc, __uuidof(IDMLBindingTable), work->table.put_void());
  if (FAILED(hr)) {
    heaps.Free(work->region);
    throw Failure(hr, "IDMLDevice::CreateBindingTable", program_.name);
  }
  auto binding = [&](Address at, uint64_t size) { return DML_BUFFER_BINDING{pool.Resource(ChunkOf(at)), OffsetOf(at), size}; };
  if (temporary_) {
    DML_BUFFER_BINDING buffer = binding(temporary, temporary_);
    DML_BINDING_DESC one = {DML_BINDING_TYPE_BUFFER, &buffer};
    work->table->BindTemporaryResource(&one);
    work->writes.push_back({temporary, temporary_});
  }
  std::vector<DML_BUFFER_BINDING> buffers;
  for (const CompiledOperator* op : operators_) {
    buffers.push_back(op->persistent ? binding(op->persistent_address, op->persistent) : DML_BUFFER_BINDING{});
    if (op->persistent) work->writes.push_back({op->persistent_address, op->persistent});
  }
  if (program_.persistent) {
    std::vector<DML_BINDING_DESC> outputs;
    for (const DML_BUFFER_BINDING& buffer : buffers)
      outputs.push_back(buffer.Buffer ? DML_BINDING_DESC{DML_BINDING_TYPE_BUFFER, &buffer}
                                      : DML_BINDING_DESC{DML_BINDING_TYPE_NONE, nullptr});
    work->table->BindOutputs(static_cast<UINT>(outputs.size()), outputs.data());
  }
  return work;
}

}  // namespace dxtensor::dml
