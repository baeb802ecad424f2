// N-API only: converts arguments, calls the groups of an engine, converts what becomes of the work. Each environment (a worker has its own)
// closes its groups when it ends.
#include <node_api.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gloo/config.h>

#include "gloo_group.h"
#include "mpi_group.h"

namespace dxtensor::distributed {
namespace {

constexpr auto kGrace = std::chrono::milliseconds(300);

struct Exception {};

void Check(napi_status status) {
  if (status != napi_ok) throw Exception{};
}

// The groups of a process group of the whole world: all that contain a rank end with it. `ranks`: of the world, by the group's rank.
struct World {
  struct Member {
    std::weak_ptr<Group> group;
    std::vector<int> ranks;
  };
  std::mutex lock;
  std::vector<Member> members;

  void Lost(int rank) {
    std::vector<std::shared_ptr<Group>> groups;
    {
      std::lock_guard<std::mutex> held(lock);
      for (const Member& member : members) {
        const auto at = std::find(member.ranks.begin(), member.ranks.end(), rank);
        const auto group = member.group.lock();
        if (group == nullptr || at == member.ranks.end()) continue;
        group->Lose(static_cast<int>(at - member.ranks.begin()));
        groups.push_back(group);
      }
    }
    const auto when = std::chrono::steady_clock::now() + kGrace;
    for (const auto& group : groups) group->Break(when);
  }
};

struct Environment {
  std::set<std::shared_ptr<Group>> groups;
};

struct Handle {
  std::shared_ptr<Group> group;
  std::shared_ptr<World> world;
};

// A work that runs, and what JavaScript holds for it.
struct Pending {
  napi_env env = nullptr;
  std::shared_ptr<Work> work = std::make_shared<Work>();
  napi_ref callback = nullptr;
  std::vector<napi_ref> buffers;
  napi_threadsafe_function notify = nullptr;
};

napi_value Get(napi_env env, napi_value object, const char* name) {
  napi_value value;
  Check(napi_get_named_property(env, object, name, &value));
  return value;
}

bool IsAbsent(napi_env env, napi_value value) {
  napi_valuetype type;
  Check(napi_typeof(env, value, &type));
  return type == napi_undefined || type == napi_null;
}

int64_t Integer(napi_env env, napi_value value) {
  int64_t number;
  Check(napi_get_value_int64(env, value, &number));
  return number;
}

std::string Text(napi_env env, napi_value value) {
  if (IsAbsent(env, value)) return "";
  size_t length;
  Check(napi_get_value_string_utf8(env, value, nullptr, 0, &length));
  std::string text(length, '\0');
  Check(napi_get_value_string_utf8(env, value, text.data(), length + 1, &length));
  return text;
}

struct Bytes {
  char* data = nullptr;
  size_t size = 0;
};

// Of a Uint8Array, or of { address, sizeInBytes }, memory that the caller keeps until the work has ended; of nothing: none.
Bytes BytesOf(napi_env env, napi_value value) {
  if (IsAbsent(env, value)) return {};
  napi_typedarray_type type;
  Bytes bytes;
  void* data;
  bool is_array;
  Check(napi_is_typedarray(env, value, &is_array));
  if (!is_array) {
    bytes.data = reinterpret_cast<char*>(static_cast<uintptr_t>(Integer(env, Get(env, value, "address"))));
    bytes.size = static_cast<size_t>(Integer(env, Get(env, value, "sizeInBytes")));
    return bytes;
  }
  Check(napi_get_typedarray_info(env, value, &type, &bytes.size, &data, nullptr, nullptr));
  if (type != napi_uint8_array) throw Exception{};
  bytes.data = static_cast<char*>(data);
  return bytes;
}

uint32_t Length(napi_env env, napi_value array) {
  uint32_t length;
  Check(napi_get_array_length(env, array, &length));
  return length;
}

napi_value At(napi_env env, napi_value array, uint32_t i) {
  napi_value value;
  Check(napi_get_element(env, array, i, &value));
  return value;
}

napi_value New(napi_env env, const std::string& text) {
  napi_value value;
  Check(napi_create_string_utf8(env, text.data(), text.size(), &value));
  return value;
}

napi_value New(napi_env env, int number) {
  napi_value value;
  Check(napi_create_int32(env, number, &value));
  return value;
}

// null, or { reason, message, peer, other }.
napi_value Outcome(napi_env env, Work& work) {
  std::lock_guard<std::mutex> held(work.lock);
  napi_value value;
  if (work.reason.empty()) {
    Check(napi_get_null(env, &value));
    return value;
  }
  Check(napi_create_object(env, &value));
  Check(napi_set_named_property(env, value, "reason", New(env, work.reason)));
  Check(napi_set_named_property(env, value, "message", New(env, work.error)));
  Check(napi_set_named_property(env, value, "peer", New(env, work.peer)));
  Check(napi_set_named_property(env, value, "other", New(env, work.other)));
  return value;
}

// Calls an entry with its arguments; what Gloo throws becomes an Error.
template <size_t N, napi_value (*Body)(napi_env, napi_value*)>
napi_value Entry(napi_env env, napi_callback_info info) {
  napi_value args[N == 0 ? 1 : N];
  size_t count = N;
  try {
    Check(napi_get_cb_info(env, info, &count, args, nullptr, nullptr));
    if (count < N) throw std::invalid_argument("too few arguments");
    return Body(env, args);
  } catch (const Exception&) {
    bool is_pending = false;
    napi_is_exception_pending(env, &is_pending);
    if (!is_pending) napi_throw_type_error(env, nullptr, "an argument of another type");
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

template <typename T>
T* External(napi_env env, napi_value value) {
  void* data;
  Check(napi_get_value_external(env, value, &data));
  return static_cast<T*>(data);
}

Environment* Own(napi_env env) {
  void* data;
  Check(napi_get_instance_data(env, &data));
  return static_cast<Environment*>(data);
}

std::vector<int> RanksOf(napi_env env, napi_value options) {
  const napi_value ranks = Get(env, options, "ranks");
  std::vector<int> numbers;
  for (uint32_t i = 0; i < Length(env, ranks); i++) numbers.push_back(static_cast<int>(Integer(env, At(env, ranks, i))));
  return numbers;
}

// A group's handle; `world` is that of the group of all ranks, null for this one itself.
napi_value NewGroup(napi_env env, std::shared_ptr<Group> made, napi_value world, std::vector<int> ranks) {
  auto handle = std::make_unique<Handle>();
  handle->group = std::move(made);
  handle->world = IsAbsent(env, world) ? std::make_shared<World>() : External<Handle>(env, world)->world;
  {
    std::lock_guard<std::mutex> held(handle->world->lock);
    handle->world->members.push_back({handle->group, std::move(ranks)});
  }
  Own(env)->groups.insert(handle->group);
  napi_value group;
  Check(napi_create_external(
      env, handle.get(), [](napi_env, void* data, void*) { delete static_cast<Handle*>(data); }, nullptr, &group));
  handle.release();
  return group;
}

// The number of connections between two ranks: one for eight CPUs, four at most; one in groups of more than 16 ranks.
int ChannelsFor(int size) { return size > 16 ? 1 : std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 8, 1, 4); }

// createGroup({ rank, size, host, interface, channels, timeoutMs, ranks, world }): { group, addresses }. channels: 0 for the engine's
// choice.
napi_value CreateGroup(napi_env env, napi_value* args) {
  napi_value options = args[0];
  const int size = static_cast<int>(Integer(env, Get(env, options, "size")));
  const int channels = static_cast<int>(Integer(env, Get(env, options, "channels")));
  const auto context = std::make_shared<Context>(static_cast<int>(Integer(env, Get(env, options, "rank"))), size,
                                                 Text(env, Get(env, options, "host")), Text(env, Get(env, options, "interface")),
                                                 std::chrono::milliseconds(Integer(env, Get(env, options, "timeoutMs"))),
                                                 channels > 0 ? channels : ChannelsFor(size));
  const napi_value group = NewGroup(env, std::make_shared<GlooGroup>(context), Get(env, options, "world"), RanksOf(env, options));
  napi_value result, addresses;
  Check(napi_create_object(env, &result));
  Check(napi_create_array(env, &addresses));
  uint32_t i = 0;
  for (const std::vector<char>& address : context->addresses()) {
    napi_value buffer;
    Check(napi_create_buffer_copy(env, address.size(), address.data(), nullptr, &buffer));
    Check(napi_set_element(env, addresses, i++, buffer));
  }
  Check(napi_set_named_property(env, result, "group", group));
  Check(napi_set_named_property(env, result, "addresses", addresses));
  return result;
}

// createMpiGroup({ number, ranks, world }): the group.
napi_value CreateMpiGroup(napi_env env, napi_value* args) {
  if (MpiEngine::Get().is_abandoned()) throw std::runtime_error("after a failure, MPI cannot be used again in this process");
  const std::vector<int> ranks = RanksOf(env, args[0]);
  const int number = static_cast<int>(Integer(env, Get(env, args[0], "number")));
  return NewGroup(env, std::make_shared<MpiGroup>(number, ranks), Get(env, args[0], "world"), ranks);
}

// loadMpi(files): { file, abi, version } of the first of them that is there.
napi_value LoadMpi(napi_env env, napi_value* args) {
  std::vector<std::string> files;
  for (uint32_t i = 0; i < Length(env, args[0]); i++) files.push_back(Text(env, At(env, args[0], i)));
  const MpiLibrary& library = MpiEngine::Get().Load(files);
  napi_value result;
  Check(napi_create_object(env, &result));
  Check(napi_set_named_property(env, result, "file", New(env, library.file)));
  Check(napi_set_named_property(env, result, "abi", New(env, library.abi)));
  Check(napi_set_named_property(env, result, "version", New(env, library.version)));
  return result;
}

// startMpi(): null while MPI starts, then { rank, size, threadLevel, problem }. It is asked again until then.
napi_value StartMpi(napi_env env, napi_value*) {
  MpiEngine& engine = MpiEngine::Get();
  engine.Start();
  const MpiEngine::State state = engine.state();
  napi_value result;
  if (state == MpiEngine::State::kStarting) {
    Check(napi_get_null(env, &result));
    return result;
  }
  Check(napi_create_object(env, &result));
  Check(napi_set_named_property(env, result, "rank", New(env, engine.rank())));
  Check(napi_set_named_property(env, result, "size", New(env, engine.size())));
  Check(napi_set_named_property(env, result, "threadLevel", New(env, engine.thread_level())));
  Check(napi_set_named_property(env, result, "problem", New(env, engine.problem())));
  return result;
}

// On the environment's thread, when the work has ended: callback(outcome).
void Notify(napi_env env, napi_value, void*, void* data) {
  std::unique_ptr<Pending> pending(static_cast<Pending*>(data));
  // The environment is being ended.
  if (env == nullptr) return;
  napi_value callback, undefined, outcome;
  if (napi_get_reference_value(env, pending->callback, &callback) != napi_ok) return;
  napi_delete_reference(env, pending->callback);
  if (!pending->work->is_memory_used) {
    for (napi_ref buffer : pending->buffers) napi_delete_reference(env, buffer);
  }
  try {
    outcome = Outcome(env, *pending->work);
    Check(napi_get_undefined(env, &undefined));
    napi_call_function(env, undefined, callback, 1, &outcome, nullptr);
  } catch (const Exception&) {
  }
}

// start(group, { kind, tag, sequence, dtype, reduction, isMean, root, timeoutMs, input, output, description, addresses }, callback): the
// work.
napi_value Start(napi_env env, napi_value* args) {
  Handle* handle = External<Handle>(env, args[0]);
  const napi_value options = args[1];
  auto pending = std::make_unique<Pending>();
  pending->env = env;
  const std::shared_ptr<Work> work = pending->work;
  const auto integer = [&](const char* name) { return Integer(env, Get(env, options, name)); };
  work->kind = static_cast<Kind>(integer("kind"));
  work->tag = static_cast<uint32_t>(integer("tag"));
  work->sequence = static_cast<uint32_t>(integer("sequence"));
  work->dtype = static_cast<DType>(integer("dtype"));
  work->reduction = static_cast<Reduction>(integer("reduction"));
  work->is_mean = integer("isMean") != 0;
  work->root = static_cast<int>(integer("root"));
  work->timeout = std::chrono::milliseconds(integer("timeoutMs"));
  work->description = Text(env, Get(env, options, "description"));
  const Bytes input = BytesOf(env, Get(env, options, "input"));
  const Bytes output = BytesOf(env, Get(env, options, "output"));
  work->input = input.data;
  work->input_size = input.size;
  work->output = output.data;
  work->output_size = output.size;
  const napi_value addresses = Get(env, options, "addresses");
  if (!IsAbsent(env, addresses)) {
    for (uint32_t i = 0; i < Length(env, addresses); i++) {
      const Bytes address = BytesOf(env, At(env, addresses, i));
      work->addresses.emplace_back(address.data, address.data + address.size);
    }
  }
  napi_value external;
  Check(napi_create_external(
      env, new std::shared_ptr<Work>(work), [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<Work>*>(data); }, nullptr,
      &external));
  Check(napi_create_reference(env, args[2], 1, &pending->callback));
  for (const char* name : {"input", "output"}) {
    const napi_value buffer = Get(env, options, name);
    if (IsAbsent(env, buffer)) continue;
    pending->buffers.emplace_back();
    Check(napi_create_reference(env, buffer, 1, &pending->buffers.back()));
  }
  // One a work: it holds the process until the work has ended.
  Check(napi_create_threadsafe_function(env, nullptr, nullptr, New(env, "dxtensor.distributed"), 0, 1, nullptr, nullptr, nullptr, Notify,
                                        &pending->notify));
  Pending* held = pending.release();
  work->done = [held] {
    const napi_threadsafe_function notify = held->notify;
    if (napi_call_threadsafe_function(notify, held, napi_tsfn_nonblocking) == napi_ok)
      napi_release_threadsafe_function(notify, napi_tsfn_release);
  };
  if (work->kind == Kind::kSend || work->kind == Kind::kReceive) handle->group->Transfer(work);
  else handle->group->Start(work);
  return external;
}

// wait(work): blocks, and gives its outcome.
napi_value Wait(napi_env env, napi_value* args) {
  const std::shared_ptr<Work> work = *External<std::shared_ptr<Work>>(env, args[0]);
  work->Wait();
  return Outcome(env, *work);
}

// watch(group): notices ranks that end.
napi_value Watch(napi_env env, napi_value* args) {
  Handle* handle = External<Handle>(env, args[0]);
  handle->group->Watch([world = std::weak_ptr<World>(handle->world)](int rank) {
    if (const auto found = world.lock()) found->Lost(rank);
  });
  return nullptr;
}

// close(group, isClean).
napi_value Close(napi_env env, napi_value* args) {
  Handle* handle = External<Handle>(env, args[0]);
  bool is_clean;
  Check(napi_get_value_bool(env, args[1], &is_clean));
  handle->group->Close(is_clean);
  Own(env)->groups.erase(handle->group);
  return nullptr;
}

void CloseAll(void* data) {
  auto* environment = static_cast<Environment*>(data);
  for (const auto& group : environment->groups) group->Close(false);
  environment->groups.clear();
}

napi_value Init(napi_env env, napi_value exports) {
  try {
    auto* environment = new Environment();
    Check(napi_set_instance_data(
        env, environment, [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); }, nullptr));
    Check(napi_add_env_cleanup_hook(env, CloseAll, environment));
    const auto add = [&](const char* name, napi_callback callback) {
      napi_value function;
      Check(napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function));
      Check(napi_set_named_property(env, exports, name, function));
    };
    add("createGroup", Entry<1, CreateGroup>);
    add("createMpiGroup", Entry<1, CreateMpiGroup>);
    add("loadMpi", Entry<1, LoadMpi>);
    add("startMpi", Entry<0, StartMpi>);
    add("start", Entry<3, Start>);
    add("wait", Entry<1, Wait>);
    add("watch", Entry<1, Watch>);
    add("close", Entry<2, Close>);
    const std::string version =
        std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." + std::to_string(GLOO_VERSION_PATCH);
    Check(napi_set_named_property(env, exports, "version", New(env, version)));
    Check(napi_set_named_property(env, exports, "interfaceVersion", New(env, 4)));
  } catch (const Exception&) {
    napi_throw_error(env, nullptr, "dxtensor.distributed could not be initialised");
  }
  return exports;
}

}  // namespace
}  // namespace dxtensor::distributed

NAPI_MODULE_INIT() { return dxtensor::distributed::Init(env, exports); }
