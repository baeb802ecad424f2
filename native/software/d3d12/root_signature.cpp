#include "root_signature.h"

#include "software/shader/container.h"
#include "trace.h"

namespace dxtensor::software {

namespace {

using shader::AppendWord;
using shader::ReadWord;

constexpr uint32_t kMaxWords = 64;  // of all parameters together, as in Direct3D

constexpr GUID kIidBlob = {0x8ba5fb08, 0x5195, 0x40e2, {0xac, 0x58, 0x0d, 0x98, 0x9c, 0x3a, 0x01, 0x02}};  // ID3DBlob's

class Blob final : public ComObject<ID3DBlob, IUnknown> {
 public:
  explicit Blob(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  LPVOID STDMETHODCALLTYPE GetBufferPointer() override { return bytes_.data(); }
  SIZE_T STDMETHODCALLTYPE GetBufferSize() override { return bytes_.size(); }

 private:
  HRESULT QueryOther(REFIID iid, void** out) override {
    if (!(iid == kIidBlob)) return E_NOINTERFACE;
    AddRef();
    *out = static_cast<ID3DBlob*>(this);
    return S_OK;
  }

  std::vector<uint8_t> bytes_;
};

// Text for the caller's error blob.
HRESULT Refuse(const std::string& why, ID3DBlob** error) {
  Trace("root signature: " + why);
  if (error) *error = new Blob(std::vector<uint8_t>(why.c_str(), why.c_str() + why.size() + 1));
  return E_INVALIDARG;
}

struct Writer {
  std::vector<uint8_t> bytes;

  void Parameter(UINT type, UINT visibility) {
    AppendWord(&bytes, type);
    AppendWord(&bytes, visibility);
    AppendWord(&bytes, 0);  // where its description lies: set by Describe
  }
  void Describe(size_t parameter) {
    const auto at = static_cast<uint32_t>(bytes.size());
    for (int i = 0; i < 4; ++i) bytes[kHeader + parameter * kParameter + 8 + static_cast<size_t>(i)] = static_cast<uint8_t>(at >> 8 * i);
  }

  static constexpr size_t kHeader = 24, kParameter = 12;
};

template <class Parameter, class Range>
void WriteParameters(const Parameter* parameters, UINT count, Writer* to) {
  for (UINT i = 0; i < count; ++i) to->Parameter(parameters[i].ParameterType, parameters[i].ShaderVisibility);
  for (UINT i = 0; i < count; ++i) {
    to->Describe(i);
    const Parameter& p = parameters[i];
    switch (p.ParameterType) {
      case D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS:
        for (UINT word : {p.Constants.ShaderRegister, p.Constants.RegisterSpace, p.Constants.Num32BitValues}) AppendWord(&to->bytes, word);
        break;
      case D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE: {
        AppendWord(&to->bytes, p.DescriptorTable.NumDescriptorRanges);
        AppendWord(&to->bytes, static_cast<uint32_t>(to->bytes.size() + 4));
        for (UINT k = 0; k < p.DescriptorTable.NumDescriptorRanges; ++k) {
          const Range& r = p.DescriptorTable.pDescriptorRanges[k];
          for (UINT word : {static_cast<UINT>(r.RangeType), r.NumDescriptors, r.BaseShaderRegister, r.RegisterSpace})
            AppendWord(&to->bytes, word);
          if constexpr (std::is_same_v<Range, D3D12_DESCRIPTOR_RANGE1>) AppendWord(&to->bytes, r.Flags);
          AppendWord(&to->bytes, r.OffsetInDescriptorsFromTableStart);
        }
        break;
      }
      default:
        for (UINT word : {p.Descriptor.ShaderRegister, p.Descriptor.RegisterSpace}) AppendWord(&to->bytes, word);
        if constexpr (std::is_same_v<Range, D3D12_DESCRIPTOR_RANGE1>) AppendWord(&to->bytes, p.Descriptor.Flags);
        break;
    }
  }
}

// Words of a chunk, each looked for inside of it; throws std::string.
class Reader {
 public:
  explicit Reader(shader::Chunk chunk) : chunk_(chunk) {}
  uint32_t At(uint64_t byte) const {
    if (byte % 4 || byte > chunk_.size || chunk_.size - byte < 4) throw std::string("the chunk is cut short");
    return ReadWord(chunk_.data + byte);
  }

