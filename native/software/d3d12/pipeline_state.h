// Compute pipelines, the compute state of a command list, and the dispatch made of both.
//
// A pipeline is immutable. ComputeState is its command list's.
#pragma once

#include <memory>

#include "software/shader/shader_program.h"
#include "bound_dispatch.h"
#include "root_signature.h"

namespace dxtensor::software {

class PipelineState final : public DeviceChild<ID3D12PipelineState, ID3D12Pageable, ID3D12PipelineState> {
 public:
  static HRESULT Create(Device* device, const D3D12_COMPUTE_PIPELINE_STATE_DESC* desc, REFIID iid, void** out);

  const std::shared_ptr<const shader::Program>& program() const { return program_; }
  RootSignature* root_signature() const { return root_signature_.get(); }

  HRESULT STDMETHODCALLTYPE GetCachedBlob(ID3DBlob** blob) override;

 private:
  PipelineState(Device* device, std::shared_ptr<const shader::Program> program, RootSignature* root_signature)
      : DeviceChild(device), program_(std::move(program)), root_signature_(root_signature) {}

  const std::shared_ptr<const shader::Program> program_;
  const Held<RootSignature> root_signature_;
};

class ComputeState {
 public:
  void Clear();
  void SetPipeline(PipelineState* pipeline) { pipeline_ = Held<PipelineState>(pipeline); }
  // Forgets the arguments, unless it is the one that was set before.
  void SetRootSignature(RootSignature* signature);
  // Each is empty, or what is wrong.
  std::string SetConstants(UINT parameter, UINT count, const void* words, UINT offset);
  std::string SetTable(UINT parameter, D3D12_GPU_DESCRIPTOR_HANDLE start, DescriptorHeap* heap);
  // Null and *why where something is missing. heap: the one that the list has set.
  Held<BoundDispatch> Bind(UINT x, UINT y, UINT z, DescriptorHeap* heap, std::string* why) const;

 private:
  struct Argument {
    bool set = false;
    UINT first = 0;             // descriptor of a table
    Held<DescriptorHeap> heap;  // of a table
    std::vector<uint32_t> words;
  };
  void AddBound(BoundDispatch* dispatch, DescriptorHeap* heap) const;

  Held<PipelineState> pipeline_;
  Held<RootSignature> root_signature_;
  std::vector<Argument> arguments_;
};

}  // namespace dxtensor::software
