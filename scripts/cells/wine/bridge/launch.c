/* launch.exe PROGRAM ARGS...: runs a Windows program with real Windows pipes
 * for its standard streams and pumps them to and from the inherited Linux
 * descriptors.  node.exe refuses (EBADF) a Linux pipe as its stdout.
 *
 * The exit status: the program's own when it is 0 to 255; 139 after an access
 * violation, 134 after an abort, 124 after DXTENSOR_CELL_TIMEOUT seconds, else 125.
 * Statuses over 255 are also named on stderr. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

struct pump {
  HANDLE from, to;
};

static DWORD WINAPI pump(void* arg) {
  struct pump* p = arg;
  char buffer[65536];
  DWORD got, put, done;

  while (ReadFile(p->from, buffer, sizeof(buffer), &got, NULL) && got)
    for (done = 0; done < got; done += put)
      if (!WriteFile(p->to, buffer + done, got - done, &put, NULL) || !put) goto out;
out:
  CloseHandle(p->from);
  if (p->to != GetStdHandle(STD_OUTPUT_HANDLE) && p->to != GetStdHandle(STD_ERROR_HANDLE)) CloseHandle(p->to);
  return 0;
}

static HANDLE start_pump(struct pump* p) { return CreateThread(NULL, 0, pump, p, 0, NULL); }

int main(void) {
  SECURITY_ATTRIBUTES inherit = {sizeof(inherit), NULL, TRUE};
  static struct pump in, out, err;
  STARTUPINFOW si = {sizeof(si)};
  PROCESS_INFORMATION pi;
  HANDLE threads[2];
  const char* limit = getenv("DXTENSOR_CELL_TIMEOUT");
  DWORD code = 0, ms = limit && *limit ? strtoul(limit, NULL, 10) * 1000 : INFINITE;
  WCHAR* cmd = GetCommandLineW();

  if (*cmd == '"') {
    for (++cmd; *cmd && *cmd != '"'; ++cmd)
      ;
    if (*cmd) ++cmd;
  } else
    while (*cmd && *cmd != ' ') ++cmd;
  while (*cmd == ' ') ++cmd;
  if (!*cmd) {
    fprintf(stderr, "launch.exe: no program\n");
    return 2;
  }

  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
  if (!CreatePipe(&in.from, &in.to, &inherit, 65536) || !CreatePipe(&out.from, &out.to, &inherit, 65536) ||
      !CreatePipe(&err.from, &err.to, &inherit, 65536))
    return 2;
  si.dwFlags = STARTF_USESTDHANDLES;
  si.hStdInput = in.from;
  si.hStdOutput = out.to;
  si.hStdError = err.to;
  SetHandleInformation(in.to, HANDLE_FLAG_INHERIT, 0);
  SetHandleInformation(out.from, HANDLE_FLAG_INHERIT, 0);
  SetHandleInformation(err.from, HANDLE_FLAG_INHERIT, 0);
  if (!CreateProcessW(NULL, cmd, NULL, NULL, TRUE, 0, NULL, NULL, &si, &pi)) {
    fprintf(stderr, "launch.exe: cannot start (error %lu): %ls\n", GetLastError(), cmd);
    return 127;
  }
  CloseHandle(in.from);
  CloseHandle(out.to);
  CloseHandle(err.to);
  in.from = GetStdHandle(STD_INPUT_HANDLE);
  out.to = GetStdHandle(STD_OUTPUT_HANDLE);
  err.to = GetStdHandle(STD_ERROR_HANDLE);
  CloseHandle(start_pump(&in));
  threads[0] = start_pump(&out);
  threads[1] = start_pump(&err);

  if (WaitForSingleObject(pi.hProcess, ms) == WAIT_TIMEOUT) {
    TerminateProcess(pi.hProcess, 1);
    WaitForMultipleObjects(2, threads, TRUE, 2000);
    fprintf(stderr, "cell: stopped after %lu s\n", ms / 1000);
    return 124;
  }
  GetExitCodeProcess(pi.hProcess, &code);
  WaitForMultipleObjects(2, threads, TRUE, 5000);
  if (code <= 255) {
    fflush(stdout);
    ExitProcess(code);
  }
  fprintf(stderr, "cell: exit code 0x%08lx\n", code);
  fflush(stderr);
  ExitProcess(code == 0xc0000005 ? 139 : code == 0x80000003 || code == 0xc0000409 ? 134 : 125);
}
