// The methods of ID3D12GraphicsCommandList that only graphics needs.
#include "command_list.h"

namespace dxtensor::software {

void CommandList::DrawInstanced(UINT, UINT, UINT, UINT) { Missing("DrawInstanced"); }
void CommandList::DrawIndexedInstanced(UINT, UINT, UINT, INT, UINT) { Missing("DrawIndexedInstanced"); }
void CommandList::CopyTextureRegion(const D3D12_TEXTURE_COPY_LOCATION*, UINT, UINT, UINT, const D3D12_TEXTURE_COPY_LOCATION*,
                                    const D3D12_BOX*) {
  Missing("CopyTextureRegion");
}
void CommandList::CopyTiles(ID3D12Resource*, const D3D12_TILED_RESOURCE_COORDINATE*, const D3D12_TILE_REGION_SIZE*, ID3D12Resource*, UINT64,
                            D3D12_TILE_COPY_FLAGS) {
  Missing("CopyTiles");
}
void CommandList::ResolveSubresource(ID3D12Resource*, UINT, ID3D12Resource*, UINT, DXGI_FORMAT) { Missing("ResolveSubresource"); }
void CommandList::IASetPrimitiveTopology(D3D12_PRIMITIVE_TOPOLOGY) { Missing("IASetPrimitiveTopology"); }
void CommandList::RSSetViewports(UINT, const D3D12_VIEWPORT*) { Missing("RSSetViewports"); }
void CommandList::RSSetScissorRects(UINT, const D3D12_RECT*) { Missing("RSSetScissorRects"); }
void CommandList::OMSetBlendFactor(const FLOAT[4]) { Missing("OMSetBlendFactor"); }
void CommandList::OMSetStencilRef(UINT) { Missing("OMSetStencilRef"); }
void CommandList::ExecuteBundle(ID3D12GraphicsCommandList*) { Missing("ExecuteBundle"); }
void CommandList::SetGraphicsRootSignature(ID3D12RootSignature*) { Missing("SetGraphicsRootSignature"); }
void CommandList::SetGraphicsRootDescriptorTable(UINT, D3D12_GPU_DESCRIPTOR_HANDLE) { Missing("SetGraphicsRootDescriptorTable"); }
void CommandList::SetGraphicsRoot32BitConstant(UINT, UINT, UINT) { Missing("SetGraphicsRoot32BitConstant"); }
void CommandList::SetGraphicsRoot32BitConstants(UINT, UINT, const void*, UINT) { Missing("SetGraphicsRoot32BitConstants"); }
void CommandList::SetComputeRootConstantBufferView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) { Missing("SetComputeRootConstantBufferView"); }
void CommandList::SetGraphicsRootConstantBufferView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) { Missing("SetGraphicsRootConstantBufferView"); }
void CommandList::SetComputeRootShaderResourceView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) { Missing("SetComputeRootShaderResourceView"); }
void CommandList::SetGraphicsRootShaderResourceView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) { Missing("SetGraphicsRootShaderResourceView"); }
void CommandList::SetComputeRootUnorderedAccessView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) { Missing("SetComputeRootUnorderedAccessView"); }
void CommandList::SetGraphicsRootUnorderedAccessView(UINT, D3D12_GPU_VIRTUAL_ADDRESS) { Missing("SetGraphicsRootUnorderedAccessView"); }
void CommandList::IASetIndexBuffer(const D3D12_INDEX_BUFFER_VIEW*) { Missing("IASetIndexBuffer"); }
void CommandList::IASetVertexBuffers(UINT, UINT, const D3D12_VERTEX_BUFFER_VIEW*) { Missing("IASetVertexBuffers"); }
void CommandList::SOSetTargets(UINT, UINT, const D3D12_STREAM_OUTPUT_BUFFER_VIEW*) { Missing("SOSetTargets"); }
void CommandList::OMSetRenderTargets(UINT, const D3D12_CPU_DESCRIPTOR_HANDLE*, BOOL, const D3D12_CPU_DESCRIPTOR_HANDLE*) {
  Missing("OMSetRenderTargets");
}
void CommandList::ClearDepthStencilView(D3D12_CPU_DESCRIPTOR_HANDLE, D3D12_CLEAR_FLAGS, FLOAT, UINT8, UINT, const D3D12_RECT*) {
  Missing("ClearDepthStencilView");
}
void CommandList::ClearRenderTargetView(D3D12_CPU_DESCRIPTOR_HANDLE, const FLOAT[4], UINT, const D3D12_RECT*) {
  Missing("ClearRenderTargetView");
}
void CommandList::ClearUnorderedAccessViewUint(D3D12_GPU_DESCRIPTOR_HANDLE, D3D12_CPU_DESCRIPTOR_HANDLE, ID3D12Resource*, const UINT[4],
                                               UINT, const D3D12_RECT*) {
  Missing("ClearUnorderedAccessViewUint");
}
void CommandList::ClearUnorderedAccessViewFloat(D3D12_GPU_DESCRIPTOR_HANDLE, D3D12_CPU_DESCRIPTOR_HANDLE, ID3D12Resource*, const FLOAT[4],
                                                UINT, const D3D12_RECT*) {
  Missing("ClearUnorderedAccessViewFloat");
}
void CommandList::DiscardResource(ID3D12Resource*, const D3D12_DISCARD_REGION*) { Missing("DiscardResource"); }
void CommandList::BeginQuery(ID3D12QueryHeap*, D3D12_QUERY_TYPE, UINT) { Missing("BeginQuery"); }
void CommandList::SetPredication(ID3D12Resource*, UINT64, D3D12_PREDICATION_OP) { Missing("SetPredication"); }
void CommandList::ExecuteIndirect(ID3D12CommandSignature*, UINT, ID3D12Resource*, UINT64, ID3D12Resource*, UINT64) {
  Missing("ExecuteIndirect");
}

}  // namespace dxtensor::software
