// check_dxbc FILE...: disassembles DXBC with libvkd3d-shader and translates it to SPIR-V. Prints the disassembly of each file; fails at the
// first that it refuses.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vkd3d/vkd3d_shader.h>

static char source[1 << 22];

static int translate(struct vkd3d_shader_compile_info* info, const char* name, int shows) {
  struct vkd3d_shader_code code;
  char* messages = NULL;
  int ret = vkd3d_shader_compile(info, &code, &messages);
  if (messages && *messages) fprintf(stderr, "%s: %s\n", name, messages);
  vkd3d_shader_free_messages(messages);
  if (ret < 0) return ret;
  if (shows) fwrite(code.code, 1, code.size, stdout);
  vkd3d_shader_free_shader_code(&code);
  return 0;
}

int main(int argc, char** argv) {
  struct vkd3d_shader_compile_info info = {
      .type = VKD3D_SHADER_STRUCTURE_TYPE_COMPILE_INFO, .source_type = VKD3D_SHADER_SOURCE_DXBC_TPF, .log_level = VKD3D_SHADER_LOG_WARNING};
  for (int i = 1; i < argc; ++i) {
    FILE* in = fopen(argv[i], "rb");
    if (!in) return 2;
    info.source.code = source;
    info.source.size = fread(source, 1, sizeof(source), in);
    fclose(in);
    info.target_type = VKD3D_SHADER_TARGET_D3D_ASM;
    if (translate(&info, argv[i], 1) < 0) return 1;
    info.target_type = VKD3D_SHADER_TARGET_SPIRV_BINARY;
    if (translate(&info, argv[i], 0) < 0) return 1;
  }
  return 0;
}
