// Compares the software adapter's validation with that of a DirectML library: every operator type, changed in one thing after
// another, then in several.
//
//   validate_diff --dxcore P --d3d12 P --directml P [--operator NAME] [--rounds N] [--known FILE] [--verbose]
//
// Prints each disagreement and a count for each operator; exit status 1 when one is not in the file of known ones. The library
// runs in a child process, since a few descriptions crash it.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "software/directml/validate.h"
#include "cases/good.h"
#include "mutate.h"
#include "runtime.h"

namespace dxtensor::test {
namespace {

constexpr int32_t kNotAsked = 1, kCrashed = 2;

struct Shared {
  uint32_t next;
  int32_t answers[1 << 20];
};

// Answers of CreateOperator for a list of descriptions.
class Judge {
 public:
  explicit Judge(const RuntimePaths& paths) : paths_(paths) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
    shared_ = static_cast<Shared*>(memory);
  }
  ~Judge() { munmap(shared_, sizeof(Shared)); }
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  std::vector<int32_t> Ask(const std::vector<Mutant>& list) {
    if (list.size() > std::size(shared_->answers)) throw std::runtime_error("too many descriptions at once");
    std::fill_n(shared_->answers, list.size(), kNotAsked);
    shared_->next = 0;
    while (shared_->next < list.size()) {
      pid_t child = fork();
      if (child == 0) {
        Answer(list);
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (shared_->next < list.size()) {
        if (WIFEXITED(status)) throw std::runtime_error("the library's process ended with " + std::to_string(WEXITSTATUS(status)));
        shared_->answers[shared_->next++] = kCrashed;
      }
    }
    return {shared_->answers, shared_->answers + list.size()};
  }

 private:
  void Answer(const std::vector<Mutant>& list) {
    try {
      Runtime runtime(paths_);
      Ref<IDXCoreAdapterFactory> factory;
      Ref<IDXCoreAdapterList> adapters;
      Ref<IDXCoreAdapter> adapter;
      Ref<ID3D12Device> device;
      Ref<IDMLDevice> dml;
      Check(runtime.CreateAdapterFactory(__uuidof(IDXCoreAdapterFactory), factory.out_void()), "DXCoreCreateAdapterFactory");
      GUID attribute = kCoreCompute;
      Check(factory->CreateAdapterList(1, &attribute, __uuidof(IDXCoreAdapterList), adapters.out_void()), "CreateAdapterList");
      Check(adapters->GetAdapter(0, __uuidof(IDXCoreAdapter), adapter.out_void()), "GetAdapter");
      Check(runtime.CreateD3D12Device(adapter.get(), D3D_FEATURE_LEVEL_11_0, __uuidof(ID3D12Device), device.out_void()),
            "D3D12CreateDevice");
      Check(runtime.CreateDmlDevice(device.get(), DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, __uuidof(IDMLDevice), dml.out_void()),
            "DMLCreateDevice1");
      for (; shared_->next < list.size(); ++shared_->next) {
        schema::DmlDesc desc(list[shared_->next].desc);
        Ref<IDMLOperator> op;
        shared_->answers[shared_->next] = dml->CreateOperator(desc.get(), __uuidof(IDMLOperator), op.out_void());
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(3);
    }
  }
  static void Check(HRESULT hr, const char* call) {
    if (FAILED(hr)) throw std::runtime_error(std::string(call) + " failed: " + std::to_string(static_cast<uint32_t>(hr)));
  }

  RuntimePaths paths_;
  Shared* shared_;
};

struct Options {
  std::string only, known;
  unsigned rounds = 2;
  bool verbose = false;
};

class Comparison {
 public:
  Comparison(Judge& judge, const Options& options, uint32_t level) : judge_(judge), options_(options), level_(level) {
    std::ifstream file(options.known);
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#') known_.insert(line.substr(0, line.find("  ")));
  }

  // Mutants of the good descriptions, then of mutants that the library accepted.
  void Run(const std::vector<schema::OperatorDesc>& good) {
    std::vector<Mutant> pool;
    for (const schema::OperatorDesc& desc : good) pool.push_back({"good", desc});
    pool = Compare(pool);
    std::mt19937 random(1);
    for (unsigned round = 0; round < options_.rounds; ++round) {
      std::vector<Mutant> list;
      for (const Mutant& parent : pool) {
        std::vector<Mutant> mutants = Mutants(parent.desc);
        for (size_t i = 0; i < mutants.size(); ++i) {
          // The first round takes every mutant, later ones a sample of the many.
          if (round > 0 && random() % mutants.size() >= 12) continue;
          if (parent.name != "good") mutants[i].name = parent.name + ", " + mutants[i].name;
          list.push_back(std::move(mutants[i]));
        }
      }
      pool = Compare(list);
    }
  }

  int Report() const {
    unsigned disagreements = 0;
    for (auto& [name, count] : counts_) disagreements += count;
    std::printf("%u descriptions compared, %u accepted by both, %u refused by both, %u crashed the library, %u disagreements (%u known)\n",
                compared_, both_accept_, both_refuse_, crashed_, disagreements, known_hits_);
    for (auto& [name, count] : counts_) std::printf("  %5u %s\n", count, name.c_str());
    return disagreements ? 1 : 0;
  }

 private:
  std::vector<Mutant> Compare(const std::vector<Mutant>& list) {
    std::vector<int32_t> answers = judge_.Ask(list);
    std::vector<Mutant> accepted;
    for (size_t i = 0; i < list.size(); ++i) {
      ++compared_;
      if (answers[i] == kCrashed) {
        ++crashed_;
        std::printf("! %s (%s): the library crashes\n", Text(list[i].desc).c_str(), list[i].name.c_str());
        continue;
      }
      std::string why;
      HRESULT ours = software::Validate(list[i].desc, level_, &why);
      if (answers[i] == ours) {
        ++(ours == S_OK ? both_accept_ : both_refuse_);
        if (list[i].name == "good" && ours != S_OK)
          std::printf("= %s: both refuse a good description: %s\n", Text(list[i].desc).c_str(), why.c_str());
      } else if (Known(list[i], why)) {
        ++known_hits_;
      } else {
        std::string name = list[i].desc.schema->name;
        if (++counts_[name] <= 40 || options_.verbose)
          std::printf("%c %08x %s [%s] %s\n", answers[i] == S_OK ? '+' : '-', static_cast<uint32_t>(answers[i]), list[i].name.c_str(),
                      why.c_str(), Text(list[i].desc).c_str());
      }
      if (answers[i] == S_OK) accepted.push_back(list[i]);
    }
    return accepted;
  }

  // A line of the file: an operator's name or *, a colon, a part of the mutant's name or of our reason, two spaces, the why.
  bool Known(const Mutant& mutant, const std::string& why) const {
    std::string name = mutant.desc.schema->name;
    for (const std::string& line : known_) {
      size_t colon = line.find(": ");
      if (colon == std::string::npos || (line.substr(0, colon) != name && line.substr(0, colon) != "*")) continue;
      const std::string part = line.substr(colon + 2);
      if (mutant.name.find(part) != std::string::npos || why.find(part) != std::string::npos) return true;
    }
    return false;
  }

  Judge& judge_;
  const Options& options_;
  uint32_t level_;
  std::set<std::string> known_;
  std::map<std::string, unsigned> counts_;
  unsigned compared_ = 0, both_accept_ = 0, both_refuse_ = 0, crashed_ = 0, known_hits_ = 0;
};

int Main(int argc, char** argv) {
  RuntimePaths paths = PathsFrom(argc, argv);
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "--operator" && i + 1 < argc) options.only = argv[++i];
    else if (option == "--rounds" && i + 1 < argc) options.rounds = static_cast<unsigned>(std::stoul(argv[++i]));
    else if (option == "--known" && i + 1 < argc) options.known = argv[++i];
    else if (option == "--verbose") options.verbose = true;
  }
  if (paths.directml.empty()) {
    std::fprintf(stderr,
                 "usage: validate_diff --dxcore P --d3d12 P --directml P [--operator NAME] [--rounds N] [--known FILE] [--verbose]\n");
    return 2;
  }
  constexpr uint32_t kLevel = 0x6200;  // of Microsoft's library for Linux
  Judge judge(paths);
  Comparison comparison(judge, options, kLevel);
  std::map<std::string, std::vector<schema::OperatorDesc>> by_type;
  for (schema::OperatorDesc& desc : GoodDescriptions(kLevel)) by_type[desc.schema->name].push_back(std::move(desc));
  for (auto& [name, good] : by_type)
    if (options.only.empty() || name == options.only) comparison.Run(good);
  return comparison.Report();
}

}  // namespace
}  // namespace dxtensor::test

int main(int argc, char** argv) {
  try {
    return dxtensor::test::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "validate_diff: %s\n", error.what());
    return 2;
  }
}
