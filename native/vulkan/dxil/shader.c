#include "shader.h"

#include <stdlib.h>
#include <string.h>

#include "../trace.h"

_Noreturn void fail(struct shader* s, const char* why) {
  trace("shader left as it is: %s", why);
  longjmp(s->failed, 1);
}

void* allocate(struct shader* s, size_t size) {
  struct memory* m = calloc(1, sizeof(*m) + size);

  if (!m) fail(s, "no memory");
  m->next = s->memory;
  s->memory = m;
  return m + 1;
}

void* grow(struct shader* s, void* array, size_t count, size_t* capacity, size_t size) {
  void* more;

  if (count < *capacity) return array;
  *capacity = *capacity ? *capacity * 2 : 64;
  more = allocate(s, *capacity * size);
  if (count) memcpy(more, array, count * size);
  return more;
}
struct item* new_record(struct shader* s, unsigned code, size_t count, const uint64_t* ops) {
  struct item* r = allocate(s, sizeof(*r) + (count + SPARE) * sizeof(*ops));

  r->id = code;
  r->count = (unsigned)count;
  r->ops = (uint64_t*)(r + 1);
  if (count) memcpy(r->ops, ops, count * sizeof(*ops));
  return r;
}

void free_shader(struct shader* s) {
  for (struct memory* m; (m = s->memory);) {
    s->memory = m->next;
    free(m);
  }
  free(s);
}
