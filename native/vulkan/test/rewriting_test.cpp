// rewriting_test FOLDER: the shader rewriting, on the shaders that a program gave to libd3d12.so (DXTENSOR_VULKAN_SHADERS=FOLDER).
//
// Each must compile as vkd3d-shader gets it; one that vkd3d-shader refuses as it was must compile when it is rewritten; rewriting
// what was rewritten changes nothing; and with flipped bits it neither crashes nor hangs. The last line is
// "N passed, N failed".
#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "../dxil/dxil.h"

extern "C" {
#include <vkd3d/vkd3d_shader.h>
}

namespace {

using Bytes = std::vector<char>;

unsigned g_passed = 0, g_failed = 0;

void Check(bool good, const std::string& what) {
  ++(good ? g_passed : g_failed);
  if (!good) std::printf("FAILED %s\n", what.c_str());
}

// To SPIR-V, as libvkd3d does it when a pipeline is made; empty: refused, why in `messages`.
bool Compiles(const Bytes& shader, std::string* messages) {
  vkd3d_shader_spirv_target_info target{};
  target.type = VKD3D_SHADER_STRUCTURE_TYPE_SPIRV_TARGET_INFO;
  target.environment = VKD3D_SHADER_SPIRV_ENVIRONMENT_VULKAN_1_0;
  const vkd3d_shader_spirv_extension extensions[] = {VKD3D_SHADER_SPIRV_EXTENSION_EXT_DESCRIPTOR_INDEXING};
  target.extensions = extensions;
  target.extension_count = 1;
  vkd3d_shader_compile_info info{};
  info.type = VKD3D_SHADER_STRUCTURE_TYPE_COMPILE_INFO;
  info.next = &target;
  info.source = {shader.data(), shader.size()};
  // A DXBC container with DXIL inside.
  info.source_type = VKD3D_SHADER_SOURCE_DXBC_DXIL;
  info.target_type = VKD3D_SHADER_TARGET_SPIRV_BINARY;
  const vkd3d_shader_compile_option options[] = {
      {VKD3D_SHADER_COMPILE_OPTION_API_VERSION, VKD3D_SHADER_API_VERSION_1_15},
      {VKD3D_SHADER_COMPILE_OPTION_FEATURE, VKD3D_SHADER_COMPILE_OPTION_FEATURE_INT64 | VKD3D_SHADER_COMPILE_OPTION_FEATURE_FLOAT64 |
                                                VKD3D_SHADER_COMPILE_OPTION_FEATURE_WAVE_OPS},
      {VKD3D_SHADER_COMPILE_OPTION_TYPED_UAV, VKD3D_SHADER_COMPILE_OPTION_TYPED_UAV_READ_FORMAT_UNKNOWN},
  };
  info.options = options;
  info.option_count = sizeof options / sizeof *options;
  info.log_level = VKD3D_SHADER_LOG_WARNING;
  vkd3d_shader_code code{};
  char* text = nullptr;
  int result = vkd3d_shader_compile(&info, &code, &text);
  *messages = text ? text : "";
  vkd3d_shader_free_messages(text);
  if (result >= 0) vkd3d_shader_free_shader_code(&code);
  return result >= 0;
}

bool Rewrite(const Bytes& shader, Bytes* out) {
  vkd3d_shader_code code{};
  if (!dxil_for_vkd3d(shader.data(), shader.size(), &code)) return false;
  const char* bytes = static_cast<const char*>(code.code);
  out->assign(bytes, bytes + code.size);
  vkd3d_shader_free_shader_code(&code);
  return true;
}

std::set<Bytes> ReadAll(const std::string& folder) {
  std::set<Bytes> shaders;
  DIR* directory = opendir(folder.c_str());
  while (dirent* entry = directory ? readdir(directory) : nullptr) {
    std::string name = entry->d_name;
    if (name.size() < 5 || name.compare(name.size() - 5, 5, ".dxbc") != 0) continue;
    std::ifstream file(folder + "/" + name, std::ios::binary);
    shaders.insert(Bytes(std::istreambuf_iterator<char>(file), {}));
  }
  if (directory) closedir(directory);
  return shaders;
}

// vkd3d-shader's codes, "E8013", of a text.
void Collect(const std::string& messages, std::set<std::string>* codes) {
  static const std::regex code("\\bE[0-9]{4}\\b");
  for (std::sregex_iterator at(messages.begin(), messages.end(), code), end; at != end; ++at) codes->insert(at->str());
}

// Same bytes on every machine: the engine's sequence is the standard's.
void FlipBits(const Bytes& shader, std::mt19937& random, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    Bytes damaged = shader, out;
    for (unsigned bits = 1 + random() % 8; bits; --bits) damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    Rewrite(damaged, &out);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: rewriting_test FOLDER\n");
    return 2;
  }
  std::set<Bytes> shaders = ReadAll(argv[1]);
  std::mt19937 random(1);
  unsigned rewritten = 0, cured = 0, number = 0;
  std::set<std::string> reasons;
  for (const Bytes& shader : shaders) {
    std::string before, after, name = "shader " + std::to_string(++number) + " of " + std::to_string(shader.size()) + " bytes";
    Bytes out, again;
    bool compiled = Compiles(shader, &before);
    bool changed = Rewrite(shader, &out);
    Check(Compiles(changed ? out : shader, &after), name + ": " + after);
    if (changed) {
      ++rewritten;
      Check(!Rewrite(out, &again), name + " is changed twice");
      if (!compiled) ++cured;
    }
    if (!compiled) Collect(before, &reasons);
    FlipBits(shader, random, 40);
  }
  std::string list;
  for (const std::string& reason : reasons) list += " " + reason;
  std::printf("%zu shaders, %u rewritten, %u refused before and right after;%s\n", shaders.size(), rewritten, cured, list.c_str());
  Check(cured > 0 && reasons.size() >= 3, "no shader needs the rewriting any more, or too few were kept");
  std::printf("%u passed, %u failed\n", g_passed, g_failed);
  return g_failed ? 1 : 0;
}
