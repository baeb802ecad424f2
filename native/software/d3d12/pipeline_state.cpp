#include "pipeline_state.h"

#include <algorithm>

#include "software/shader/decode.h"
#include "software/shader/execute/run.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

constexpr UINT kMaxGroups = 65535;  // along each axis

class BoundShader final : public BoundDispatch {
 public:
  BoundShader(std::shared_ptr<const shader::Program> program, std::vector<uint32_t> constants, const UINT (&groups)[3])
      : program_(std::move(program)), constants_(std::move(constants)), groups_{groups[0], groups[1], groups[2]} {
    buffers.resize(program_->memories.size());
  }

  void Run() const override {
    shader::Arguments arguments;
    arguments.buffers = buffers.data();
    arguments.constants = constants_.data();
    arguments.constant_count = static_cast<uint32_t>(constants_.size());
    std::copy(groups_, groups_ + 3, arguments.groups);
    if (const char* why = shader::Run(*program_, arguments)) throw DeviceFault{why};
  }

  std::vector<shader::Buffer> buffers;  // one for each of the program's memories

 private:
  const std::shared_ptr<const shader::Program> program_;
  const std::vector<uint32_t> constants_;
  const UINT groups_[3];
};

// Empty, or what the root signature does not give the shader.
std::string Lacking(const shader::Program& program, const RootSignature& signature) {
  if (program.constants && !signature.constants()) return "the shader reads b0, which the root signature lacks";
  for (const shader::Memory& memory : program.memories) {
    UINT parameter, table_index;
    if (!memory.is_shared && !signature.Find(memory.index, &parameter, &table_index))
      return "the shader uses u" + std::to_string(memory.index) + ", which the root signature lacks";
  }
  return {};
}

void AddResource(BoundDispatch* dispatch, Held<Resource> resource) {
  for (const Held<Resource>& known : dispatch->resources)
    if (known.get() == resource.get()) return;
  dispatch->resources.push_back(std::move(resource));
}

}  // namespace

HRESULT PipelineState::Create(Device* device, const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, REFIID iid, void** out) {
  if (!desc || !desc->CS.pShaderBytecode || desc->NodeMask > 1) return E_INVALIDARG;
  std::string wrong;
  if (!desc->pRootSignature) wrong = "a pipeline without a root signature is not part of the software adapter";
  std::shared_ptr<const shader::Program> program;
  if (wrong.empty()) program = shader::Decode(desc->CS.pShaderBytecode, desc->CS.BytecodeLength, &wrong);
  auto* signature = static_cast<RootSignature*>(desc->pRootSignature);
  if (wrong.empty()) wrong = Lacking(*program, *signature);
  if (!wrong.empty()) {
    Trace("CreateComputePipelineState: " + wrong);
    device->SetPrivateData(kIidRefusal, static_cast<UINT>(wrong.size()), wrong.data());
    return E_INVALIDARG;
  }
  return Deliver(new PipelineState(device, std::move(program), signature), iid, out);
}

HRESULT PipelineState::GetCachedBlob(ID3DBlob** blob) {
  if (blob) *blob = nullptr;
  return E_NOTIMPL;
}

void ComputeState::Clear() {
  pipeline_ = {};
  root_signature_ = {};
  arguments_.clear();
}

void ComputeState::SetRootSignature(RootSignature* signature) {
  if (root_signature_.get() == signature) return;
  root_signature_ = Held<RootSignature>(signature);
  arguments_.clear();
  if (!signature) return;
  arguments_.resize(signature->parameters().size());
  for (size_t i = 0; i < arguments_.size(); ++i) arguments_[i].words.assign(signature->parameters()[i].constants, 0);
}

std::string ComputeState::SetConstants(UINT parameter, UINT count, const void* words, UINT offset) {
  if (parameter >= arguments_.size() || root_signature_->parameters()[parameter].is_table)
    return "the root signature has no constants there";
  std::vector<uint32_t>& to = arguments_[parameter].words;
  if (!words || offset > to.size() || count > to.size() - offset) return "the root signature has fewer constants there";
  if (count) std::memcpy(to.data() + offset, words, size_t{count} * 4);
  arguments_[parameter].set = true;
  return {};
}

