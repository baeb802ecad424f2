#include "promises.h"

#include "errors.h"

namespace dxtensor::addon {

Promises::Promises(napi_env env) : env_(env), mailbox_(std::make_shared<Mailbox>()) {
  napi_value name;
  napi_create_string_utf8(env, "dxtensor", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, this, Deliver, &mailbox_->wake);
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
  napi_create_promise(env_, &entry->deferred, &pending.promise);
  if (value) napi_create_reference(env_, value, 1, &entry->value);
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

void Promises::DeliverAll(napi_env env) {
  std::deque<std::shared_ptr<Entry>> settled;
  {
    std::lock_guard<std::mutex> lock(mailbox_->mutex);
    settled.swap(mailbox_->settled);
  }
  for (auto& entry : settled) {
    napi_value value = nullptr;
    if (entry->value) {
      napi_get_reference_value(env, entry->value, &value);
      napi_delete_reference(env, entry->value);
    } else {
      napi_get_undefined(env, &value);
    }
    if (entry->failure) napi_reject_deferred(env, entry->deferred, MakeError(env, *entry->failure));
    else napi_resolve_deferred(env, entry->deferred, value);
    if (--pending_ == 0) napi_unref_threadsafe_function(env, mailbox_->wake);
  }
}

}  // namespace dxtensor::addon