 private:
  shader::Chunk chunk_;
};

RootParameter ReadParameter(const Reader& in, uint64_t at, bool has_flags) {
  RootParameter parameter;
  const uint32_t type = in.At(at), body = in.At(at + 8);
  if (type == D3D12_ROOT_PARAMETER_TYPE_32BIT_CONSTANTS) {
    if (in.At(body) || in.At(uint64_t{body} + 4))
      throw std::string("constants in another register than b0 are not part of the software adapter");
    parameter.constants = in.At(uint64_t{body} + 8);
    return parameter;
  }
  if (type != D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE) throw std::string("root descriptors are not part of the software adapter");
  parameter.is_table = true;
  const uint32_t count = in.At(body), ranges = in.At(uint64_t{body} + 4);
  if (count > kMaxWords) throw std::string("a table has too many ranges");
  uint64_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t range = ranges + uint64_t{i} * (has_flags ? 24 : 20);
    const uint32_t offset = in.At(range + (has_flags ? 20 : 16));
    const RootParameter::Range made = {in.At(range + 8), in.At(range + 4),
                                       offset == D3D12_DESCRIPTOR_RANGE_OFFSET_APPEND ? static_cast<UINT>(next) : offset};
    if (in.At(range) != D3D12_DESCRIPTOR_RANGE_TYPE_UAV || in.At(range + 12))
      throw std::string("tables of other things than unordered access views in space 0 are not part of the software adapter");
    next = uint64_t{made.offset} + made.count;
    if (!made.count || next > 1000000 || uint64_t{made.first_register} + made.count > UINT32_MAX)
      throw std::string("a descriptor range is empty or exceeds 1000000 descriptors");
    parameter.ranges.push_back(made);
  }
  return parameter;
}

std::vector<RootParameter> ReadParameters(const void* container, size_t size) {
  std::string wrong;
  const shader::Chunk chunk = shader::FindChunk(container, size, "RTS0", &wrong);
  if (wrong.empty() && !chunk.data) wrong = "the container holds no root signature";
  if (!wrong.empty()) throw wrong;
  const Reader in(chunk);
  const uint32_t version = in.At(0), count = in.At(4), first = in.At(8);
  if (version != 1 && version != 2) throw std::string("the root signature has an unknown version");
  if (in.At(12)) throw std::string("samplers are not part of the software adapter");
  if (count > kMaxWords) throw std::string("the root signature has too many parameters");
  std::vector<RootParameter> parameters;
  uint64_t words = 0;
  bool has_constants = false;
  for (uint32_t i = 0; i < count; ++i) {
    parameters.push_back(ReadParameter(in, first + uint64_t{i} * Writer::kParameter, version == 2));
    words += parameters.back().is_table ? 1 : parameters.back().constants;
    if (!parameters.back().is_table && std::exchange(has_constants, true)) throw std::string("two parameters are at b0");
  }
  if (words > kMaxWords) throw std::string("the root signature is larger than 64 words");
  return parameters;
}

}  // namespace

HRESULT RootSignature::Create(Device* device, const void* container, SIZE_T size, REFIID iid, void** out) {
  if (!container) return E_INVALIDARG;
  try {
    return Deliver(new RootSignature(device, ReadParameters(container, size)), iid, out);
  } catch (const std::string& why) {
    return Refuse(why, nullptr);
  }
}

UINT RootSignature::constants() const {
  for (const RootParameter& parameter : parameters_)
    if (!parameter.is_table) return parameter.constants;
  return 0;
}

bool RootSignature::Find(UINT shader_register, UINT* parameter, UINT* table_index) const {
  for (size_t i = 0; i < parameters_.size(); ++i)
    for (const RootParameter::Range& range : parameters_[i].ranges) {
      if (shader_register < range.first_register || shader_register - range.first_register >= range.count) continue;
      *parameter = static_cast<UINT>(i);
      *table_index = range.offset + (shader_register - range.first_register);
      return true;
    }
  return false;
}

HRESULT SerializeRootSignature(const D3D12_VERSIONED_ROOT_SIGNATURE_DESC* desc, ID3DBlob** blob, ID3DBlob** error) {
  if (error) *error = nullptr;
  if (!blob) return E_INVALIDARG;
  *blob = nullptr;
  if (!desc) return Refuse("there is no description", error);
  const bool newer = desc->Version == D3D_ROOT_SIGNATURE_VERSION_1_1;
  if (!newer && desc->Version != D3D_ROOT_SIGNATURE_VERSION_1_0) return Refuse("the version is unknown", error);
  const UINT count = newer ? desc->Desc_1_1.NumParameters : desc->Desc_1_0.NumParameters;
  if (newer ? desc->Desc_1_1.NumStaticSamplers : desc->Desc_1_0.NumStaticSamplers)
    return Refuse("samplers are not part of the software adapter", error);
  if (count > kMaxWords) return Refuse("the root signature has too many parameters", error);
  if (count && !(newer ? static_cast<const void*>(desc->Desc_1_1.pParameters) : desc->Desc_1_0.pParameters))
    return Refuse("the parameters are null", error);
  Writer to;
  for (uint32_t word : {newer ? 2u : 1u, count, static_cast<uint32_t>(Writer::kHeader), 0u, 0u,
                        static_cast<uint32_t>(newer ? desc->Desc_1_1.Flags : desc->Desc_1_0.Flags)})
    AppendWord(&to.bytes, word);
  if (newer) WriteParameters<D3D12_ROOT_PARAMETER1, D3D12_DESCRIPTOR_RANGE1>(desc->Desc_1_1.pParameters, count, &to);
  else WriteParameters<D3D12_ROOT_PARAMETER, D3D12_DESCRIPTOR_RANGE>(desc->Desc_1_0.pParameters, count, &to);
  *blob = new Blob(shader::MakeContainer("RTS0", to.bytes));
  return S_OK;
}

}  // namespace dxtensor::software
