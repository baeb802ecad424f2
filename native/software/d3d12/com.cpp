#include "com.h"

namespace dxtensor::software {

HRESULT PrivateData::Get(REFGUID guid, UINT* size, void* data) {
  if (!size) return E_POINTER;
  std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (!(entry.guid == guid)) continue;
    UINT needed = entry.object ? sizeof(IUnknown*) : static_cast<UINT>(entry.bytes.size());
    UINT capacity = std::exchange(*size, needed);
    if (!data) return S_OK;
    if (capacity < needed) return DXGI_ERROR_MORE_DATA;
    if (IUnknown* object = entry.object.get()) {
      object->AddRef();
      std::memcpy(data, &object, sizeof object);
    } else if (needed) {
      std::memcpy(data, entry.bytes.data(), needed);
    }
    return S_OK;
  }
  *size = 0;
  return DXGI_ERROR_NOT_FOUND;
}

HRESULT PrivateData::Set(REFGUID guid, UINT size, const void* data) {
  return Guard([&]() -> HRESULT {
    Entry old;  // released outside the lock
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (!(entries_[i].guid == guid)) continue;
      old = std::move(entries_[i]);
      entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
    if (!data || !size) return S_OK;
    auto* bytes = static_cast<const uint8_t*>(data);
    entries_.push_back({guid, std::vector<uint8_t>(bytes, bytes + size), ComRef<IUnknown>()});
    return S_OK;
  });
}

HRESULT PrivateData::SetInterface(REFGUID guid, IUnknown* object) {
  HRESULT cleared = Set(guid, 0, nullptr);
  if (FAILED(cleared) || !object) return cleared;
  return Guard([&]() -> HRESULT {
    std::lock_guard<std::mutex> lock(mutex_);
    entries_.push_back({guid, {}, ComRef<IUnknown>(object)});
    return S_OK;
  });
}

}  // namespace dxtensor::software
