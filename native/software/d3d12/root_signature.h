// Root signatures: constants at b0 and tables of unordered access views, all in space 0; only the forms that the library's shaders use.
// Immutable; any thread.
#pragma once

#include <string>

#include "device.h"

namespace dxtensor::software {

struct RootParameter {
  struct Range {
    UINT first_register, count, offset;  // of its descriptors in the table
  };
  bool is_table = false;
  UINT constants = 0;         // words at b0
  std::vector<Range> ranges;  // of a table: unordered access views
};

class RootSignature final : public DeviceChild<ID3D12RootSignature, ID3D12RootSignature> {
 public:
  static HRESULT Create(Device* device, const void* container, SIZE_T size, REFIID iid, void** out);

  const std::vector<RootParameter>& parameters() const { return parameters_; }
  // Words at b0.
  UINT constants() const;
  // The parameter whose table has a register, and the descriptor's index in that table; false where there is none.
  bool Find(UINT shader_register, UINT* parameter, UINT* table_index) const;

 private:
  RootSignature(Device* device, std::vector<RootParameter> parameters) : DeviceChild(device), parameters_(std::move(parameters)) {}

  const std::vector<RootParameter> parameters_;
};

HRESULT SerializeRootSignature(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC* desc, ID3DBlob** blob, ID3DBlob** error);

}  // namespace dxtensor::software
