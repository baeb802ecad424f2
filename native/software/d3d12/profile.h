// The profile of an adapter: the software adapter itself, or a simulated GPU on top of it.
//
// Profiles are immutable once an adapter shows them. Any thread may use this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "abi/abi.h"

namespace dxtensor::software {

struct Profile {
  std::string id;    // "rtx-3070"
  std::string name;  // what DXCore calls it
  uint32_t vendor_id = 0, device_id = 0;
  uint64_t dedicated_bytes = 0, shared_bytes = 0;
  bool hardware = false;
  bool unified = true;  // memory shared with the CPU; DXCore's IsIntegrated
  bool float16 = true;  // FLOAT16 tensors
  // Values among the above that no published source gives for exactly this card: a comma-separated list, empty for none.
  std::string assumed;

  uint32_t feature_level = 0x6400;  // DML_FEATURE_LEVEL
  std::vector<uint32_t> refused;    // DML_OPERATOR_TYPE that CreateOperator refuses
  LUID luid{};
};

// Adapter 0, with the memory of this machine or of the container.
Profile SoftwareProfile();

// Reads "NAME[@LEVEL][-OPERATOR]..." separated by commas into *profiles, in order; the name "software" changes *software instead.
// False: *why says what is wrong, and nothing was changed.
bool ParseProfiles(const std::string& text, Profile* software, std::vector<Profile>* profiles, std::string* why);

}  // namespace dxtensor::software
