#include "event.h"

#include "failure.h"

#ifndef _WIN32
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace dxtensor::dml {

#ifdef _WIN32

Event::Event() : handle_(CreateEventW(nullptr, FALSE, FALSE, nullptr)) {
  if (!handle_) throw Failure(FailureKind::Internal, "CreateEvent failed with error " + std::to_string(GetLastError()));
}
Event::~Event() { CloseHandle(handle_); }
bool Event::Wait(int timeout_ms) { return WaitForSingleObject(handle_, static_cast<DWORD>(timeout_ms)) == WAIT_OBJECT_0; }

#else

namespace {

int Descriptor(HANDLE handle) { return static_cast<int>(reinterpret_cast<intptr_t>(handle)); }

}  // namespace

Event::Event() {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) throw Failure(FailureKind::Internal, "eventfd failed: no file descriptor is left");
  handle_ = reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd));
}

Event::~Event() { close(Descriptor(handle_)); }

bool Event::Wait(int timeout_ms) {
  pollfd wait = {Descriptor(handle_), POLLIN, 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return false;
  uint64_t count;
  return read(wait.fd, &count, sizeof count) == sizeof count;
}

#endif

}  // namespace dxtensor::dml
