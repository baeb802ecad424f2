#include "context.h"

#include <map>
#include <mutex>

#include "../abi/software_control.h"
#include "budget.h"
#include "failure.h"

namespace dxtensor::dml {

namespace {

constexpr DML_FEATURE_LEVEL kMinLevel = DML_FEATURE_LEVEL_5_0;

uint32_t HighestLevel(IDMLDevice* dml) {
  // An older library may refuse a question about levels that it does not know, so the list is shortened from its end.
  static const DML_FEATURE_LEVEL levels[] = {DML_FEATURE_LEVEL_5_0, DML_FEATURE_LEVEL_5_1, DML_FEATURE_LEVEL_5_2, DML_FEATURE_LEVEL_6_0,
                                             DML_FEATURE_LEVEL_6_1, DML_FEATURE_LEVEL_6_2, DML_FEATURE_LEVEL_6_3, DML_FEATURE_LEVEL_6_4};
  for (UINT count = std::size(levels); count > 0; --count) {
    DML_FEATURE_QUERY_FEATURE_LEVELS query = {count, levels};
    DML_FEATURE_DATA_FEATURE_LEVELS answer{};
    if (SUCCEEDED(dml->CheckFeatureSupport(DML_FEATURE_FEATURE_LEVELS, sizeof query, &query, sizeof answer, &answer)))
      return static_cast<uint32_t>(answer.MaxSupportedFeatureLevel);
  }
  return static_cast<uint32_t>(kMinLevel);
}

// Who shares a Direct3D device, and which of them noticed its removal first.
struct Shared {
  uint32_t contexts = 0;
  const Context* first = nullptr;
};

struct SharedDevices {
  std::mutex mutex;
  std::map<ID3D12Device*, Shared> all;
};

SharedDevices& TheShared() {
  static auto* shared = new SharedDevices;  // used while the process ends
  return *shared;
}

void Leave(ID3D12Device* device) {
  SharedDevices& shared = TheShared();
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto found = shared.all.find(device);
  if (found != shared.all.end() && --found->second.contexts == 0) shared.all.erase(found);
}

// The software adapter's private data: a text, "" where there is none.
template <typename Object>
std::string TextUnder(REFGUID name, Object* object) {
  UINT size = 0;
  if (FAILED(object->GetPrivateData(name, &size, nullptr)) || !size) return "";
  std::string text(size, ' ');
  return SUCCEEDED(object->GetPrivateData(name, &size, text.data())) ? text.substr(0, size) : "";
}

}  // namespace

D3D12_RESOURCE_DESC BufferDesc(uint64_t size, D3D12_RESOURCE_FLAGS flags) {
  D3D12_RESOURCE_DESC desc{};
  desc.Dimension = D3D12_RESOURCE_DIMENSION_BUFFER;
  desc.Width = size;
  desc.Height = 1;
  desc.DepthOrArraySize = 1;
  desc.MipLevels = 1;
  desc.SampleDesc.Count = 1;
  desc.Layout = D3D12_TEXTURE_LAYOUT_ROW_MAJOR;
  desc.Flags = flags;
  return desc;
}

Context::Context(const Runtime& runtime, const Adapter& adapter)
    : adapter_name(adapter.name), serialize_root_signature(runtime.serialize_root_signature), memory_in_bytes(UsableMemory(adapter)) {
  OpenDirect3D(runtime, adapter);
  OpenDirectML(runtime);
  QueryCapabilities();
  SharedDevices& shared = TheShared();
  std::lock_guard<std::mutex> lock(shared.mutex);
  ++shared.all[d3d.get()].contexts;
}

Context::~Context() {
  if (d3d) Leave(d3d.get());
}

void Context::OpenDirect3D(const Runtime& runtime, const Adapter& adapter) {
  // The level is a minimum; an adapter for compute alone has the core one only.
  HRESULT hr = runtime.create_device(adapter.object.get(), D3D_FEATURE_LEVEL_1_0_CORE, __uuidof(ID3D12Device), d3d.put_void());
  if (FAILED(hr)) hr = runtime.create_device(adapter.object.get(), D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device), d3d.put_void());
  if (FAILED(hr)) throw Failure(hr, "D3D12CreateDevice", "", "adapter '" + adapter.name + "' offers no Direct3D 12 device");
  D3D12_COMMAND_QUEUE_DESC desc{};
  desc.Type = D3D12_COMMAND_LIST_TYPE_COMPUTE;
  desc.Flags = D3D12_COMMAND_QUEUE_FLAG_DISABLE_GPU_TIMEOUT;
  Check(d3d->CreateCommandQueue(&desc, __uuidof(ID3D12CommandQueue), queue.put_void()), "ID3D12Device::CreateCommandQueue");
}

