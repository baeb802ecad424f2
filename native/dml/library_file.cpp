#include "library_file.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>

#ifdef _WIN32
#include "dynamic_library.h"
#endif

namespace dxtensor::dml {

namespace {

class File {
 public:
#ifdef _WIN32
  explicit File(const std::string& path) : file_(_wfopen(Widen(path).c_str(), L"rb")) {}
#else
  explicit File(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {}
#endif
  ~File() {
    if (file_) std::fclose(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return file_ != nullptr; }
  uint64_t Size() {
#ifdef _WIN32
    return _fseeki64(file_, 0, SEEK_END) == 0 ? static_cast<uint64_t>(_ftelli64(file_)) : 0;
#else
    return fseeko(file_, 0, SEEK_END) == 0 ? static_cast<uint64_t>(ftello(file_)) : 0;
#endif
  }
  bool Read(uint64_t offset, void* to, size_t size) {
#ifdef _WIN32
    if (_fseeki64(file_, static_cast<int64_t>(offset), SEEK_SET) != 0) return false;
#else
    if (fseeko(file_, static_cast<off_t>(offset), SEEK_SET) != 0) return false;
#endif
    return std::fread(to, 1, size, file_) == size;
  }

 private:
  std::FILE* file_;
};

template <typename T>
T At(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

constexpr size_t kElfHeader = 64, kProgramHeader = 56, kPeHeader = 64, kCoffHeader = 24, kPeSection = 40;
constexpr uint32_t kLoadSegment = 1;

std::string CutOff(uint64_t size, uint64_t end) {
  return "the file is cut off: it has " + std::to_string(size) + " bytes of at least " + std::to_string(end);
}

// Of 64 bits, little-endian; others are the loader's to refuse.
std::string CheckElf(File& file, uint64_t size) {
  uint8_t header[kElfHeader];
  if (size < sizeof header || !file.Read(0, header, sizeof header)) return CutOff(size, sizeof header);
  if (header[4] != 2 || header[5] != 1) return {};
  const uint64_t start = At<uint64_t>(header + 32), entry = At<uint16_t>(header + 54), count = At<uint16_t>(header + 56);
  if (entry < kProgramHeader) return "the file is damaged: its program headers are too small";
  if (start > size || entry * count > size - start) return CutOff(size, start + entry * count);
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t program[kProgramHeader];
    if (!file.Read(start + i * entry, program, sizeof program)) return CutOff(size, start + (i + 1) * entry);
    if (At<uint32_t>(program) != kLoadSegment) continue;
    const uint64_t offset = At<uint64_t>(program + 8), length = At<uint64_t>(program + 32);
    if (offset > size || length > size - offset) return CutOff(size, offset + length);
  }
  return {};
}

std::string CheckPe(File& file, uint64_t size) {
  uint8_t header[kPeHeader], coff[kCoffHeader];
  if (size < sizeof header || !file.Read(0, header, sizeof header)) return CutOff(size, sizeof header);
  const uint64_t at = At<uint32_t>(header + 60);
  if (at > size || size - at < sizeof coff || !file.Read(at, coff, sizeof coff)) return CutOff(size, at + sizeof coff);
  const uint64_t count = At<uint16_t>(coff + 6), start = at + kCoffHeader + At<uint16_t>(coff + 20);
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t section[kPeSection];
    const uint64_t header_offset = start + i * kPeSection;
    if (header_offset + kPeSection > size || !file.Read(header_offset, section, sizeof section))
      return CutOff(size, header_offset + kPeSection);
    const uint64_t length = At<uint32_t>(section + 16), offset = At<uint32_t>(section + 20);
    if (length > 0 && (offset > size || length > size - offset)) return CutOff(size, offset + length);
  }
  return {};
}

}  // namespace

std::string WhyNotWhole(const std::string& path) {
  File file(path);
  uint8_t magic[4];
  // What cannot be read here is the loader's to explain.
  if (!file.is_open()) return {};
  const uint64_t size = file.Size();
  if (size < sizeof magic || !file.Read(0, magic, sizeof magic)) return "the file is too short to be a library";
  if (std::memcmp(magic, "\177ELF", sizeof magic) == 0) return CheckElf(file, size);
  if (magic[0] == 'M' && magic[1] == 'Z') return CheckPe(file, size);
  return {};
}

}  // namespace dxtensor::dml
