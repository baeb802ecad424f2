// The archive's static libvkd3d is built for programs, not for a shared library, and against a newer libc. Here are
// the few libc names that it therefore cannot take from the system's libc: data symbols, which a shared library may not
// reach directly, and the C23 number parsers.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN char* program_invocation_name = "program";
HIDDEN void *stdin, *stdout, *stderr;

__attribute__((constructor(101))) static void take_data(void) {
  void** p;
  if ((p = dlsym(RTLD_DEFAULT, "stdin"))) stdin = *p;
  if ((p = dlsym(RTLD_DEFAULT, "stdout"))) stdout = *p;
  if ((p = dlsym(RTLD_DEFAULT, "stderr"))) stderr = *p;
  if ((p = dlsym(RTLD_DEFAULT, "program_invocation_name"))) program_invocation_name = *p;
}

long strtol(const char*, char**, int);
unsigned long strtoul(const char*, char**, int);
int vsscanf(const char*, const char*, va_list);

HIDDEN long __isoc23_strtol(const char* s, char** e, int b) { return strtol(s, e, b); }
HIDDEN unsigned long __isoc23_strtoul(const char* s, char** e, int b) { return strtoul(s, e, b); }
HIDDEN int __isoc23_sscanf(const char* s, const char* f, ...) {
  va_list a;
  int n;
  va_start(a, f);
  n = vsscanf(s, f, a);
  va_end(a);
  return n;
}
