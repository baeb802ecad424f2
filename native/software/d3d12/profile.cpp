#include "profile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "schema/schema.h"
#include "software/cpu/host/host_memory.h"

namespace dxtensor::software {

namespace {

constexpr uint64_t kMiB = 1ull << 20;
constexpr uint64_t kGiB = 1ull << 30;

struct Card {
  const char* id;
  const char* name;
  uint32_t vendor_id, device_id;
  uint64_t dedicated_bytes;
  bool unified, float16;
  const char* assumed;
};

// Vendor and device numbers as in the public PCI id list; dedicated memory is the card's, or what drivers of integrated ones
// set aside. Qualcomm's adapter is an ACPI device, its numbers are those that its Windows driver reports ("QCOM", 0x0c).
const Card kCards[] = {
    {"uhd-630", "Intel(R) UHD Graphics 630", 0x8086, 0x3e92, 128 * kMiB, true, true, "dedicated memory"},
    {"rx-5700-xt", "AMD Radeon RX 5700 XT", 0x1002, 0x731f, 8 * kGiB, false, true, ""},
    {"rx-580", "Radeon RX 580 Series", 0x1002, 0x67df, 8 * kGiB, false, true, "float16"},
    {"rx-6900-xt", "AMD Radeon RX 6900 XT", 0x1002, 0x73bf, 16 * kGiB, false, true, ""},
    {"gtx-1070", "NVIDIA GeForce GTX 1070", 0x10de, 0x1b81, 8 * kGiB, false, false, "float16"},
    {"rtx-3070", "NVIDIA GeForce RTX 3070", 0x10de, 0x2484, 8 * kGiB, false, true, ""},
    {"rtx-2080-super", "NVIDIA GeForce RTX 2080 SUPER", 0x10de, 0x1e81, 8 * kGiB, false, true, ""},
    {"adreno-680", "Qualcomm(R) Adreno(TM) 680 GPU", 0x4d4f4351, 0x36334330, 0, true, true, "device id, dedicated memory, float16"},
};

bool FindCard(const std::string& id, Profile* profile) {
  for (const Card& card : kCards) {
    if (id != card.id) continue;
    profile->id = id;
    profile->name = std::string(card.name) + " (simulated)";
    profile->vendor_id = card.vendor_id;
    profile->device_id = card.device_id;
    profile->dedicated_bytes = card.dedicated_bytes;
    profile->shared_bytes = QueryHostMemory().total / 2;
    profile->hardware = true;
    profile->unified = card.unified;
    profile->float16 = card.float16;
    profile->assumed = card.assumed;
    return true;
  }
  return false;
}

bool ParseLevel(const std::string& text, uint32_t* level) {
  static const char* const levels[] = {"5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "6.4"};
  for (const char* known : levels)
    if (text == known) {
      *level = static_cast<uint32_t>(known[0] - '0') << 12 | static_cast<uint32_t>(known[2] - '0') << 8;
      return true;
    }
  return false;
}

uint32_t FindOperatorByName(const std::string& name) {
  for (const schema::OperatorSchema* op : schema::AllOperators())
    if (name == op->name) return static_cast<uint32_t>(op->type);
  return 0;
}

// The id itself may hold dashes: operators begin at the first dash before a capital letter.
bool ParseEntry(const std::string& entry, const Profile& software, Profile* profile, std::string* why) {
  size_t at = 0;
  while (at < entry.size() && entry[at] != '@' &&
         !(entry[at] == '-' && at + 1 < entry.size() && entry[at + 1] >= 'A' && entry[at + 1] <= 'Z'))
    ++at;
  std::string id = entry.substr(0, at);
  if (id == "software") {
    *profile = software;
  } else if (!FindCard(id, profile)) {
    *why = "no simulated profile is called \"" + id + "\"";
    return false;
  }
  if (at < entry.size() && entry[at] == '@') {
    size_t end = std::min(entry.find('-', at), entry.size());
    std::string level = entry.substr(at + 1, end - at - 1);
    if (!ParseLevel(level, &profile->feature_level)) {
      *why = "no feature level \"" + level + "\" (5.0, 5.1, 5.2, 6.0, 6.1, 6.2, 6.3, 6.4)";
      return false;
    }
    at = end;
  }
  while (at < entry.size()) {
    size_t end = std::min(entry.find('-', at + 1), entry.size());
    std::string name = entry.substr(at + 1, end - at - 1);
    uint32_t type = FindOperatorByName(name);
    if (!type) {
      *why = "no DirectML operator is called \"" + name + "\"";
      return false;
    }
    profile->refused.push_back(type);
    at = end;
  }
  return true;
}

}  // namespace

Profile SoftwareProfile() {
  Profile profile;
  profile.id = "software";
  profile.name = "dxtensor software adapter";
  profile.shared_bytes = QueryHostMemory().total;
  return profile;
}

bool ParseProfiles(const std::string& text, Profile* software, std::vector<Profile>* profiles, std::string* why) {
  Profile changed = *software;
  std::vector<Profile> list;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string entry = text.substr(at, end - at);
    at = end + 1;
    while (!entry.empty() && entry.front() == ' ') entry.erase(0, 1);
    while (!entry.empty() && entry.back() == ' ') entry.pop_back();
    if (entry.empty()) continue;
    Profile profile;
    if (!ParseEntry(entry, *software, &profile, why)) return false;
    if (profile.id == "software") changed = profile;
    else list.push_back(profile);
  }
  *software = changed;
  *profiles = list;
  return true;
}

}  // namespace dxtensor::software
