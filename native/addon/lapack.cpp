#include "lapack.h"

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "../dml/dynamic_library.h"
#include "errors.h"

namespace dxtensor::addon {

namespace {

// More than the longest routine has with the lengths of its texts.
constexpr size_t kMost = 24;

struct Libraries {
  std::mutex mutex;
  std::map<std::string, void*> open;
};
Libraries& Shared() {
  static auto* libraries = new Libraries;  // never freed: threads may still call it while the process ends
  return *libraries;
}

template <size_t>
using Address = void*;

template <size_t... I>
void CallWith(void* routine, void* const* a, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(Address<I>...)>(routine)(a[I]...);
}

template <size_t... N>
constexpr auto Callers(std::index_sequence<N...>) {
  using Caller = void (*)(void*, void* const*);
  return std::array<Caller, sizeof...(N)>{[](void* routine, void* const* a) { CallWith(routine, a, std::make_index_sequence<N>()); }...};
}

}  // namespace

std::string OpenLapack(const std::string& path) {
  Libraries& shared = Shared();
  std::lock_guard<std::mutex> lock(shared.mutex);
  if (shared.open.count(path)) return "";
  std::string error;
  void* library = dml::OpenLibrary(path, true, &error);
  if (!library) return error;
  shared.open[path] = library;
  return "";
}

void* FindLapack(const std::string& path, const std::string& name) {
  Libraries& shared = Shared();
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto found = shared.open.find(path);
  return found == shared.open.end() ? nullptr : dml::FindSymbol(found->second, name.c_str());
}

void CallLapack(void* routine, const js::Value& arguments) {
  std::array<void*, kMost> addresses{};
  std::array<int32_t, kMost> numbers{};
  std::array<char, kMost> letters{};
  size_t count = arguments.Length(), texts = 0;
  if (count > kMost) Invalid("lapackCall: too many arguments");
  for (size_t i = 0; i < count; i++) {
    js::Value value = arguments.At(static_cast<uint32_t>(i));
    js::Bytes bytes;
    if (value.IsNumber()) {
      numbers[i] = static_cast<int32_t>(value.Number());
      addresses[i] = &numbers[i];
    } else if (value.IsString()) {
      std::string text = value.Text();
      if (text.size() != 1) Invalid("lapackCall: expected a text of one letter");
      letters[i] = text[0];
      addresses[i] = &letters[i];
      texts++;
    } else if (js::ViewOf(value, &bytes)) {
      addresses[i] = bytes.data;
    } else {
      Invalid("lapackCall: expected numbers, letters and typed arrays");
    }
  }
  if (count + texts > kMost) Invalid("lapackCall: too many arguments");
  // The hidden lengths, which compilers of Fortran pass by value.
  for (size_t i = 0; i < texts; i++) addresses[count + i] = reinterpret_cast<void*>(size_t{1});
  static constexpr auto callers = Callers(std::make_index_sequence<kMost + 1>());
  callers[count + texts](routine, addresses.data());
}

}  // namespace dxtensor::addon
