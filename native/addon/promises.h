// Promises that other threads settle. They keep the process alive while one is pending, and not otherwise.
//
// New and the destructor are the environment's thread's. The function that New returns may be called once by any thread, also
// after the environment has gone: then nothing happens.
#pragma once

#include <node_api.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "../dml/failure.h"

namespace dxtensor::addon {

class Promises {
 public:
  explicit Promises(napi_env env);
  ~Promises();

  struct Entry {
    napi_deferred deferred = nullptr;
    napi_ref value = nullptr;
    std::optional<dml::Failure> failure;
  };
  struct Pending {
    napi_value promise;
    std::function<void(const dml::Failure*)> settle;
    std::shared_ptr<Entry> entry;
  };
  // Resolves with `value` (kept alive until then), undefined where null. Throws js::Interrupted.
  Pending New(napi_value value);
  // What the promise was made for was not begun: nobody is to be told of it, and `settle` must not be called.
  void TakeBack(const Pending& pending) noexcept;
  // No promise is settled any more: those that are pending stay so, and `settle` does nothing. Again: nothing happens.
  void Close();

 private:
  struct Mailbox {
    std::mutex mutex;
    std::deque<std::shared_ptr<Entry>> settled;
    napi_threadsafe_function wake = nullptr;  // null once closed
  };
  static void Deliver(napi_env env, napi_value callback, void* context, void* data);
  void DeliverAll(napi_env env) noexcept;
  static void Settle(napi_env env, Entry& entry);
  void Done(napi_env env);

  napi_env env_;
  std::shared_ptr<Mailbox> mailbox_;
  uint64_t pending_ = 0;
};

}  // namespace dxtensor::addon
