#include "dxil.h"

#include <stdlib.h>
#include <string.h>
#include <vkd3d/vkd3d_shader.h>

#include "module.h"

// In the container's feature part.
#define FEATURE_NATIVE_LOW_PRECISION 0x40000
// offset counts from magic on.
struct dxil_head {
  uint32_t version, words, magic, dxil_version, offset, size;
};

static bool change_dxil(struct shader* s, const uint8_t* dxil, size_t size) {
  struct dxil_head head;
  struct item* stream;

  if (size < sizeof(head)) return false;
  memcpy(&head, dxil, sizeof(head));
  if (head.offset > size - 8 || head.size > size - 8 - head.offset || head.size < 4) return false;
  s->in = dxil + 8 + head.offset;
  s->end = (size_t)head.size * 8;
  s->at = 32;
  if (memcmp(s->in, "BC\xc0\xde", 4)) return false;
  stream = read_stream(s);
  for (struct item* item = stream->first; item; item = item->next)
    if (item->is_block && item->id == MODULE_BLOCK) change_module(s, item);
  if (!s->changed) return false;
  for (size_t i = 0; i < sizeof(head); ++i) put(s, 0, 8);
  put(s, 0xdec04342, 32);
  write_items(s, stream->first);
  head.offset = 16;
  head.size = (uint32_t)(s->written / 8 - sizeof(head));
  head.words = (uint32_t)(s->written / 32);
  memcpy(s->out, &head, sizeof(head));
  return true;
}

static bool try_to_change(struct shader* s, const uint8_t* dxil, size_t size) { return !setjmp(s->failed) && change_dxil(s, dxil, size); }

bool dxil_for_vkd3d(const void* code, size_t size, struct vkd3d_shader_code* out) {
  const struct vkd3d_shader_code container = {code, size};
  struct vkd3d_shader_dxbc_section_desc* dxil = NULL;
  struct shader* s = calloc(1, sizeof(*s));
  struct vkd3d_shader_dxbc_desc desc;
  uint64_t features = 0;
  bool changed = false;

  if (!s || vkd3d_shader_parse_dxbc(&container, 0, &desc, NULL) < 0) {
    free(s);
    return false;
  }
  for (size_t i = 0; i < desc.section_count; ++i) {
    struct vkd3d_shader_dxbc_section_desc* section = &desc.sections[i];
    if (!memcmp(&section->tag, "DXIL", 4)) dxil = section;
    if (!memcmp(&section->tag, "SFI0", 4) && section->data.size >= sizeof(features))
      memcpy(&features, section->data.code, sizeof(features));
  }
  if (dxil && !(features & FEATURE_NATIVE_LOW_PRECISION) && try_to_change(s, dxil->data.code, dxil->data.size)) {
    dxil->data = (struct vkd3d_shader_code){s->out, s->written / 8};
    changed = vkd3d_shader_serialize_dxbc(desc.section_count, desc.sections, out, NULL) >= 0;
  }
  free_shader(s);
  vkd3d_shader_free_dxbc(&desc);
  return changed;
}
