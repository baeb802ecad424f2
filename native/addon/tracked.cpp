#include "tracked.h"

#include "buffers.h"
#include "errors.h"
#include "js.h"

namespace dxtensor::addon {

Handle Tracked::Add(napi_value owner, uint64_t size) {
  napi_ref reference = nullptr;
  napi_status status = napi_create_reference(env_, owner, 0, &reference);
  if (status == napi_object_expected || status == napi_invalid_arg) Invalid("the owner of memory must be an object");
  js::Check(env_, status);
  owners_.emplace(++last_, Owner{reference, size});
  buffers_.Weigh(1, static_cast<int64_t>(size));
  return last_;
}

void Tracked::Remove(Handle handle) {
  const auto found = owners_.find(handle);
  if (found == owners_.end()) Invalid("memory " + std::to_string(handle) + " is not tracked");
  napi_delete_reference(env_, found->second.reference);
  buffers_.Weigh(-1, -static_cast<int64_t>(found->second.size));
  owners_.erase(found);
}

std::vector<Handle> Tracked::Collected() const {
  std::vector<Handle> collected;
  for (const auto& [handle, owner] : owners_) {
    napi_handle_scope scope;
    napi_open_handle_scope(env_, &scope);
    napi_value value = nullptr;
    if (napi_get_reference_value(env_, owner.reference, &value) != napi_ok || !value) collected.push_back(handle);
    napi_close_handle_scope(env_, scope);
  }
  return collected;
}

}  // namespace dxtensor::addon
