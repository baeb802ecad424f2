// The methods of ID3D12GraphicsCommandList that run compute pipelines.
#include "command_list.h"

namespace dxtensor::software {

void CommandList::ClearState(ID3D12PipelineState* pipeline) {
  if (!Recordable("ClearState")) return;
  compute_.Clear();
  compute_.SetPipeline(static_cast<PipelineState*>(pipeline));
}

void CommandList::SetPipelineState(ID3D12PipelineState* pipeline) {
  if (!Recordable("SetPipelineState")) return;
  if (!pipeline) return Report("SetPipelineState with null");
  compute_.SetPipeline(static_cast<PipelineState*>(pipeline));
}

void CommandList::SetComputeRootSignature(ID3D12RootSignature* signature) {
  if (!Recordable("SetComputeRootSignature")) return;
  Record([&] { compute_.SetRootSignature(static_cast<RootSignature*>(signature)); });
}

void CommandList::SetComputeRootDescriptorTable(UINT parameter, D3D12_GPU_DESCRIPTOR_HANDLE start) {
  if (!Recordable("SetComputeRootDescriptorTable")) return;
  Record([&] {
    std::string wrong = compute_.SetTable(parameter, start, descriptor_heap_.get());
    if (!wrong.empty()) Report("SetComputeRootDescriptorTable: " + wrong);
  });
}

void CommandList::SetComputeRoot32BitConstant(UINT parameter, UINT word, UINT offset) {
  SetComputeRoot32BitConstants(parameter, 1, &word, offset);
}

void CommandList::SetComputeRoot32BitConstants(UINT parameter, UINT count, const void* words, UINT offset) {
  if (!Recordable("SetComputeRoot32BitConstants")) return;
  Record([&] {
    std::string wrong = compute_.SetConstants(parameter, count, words, offset);
    if (!wrong.empty()) Report("SetComputeRoot32BitConstants: " + wrong);
  });
}

void CommandList::Dispatch(UINT x, UINT y, UINT z) {
  if (!Recordable("Dispatch")) return;
  Record([&] {
    Recording& r = *recording_;
    if (type_ == D3D12_COMMAND_LIST_TYPE_COPY) return r.hazards.Report("Dispatch on a copy list");
    std::string why;
    Held<BoundDispatch> bound = compute_.Bind(x, y, z, descriptor_heap_.get(), &why);
    if (!bound) return r.hazards.Report("Dispatch: " + why);
    AddDispatch(bound.get());
    for (const auto& [index, write] : bound->views) r.descriptors.push_back({bound->heap.get(), index, 1, write});
  });
}

}  // namespace dxtensor::software