std::string ComputeState::SetTable(UINT parameter, D3D12_GPU_DESCRIPTOR_HANDLE start, DescriptorHeap* heap) {
  if (parameter >= arguments_.size() || !root_signature_->parameters()[parameter].is_table) return "the root signature has no table there";
  Argument& argument = arguments_[parameter];
  if (!heap || !heap->Contains(start, &argument.first))
    return "the handle points to no descriptor of the heap that was set by SetDescriptorHeaps";
  argument.heap = Held<DescriptorHeap>(heap);
  argument.set = true;
  return {};
}

// What a table shows is in the state of its use, whether or not this shader looks at it.
void ComputeState::AddBound(BoundDispatch* dispatch, DescriptorHeap* heap) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (!arguments_[i].set || !heap || arguments_[i].heap.get() != heap) continue;
    for (const RootParameter::Range& range : root_signature_->parameters()[i].ranges)
      for (UINT k = 0; k < range.count; ++k) {
        View view;
        if (!heap->ReadView(arguments_[i].first + range.offset + k, &view) || !view.buffer) continue;
        if (Held<Resource> resource = heap->device().FindViewed(view.buffer)) AddResource(dispatch, std::move(resource));
      }
  }
}

Held<BoundDispatch> ComputeState::Bind(UINT x, UINT y, UINT z, DescriptorHeap* heap, std::string* why) const {
  auto fail = [&](const std::string& text) {
    *why = text;
    return Held<BoundDispatch>();
  };
  if (!pipeline_) return fail("no pipeline is set (DirectML's RecordDispatch forgets it)");
  if (!root_signature_) return fail("no root signature is set (DirectML's RecordDispatch forgets it)");
  if (pipeline_->root_signature() != root_signature_.get()) return fail("the pipeline was made for another root signature");
  if (x > kMaxGroups || y > kMaxGroups || z > kMaxGroups) return fail("more than 65535 groups along an axis");
  const shader::Program& program = *pipeline_->program();
  std::vector<uint32_t> constants;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (root_signature_->parameters()[i].is_table) continue;
    if (program.constants && !arguments_[i].set) return fail("the constants are not set");
    constants = arguments_[i].words;
  }
  auto bound = Held<BoundShader>::Adopt(new BoundShader(pipeline_->program(), std::move(constants), {x, y, z}));
  bound->heap = Held<DescriptorHeap>(heap);
  for (size_t i = 0; i < program.memories.size(); ++i) {
    const shader::Memory& memory = program.memories[i];
    if (memory.is_shared) continue;
    const std::string name = "u" + std::to_string(memory.index);
    UINT parameter = 0, table_index = 0;
    root_signature_->Find(memory.index, &parameter, &table_index);
    const Argument& argument = arguments_[parameter];
    if (!argument.set) return fail("the table of " + name + " is not set");
    if (argument.heap.get() != heap) return fail("the table of " + name + " lies in a heap that is no longer set");
    const UINT index = argument.first + table_index;
    View view;
    if (!heap->ReadView(index, &view)) return fail("the descriptor of " + name + " is no unordered access view");
    bound->views.push_back({index, view.write});
    if (!view.buffer) continue;
    if (view.stride != memory.stride || view.texels != memory.texels)
      return fail("the view of " + name + " is of another kind than the shader declares");
    Held<Resource> resource = argument.heap->device().FindViewed(view.buffer);
    if (!resource) return fail("the buffer of " + name + " was released");
    BoundBuffer buffer;
    buffer.resource = resource;
    buffer.offset = view.offset;
    buffer.size = view.size;
    bound->buffers[i] = {buffer.data(), view.size};
    if (memory.read || memory.written) AddAccess(bound.get(), buffer, view.size, memory.written);
  }
  AddBound(bound.get(), heap);
  return Held<BoundDispatch>(bound.get());
}

}  // namespace dxtensor::software
