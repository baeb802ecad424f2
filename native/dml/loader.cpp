#include "loader.h"

#include <functional>
#include <memory>
#include <mutex>

#include "dynamic_library.h"

namespace dxtensor::dml {

namespace {

#ifdef _WIN32
constexpr const char* kDxcoreFile = "dxcore.dll";
constexpr const char* kD3d12File = "d3d12.dll";
constexpr const char* kDirectmlFile = "DirectML.dll";
#else
constexpr const char* kDxcoreFile = "libdxcore.so";
constexpr const char* kD3d12File = "libd3d12.so";
constexpr const char* kDirectmlFile = "libdirectml.so";
#endif

struct Slot {
  bool attempted = false;
  LibraryPaths paths;
  LoadReport report;
  std::unique_ptr<Runtime> runtime;
};

std::mutex g_mutex;
Slot g_slots[2];

std::string Join(const std::string& folder, const char* file) {
  if (folder.empty() || folder.back() == '/' || folder.back() == '\\') return folder + file;
  return folder + "/" + file;
}

bool IsAbsolute(const std::string& path) {
#ifdef _WIN32
  return path.size() > 2 && (path[1] == ':' || (path[0] == '\\' && path[1] == '\\'));
#else
  return !path.empty() && path[0] == '/';
#endif
}

// Collects the libraries of one attempt; those of a failed attempt are closed again.
class Attempt {
 public:
  explicit Attempt(LoadReport& report) : report_(report) {}
  ~Attempt() {
    if (!report_.loaded)
      for (auto it = handles_.rbegin(); it != handles_.rend(); ++it) CloseLibrary(*it);
    if (!report_.loaded) report_.libraries.clear();
  }

  // The first candidate that opens and has what `accept` asks for ("" is yes, else the reason).
  void* Open(const char* name, const std::vector<std::string>& candidates, bool own_symbols_first,
             const std::function<std::string(void*)>& accept) {
    for (const std::string& path : candidates) {
      std::string error;
      void* library = nullptr;
      if (!IsAbsolute(path)) error = "not an absolute path";
      else if (!missing_.empty()) error = FileExists(path) ? "not opened, since there is no " + missing_ : "no such file";
      else library = OpenLibrary(path, own_symbols_first, &error);
      if (library) {
        error = accept(library);
        if (!error.empty()) CloseLibrary(library);
      }
      report_.tried.push_back({name, path, error});
      if (!error.empty()) continue;
      report_.libraries.push_back({name, path});
      handles_.push_back(library);
      return library;
    }
    if (missing_.empty()) missing_ = name;
    return nullptr;
  }
  // A library that may be absent: the others are opened all the same.
  void Forgive() { missing_.clear(); }
  bool complete() const { return missing_.empty(); }

