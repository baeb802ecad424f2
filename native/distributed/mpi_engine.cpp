#include "mpi_engine.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "mpi_group.h"

namespace dxtensor::distributed {
namespace {

constexpr int kNoticeTag = 0;
// While works run: so many polls without a rest, and then one after each.
constexpr int kSpins = 2000;
constexpr auto kRest = std::chrono::microseconds(50);
// While none runs: how often notices of other ranks are looked for.
constexpr auto kIdle = std::chrono::milliseconds(20);
constexpr auto kLeave = std::chrono::seconds(10);

void ReduceWithin(int dtype, int reduction, const void* in, void* inout, size_t elements) {
  ReduceFor(static_cast<DType>(dtype), static_cast<Reduction>(reduction))(inout, in, inout, elements);
}

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0) return ".";
  const std::string file = info.dli_fname;
  const size_t end = file.rfind('/');
  return end == std::string::npos ? "." : file.substr(0, end);
}

std::string FileOf(void* symbol) {
  Dl_info info;
  return dladdr(symbol, &info) == 0 ? "" : info.dli_fname;
}

}  // namespace

// What a rank tells another one, with its request.
struct MpiEngine::Notice {
  int32_t data[2] = {0, 0};  // The group, and the rank of the world that gives it up.
  MpiRequest request = 0;
};

// It outlives the environment and its thread: never destroyed.
MpiEngine& MpiEngine::Get() {
  static auto* engine = new MpiEngine();
  return *engine;
}

MpiEngine::MpiEngine() = default;

const MpiLibrary& MpiEngine::Load(const std::vector<std::string>& files) {
  if (functions_ != nullptr) return library_;
  std::string problems;
  // UCX, over which MPICH may run, tests its memory hooks when MPI starts, in MPI's thread: it moves the end of the heap up and down.
  // malloc may move it in the main thread at the same time, and then lose memory in use; 2 of 156 starts crashed so, none of 200 without
  // the hooks. Without them UCX registers memory for each message.
  setenv("UCX_MEM_EVENTS", "no", 0);
  for (const std::string& file : files) {
    // Global: the shim's names are found in it, and so are those of Open MPI's own components.
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      problems += (problems.empty() ? "" : "; ") + std::string(dlerror());
      continue;
    }
    void* entry = dlsym(library, "MPI_Get_library_version");
    if (entry == nullptr) throw std::runtime_error(file + " is no MPI library: it has no MPI_Get_library_version");
    library_.file = FileOf(entry);
    library_.abi = dlsym(library, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "mpich";
    const std::string shim = OwnFolder() + "/mpi-" + library_.abi + ".so";
    void* own = dlopen(shim.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (own == nullptr) throw std::runtime_error(std::string(dlerror()) + ", which " + library_.file + " needs");
    const auto functions = reinterpret_cast<decltype(&dxtensor_mpi_functions)>(dlsym(own, "dxtensor_mpi_functions"));
    const MpiFunctions* found = functions == nullptr ? nullptr : functions(ReduceWithin);
    if (found == nullptr || found->interface_version != kMpiInterface) throw std::runtime_error(shim + " is of another version");
    std::vector<char> text(kMpiText, '\0');
    found->library_version(text.data());
    library_.version = text.data();
    functions_ = found;
    return library_;
  }
  throw std::runtime_error(problems.empty() ? "no file was named" : problems);
}

void MpiEngine::Start() {
  std::lock_guard<std::mutex> held(lock_);
  if (state_ != State::kIdle) return;
  state_ = State::kStarting;
  std::thread([this] { Run(); }).detach();
}

MpiEngine::State MpiEngine::state() {
  std::lock_guard<std::mutex> held(lock_);
  return state_;
}

std::string MpiEngine::problem() {
  std::lock_guard<std::mutex> held(lock_);
  return problem_;
}

void MpiEngine::Post(std::function<void()> command) {
  {
    std::lock_guard<std::mutex> held(lock_);
    commands_.push_back(std::move(command));
  }
  changed_.notify_all();
}

std::string MpiEngine::Text(int code) const {
  std::vector<char> text(kMpiText, '\0');
  functions_->error_text(code, text.data());
  return text.data();
}

void MpiEngine::Add(std::shared_ptr<MpiGroup> group) { groups_.push_back(std::move(group)); }

void MpiEngine::Remove(MpiGroup* group) {
  groups_.erase(std::remove_if(groups_.begin(), groups_.end(), [&](const auto& one) { return one.get() == group; }), groups_.end());
}

void MpiEngine::Notify(int group, const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    if (rank == rank_) continue;
    auto notice = std::make_unique<Notice>();
    notice->data[0] = group;
    notice->data[1] = rank_;
    if (functions_->send(notice->data, sizeof notice->data, 1, rank, kNoticeTag, control_, &notice->request) == 0)
      sent_.push_back(std::move(notice));
  }
}

