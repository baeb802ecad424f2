// Compute shaders: pipelines of DXBC containers, kept by their bytes, and the root signatures that they share.
//
// A root signature is constants at b0 (parameter 0) and a table of unordered access views u0, u1, … (parameter 1). ShaderCache is
// the JavaScript thread's; its helpers only make pipelines. A Shader is immutable, and held by every program that uses it.
#pragma once

#include <array>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
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
  ~ShaderCache() { EndHelpers(); }
  // Begins a pipeline on another thread, unless it is there: of the description's bytes, for as many views and constants as it has.
  void Begin(const ShaderDesc& desc);
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
  // A pipeline that helpers make.
  struct Work {
    ShaderDesc desc;
    std::shared_ptr<Shader> shader;
    HRESULT made = E_FAIL;
    bool is_done = false;
  };
  static std::string KeyOf(const ShaderDesc& desc);
  std::shared_ptr<Shader> WithoutPipeline(const ShaderDesc& desc);
  HRESULT Compile(const ShaderDesc& desc, Shader& shader) const;
  // Whether work was added: not what is there, or begun.
  bool Add(const ShaderDesc& desc);
  // One more thread for what was added, where the machine has one.
  void CallHelper();
  // Makes pipelines: a helper until EndHelpers(), another thread until no work waits.
  void Help(bool is_helper);
  // Waits for the pipelines that were begun, and keeps them.
  void Finish();
  void EndHelpers();
  void Keep(std::string key, std::shared_ptr<Shader> shader);
  ComPtr<ID3D12RootSignature> RootSignatureFor(uint32_t views, uint32_t constants);

  const Context& context_;
  Counters& counters_;
  std::map<std::pair<uint32_t, uint32_t>, ComPtr<ID3D12RootSignature>> root_signatures_;  // by views and constants
  std::list<Entry> entries_;                                                              // the one used last first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::map<std::string, std::shared_ptr<Work>> begun_;
  std::vector<std::thread> helpers_;

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<std::shared_ptr<Work>> waiting_;  // those that nobody has taken yet
  size_t idle_ = 0;                             // helpers that wait for work
  bool ends_ = false;
};

}  // namespace dxtensor::dml
