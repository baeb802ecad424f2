#include "wrap.h"

static struct wrap* buckets[4096];
static unsigned live;

pthread_mutex_t wrap_lock = PTHREAD_MUTEX_INITIALIZER;
bool tracing_calls;

// How many objects the program holds; for tests.
EXPORT unsigned dxtensor_vulkan_live_objects(void) { return live; }

__attribute__((constructor)) static void read_environment(void) {
  tracing_calls = traces_calls();
  // vkd3d writes warnings to stderr unless it is told not to.
  setenv("VKD3D_DEBUG", "none", 0);
  setenv("VKD3D_SHADER_DEBUG", "none", 0);
}

__attribute__((destructor)) static void report_leaks(void) {
  const char* on = getenv("DXTENSOR_VULKAN_LEAKS");

  if (!on || !*on) return;
  fprintf(stderr, "dxtensor vulkan: %u live objects\n", live);
  for (size_t i = 0; i < COUNT(buckets); ++i)
    for (struct wrap* w = buckets[i]; w; w = w->next) fprintf(stderr, "dxtensor vulkan: live: %s, %u references\n", w->type->name, w->refs);
}

static struct wrap** bucket(const void* real) { return &buckets[((uintptr_t)real >> 4) % COUNT(buckets)]; }

const struct iface* find_iface(const GUID* iid) {
  for (size_t i = 0; i < iface_count; ++i)
    if (!memcmp(ifaces[i].iid, iid, sizeof(*iid))) return &ifaces[i];
  return NULL;
}

static bool extends(const struct iface* i, const struct iface* base) {
  while (i != base && i->base >= 0) i = &ifaces[i->base];
  return i == base;
}

// The richest interface of an object that was got as hint: asked for once for each of vkd3d's classes.
static const struct iface* richest(void* real, const struct iface* hint) {
  static struct {
    const void* table;
    const struct iface* type;
  } known[64];
  const void* table = *(void**)real;
  size_t n;

  for (n = 0; n < COUNT(known) && known[n].table; ++n)
    if (known[n].table == table) return known[n].type;
  for (size_t i = iface_count; i-- > 0;) {
    IUnknown* unknown = real;
    void* other = NULL;

    if (!extends(&ifaces[i], hint)) continue;
    if (FAILED(unknown->lpVtbl->QueryInterface(unknown, ifaces[i].iid, &other))) continue;
    ((IUnknown*)other)->lpVtbl->Release(other);
    if (other != real) continue;
    hint = &ifaces[i];
    break;
  }
  if (n < COUNT(known)) {
    known[n].type = hint;
    known[n].table = table;
  }
  return hint;
}

struct wrap* wrapper_of(const void* real) {
  struct wrap* w = *bucket(real);

  while (w && w->real != real) w = w->next;
  return w;
}

struct wrap* wrap(void* real, const struct iface* hint) {
  struct wrap* w;

  pthread_mutex_lock(&wrap_lock);
  if (!(w = wrapper_of(real)) && (w = calloc(1, sizeof(*w)))) {
    w->type = richest(real, hint);
    w->methods = w->type->methods;
    w->real = real;
    w->next = *bucket(real);
    *bucket(real) = w;
    ++live;
  }
  if (w) ++w->refs;
  pthread_mutex_unlock(&wrap_lock);
  if (!w) ((IUnknown*)real)->lpVtbl->Release(real);
  return w;
}

HRESULT wrap_out(HRESULT hr, const GUID* iid, void** out) {
  const struct iface* hint;

  if (!out) return hr;
  if (FAILED(hr)) *out = NULL;
  if (!*out) return hr;
  if (!(hint = find_iface(iid))) hint = &ifaces[0];
  return (*out = wrap(*out, hint)) ? hr : E_OUTOFMEMORY;
}

void* unwrap(const void* object) {
  const struct wrap* w = object;

  if (!w) return NULL;
  if (w->methods < vtables || w->methods >= vtables + vtable_slots) {
    fprintf(stderr, "dxtensor vulkan: %p was passed to Direct3D 12 but is none of its objects (or was released)\n", object);
    abort();
  }
  return w->real;
}

void** unwrap_array(UINT count, void* const* objects) {
  void** list;

  if (!objects || !(list = malloc((count + 1) * sizeof(*list)))) return NULL;
  for (UINT i = 0; i < count; ++i) list[i] = unwrap(objects[i]);
  return list;
}

struct wrap* find_wrapper(int (*accept)(const struct wrap* w, const void* data), const void* data) {
  struct wrap* w = NULL;

  pthread_mutex_lock(&wrap_lock);
  for (size_t i = 0; i < COUNT(buckets) && !w; ++i)
    for (w = buckets[i]; w && !accept(w, data); w = w->next) {
    }
  if (w) {
    IUnknown* real = w->real;

    ++w->refs;
    real->lpVtbl->AddRef(real);
  }
  pthread_mutex_unlock(&wrap_lock);
  return w;
}

HRESULT own_IUnknown_QueryInterface(struct wrap* w, REFIID iid, void** out) {
  IUnknown* real = w->real;
  const struct iface* type = find_iface(iid);
  HRESULT hr = E_NOINTERFACE;

  if (!out) return E_POINTER;
  if (tracing_calls) trace("%s::QueryInterface " GUID_FORMAT " %s", w->type->name, GUID_ARGUMENTS(iid), type ? type->name : "");
  *out = NULL;
  if (type) hr = real->lpVtbl->QueryInterface(real, iid, out);
  if (FAILED(hr)) trace("%s: no interface " GUID_FORMAT " %s", w->type->name, GUID_ARGUMENTS(iid), type ? type->name : "");
  return wrap_out(hr, iid, out);
}

ULONG own_IUnknown_AddRef(struct wrap* w) {
  IUnknown* real = w->real;

  pthread_mutex_lock(&wrap_lock);
  ++w->refs;
  pthread_mutex_unlock(&wrap_lock);
  return real->lpVtbl->AddRef(real);
}

// The wrapper goes before the object, so that a new object at the same address finds no old wrapper.
ULONG own_IUnknown_Release(struct wrap* w) {
  IUnknown* real = w->real;
  struct wrap **at, *gone = NULL;

  pthread_mutex_lock(&wrap_lock);
  if (!--w->refs) {
    for (at = bucket(real); *at != w; at = &(*at)->next) {
    }
    *at = w->next;
    w->methods = NULL;
    gone = w;
    --live;
  }
  pthread_mutex_unlock(&wrap_lock);
  free(gone);
  return real->lpVtbl->Release(real);
}
