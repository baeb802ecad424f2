#include "bitcode.h"

void put(struct shader* s, uint64_t value, unsigned width) {
  for (unsigned i = 0; i < width; ++i, ++s->written) {
    s->out = grow(s, s->out, s->written / 8, &s->capacity, 1);
    if (s->written % 8 == 0) s->out[s->written / 8] = 0;
    s->out[s->written / 8] |= (value >> i & 1) << s->written % 8;
  }
}

static void put_vbr(struct shader* s, uint64_t value, unsigned width) {
  const uint64_t more = (uint64_t)1 << (width - 1);

  for (; value >= more; value >>= width - 1) put(s, (value & (more - 1)) | more, width);
  put(s, value, width);
}

static void put_align(struct shader* s) {
  while (s->written % 32) put(s, 0, 1);
}

void write_items(struct shader* s, const struct item* item) {
  for (; item; item = item->next) {
    if (item->is_block) {
      size_t length;

      put(s, ENTER_BLOCK, 2);
      put_vbr(s, item->id, 8);
      put_vbr(s, 2, 4);
      put_align(s);
      length = s->written;
      put(s, 0, 32);
      write_items(s, item->first);
      put(s, END_BLOCK, 2);
      put_align(s);
      for (unsigned i = 0; i < 4; ++i) s->out[length / 8 + i] = (uint8_t)(((s->written - length) / 32 - 1) >> 8 * i);
      continue;
    }
    put(s, PLAIN_RECORD, 2);
    put_vbr(s, item->id, 6);
    put_vbr(s, item->count, 6);
    for (unsigned i = 0; i < item->count; ++i) put_vbr(s, item->ops[i], 6);
  }
}
