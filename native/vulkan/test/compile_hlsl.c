// compile_hlsl PROFILE IN.hlsl OUT.h NAME: compiles HLSL to DXBC with libvkd3d-shader and writes it as a C array. The archive's own
// vkd3d-compiler needs a newer C library than the machines that this is built on have.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vkd3d/vkd3d_shader.h>

int main(int argc, char** argv) {
  struct vkd3d_shader_hlsl_source_info hlsl = {.type = VKD3D_SHADER_STRUCTURE_TYPE_HLSL_SOURCE_INFO, .entry_point = "main"};
  struct vkd3d_shader_compile_info info = {.type = VKD3D_SHADER_STRUCTURE_TYPE_COMPILE_INFO,
                                           .next = &hlsl,
                                           .source_type = VKD3D_SHADER_SOURCE_HLSL,
                                           .target_type = VKD3D_SHADER_TARGET_DXBC_TPF,
                                           .log_level = VKD3D_SHADER_LOG_INFO};
  static char source[65536];
  struct vkd3d_shader_code code;
  char* messages = NULL;
  FILE *in, *out;
  int ret;

  if (argc != 5 || !(in = fopen(argv[2], "r"))) return 2;
  info.source.code = source;
  info.source.size = fread(source, 1, sizeof(source), in);
  info.source_name = argv[2];
  hlsl.profile = argv[1];
  ret = vkd3d_shader_compile(&info, &code, &messages);
  if (messages && *messages) fputs(messages, stderr);
  if (ret < 0 || !(out = fopen(argv[3], "w"))) return 1;
  fprintf(out, "static const unsigned char %s[] = {", argv[4]);
  for (size_t i = 0; i < code.size; ++i) fprintf(out, "%s%u,", i % 24 ? "" : "\n", ((const unsigned char*)code.code)[i]);
  fprintf(out, "\n};\n");
  return 0;
}
