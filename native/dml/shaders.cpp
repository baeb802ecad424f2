#include "shaders.h"

#include "../abi/software_control.h"
#include "failure.h"

namespace dxtensor::dml {

namespace {

// The software adapter says why it refused a shader.
std::string Refusal(const Context& context) {
  if (!context.software) return "a driver also says this of shaders that it can't translate";
  UINT size = 0;
  if (FAILED(context.d3d->GetPrivateData(kIidRefusal, &size, nullptr)) || !size) return "";
  std::string text(size, ' ');
  return SUCCEEDED(context.d3d->GetPrivateData(kIidRefusal, &size, text.data())) ? text.substr(0, size) : "";
}

}  // namespace

ComPtr<ID3D12RootSignature> ShaderCache::RootSignatureFor(uint32_t views, uint32_t constants) {
  ComPtr<ID3D12RootSignature>& known = root_signatures_[{views, constants}];
  if (known) return known;
  // Version 1.0: descriptors and data may change until the list runs, as replays over the same buffers need.
  D3D12_DESCRIPTOR_RANGE range = {D3D12_DESCRIPTOR_RANGE_TYPE_UAV, views, 0, 0, 0};
  D3D12_ROOT_PARAMETER parameters[2] = {};
  UINT count = 0;
  if (constants) {
    parameters[count].ParameterType = D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS;
    parameters[count].Constants.Num32BitValues = constants;
    parameters[count++].ShaderVisibility = D3D12_SHADER_VISIBILITY_ALL;
  }
  if (views) {
    parameters[count].ParameterType = D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE;
    parameters[count].DescriptorTable = {1, &range};
    parameters[count++].ShaderVisibility = D3D12_SHADER_VISIBILITY_ALL;
  }
  D3D12_VERSIONED_ROOT_SIGNATURE_DESC desc{};
  desc.Version = D3D_ROOT_SIGNATURE_VERSION_1_0;
  desc.Desc_1_0 = {count, parameters, 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
  ComPtr<ID3DBlob> blob, error;
  Check(context_.serialize_root_signature(&desc, blob.put(), error.put()), "D3D12SerializeVersionedRootSignature");
  Check(context_.d3d->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), __uuidof(ID3D12RootSignature),
                                          known.put_void()),
        "ID3D12Device::CreateRootSignature");
  return known;
}

std::shared_ptr<const Shader> ShaderCache::Get(const ShaderDesc& desc) {
  const auto views = static_cast<uint32_t>(desc.views.size());
  const auto constants = static_cast<uint32_t>(desc.constants.size());
  std::string key(desc.bytes.begin(), desc.bytes.end());
  key += static_cast<char>(views);
  key += static_cast<char>(constants);
  auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->shader;
  }
  auto shader = std::make_shared<Shader>();
  shader->root_signature = RootSignatureFor(views, constants);
  shader->has_constants = constants != 0;
  shader->has_table = views != 0;
  D3D12_COMPUTE_PIPELINE_STATE_DESC pipeline{};
  pipeline.pRootSignature = shader->root_signature.get();
  pipeline.CS = {desc.bytes.data(), desc.bytes.size()};
  HRESULT hr = context_.d3d->CreateComputePipelineState(&pipeline, __uuidof(ID3D12PipelineState), shader->pipeline.put_void());
  if (FAILED(hr)) throw Failure(hr, "ID3D12Device::CreateComputePipelineState", "shader", Refusal(context_));
  counters_.shaders_compiled.AddAlone();
  entries_.push_front({key, shader});
  by_key_[std::move(key)] = entries_.begin();
  if (entries_.size() > kMaxShaders) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return shader;
}

void ShaderCache::LetGo() {
  for (Entry& entry : entries_) {
    entry.shader->pipeline.Reset();
    entry.shader->root_signature.Reset();
  }
  by_key_.clear();
  entries_.clear();
  root_signatures_.clear();
}

}  // namespace dxtensor::dml
