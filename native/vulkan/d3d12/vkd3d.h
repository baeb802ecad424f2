// vkd3d's headers: Direct3D 12 as libvkd3d was compiled with it, in C and with Microsoft's calling convention.
#ifndef DXTENSOR_VULKAN_VKD3D_H
#define DXTENSOR_VULKAN_VKD3D_H

#define VK_NO_PROTOTYPES
// It declares the exports with the other calling convention.
#define D3D12CreateDevice not_D3D12CreateDevice
#define D3D12SerializeRootSignature not_D3D12SerializeRootSignature
#define D3D12SerializeVersionedRootSignature not_D3D12SerializeVersionedRootSignature
#define D3D12CreateRootSignatureDeserializer not_D3D12CreateRootSignatureDeserializer
#define D3D12CreateVersionedRootSignatureDeserializer not_D3D12CreateVersionedRootSignatureDeserializer
#define D3D12GetDebugInterface not_D3D12GetDebugInterface
#define D3D12EnableExperimentalFeatures not_D3D12EnableExperimentalFeatures
#define D3D12GetInterface not_D3D12GetInterface
#include <vkd3d/vkd3d_windows.h>
#include <vkd3d/vkd3d_d3d12.h>
#include <vkd3d/vkd3d.h>
#undef D3D12CreateDevice
#undef D3D12SerializeRootSignature
#undef D3D12SerializeVersionedRootSignature
#undef D3D12CreateRootSignatureDeserializer
#undef D3D12CreateVersionedRootSignatureDeserializer
#undef D3D12GetDebugInterface
#undef D3D12EnableExperimentalFeatures
#undef D3D12GetInterface
#include <vkd3d/vkd3d_shader.h>

#endif
