// Compute shaders: pipelines of DXBC containers, kept by their bytes, and the root signatures that they share.
//
// A root signature is constants at b0 (parameter 0) and a table of unordered access views u0, u1, … (parameter 1). ShaderCache is
// the JavaScript thread's; a Shader is immutable, and held by every program that uses it.
#pragma once

#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "context.h"
#include "counters.h"

namespace dxtensor::dml {

// One of u0, u1, …: which buffer it shows, and how.
struct ShaderView {
  static constexpr uint8_t kRaw = 0, kTexels = 255;  // else bytes of a structure; a texel is four words
  uint8_t buffer = 0, form = kRaw;
};

// What a program says of a shader: its inputs are the first of the buffers.
struct ShaderDesc {
  std::vector<uint8_t> bytes;
  std::vector<ShaderView> views;
  std::vector<uint32_t> constants;
  std::array<uint32_t, 3> groups{1, 1, 1};
  uint32_t input_count = 0;
};

constexpr uint32_t kMaxShaderBuffers = 64, kMaxShaderViews = 64, kMaxShaderConstants = 32, kMaxShaderGroups = 65535;
// What a driver may view at once: Vulkan's have 2^27 words.
constexpr uint64_t kMaxShaderBytes = uint64_t{1} << 29;

struct Shader {
  ComPtr<ID3D12RootSignature> root_signature;
  ComPtr<ID3D12PipelineState> pipeline;
  bool has_constants = false, has_table = false;
};

class ShaderCache {
 public:
  ShaderCache(const Context& context, Counters& counters) : context_(context), counters_(counters) {}
  // Makes the pipelines that are missing, by several threads; Get() tells of what the device refuses.
  void Prepare(const std::vector<const ShaderDesc*>& descs);
  // Throws Failure where the device refuses the container.
  std::shared_ptr<const Shader> Get(const ShaderDesc& desc);
  // See Context::LetGo.
  void LetGo();

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<Shader> shader;
  };
  static constexpr size_t kMaxShaders = 512;
  static constexpr unsigned kMaxThreads = 16;
  static std::string KeyOf(const ShaderDesc& desc);
  std::shared_ptr<Shader> Begin(const ShaderDesc& desc);
  HRESULT Compile(const ShaderDesc& desc, Shader& shader) const;
  void Keep(std::string key, std::shared_ptr<Shader> shader);
  ComPtr<ID3D12RootSignature> RootSignatureFor(uint32_t views, uint32_t constants);

  const Context& context_;
  Counters& counters_;
  std::map<std::pair<uint32_t, uint32_t>, ComPtr<ID3D12RootSignature>> root_signatures_;  // by views and constants
  std::list<Entry> entries_;                                                              // the one used last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace dxtensor::dml