void MpiEngine::Fail(const std::string& problem) {
  std::lock_guard<std::mutex> held(lock_);
  state_ = State::kFailed;
  problem_ = problem;
}

bool MpiEngine::Begin() {
  int code = functions_->init(&thread_level_, &rank_, &size_);
  if (code == 0) code = functions_->duplicate_world(&control_);
  if (code != 0) {
    Fail("MPI did not start: " + Text(code));
    return false;
  }
  largest_tag_ = functions_->largest_tag();
  if (thread_level_ == 0) {
    Fail("this MPI was built for processes of one thread");
    return false;
  }
  // Before what MPI itself has registered.
  std::atexit([] { Get().AtExit(); });
  std::lock_guard<std::mutex> held(lock_);
  state_ = State::kReady;
  return true;
}

bool MpiEngine::Receive() {
  bool is_new = false;
  for (;;) {
    if (received_ == nullptr) {
      received_ = std::make_unique<Notice>();
      if (functions_->receive_from_any(received_->data, sizeof received_->data, kNoticeTag, control_, &received_->request) != 0)
        return is_new;
    }
    int is_complete = 0;
    if (functions_->test(&received_->request, &is_complete) != 0 || is_complete == 0) return is_new;
    const auto notice = std::move(received_);
    is_new = true;
    const auto groups = groups_;
    for (const auto& group : groups) group->Told(notice->data[0], notice->data[1]);
  }
}

bool MpiEngine::Round() {
  bool is_busy = Receive();
  const auto groups = groups_;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& group : groups) is_busy |= group->Advance(now);
  for (auto& notice : sent_) {
    int is_complete = 0;
    if (functions_->test(&notice->request, &is_complete) == 0 && is_complete != 0) notice.reset();
  }
  sent_.erase(std::remove(sent_.begin(), sent_.end(), nullptr), sent_.end());
  return is_busy;
}

void MpiEngine::Run() {
  if (!Begin()) return;
  int spins = 0;
  for (;;) {
    std::vector<std::function<void()>> commands;
    bool is_ending;
    {
      std::lock_guard<std::mutex> held(lock_);
      commands.swap(commands_);
      is_ending = is_ending_;
    }
    for (const auto& command : commands) command();
    if (is_ending) break;
    // MPI would write to memory that went with its environment.
    const bool is_left = is_abandoned_ && groups_.empty();
    const bool is_new = (!is_left && Round()) || !commands.empty();
    const bool is_active =
        (!is_left && !sent_.empty()) || std::any_of(groups_.begin(), groups_.end(), [](const auto& one) { return one->is_active(); });
    if (is_new) {
      spins = 0;
    } else if (is_active && spins < kSpins) {
      spins++;
      sched_yield();
    } else {
      std::unique_lock<std::mutex> held(lock_);
      const auto is_called = [&] { return !commands_.empty() || is_ending_; };
      if (is_active) changed_.wait_for(held, kRest, is_called);
      else changed_.wait_for(held, kIdle, is_called);
    }
  }
  if (!is_abandoned_ && groups_.empty() && sent_.empty()) {
    if (received_ != nullptr) functions_->cancel(&received_->request);
    functions_->free_comm(&control_);
    functions_->finalize();
  }
  std::lock_guard<std::mutex> held(lock_);
  has_ended_ = true;
  changed_.notify_all();
}

void MpiEngine::AtExit() {
  std::unique_lock<std::mutex> held(lock_);
  if (state_ != State::kReady) return;
  is_ending_ = true;
  changed_.notify_all();
  changed_.wait_for(held, kLeave, [&] { return has_ended_; });
}

}  // namespace dxtensor::distributed
