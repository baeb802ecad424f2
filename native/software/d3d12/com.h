// The base of the software adapter's COM objects: reference counts, QueryInterface, private data, structures by value.
//
// An object has two counts. The caller's count (AddRef, Release) is COM's; when it reaches 0 the object is released for the caller and
// OnReleased runs. Holds are the adapter's own (work that is recorded or in flight): the object is deleted when the last hold goes. So a
// release that comes too early is an error, and never crashes the adapter. Any thread may call these methods.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "abi/abi.h"

// Methods that return a structure by value: plain C++ on Linux and with MSVC; GCC on Windows declares MSVC's hidden pointer.
#if defined(_WIN32) && !defined(_MSC_VER)
#define DXT_STRUCT_METHOD(Type, Name, ...) Type* STDMETHODCALLTYPE Name(Type* struct_result, ##__VA_ARGS__)
#define DXT_RETURN_STRUCT(...) return *struct_result = (__VA_ARGS__), struct_result
#define DXT_STRUCT_BY_POINTER 1
#else
#define DXT_STRUCT_METHOD(Type, Name, ...) Type STDMETHODCALLTYPE Name(__VA_ARGS__)
#define DXT_RETURN_STRUCT(...) return (__VA_ARGS__)
#endif

namespace dxtensor::software {

// A COM reference.
template <class T>
class ComRef {
 public:
  ComRef() = default;
  explicit ComRef(T* object) : object_(object) {
    if (object_) object_->AddRef();
  }
  ComRef(const ComRef& other) : ComRef(other.object_) {}
  ComRef(ComRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ComRef& operator=(ComRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ComRef() {
    if (object_) object_->Release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// A hold: keeps memory and data of an object, not its COM reference.
template <class T>
class Held {
 public:
  Held() = default;
  explicit Held(T* object) : object_(object) {
    if (object_) object_->Hold();
  }
  Held(const Held& other) : Held(other.object_) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() {
    if (object_) object_->Drop();
  }
  // Takes over the hold that a new object is born with.
  static Held Adopt(T* object) {
    Held held;
    held.object_ = object;
    return held;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// A counted object without COM, for Held.
class Counted {
 public:
  void Hold() const { holds_.fetch_add(1, std::memory_order_relaxed); }
  void Drop() const {
    if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Counted() = default;

 private:
  mutable std::atomic<uint32_t> holds_{1};
};

// SetPrivateData and its relatives. Interfaces stored in it are kept until the object goes.
class PrivateData {
 public:
  HRESULT Get(REFGUID guid, UINT* size, void* data);
  HRESULT Set(REFGUID guid, UINT size, const void* data);
  HRESULT SetInterface(REFGUID guid, IUnknown* object);

 private:
  struct Entry {
    GUID guid;
    std::vector<uint8_t> bytes;
    ComRef<IUnknown> object;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

// I: the interface that is implemented. Also: further interfaces whose methods I has.
template <class I, class... Also>
class ComObject : public I {
 public:
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override {
    if (!out) return E_POINTER;
    if (iid == __uuidof(IUnknown) || Matches<Also...>(iid)) {
      AddRef();
      *out = static_cast<I*>(this);
      return S_OK;
    }
    *out = nullptr;
    return QueryOther(iid, out);
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return references_.fetch_add(1, std::memory_order_relaxed) + 1; }
  ULONG STDMETHODCALLTYPE Release() override {
    ULONG left = references_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (!left) {
      OnReleased();
      Drop();
    }
    return left;
  }
  void Hold() { holds_.fetch_add(1, std::memory_order_relaxed); }
  void Drop() {
    if (holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // For registries: a reference unless the last one has gone.
  bool TryAddRef() {
    ULONG count = references_.load(std::memory_order_relaxed);
    while (count && !references_.compare_exchange_weak(count, count + 1)) {
    }
    return count != 0;
  }

 protected:
  virtual ~ComObject() = default;
  virtual HRESULT QueryOther(REFIID, void**) { return E_NOINTERFACE; }
  virtual void OnReleased() {}

 private:
  template <class First, class... Rest>
  static bool Matches(REFIID iid) {
    if (iid == __uuidof(First)) return true;
    if constexpr (sizeof...(Rest) > 0) return Matches<Rest...>(iid);
    return false;
  }

  std::atomic<ULONG> references_{1};
  std::atomic<uint32_t> holds_{1};  // one for all of the caller's references
};

// The four methods that Direct3D's and DirectML's objects have alike.
template <class I, class PrivateInterface, class... Also>
class NamedObject : public ComObject<I, Also...> {
 public:
  HRESULT STDMETHODCALLTYPE GetPrivateData(REFGUID guid, UINT* size, void* data) override { return private_data_.Get(guid, size, data); }
  HRESULT STDMETHODCALLTYPE SetPrivateData(REFGUID guid, UINT size, const void* data) override {
    return private_data_.Set(guid, size, data);
  }
  HRESULT STDMETHODCALLTYPE SetPrivateDataInterface(REFGUID guid, PrivateInterface* object) override {
    return private_data_.SetInterface(guid, const_cast<IUnknown*>(object));
  }
  HRESULT STDMETHODCALLTYPE SetName(LPCWSTR) override { return S_OK; }

 private:
  PrivateData private_data_;
};

// A further interface of an object, which answers for it and has its counts. The object's QueryOther hands it out.
template <class I, class Owner>
class SecondInterface : public I {
 public:
  explicit SecondInterface(Owner* owner) : owner_(owner) {}
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) override { return owner_->QueryInterface(iid, out); }
  ULONG STDMETHODCALLTYPE AddRef() override { return owner_->AddRef(); }
  ULONG STDMETHODCALLTYPE Release() override { return owner_->Release(); }

 protected:
  Owner* const owner_;
};

// Runs what may throw; HRESULT of its failure.
template <class Function>
HRESULT Guard(Function function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return E_OUTOFMEMORY;
  } catch (...) {
    return E_FAIL;
  }
}

// Hands a new object (with one reference, which this takes) to the caller. out may be null: the arguments were only tried.
template <class T>
HRESULT Deliver(T* object, REFIID iid, void** out) {
  HRESULT result = out ? object->QueryInterface(iid, out) : S_FALSE;
  object->Release();
  return result;
}

}  // namespace dxtensor::software
