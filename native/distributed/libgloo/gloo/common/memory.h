// Gloo's headers of the TCP transport include this one, which libgloo-dev does not contain: what they name of it.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class WeakNonOwningPtr {
  std::weak_ptr<T> pointer_;
};

}  // namespace gloo
