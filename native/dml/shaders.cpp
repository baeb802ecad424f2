#include "shaders.h"

#include <algorithm>
#include <system_error>

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

std::string ShaderCache::KeyOf(const ShaderDesc& desc) {
  std::string key(desc.bytes.begin(), desc.bytes.end());
  key += static_cast<char>(desc.views.size());
  key += static_cast<char>(desc.constants.size());
  return key;
}

// A shader without its pipeline.
std::shared_ptr<Shader> ShaderCache::WithoutPipeline(const ShaderDesc& desc) {
  auto shader = std::make_shared<Shader>();
  shader->has_constants = !desc.constants.empty();
  shader->has_table = !desc.views.empty();
  shader->root_signature = RootSignatureFor(static_cast<uint32_t>(desc.views.size()), static_cast<uint32_t>(desc.constants.size()));
  return shader;
}

// Any thread may call it: Direct3D's device is free-threaded.
HRESULT ShaderCache::Compile(const ShaderDesc& desc, Shader& shader) const {
  D3D12_COMPUTE_PIPELINE_STATE_DESC pipeline{};
  pipeline.pRootSignature = shader.root_signature.get();
  pipeline.CS = {desc.bytes.data(), desc.bytes.size()};
  return context_.d3d->CreateComputePipelineState(&pipeline, __uuidof(ID3D12PipelineState), shader.pipeline.put_void());
}

void ShaderCache::Keep(std::string key, std::shared_ptr<Shader> shader) {
  counters_.shaders_compiled.AddAlone();
  entries_.push_front({key, std::move(shader)});
  by_key_[std::move(key)] = entries_.begin();
  if (entries_.size() > kMaxShaders) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

bool ShaderCache::Add(const ShaderDesc& desc) {
  std::string key = KeyOf(desc);
  // More than the cache keeps would push each other out of it.
  if (begun_.size() >= kMaxShaders / 2 || by_key_.count(key) || begun_.count(key)) return false;
  auto work = std::make_shared<Work>();
  work->desc = desc;
  work->shader = WithoutPipeline(desc);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(work);
  }
  begun_.emplace(std::move(key), std::move(work));
  return true;
}

void ShaderCache::CallHelper() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_ >= waiting_.size()) {
      work_.notify_one();
      return;
    }
  }
  if (helpers_.size() >= std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads)) return;
  try {
    helpers_.emplace_back([this] { Help(true); });
  } catch (const std::system_error&) {
    // The system has no more threads: those that there are do it.
  }
}

void ShaderCache::Help(bool is_helper) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    if (is_helper) {
      ++idle_;
      work_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      --idle_;
    }
    if (waiting_.empty()) return;
    // The longest first: the last one that is begun is not what all others wait for.
    auto longest = std::max_element(waiting_.begin(), waiting_.end(),
                                    [](const auto& a, const auto& b) { return a->desc.bytes.size() < b->desc.bytes.size(); });
    std::shared_ptr<Work> work = std::move(*longest);
    waiting_.erase(longest);
    lock.unlock();
    const HRESULT made = Compile(work->desc, *work->shader);
    lock.lock();
    work->made = made;
    work->is_done = true;
    done_.notify_all();
  }
}

void ShaderCache::Begin(const ShaderDesc& desc) {
  if (context_.serialize_root_signature && Add(desc)) CallHelper();
}

void ShaderCache::Prepare(const std::vector<const ShaderDesc*>& descs) {
  size_t added = 0;
  for (const ShaderDesc* desc : descs) added += Add(*desc);
  // This thread makes one of them.
  for (; added > 1; --added) CallHelper();
  Finish();
}

void ShaderCache::Finish() {
  if (begun_.empty()) return;
  Help(false);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return std::all_of(begun_.begin(), begun_.end(), [](const auto& one) { return one.second->is_done; }); });
  }
  EndHelpers();
  for (auto& [key, work] : begun_)
    if (SUCCEEDED(work->made)) Keep(key, std::move(work->shader));
  begun_.clear();
}

void ShaderCache::EndHelpers() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.clear();
    ends_ = true;
  }
  work_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
  helpers_.clear();
  ends_ = false;
}

std::shared_ptr<const Shader> ShaderCache::Get(const ShaderDesc& desc) {
  std::string key = KeyOf(desc);
  if (begun_.count(key)) Finish();
  auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->shader;
  }
  std::shared_ptr<Shader> shader = WithoutPipeline(desc);
  HRESULT hr = Compile(desc, *shader);
  if (FAILED(hr)) throw Failure(hr, "ID3D12Device::CreateComputePipelineState", "shader", Refusal(context_));
  Keep(std::move(key), shader);
  return shader;
}

void ShaderCache::LetGo() {
  EndHelpers();
  begun_.clear();
  for (Entry& entry : entries_) {
    entry.shader->pipeline.Reset();
    entry.shader->root_signature.Reset();
  }
  by_key_.clear();
  entries_.clear();
  root_signatures_.clear();
}

}  // namespace dxtensor::dml
