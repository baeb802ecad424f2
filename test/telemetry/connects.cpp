// Preloaded where there is no strace: writes a line for each call of the C library that names an internet address.
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

void Log(const char* call, const sockaddr* address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return;
  const char* path = getenv("CONNECTS_LOG");
  int file = path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) abort();
  char line[64];
  int length = snprintf(line, sizeof(line), "%s AF_INET%s\n", call, address->sa_family == AF_INET6 ? "6" : "");
  if (write(file, line, static_cast<size_t>(length)) != length) abort();
  close(file);
}

template <typename F>
F Next(const char* name) {
  F found = nullptr;
  void* symbol = dlsym(RTLD_NEXT, name);
  memcpy(&found, &symbol, sizeof(found));
  return found;
}

}  // namespace

extern "C" {

int connect(int socket, const sockaddr* address, socklen_t length) {
  Log("connect", address);
  return Next<int (*)(int, const sockaddr*, socklen_t)>("connect")(socket, address, length);
}

ssize_t sendto(int socket, const void* bytes, size_t size, int flags, const sockaddr* address, socklen_t length) {
  Log("sendto", address);
  return Next<ssize_t (*)(int, const void*, size_t, int, const sockaddr*, socklen_t)>("sendto")(socket, bytes, size, flags, address,
                                                                                                 length);
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  Log("sendmsg", static_cast<const sockaddr*>(message->msg_name));
  return Next<ssize_t (*)(int, const msghdr*, int)>("sendmsg")(socket, message, flags);
}

int sendmmsg(int socket, mmsghdr* messages, unsigned int count, int flags) {
  if (count > 0) Log("sendmmsg", static_cast<const sockaddr*>(messages[0].msg_hdr.msg_name));
  return Next<int (*)(int, mmsghdr*, unsigned int, int)>("sendmmsg")(socket, messages, count, flags);
}
}
