#include "dml_device.h"

#include <algorithm>

#include "software/compiler/compile.h"
#include "software/d3d12/trace.h"
#include "binding_table.h"
#include "dispatchable.h"
#include "validate.h"

namespace dxtensor::software {

namespace {

const UINT kAllExecutionFlags = DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION | DML_EXECUTION_FLAG_DISABLE_META_COMMANDS |
                                DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE;

bool IsTypeSupported(const Profile& profile, uint32_t type) {
  if (type == DML_TENSOR_DATA_TYPE_UINT4 || type == DML_TENSOR_DATA_TYPE_INT4) return profile.feature_level >= 0x6300;
  if (type == DML_TENSOR_DATA_TYPE_FLOAT16) return profile.float16;
  return type > DML_TENSOR_DATA_TYPE_UNKNOWN && type <= DML_TENSOR_DATA_TYPE_INT64;
}

// Whether every tensor is of a type that the adapter has.
bool HasSupportedTypes(const Profile& profile, const schema::OperatorDesc& desc) {
  for (const auto& tensors : {desc.Inputs(), desc.Outputs()})
    for (const schema::TensorDesc* tensor : tensors)
      if (tensor && !IsTypeSupported(profile, tensor->data_type)) return false;
  return true;
}

const std::shared_ptr<const schema::OperatorDesc>& DescOf(IDMLOperator* op) { return static_cast<Operator*>(op)->desc(); }

}  // namespace

HRESULT DmlDevice::Create(ID3D12Device* parent, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL minimum, REFIID iid, void** out) {
  if (out) *out = nullptr;
  if (!parent || (static_cast<UINT>(flags) & ~static_cast<UINT>(DML_CREATE_DEVICE_FLAG_DEBUG))) return E_INVALIDARG;
  // A device of another library has another table of methods: ask before trusting.
  IUnknown* ours = nullptr;
  if (FAILED(parent->QueryInterface(kIidSoftware, reinterpret_cast<void**>(&ours)))) return E_INVALIDARG;
  ours->Release();
  if (flags & DML_CREATE_DEVICE_FLAG_DEBUG) return DXGI_ERROR_SDK_COMPONENT_MISSING;
  auto* device = static_cast<Device*>(static_cast<ID3D12Device5*>(parent));
  if (FAILED(device->removed())) return DXGI_ERROR_DEVICE_REMOVED;
  if (static_cast<uint32_t>(minimum) > device->profile().feature_level) return DXGI_ERROR_UNSUPPORTED;
  return Guard([&] { return Deliver(new DmlDevice(device), iid, out); });
}

void DmlDevice::Remove(const std::string& why) {
  if (removed_.exchange(true, std::memory_order_acq_rel)) return;
  Trace("DirectML device removed: " + why);
  // Kept where tests find it: the text under kIidSoftware.
  SetPrivateData(kIidSoftware, static_cast<UINT>(why.size()), why.data());
}

HRESULT DmlDevice::GetDeviceRemovedReason() {
  return removed_.load(std::memory_order_acquire) ? DXGI_ERROR_DEVICE_REMOVED : parent_->removed();
}

template <class Function>
HRESULT DmlDevice::Make(void** out, Function function) {
  if (out) *out = nullptr;
  if (IsRemoved()) return DXGI_ERROR_DEVICE_REMOVED;
  return Guard(function);
}

HRESULT DmlDevice::CheckFeatureSupport(DML_FEATURE feature, UINT query_size, const void* query, UINT data_size, void* data) {
  if (IsRemoved()) return DXGI_ERROR_DEVICE_REMOVED;
  const Profile& profile = parent_->profile();
  if (feature == DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT) {
    uint32_t type;  // any number may be asked for, so it is not read as the enum
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT answer;
    static_assert(sizeof(DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT) == sizeof type, "the query is one number");
    if (!query || !data || query_size != sizeof type || data_size != sizeof answer) return E_INVALIDARG;
    std::memcpy(&type, query, sizeof type);
    answer.IsSupported = IsTypeSupported(profile, type) ? TRUE : FALSE;
    std::memcpy(data, &answer, sizeof answer);
    return S_OK;
  }
  if (feature == DML_FEATURE_FEATURE_LEVELS) {
    DML_FEATURE_QUERY_FEATURE_LEVELS asked;
    DML_FEATURE_DATA_FEATURE_LEVELS answer;
    if (!query || !data || query_size != sizeof asked || data_size != sizeof answer) return E_INVALIDARG;
    std::memcpy(&asked, query, sizeof asked);
    if (!asked.RequestedFeatureLevelCount || !asked.RequestedFeatureLevels) return E_INVALIDARG;
    uint32_t best = 0;
    for (UINT i = 0; i < asked.RequestedFeatureLevelCount; ++i) {
      uint32_t level;
      std::memcpy(&level, asked.RequestedFeatureLevels + i, sizeof level);
      if (level <= profile.feature_level) best = std::max(best, level);
    }
    if (!best) return DXGI_ERROR_UNSUPPORTED;
    answer.MaxSupportedFeatureLevel = static_cast<DML_FEATURE_LEVEL>(best);
    std::memcpy(data, &answer, sizeof answer);
    return S_OK;
  }
  return DXGI_ERROR_UNSUPPORTED;
}

HRESULT DmlDevice::CreateOperator(const DML_OPERATOR_DESC* desc, REFIID iid, void** out) {
  if (!desc) return E_INVALIDARG;
  return Make(out, [&]() -> HRESULT {
    auto read = schema::Read(*desc);
    if (auto* error = std::get_if<schema::ReadError>(&read)) {
      Trace("CreateOperator: " + error->text);
      return E_INVALIDARG;
    }
    auto& op = std::get<schema::OperatorDesc>(read);
    const Profile& profile = parent_->profile();
    std::string why;
    HRESULT valid = Validate(op, profile.feature_level, &why);
    if (FAILED(valid)) {
      Trace("CreateOperator: " + why);
      return valid;
    }
    bool refused = std::find(profile.refused.begin(), profile.refused.end(), static_cast<uint32_t>(op.type())) != profile.refused.end();
    if (refused || !HasSupportedTypes(profile, op)) {
      Trace(std::string("CreateOperator: this adapter does not have ") + op.schema->name + (refused ? "" : " of this data type"));
      return DXGI_ERROR_UNSUPPORTED;
    }
    return Deliver(new Operator(this, std::move(op)), iid, out);
  });
}

HRESULT DmlDevice::CompileOperator(IDMLOperator* op, DML_EXECUTION_FLAGS flags, REFIID iid, void** out) {
  if (!op || (static_cast<UINT>(flags) & ~kAllExecutionFlags)) return E_INVALIDARG;
  return Make(out, [&]() -> HRESULT {
    Held<Program> program;
    HRESULT compiled = CompileOne(*static_cast<Operator*>(op)->desc(), &program);
    if (FAILED(compiled)) return compiled;
    return Deliver(new CompiledOperator(this, std::move(program)), iid, out);
  });
}

HRESULT DmlDevice::QueryOther(REFIID iid, void** out) {
  if (!(iid == kIidGraphs)) return E_NOINTERFACE;
  AddRef();
  *out = static_cast<IDxtensorGraphs*>(&graphs_);
  return S_OK;
}

HRESULT DmlDevice::CompileGraph(const DML_GRAPH_DESC* desc, DML_EXECUTION_FLAGS flags, REFIID iid, void** out) {
  return graphs_.CompileGraph(desc, flags, nullptr, 0, iid, out);
}

HRESULT DmlDevice::Graphs::CompileGraph(const DML_GRAPH_DESC* desc, DML_EXECUTION_FLAGS flags, const DxtensorOverwrite* overwrites,
                                        UINT count, REFIID iid, void** out) {
  if (!desc || (static_cast<UINT>(flags) & ~kAllExecutionFlags) || (count && !overwrites)) return E_INVALIDARG;
  return owner_->Make(out, [&]() -> HRESULT {
    std::vector<Overwrite> over;
    for (UINT i = 0; i < count; ++i) over.push_back({overwrites[i].Output, overwrites[i].Input, overwrites[i].Offset});
    Held<Program> program;
    HRESULT compiled = dxtensor::software::CompileGraph(*desc, owner_->parent_->profile().feature_level, DescOf, std::move(over), &program);
    if (FAILED(compiled)) return compiled;
    return Deliver(new CompiledOperator(owner_, std::move(program)), iid, out);
  });
}

HRESULT DmlDevice::CreateOperatorInitializer(UINT count, IDMLCompiledOperator* const* operators, REFIID iid, void** out) {
  return Make(out, [&]() -> HRESULT {
    auto* initializer = new Initializer(this);
    HRESULT set = initializer->Reset(count, operators);
    if (FAILED(set)) {
      initializer->Release();
      return set;
    }
    return Deliver(initializer, iid, out);
  });
}

HRESULT DmlDevice::CreateCommandRecorder(REFIID iid, void** out) {
  return Make(out, [&] { return Deliver(new CommandRecorder(this), iid, out); });
}

HRESULT DmlDevice::CreateBindingTable(const DML_BINDING_TABLE_DESC* desc, REFIID iid, void** out) {
  return Make(out, [&]() -> HRESULT {
    auto* table = new BindingTable(this);
    HRESULT set = table->Reset(desc);
    if (FAILED(set)) {
      table->Release();
      return set;
    }
    return Deliver(table, iid, out);
  });
}

HRESULT DmlDevice::Evict(UINT count, IDMLPageable* const* objects) { return count && !objects ? E_INVALIDARG : S_OK; }
HRESULT DmlDevice::MakeResident(UINT count, IDMLPageable* const* objects) { return count && !objects ? E_INVALIDARG : S_OK; }
HRESULT DmlDevice::GetParentDevice(REFIID iid, void** out) { return parent_->QueryInterface(iid, out); }

}  // namespace dxtensor::software