void Context::OpenDirectML(const Runtime& runtime) {
  HRESULT hr = runtime.create_dml_device(d3d.get(), DML_CREATE_DEVICE_FLAG_NONE, kMinLevel, __uuidof(IDMLDevice1), dml.put_void());
  if (FAILED(hr))
    throw Failure(hr, "DMLCreateDevice1", "",
                  "adapter '" + adapter_name +
                      "': DirectML of feature level 5.0 or later is needed; give the path of a newer one (npm run fetch:directml)");
}

void Context::QueryCapabilities() {
  feature_level = HighestLevel(dml.get());
  for (uint32_t type = 1; type < 32 && type <= static_cast<uint32_t>(DML_TENSOR_DATA_TYPE_INT4); ++type) {
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT query = {static_cast<DML_TENSOR_DATA_TYPE>(type)};
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT answer{};
    if (SUCCEEDED(dml->CheckFeatureSupport(DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, sizeof query, &query, sizeof answer, &answer)) &&
        answer.IsSupported)
      data_types |= 1u << type;
  }
  D3D12_FEATURE_DATA_ARCHITECTURE architecture{};
  if (SUCCEEDED(d3d->CheckFeatureSupport(D3D12_FEATURE_ARCHITECTURE, &architecture, sizeof architecture)))
    is_unified_memory = architecture.UMA;
  D3D12_FEATURE_DATA_D3D12_OPTIONS options{};
  if (SUCCEEDED(d3d->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS, &options, sizeof options)))
    reads_texels = options.TypedUAVLoadAdditionalFormats;
  D3D12_FEATURE_DATA_D3D12_OPTIONS1 options1{};
  if (SUCCEEDED(d3d->CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS1, &options1, sizeof options1)) && options1.WaveOps)
    wave_lanes = options1.WaveLaneCountMin;
  if (SUCCEEDED(d3d->QueryInterface(kIidSoftware, software.put_void()))) fuses_graphs = software->Traits() & kTraitFusesGraphs;
}

// The software adapter says why; Direct3D has its number alone.
std::string Context::AdaptersWords() const {
  if (!software) return "";
  if (FAILED(d3d->GetDeviceRemovedReason())) return TextUnder(kIidSoftware, d3d.get());
  return TextUnder(kIidSoftware, dml.get());
}

// The software adapter knows whose work it was; else it is who notices it first.
bool Context::IsCause() const {
  if (SUCCEEDED(d3d->GetDeviceRemovedReason())) return true;  // DirectML's device, which is this thread's own
  if (software && !TextUnder(kIidCause, d3d.get()).empty()) return !TextUnder(kIidCause, queue.get()).empty();
  SharedDevices& shared = TheShared();
  std::lock_guard<std::mutex> lock(shared.mutex);
  Shared& mine = shared.all[d3d.get()];
  if (!mine.first) mine.first = this;
  return mine.first == this;
}

Failure Context::Removal(const std::string& work) const {
  if (!d3d) return Failure(removed_);
  Failure::Removed removed;
  removed.code = RemovedReason();
  removed.is_elsewhere = !IsCause();
  removed.reason = AdaptersWords();
  if (!removed.is_elsewhere) removed.work = work;
  return Failure(removed);
}

void Context::LetGo() {
  Failure known = Removal("");
  removed_ = {known.hresult(), known.reason(), "", known.is_elsewhere()};
  Leave(d3d.get());
  software.Reset();
  queue.Reset();
  dml.Reset();
  d3d.Reset();
}

HRESULT Context::RemovedReason() const {
  if (!d3d) return removed_.code;
  HRESULT hr = d3d->GetDeviceRemovedReason();
  return FAILED(hr) ? hr : dml->GetDeviceRemovedReason();
}

ComPtr<ID3D12Resource> Context::CreateBuffer(D3D12_HEAP_TYPE type, uint64_t size) const {
  D3D12_HEAP_PROPERTIES heap{};
  heap.Type = type;
  heap.CreationNodeMask = heap.VisibleNodeMask = 1;
  bool on_device = type == D3D12_HEAP_TYPE_DEFAULT;
  D3D12_RESOURCE_DESC desc = BufferDesc(size, on_device ? D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS : D3D12_RESOURCE_FLAG_NONE);
  D3D12_RESOURCE_STATES state = type == D3D12_HEAP_TYPE_UPLOAD     ? D3D12_RESOURCE_STATE_GENERIC_READ
                                : type == D3D12_HEAP_TYPE_READBACK ? D3D12_RESOURCE_STATE_COPY_DEST
                                                                   : D3D12_RESOURCE_STATE_COMMON;
  ComPtr<ID3D12Resource> resource;
  Check(d3d->CreateCommittedResource(&heap, D3D12_HEAP_FLAG_NONE, &desc, state, nullptr, __uuidof(ID3D12Resource), resource.put_void()),
        "ID3D12Device::CreateCommittedResource");
  return resource;
}

}  // namespace dxtensor::dml
