#include "promises.h"

#include "errors.h"

namespace dxtensor::addon {

Promises::Promises(napi_env env) : env_(env), mailbox_(std::make_shared<Mailbox>()) {
  napi_value name = js::New(env, std::string("dxtensor"));
  js::Check(env, napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, Deliver, &mailbox_->wake));
  napi_unref_threadsafe_function(env, mailbox_->wake);
}

Promises::~Promises() { Close(); }

void Promises::Close() {
  std::lock_guard<std::mutex> lock(mailbox_->mutex);
  if (!mailbox_->wake) return;
  napi_release_threadsafe_function(mailbox_->wake, napi_tsfn_abort);
  mailbox_->wake = nullptr;
}

Promises::Pending Promises::New(napi_value value) {
  auto entry = std::make_shared<Entry>();
  Pending pending;
  pending.entry = entry;
  // The reference first: it can be taken back, a promise cannot.
  if (value) js::Check(env_, napi_create_reference(env_, value, 1, &entry->value));
  if (napi_status status = napi_create_promise(env_, &entry->deferred, &pending.promise); status != napi_ok) {
    if (entry->value) napi_delete_reference(env_, entry->value);
    js::ThrowStatus(env_, status);
  }
  if (pending_++ == 0) napi_ref_threadsafe_function(env_, mailbox_->wake);
  pending.settle = [entry, mailbox = mailbox_](const dml::Failure* failure) {
    if (failure) entry->failure = *failure;
    std::lock_guard<std::mutex> lock(mailbox->mutex);
    if (!mailbox->wake) return;
    mailbox->settled.push_back(entry);
    napi_call_threadsafe_function(mailbox->wake, nullptr, napi_tsfn_nonblocking);
  };
  return pending;
}

void Promises::Deliver(napi_env env, napi_value, void* context, void*) {
  if (env) static_cast<Promises*>(context)->DeliverAll(env);
}

void Promises::DeliverAll(napi_env env) noexcept {
  std::deque<std::shared_ptr<Entry>> settled;
  {
    std::lock_guard<std::mutex> lock(mailbox_->mutex);
    settled.swap(mailbox_->settled);
  }
  for (auto& entry : settled) {
    // A thread that is being ended refuses; then nobody waits for the promise.
    Guarded(env, [&]() -> napi_value {
      Settle(env, *entry);
      return nullptr;
    });
    Done(env);
  }
}

void Promises::Done(napi_env env) {
  if (--pending_ == 0) napi_unref_threadsafe_function(env, mailbox_->wake);
}

void Promises::TakeBack(const Pending& pending) noexcept {
  // Settled, since N-API frees only such; JavaScript never sees it.
  Guarded(env_, [&]() -> napi_value {
    Settle(env_, *pending.entry);
    return nullptr;
  });
  Done(env_);
}

void Promises::Settle(napi_env env, Entry& entry) {
  napi_value value = js::Undefined(env);
  if (entry.value) {
    js::Check(env, napi_get_reference_value(env, entry.value, &value));
    napi_delete_reference(env, entry.value);
  }
  if (entry.failure) js::Check(env, napi_reject_deferred(env, entry.deferred, MakeError(env, *entry.failure)));
  else js::Check(env, napi_resolve_deferred(env, entry.deferred, value));
}

}  // namespace dxtensor::addon
