#include "lapack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "../dml/dynamic_library.h"
#include "errors.h"

namespace dxtensor::addon {

namespace {

// More than the longest routine has with the lengths of its texts.
constexpr size_t kMaxArguments = 20;

// The arguments of one call, by position. Nothing of JavaScript runs once they are read.
struct Call {
  std::array<int32_t, kMaxArguments> numbers{};
  std::array<char, kMaxArguments> letters{};
  std::array<js::Bytes, kMaxArguments> arrays{};

  int64_t I(size_t at) const { return numbers[at]; }
  bool Is(size_t at, const char* allowed) const { return letters[at] && std::strchr(allowed, letters[at]); }
  bool Doubles(size_t at, int64_t min) const { return static_cast<int64_t>(arrays[at].size / sizeof(double)) >= min; }
  bool Integers(size_t at, int64_t min) const { return static_cast<int64_t>(arrays[at].size / sizeof(int32_t)) >= min; }
  // A matrix in the array, whose leading dimension is the next argument.
  bool Matrix(size_t at, int64_t rows, int64_t columns) const {
    int64_t leading = I(at + 1);
    return rows >= 0 && columns >= 0 && leading >= std::max<int64_t>(1, rows) && Doubles(at, leading * columns);
  }
  // Working space in the array, whose length is the next argument; -1 asks for the length.
  bool Work(size_t at, int64_t min) const {
    return I(at + 1) == -1 ? Doubles(at, 1) : I(at + 1) >= std::max<int64_t>(1, min) && Doubles(at, I(at + 1));
  }
  // Rows from 1 to n; with blocks also pairs of equal negative ones.
  bool Pivots(size_t at, int64_t n, bool blocks) const {
    if (n < 0 || !Integers(at, n)) return false;
    const auto* rows = reinterpret_cast<const int32_t*>(arrays[at].data);
    for (int64_t i = 0; i < n; i++) {
      if (rows[i] >= 1 && rows[i] <= n) continue;
      if (!blocks || rows[i] >= 0 || -static_cast<int64_t>(rows[i]) > n || i + 1 >= n || rows[i + 1] != rows[i]) return false;
      i++;
    }
    return true;
  }
};

bool FitsSvd(const Call& c) {
  int64_t m = c.I(1), n = c.I(2), min = std::min(m, n), max = std::max(m, n);
  bool all = c.Is(0, "A"), none = c.Is(0, "N");
  if (!c.Is(0, "ASN") || !c.Matrix(3, m, n)) return false;
  bool left = none ? c.I(7) >= 1 : c.Matrix(6, m, all ? m : min);
  bool right = none ? c.I(9) >= 1 : c.Matrix(8, all ? n : min, n);
  return left && right && c.Doubles(5, min) && c.Work(10, 4 * min * min + 10 * min + max) && c.Integers(12, 8 * min);
}

struct Routine {
  const char* name;
  // c: a letter, i: a number, d: doubles, n: 32-bit integers.
  const char* kinds;
  bool (*fits)(const Call&);
};

// In the order of LAPACK's documentation.
constexpr Routine kRoutines[] = {
    {"dpotrf", "cidin", [](const Call& c) { return c.Is(0, "L") && c.Matrix(2, c.I(1), c.I(1)); }},
    {"dgetrf", "iidinn", [](const Call& c) { return c.Matrix(2, c.I(0), c.I(1)) && c.Integers(4, std::min(c.I(0), c.I(1))); }},
    {"dgetrs", "ciidindin",
     [](const Call& c) {
       return c.Is(0, "NT") && c.Matrix(3, c.I(1), c.I(1)) && c.Matrix(6, c.I(1), c.I(2)) && c.Pivots(5, c.I(1), false);
     }},
    {"dtrsm", "cccciiddidi",
     [](const Call& c) {
       bool options = c.Is(0, "L") && c.Is(1, "UL") && c.Is(2, "NT") && c.Is(3, "UN");
       return options && c.Doubles(6, 1) && c.Matrix(7, c.I(4), c.I(4)) && c.Matrix(9, c.I(4), c.I(5));
     }},
    {"dsytrf", "cidindin",
     [](const Call& c) { return c.Is(0, "L") && c.Matrix(2, c.I(1), c.I(1)) && c.Integers(4, c.I(1)) && c.Work(5, 1); }},
    {"dsytrs", "ciidindin",
     [](const Call& c) { return c.Is(0, "L") && c.Matrix(3, c.I(1), c.I(1)) && c.Matrix(6, c.I(1), c.I(2)) && c.Pivots(5, c.I(1), true); }},
    {"dgeqrf", "iididdin",
     [](const Call& c) { return c.Matrix(2, c.I(0), c.I(1)) && c.Doubles(4, std::min(c.I(0), c.I(1))) && c.Work(5, c.I(1)); }},
    {"dorgqr", "iiididdin",
     [](const Call& c) {
       return c.I(0) >= c.I(1) && c.I(1) >= c.I(2) && c.I(2) >= 0 && c.Matrix(3, c.I(0), c.I(1)) && c.Doubles(5, c.I(2)) &&
              c.Work(6, c.I(1));
     }},
    {"dgesdd", "ciididdididinn", FitsSvd},
    {"dsyevd", "ccididdinin",
     [](const Call& c) {
       int64_t n = c.I(2);
       bool integers = c.I(9) == -1 ? c.Integers(8, 1) : c.I(9) >= 3 + 5 * n && c.Integers(8, c.I(9));
       return c.Is(0, "V") && c.Is(1, "L") && c.Matrix(3, n, n) && c.Doubles(5, n) && c.Work(6, 1 + 6 * n + 2 * n * n) && integers;
     }},
    {"dgeev", "ccididddididin",
     [](const Call& c) {
       int64_t n = c.I(2);
       bool values = c.Doubles(5, n) && c.Doubles(6, n);
       return c.Is(0, "N") && c.Is(1, "V") && c.Matrix(3, n, n) && values && c.I(8) >= 1 && c.Matrix(9, n, n) && c.Work(11, 4 * n);
     }},
};

struct Libraries {
  std::mutex mutex;
  std::map<std::string, void*> open;
};
Libraries& Shared() {
  static auto* libraries = new Libraries;  // never freed: threads may still call it while the process ends
  return *libraries;
}

// Fortran's spelling, that of the OpenBLAS in Python's packages, and the plain one.
void* Find(const std::string& path, const std::string& routine) {
  Libraries& shared = Shared();
  std::lock_guard<std::mutex> lock(shared.mutex);
  auto found = shared.open.find(path);
  if (found == shared.open.end()) return nullptr;
  for (const std::string& name : {routine + "_", "scipy_" + routine + "_", routine})
    if (void* address = dml::FindSymbol(found->second, name.c_str())) return address;
  return nullptr;
}

const Routine* Known(const std::string& name) {
  for (const Routine& routine : kRoutines)
    if (name == routine.name) return &routine;
  return nullptr;
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

// Of the array's own type, so that its elements lie where they may.
js::Bytes ArrayOf(const js::Value& value, napi_typedarray_type wanted, const char* problem) {
  bool is_array = false;
  js::Check(value.env(), napi_is_typedarray(value.env(), value, &is_array));
  js::Bytes bytes;
  napi_typedarray_type type = napi_int8_array;
  if (is_array) js::Check(value.env(), napi_get_typedarray_info(value.env(), value, &type, nullptr, nullptr, nullptr, nullptr));
  if (!is_array || type != wanted || !js::ViewOf(value, &bytes)) Invalid(problem);
  return bytes;
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

bool HasLapack(const std::string& path, const std::string& routine) { return Known(routine) && Find(path, routine); }

void CallLapack(const std::string& path, const std::string& name, const js::Value& arguments) {
  const Routine* routine = Known(name);
  void* address = routine ? Find(path, name) : nullptr;
  if (!address) Invalid("lapackCall: no such routine: " + name);
  size_t count = std::strlen(routine->kinds);
  if (!arguments.IsArray() || arguments.Length() != count)
    Invalid("lapackCall: " + name + " takes " + std::to_string(count) + " arguments");
  // All of them first: reading one may run JavaScript, which may take away the memory of another.
  std::vector<js::Value> values;
  for (size_t i = 0; i < count; i++) values.push_back(arguments.At(static_cast<uint32_t>(i)));
  Call call;
  std::array<void*, kMaxArguments> addresses{};
  size_t texts = 0;
  for (size_t i = 0; i < count; i++) {
    const js::Value& value = values[i];
    switch (routine->kinds[i]) {
      case 'i': {
        double number = value.IsNumber() ? value.Number() : -2;
        if (!(number >= -1 && number <= 0x7fffffff) || number != static_cast<int32_t>(number))
          Invalid("lapackCall: expected an integer from -1 to 2^31 - 1");
        call.numbers[i] = static_cast<int32_t>(number);
        addresses[i] = &call.numbers[i];
        break;
      }
      case 'c': {
        std::string text = value.IsString() ? value.Text() : "";
        if (text.size() != 1) Invalid("lapackCall: expected a text of one letter");
        call.letters[i] = text[0];
        addresses[i] = &call.letters[i];
        texts++;
        break;
      }
      case 'd': call.arrays[i] = ArrayOf(value, napi_float64_array, "lapackCall: expected a Float64Array"); break;
      default: call.arrays[i] = ArrayOf(value, napi_int32_array, "lapackCall: expected an Int32Array");
    }
    if (!addresses[i]) addresses[i] = call.arrays[i].data;
  }
  bool has_info = routine->kinds[count - 1] != 'n' || call.Integers(count - 1, 1);
  if (!has_info || !routine->fits(call)) Invalid("lapackCall: options or sizes that " + name + " does not take");
  // The hidden lengths, which compilers of Fortran pass by value.
  for (size_t i = 0; i < texts; i++) addresses[count + i] = reinterpret_cast<void*>(size_t{1});
  static constexpr auto callers = Callers(std::make_index_sequence<kMaxArguments + 1>());
  callers[count + texts](address, addresses.data());
}

}  // namespace dxtensor::addon
