// The program's own objects as private data: they come back as the same pointer and are released with their owner. To vkd3d each
// is an object with its calling convention, a guest.
#include "wrap.h"

#define MS __attribute__((ms_abi))

HRESULT program_query_interface(void* object, const GUID* iid, void** out) {
  return ((program_query*)*(void**)object)[0](object, iid, out);
}
ULONG program_addref(void* object) { return ((ULONG(**)(void*)) * (void**)object)[1](object); }
ULONG program_release(void* object) { return ((ULONG(**)(void*)) * (void**)object)[2](object); }

struct guest {
  const void* methods;
  LONG refs;
  void* object;
  struct guest* next;
};
static struct guest* guests;

static MS ULONG guest_addref(struct guest* g) { return __atomic_add_fetch(&g->refs, 1, __ATOMIC_SEQ_CST); }
static MS HRESULT guest_query(struct guest* g, const GUID* iid, void** out) {
  *out = NULL;
  if (memcmp(iid, &IID_IUnknown, sizeof(*iid))) return E_NOINTERFACE;
  guest_addref(g);
  *out = g;
  return S_OK;
}
static MS ULONG guest_release(struct guest* g) {
  ULONG left = __atomic_sub_fetch(&g->refs, 1, __ATOMIC_SEQ_CST);
  struct guest** at;

  if (left) return left;
  pthread_mutex_lock(&wrap_lock);
  for (at = &guests; *at != g; at = &(*at)->next)
    ;
  *at = g->next;
  pthread_mutex_unlock(&wrap_lock);
  program_release(g->object);
  free(g);
  return 0;
}
static const void* const guest_methods[] = {(void*)guest_query, (void*)guest_addref, (void*)guest_release};

HRESULT own_ID3D12Object_SetPrivateDataInterface(struct wrap* w, REFGUID id, const IUnknown* data) {
  ID3D12Object* real = w->real;
  struct guest* g;
  HRESULT hr;

  CALL("ID3D12Object::SetPrivateDataInterface");
  if (!data) return real->lpVtbl->SetPrivateDataInterface(real, id, NULL);
  if (!(g = calloc(1, sizeof(*g)))) return E_OUTOFMEMORY;
  g->methods = guest_methods;
  g->refs = 1;
  g->object = (void*)data;
  program_addref(g->object);
  pthread_mutex_lock(&wrap_lock);
  g->next = guests;
  guests = g;
  pthread_mutex_unlock(&wrap_lock);
  hr = real->lpVtbl->SetPrivateDataInterface(real, id, (IUnknown*)g);
  guest_release(g);
  return hr;
}

HRESULT own_ID3D12Object_GetPrivateData(struct wrap* w, REFGUID id, UINT* size, void* data) {
  ID3D12Object* real = w->real;
  HRESULT hr = real->lpVtbl->GetPrivateData(real, id, size, data);
  struct guest *g, *found;
  void* object;

  CALL("ID3D12Object::GetPrivateData");
  if (FAILED(hr) || !data || !size || *size != sizeof(g)) return hr;
  memcpy(&found, data, sizeof(found));
  pthread_mutex_lock(&wrap_lock);
  for (g = guests; g && g != found; g = g->next)
    ;
  pthread_mutex_unlock(&wrap_lock);
  if (!g) return hr;
  object = g->object;
  program_addref(object);
  guest_release(g);
  memcpy(data, &object, sizeof(object));
  return hr;
}
