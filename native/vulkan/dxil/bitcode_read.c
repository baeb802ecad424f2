#include "bitcode.h"

static uint64_t fixed(struct shader* s, unsigned width) {
  uint64_t value = 0;

  if (width > 64 || s->end - s->at < width) fail(s, "bitcode ends too early");
  for (unsigned i = 0; i < width; ++i, ++s->at) value |= (uint64_t)(s->in[s->at / 8] >> s->at % 8 & 1) << i;
  return value;
}

// Chunks of width bits, the lowest first; the top bit of each says whether there is another.
static uint64_t vbr(struct shader* s, unsigned width) {
  uint64_t value = 0, chunk, more;

  if (width < 2 || width > 32) fail(s, "width of a number");
  more = (uint64_t)1 << (width - 1);
  for (unsigned shift = 0;; shift += width - 1) {
    chunk = fixed(s, width);
    if (shift < 64) value |= (chunk & (more - 1)) << shift;
    if (!(chunk & more)) return value;
  }
}

static void align(struct shader* s) {
  s->at = (s->at + 31) & ~(size_t)31;
  if (s->at > s->end) fail(s, "bitcode ends too early");
}

enum { FIXED = 1, VBR, ARRAY, CHAR6, BLOB, LITERAL };
struct encoding {
  unsigned kind;
  uint64_t value;
};
struct abbreviation {
  unsigned count;
  struct encoding encodings[];
};

static struct abbreviation* read_abbreviation(struct shader* s) {
  uint64_t count = vbr(s, 5);
  struct abbreviation* a;

  if (count > 64) fail(s, "length of an abbreviation");
  a = allocate(s, sizeof(*a) + count * sizeof(*a->encodings));
  a->count = (unsigned)count;
  for (struct encoding* e = a->encodings; e < a->encodings + count; ++e) {
    if (fixed(s, 1)) {
      e->kind = LITERAL;
      e->value = vbr(s, 8);
      continue;
    }
    e->kind = (unsigned)fixed(s, 3);
    if (e->kind == FIXED || e->kind == VBR) e->value = vbr(s, 5);
  }
  return a;
}

static void read_number(struct shader* s, struct encoding e) {
  static const char char6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
  uint64_t number = e.value;

  if (e.kind == FIXED) number = fixed(s, (unsigned)e.value);
  else if (e.kind == VBR) number = e.value ? vbr(s, (unsigned)e.value) : 0;
  else if (e.kind == CHAR6) number = (uint8_t)char6[fixed(s, 6)];
  else if (e.kind != LITERAL) fail(s, "encoding of a number");
  s->numbers = grow(s, s->numbers, s->number_count, &s->number_capacity, sizeof(*s->numbers));
  s->numbers[s->number_count++] = number;
}

static struct item* read_record(struct shader* s, const struct abbreviation* a) {
  static const struct encoding plain = {VBR, 6};

  s->number_count = 0;
  if (!a) {
    read_number(s, plain);
    for (uint64_t left = vbr(s, 6); left; --left) read_number(s, plain);
  } else
    for (unsigned i = 0; i < a->count; ++i) {
      if (a->encodings[i].kind != ARRAY) {
        read_number(s, a->encodings[i]);
        continue;
      }
      if (i + 2 != a->count) fail(s, "an array that is not last");
      for (uint64_t left = vbr(s, 6); left; --left) {
        if (s->number_count > s->end) fail(s, "length of an array");  // its numbers may take no bits
        read_number(s, a->encodings[i + 1]);
      }
      break;
    }
  if (!s->number_count) fail(s, "a record without a code");
  return new_record(s, (unsigned)s->numbers[0], s->number_count - 1, s->numbers + 1);
}

enum { SET_BLOCK = 1 };

// id NONE: the whole stream.
static struct item* read_block(struct shader* s, unsigned id, unsigned width, unsigned depth) {
  struct item *block = allocate(s, sizeof(*block)), **last = &block->first;
  struct abbreviations own = {0}, *defines = &own;

  if (depth > 8) fail(s, "blocks too deep");
  block->is_block = true;
  block->id = id;
  if (id < COUNT(s->known)) own = s->known[id];
  while (id != NONE || s->end - s->at >= 32) {
    unsigned what = (unsigned)fixed(s, width), inner;
    struct item* item;

    if (what == END_BLOCK) {
      align(s);
      return block;
    } else if (what == ENTER_BLOCK) {
      inner = (unsigned)vbr(s, 8);
      what = (unsigned)vbr(s, 4);
      align(s);
      fixed(s, 32);
      item = read_block(s, inner, what, depth + 1);
      if (inner == INFO_BLOCK) continue;
    } else if (what == DEFINE_ABBREVIATION) {
      if (defines->count == COUNT(defines->list)) fail(s, "too many abbreviations");
      defines->list[defines->count++] = read_abbreviation(s);
      continue;
    } else {
      if (what - PLAIN_RECORD > own.count) fail(s, "abbreviation of a record");
      item = read_record(s, what == PLAIN_RECORD ? NULL : own.list[what - PLAIN_RECORD - 1]);
      if (id == INFO_BLOCK && item->id == SET_BLOCK) {
        if (!item->count || item->ops[0] >= COUNT(s->known)) fail(s, "abbreviations for a block");
        defines = &s->known[item->ops[0]];
      }
    }
    *last = item;
    last = &item->next;
  }
  return block;
}
struct item* read_stream(struct shader* s) {
  return read_block(s, NONE, 2, 0);
}
