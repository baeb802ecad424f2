#include "support.h"

namespace dxtensor::test {

namespace {

// Root signatures of both versions, written and read again.
void CheckDeserializers(Suite& suite, ID3DBlob* blob) {
  Com<ID3D12RootSignatureDeserializer> reader;
  CHECK_OK(suite.create_deserializer(blob->GetBufferPointer(), blob->GetBufferSize(), IID_PPV_ARGS(&reader)));
  CHECK_EQ(reader->GetRootSignatureDesc()->NumParameters, 2u);
  CHECK_EQ(reader->GetRootSignatureDesc()->pParameters[0].Constants.Num32BitValues, 2u);
  D3D12_ROOT_PARAMETER1 parameter = {};
  parameter.ParameterType = D3D12_ROOT_PARAMETER_TYPE_UAV;
  parameter.Descriptor.ShaderRegister = 3;
  D3D12_VERSIONED_ROOT_SIGNATURE_DESC versioned = {};
  versioned.Version = D3D_ROOT_SIGNATURE_VERSION_1_1;
  versioned.Desc_1_1 = {1, &parameter, 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
  Com<ID3DBlob> blob1;
  Com<ID3D12VersionedRootSignatureDeserializer> reader1;
  CHECK_OK(suite.serialize_versioned(&versioned, &blob1, nullptr));
  CHECK_OK(suite.create_versioned_deserializer(blob1->GetBufferPointer(), blob1->GetBufferSize(), IID_PPV_ARGS(&reader1)));
  CHECK_EQ(reader1->GetUnconvertedRootSignatureDesc()->Version, D3D_ROOT_SIGNATURE_VERSION_1_1);
  CHECK_EQ(reader1->GetUnconvertedRootSignatureDesc()->Desc_1_1.pParameters[0].Descriptor.ShaderRegister, 3u);
}

}  // namespace

Compute::Compute(Suite& suite) {
  ID3D12Device* device = suite.device();
  D3D12_DESCRIPTOR_RANGE ranges[] = {{D3D12_DESCRIPTOR_RANGE_TYPE_SRV, 1, 0, 0, 0}, {D3D12_DESCRIPTOR_RANGE_TYPE_UAV, 1, 0, 0, 1}};
  D3D12_ROOT_PARAMETER parameters[2] = {};
  parameters[0].ParameterType = D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS;
  parameters[0].Constants.Num32BitValues = 2;
  parameters[1].ParameterType = D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE;
  parameters[1].DescriptorTable = {2, ranges};
  D3D12_ROOT_SIGNATURE_DESC desc = {2, parameters, 0, nullptr, D3D12_ROOT_SIGNATURE_FLAG_NONE};
  Com<ID3DBlob> blob, errors;
  CHECK_OK(suite.serialize(&desc, D3D_ROOT_SIGNATURE_VERSION_1_0, &blob, &errors));
  CHECK(!errors && blob->GetBufferSize() > 32 && !std::memcmp(blob->GetBufferPointer(), "DXBC", 4));
  CHECK_OK(device->CreateRootSignature(0, blob->GetBufferPointer(), blob->GetBufferSize(), IID_PPV_ARGS(&root)));
  CheckDeserializers(suite, blob);
  D3D12_COMPUTE_PIPELINE_STATE_DESC pipeline_desc = {};
  pipeline_desc.pRootSignature = root;
  pipeline_desc.CS = ScaleShader();
  CHECK_OK(device->CreateComputePipelineState(&pipeline_desc, IID_PPV_ARGS(&pipeline)));
  D3D12_DESCRIPTOR_HEAP_DESC heap_desc = {D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 8, D3D12_DESCRIPTOR_HEAP_FLAG_SHADER_VISIBLE, 0};
  step = device->GetDescriptorHandleIncrementSize(D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
  CHECK_OK(device->CreateDescriptorHeap(&heap_desc, IID_PPV_ARGS(&heap)));
}

// Made in a heap that shaders do not see, then copied, as DirectML's users do.
void Compute::View(ID3D12Device* device, ID3D12Resource* addend, ID3D12Resource* result, UINT count) {
  Com<ID3D12DescriptorHeap> staging;
  D3D12_DESCRIPTOR_HEAP_DESC heap_desc = {D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV, 2, D3D12_DESCRIPTOR_HEAP_FLAG_NONE, 0};
  CHECK_OK(device->CreateDescriptorHeap(&heap_desc, IID_PPV_ARGS(&staging)));
  D3D12_SHADER_RESOURCE_VIEW_DESC srv = {};
  srv.ViewDimension = D3D12_SRV_DIMENSION_BUFFER;
  srv.Shader4ComponentMapping = D3D12_DEFAULT_SHADER_4_COMPONENT_MAPPING;
  srv.Buffer.NumElements = count;
  srv.Buffer.StructureByteStride = 4;
  D3D12_UNORDERED_ACCESS_VIEW_DESC uav = {};
  uav.ViewDimension = D3D12_UAV_DIMENSION_BUFFER;
  uav.Buffer.NumElements = count;
  uav.Buffer.StructureByteStride = 4;
  D3D12_CPU_DESCRIPTOR_HANDLE at = staging->GetCPUDescriptorHandleForHeapStart();
  device->CreateShaderResourceView(addend, &srv, at);
  at.ptr += step;
  device->CreateUnorderedAccessView(result, nullptr, &uav, at);
  device->CopyDescriptorsSimple(2, heap->GetCPUDescriptorHandleForHeapStart(), staging->GetCPUDescriptorHandleForHeapStart(),
                                D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
}

void Compute::Bind(ID3D12GraphicsCommandList* list, UINT count, float scale) {
  ID3D12DescriptorHeap* heaps[] = {heap};
  UINT bits;
  std::memcpy(&bits, &scale, sizeof bits);
  list->SetDescriptorHeaps(1, heaps);
  list->SetComputeRootSignature(root);
  list->SetPipelineState(pipeline);
  list->SetComputeRoot32BitConstant(0, count, 0);
  list->SetComputeRoot32BitConstants(0, 1, &bits, 1);
  list->SetComputeRootDescriptorTable(1, heap->GetGPUDescriptorHandleForHeapStart());
}

}  // namespace dxtensor::test
