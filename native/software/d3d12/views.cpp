// Unordered access views of buffers, and copies of descriptors.
#include "software/shader/shader_program.h"
#include "resource.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kRawAlignment = D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT;

// Empty and *view, or what is wrong.
std::string ReadView(Resource* buffer, const D3D12_UNORDERED_ACCESS_VIEW_DESC& desc, View* view) {
  if (desc.ViewDimension != D3D12_UAV_DIMENSION_BUFFER) return "views of textures are not part of the software adapter";
  const bool raw = (desc.Buffer.Flags & D3D12_BUFFER_UAV_FLAG_RAW) != 0;
  const bool texels = !raw && desc.Format == DXGI_FORMAT_R32G32B32A32_UINT;
  const uint32_t stride = desc.Buffer.StructureByteStride;
  if (raw      ? desc.Format != DXGI_FORMAT_R32_TYPELESS || stride
      : texels ? stride != 0
               : desc.Format != DXGI_FORMAT_UNKNOWN || !stride || stride % 4 || stride > 2048)
    return "only raw and structured buffers and those of four unsigned words can be viewed";
  if (desc.Buffer.CounterOffsetInBytes) return "counters are not part of the software adapter";
  const uint64_t unit = raw ? 4 : texels ? shader::kTexelBytes : stride;
  if (!buffer) return {};
  if (!buffer->allows_unordered_access()) return "the buffer was made without ALLOW_UNORDERED_ACCESS";
  if (desc.Buffer.FirstElement > buffer->size() / unit || desc.Buffer.NumElements > buffer->size() / unit - desc.Buffer.FirstElement)
    return "the view reaches beyond the end of its buffer";
  if (raw && desc.Buffer.FirstElement * 4 % kRawAlignment) return "a raw view begins at no multiple of 16 bytes";
  if (!desc.Buffer.NumElements) return "the view has no elements";
  view->buffer = buffer->ViewedAs();
  view->offset = desc.Buffer.FirstElement * unit;
  view->size = uint64_t{desc.Buffer.NumElements} * unit;
  view->stride = raw ? 0 : static_cast<uint32_t>(unit);
  view->texels = texels;
  return {};
}

}  // namespace

void Device::CreateUnorderedAccessView(ID3D12Resource* resource, ID3D12Resource* counter, const D3D12_UNORDERED_ACCESS_VIEW_DESC* desc,
                                       D3D12_CPU_DESCRIPTOR_HANDLE to) {
  Guard([&]() -> HRESULT {
    UINT index = 0;
    DescriptorHeap* heap = FindDescriptor(to, &index);
    View view;
    std::string wrong;
    if (!heap || heap->type() != D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV) wrong = "there is no descriptor for the view";
    else if (counter) wrong = "counters are not part of the software adapter";
    else if (!desc) wrong = "the description is null";
    else wrong = ReadView(static_cast<Resource*>(resource), *desc, &view);
    if (!wrong.empty()) {
      Remove(DXGI_ERROR_INVALID_CALL, "CreateUnorderedAccessView: " + wrong);
      return S_OK;
    }
    bool in_use = false;
    heap->WriteView(index, view, &in_use);
    if (in_use && checks()) Remove(DXGI_ERROR_INVALID_CALL, "CreateUnorderedAccessView wrote a descriptor that submitted work still uses");
    return S_OK;
  });
}

void Device::CopyDescriptorsSimple(UINT count, D3D12_CPU_DESCRIPTOR_HANDLE to, D3D12_CPU_DESCRIPTOR_HANDLE from,
                                   D3D12_DESCRIPTOR_HEAP_TYPE type) {
  Guard([&]() -> HRESULT {
    UINT target = 0, source = 0;
    DescriptorHeap *into = FindDescriptor(to, &target), *out_of = FindDescriptor(from, &source);
    if (!into || !out_of || type != D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV || into->type() != type || out_of->type() != type ||
        out_of->shader_visible() || count > into->count() - target || count > out_of->count() - source) {
      Remove(DXGI_ERROR_INVALID_CALL, "CopyDescriptorsSimple of descriptors that can't be copied");
      return S_OK;
    }
    bool in_use = false;
    for (UINT i = 0; i < count; ++i) {
      View view;
      if (out_of->ReadView(source + i, &view)) into->WriteView(target + i, view, &in_use);
      else into->Write(target + i, 1, &in_use);
    }
    if (in_use && checks()) Remove(DXGI_ERROR_INVALID_CALL, "CopyDescriptorsSimple wrote a descriptor that submitted work still uses");
    return S_OK;
  });
}

void Device::CopyDescriptors(UINT to_count, const D3D12_CPU_DESCRIPTOR_HANDLE* to, const UINT* to_sizes, UINT from_count,
                             const D3D12_CPU_DESCRIPTOR_HANDLE* from, const UINT* from_sizes, D3D12_DESCRIPTOR_HEAP_TYPE type) {
  UINT k = 0, used = 0;
  for (UINT i = 0; i < to_count; ++i)
    for (UINT j = 0; j < (to_sizes ? to_sizes[i] : 1); ++j, ++used) {
      while (k < from_count && used == (from_sizes ? from_sizes[k] : 1)) ++k, used = 0;
      if (k == from_count) return Remove(DXGI_ERROR_INVALID_CALL, "CopyDescriptors to more descriptors than from"), void();
      CopyDescriptorsSimple(1, {to[i].ptr + SIZE_T{j} * DescriptorHeap::kIncrement},
                            {from[k].ptr + SIZE_T{used} * DescriptorHeap::kIncrement}, type);
    }
}

}  // namespace dxtensor::software
