#include "backend_library.h"

#include <map>
#include <memory>
#include <mutex>

#include "../dml/dynamic_library.h"
#include "../dml/failure.h"

namespace dxtensor::addon {

namespace {

struct Libraries {
  std::mutex mutex;
  std::map<std::string, const BackendLibrary*> loaded;
};
Libraries& Shared() {
  static auto* libraries = new Libraries;  // never freed: threads may still call it while the process ends
  return *libraries;
}

std::string LastError(const BackendLibrary& library) {
  const char* text = library.last_error();
  return text && *text ? text : "the library gives no text";
}

// The first required function that is null; null where all are there.
const char* MissingFunction(const dxtensor_backend_api& api) {
#define DXTENSOR_REQUIRE(member) \
  if (!api.member) return #member
  DXTENSOR_REQUIRE(name);
  DXTENSOR_REQUIRE(version);
  DXTENSOR_REQUIRE(device_count);
  DXTENSOR_REQUIRE(device_info);
  DXTENSOR_REQUIRE(open);
  DXTENSOR_REQUIRE(close);
  DXTENSOR_REQUIRE(allocate);
  DXTENSOR_REQUIRE(free);
  DXTENSOR_REQUIRE(write);
  DXTENSOR_REQUIRE(read);
  DXTENSOR_REQUIRE(copy);
  DXTENSOR_REQUIRE(supports);
  DXTENSOR_REQUIRE(run);
  DXTENSOR_REQUIRE(synchronize);
  DXTENSOR_REQUIRE(memory_info);
#undef DXTENSOR_REQUIRE
  return nullptr;
}

BackendLoad Refused(const char* reason, std::string text, uint32_t version = 0) {
  BackendLoad load;
  load.reason = reason;
  load.text = std::move(text);
  load.version = version;
  return load;
}

BackendLoad Initialise(void* handle) {
  const char* const names[] = {"dxtensor_backend_abi_version", "dxtensor_backend_initialise", "dxtensor_backend_last_error"};
  void* symbols[3];
  for (int i = 0; i < 3; ++i) {
    symbols[i] = dml::FindSymbol(handle, names[i]);
    if (!symbols[i]) return Refused("missingSymbol", names[i]);
  }
  const uint32_t version = reinterpret_cast<uint32_t (*)()>(symbols[0])();
  if (version != DXTENSOR_BACKEND_ABI) return Refused("version", "", version);
  auto library = std::make_unique<BackendLibrary>();
  library->last_error = reinterpret_cast<const char* (*)()>(symbols[2]);
  dxtensor_backend_api& api = library->api;
  api.struct_size = sizeof api;
  const auto initialise = reinterpret_cast<dxtensor_status (*)(dxtensor_backend_api*)>(symbols[1]);
  if (initialise(&api) != DXTENSOR_OK) return Refused("refused", LastError(*library));
  if (api.struct_size < sizeof api)
    return Refused("refused", "it fills " + std::to_string(api.struct_size) + " of " + std::to_string(sizeof api) + " bytes of the table");
  if (const char* missing = MissingFunction(api)) return Refused("refused", std::string("its table has no ") + missing);
  library->name = api.name;
  library->version = api.version;
  BackendLoad load;
  load.library = library.release();
  return load;
}

}  // namespace

BackendLoad LoadBackendLibrary(const std::string& path) {
  Libraries& shared = Shared();
  // Held while the library initialises: it does so once.
  std::lock_guard<std::mutex> lock(shared.mutex);
  BackendLoad load;
  if (auto found = shared.loaded.find(path); found != shared.loaded.end()) {
    load.library = found->second;
    return load;
  }
  std::string error;
  void* handle = dml::OpenLibrary(path, true, &error);
  if (!handle) return Refused("notALibrary", error);
  load = Initialise(handle);
  // One that was refused stays open: its threads may run.
  if (load.library) shared.loaded[path] = load.library;
  return load;
}

void CheckStatus(const BackendLibrary& library, dxtensor_status status, const char* call) {
  using dml::FailureKind;
  if (status == DXTENSOR_OK) return;
  FailureKind kind = FailureKind::Internal;
  if (status == DXTENSOR_OUT_OF_MEMORY) kind = FailureKind::OutOfMemory;
  else if (status == DXTENSOR_REMOVED) kind = FailureKind::Removed;
  else if (status == DXTENSOR_TIMEOUT) kind = FailureKind::Timeout;
  else if (status == DXTENSOR_UNSUPPORTED) kind = FailureKind::Unsupported;
  throw dml::Failure(kind, std::string(call) + ": " + LastError(library));
}

}  // namespace dxtensor::addon
