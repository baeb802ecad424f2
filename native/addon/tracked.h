// Objects that own memory of a backend from outside: weak references by number, and the size of their memory.
//
// The environment's thread.
#pragma once

#include <node_api.h>

#include <unordered_map>
#include <vector>

#include "handle.h"

namespace dxtensor::addon {

class Buffers;

class Tracked {
 public:
  // Weight is added to the buffers' pressure.
  Tracked(napi_env env, Buffers& buffers) : env_(env), buffers_(buffers) {}

  // A number for the memory of `owner`, which is referred to weakly. Larger than any handle of a buffer.
  Handle Add(napi_value owner, uint64_t size);
  // Throws dml::Failure when there is none of this number.
  void Remove(Handle handle);
  // Those whose owner has been collected, until they are removed: two copies of the library may share the addon.
  std::vector<Handle> Collected() const;

 private:
  struct Owner {
    napi_ref reference = nullptr;
    uint64_t size = 0;
  };

  // Buffers are counted up from 1: a program would have to make a million a second for twelve days to come here.
  static constexpr Handle kFirst = Handle{1} << 40;

  napi_env env_;
  Buffers& buffers_;
  std::unordered_map<Handle, Owner> owners_;
  Handle last_ = kFirst;
};

}  // namespace dxtensor::addon
