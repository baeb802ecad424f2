// The Direct3D 12 and DirectML devices of one adapter, their compute queue, and what they can do. Immutable except for LetGo; the
// interfaces are free-threaded. Direct3D has one device for each adapter and process: threads share its removal.
#pragma once

#include "adapters.h"
#include "com_ptr.h"
#include "failure.h"
#include "loader.h"

namespace dxtensor {
struct IDxtensorSoftware;
}

namespace dxtensor::dml {

struct Context {
  Context(const Runtime& runtime, const Adapter& adapter);
  ~Context();

  std::string adapter_name;
  ComPtr<ID3D12Device> d3d;
  ComPtr<IDMLDevice1> dml;
  ComPtr<ID3D12CommandQueue> queue;
  ComPtr<IDxtensorSoftware> software;  // null on Microsoft's libraries
  uint32_t feature_level = 0;
  uint32_t data_types = 0;
  bool fuses_graphs = false;
  bool is_unified_memory = false;
  bool reads_texels = false;                                          // unordered access views of four words may be read
  uint32_t wave_lanes = 0;                                            // minimum number of lanes of a wave; 0 without wave operations
  SerializeRootSignatureFunction serialize_root_signature = nullptr;  // null: runs no shaders of our own
  uint64_t memory_in_bytes = 0;                                       // see budget.h; 0 when the adapter does not say

  // S_OK while both devices live.
  HRESULT RemovedReason() const;
  // Why it was removed. work: see Failure::Removed.
  Failure Removal(const std::string& work) const;
  // A removed device lives on until nobody holds it, and stands in the way of a new one: releases the interfaces. Nobody may use
  // them any more.
  void LetGo();
  ComPtr<ID3D12Resource> CreateBuffer(D3D12_HEAP_TYPE type, uint64_t size) const;

 private:
  void OpenDirect3D(const Runtime& runtime, const Adapter& adapter);
  void OpenDirectML(const Runtime& runtime);
  void QueryCapabilities();
  std::string AdaptersWords() const;
  bool IsCause() const;

  Failure::Removed removed_;  // set by LetGo
};

D3D12_RESOURCE_DESC BufferDesc(uint64_t size, D3D12_RESOURCE_FLAGS flags);

}  // namespace dxtensor::dml