 private:
  LoadReport& report_;
  std::string missing_;  // after it the others are only looked for, so that the report is complete
  std::vector<void*> handles_;
};

std::vector<std::string> Candidates(const std::string& explicit_file, const std::vector<std::string>& folders, const char* file) {
  if (!explicit_file.empty()) return {explicit_file};
  std::vector<std::string> list;
  for (const std::string& folder : folders) list.push_back(Join(folder, file));
  return list;
}

template <typename F>
bool Take(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(FindSymbol(library, name));
  return function != nullptr;
}

std::string Missing(const char* symbol, const char* what) { return std::string("exports no ") + symbol + ": this file is not " + what; }

std::string AcceptDirectml(void* library, Runtime& runtime) {
  if (Take(library, "DMLCreateDevice1", runtime.create_dml_device)) return "";
  if (FindSymbol(library, "DMLCreateDevice"))
    return "exports no DMLCreateDevice1: this DirectML is older than feature level 2.1 and 5.0 is needed; give the path of a newer one "
           "(npm run fetch:directml)";
  return Missing("DMLCreateDevice1", "DirectML");
}

std::unique_ptr<Runtime> LoadGpu(const LibraryPaths& paths, LoadReport& report) {
  auto runtime = std::make_unique<Runtime>();
  runtime->kind = RuntimeKind::Gpu;
  Attempt attempt(report);
  attempt.Open("dxcore", Candidates(paths.dxcore, paths.folders, kDxcoreFile), false, [&](void* library) {
    return Take(library, "DXCoreCreateAdapterFactory", runtime->create_dxcore_factory) ? ""
                                                                                       : Missing("DXCoreCreateAdapterFactory", "DXCore");
  });
#ifdef _WIN32
  bool dxcore = attempt.complete();
  attempt.Forgive();
  attempt.Open("dxgi", Candidates("", paths.folders, "dxgi.dll"), false, [&](void* library) {
    return Take(library, "CreateDXGIFactory1", runtime->create_dxgi_factory) ? "" : Missing("CreateDXGIFactory1", "DXGI");
  });
  if (dxcore) attempt.Forgive();
#endif
  report.direct3d = "Direct3D 12";
  attempt.Open("d3d12", Candidates(paths.d3d12, paths.folders, kD3d12File), false, [&](void* library) {
    const char* (*name)() = nullptr;
    if (Take(library, "DxtensorRuntimeName", name)) report.direct3d = name();
    Take(library, "D3D12SerializeVersionedRootSignature", runtime->serialize_root_signature);
    return Take(library, "D3D12CreateDevice", runtime->create_device) ? "" : Missing("D3D12CreateDevice", "Direct3D 12");
  });
  // Its own symbols first: Node 22 and later export another zstd of the same names.
  attempt.Open("directml", Candidates(paths.directml, paths.folders, kDirectmlFile), true,
               [&](void* library) { return AcceptDirectml(library, *runtime); });
  if (!attempt.complete()) return nullptr;
  report.loaded = true;
  return runtime;
}

std::unique_ptr<Runtime> LoadSoftware(const LibraryPaths& paths, LoadReport& report) {
  auto runtime = std::make_unique<Runtime>();
  runtime->kind = RuntimeKind::Software;
  report.direct3d = "Direct3D 12 in software";
  Attempt attempt(report);
  void* library = attempt.Open("software", Candidates(paths.software, {}, ""), false, [&](void* candidate) -> std::string {
    if (!Take(candidate, "DXCoreCreateAdapterFactory", runtime->create_dxcore_factory))
      return Missing("DXCoreCreateAdapterFactory", "the software adapter");
    if (!Take(candidate, "D3D12CreateDevice", runtime->create_device)) return Missing("D3D12CreateDevice", "the software adapter");
    Take(candidate, "D3D12SerializeVersionedRootSignature", runtime->serialize_root_signature);
    return AcceptDirectml(candidate, *runtime);
  });
  if (!library) return nullptr;
  if (!paths.simulate.empty()) {
    HRESULT (*simulate)(const char*) = nullptr;
    HRESULT hr = Take(library, "DxtensorSimulate", simulate) ? simulate(paths.simulate.c_str()) : E_NOTIMPL;
    if (FAILED(hr)) {
      report.tried.back().error = "DXTENSOR_SIMULATE: the simulated profiles '" + paths.simulate + "' were refused";
      return nullptr;
    }
  }
  report.loaded = true;
  return runtime;
}

}  // namespace

bool LibraryPaths::operator==(const LibraryPaths& o) const {
  return folders == o.folders && dxcore == o.dxcore && d3d12 == o.d3d12 && directml == o.directml && software == o.software &&
         simulate == o.simulate;
}

LoadReport Load(RuntimeKind kind, const LibraryPaths& paths) {
  std::lock_guard<std::mutex> lock(g_mutex);
  Slot& slot = g_slots[static_cast<size_t>(kind)];
  if (slot.runtime || (slot.attempted && slot.paths == paths)) return slot.report;
  slot.attempted = true;
  slot.paths = paths;
  slot.report = LoadReport();
  slot.runtime = kind == RuntimeKind::Gpu ? LoadGpu(paths, slot.report) : LoadSoftware(paths, slot.report);
  return slot.report;
}

const Runtime* LoadedRuntime(RuntimeKind kind) {
  std::lock_guard<std::mutex> lock(g_mutex);
  return g_slots[static_cast<size_t>(kind)].runtime.get();
}

}  // namespace dxtensor::dml
