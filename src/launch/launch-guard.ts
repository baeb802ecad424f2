/** A small process that ends the ranks when the launcher itself is killed: by SIGKILL, or for memory. */
import { spawn } from "node:child_process";

/** What the launcher tells its guard. */
export interface LaunchGuard {
  /** A process that the launcher started, with a process group of its own. */
  watch(pid: number): void;
  /** All have ended. */
  end(): void;
}

/**
 * Its input ends with the launcher, whatever ended that. Each line before is a process group to end then; "end" is the launcher's own word that none is
 * left. `grace` in seconds.
 */
const script = `groups=
while read -r line; do
  [ "$line" = end ] && exit 0
  groups="$groups -$line"
done
send() {
  found=1
  for group in $groups; do kill -s $1 -- $group 2>/dev/null && found=0; done
  return $found
}
send TERM
i=0
while [ $i -lt $1 ] && send 0; do
  sleep 0.1
  i=$((i + 1))
done
send KILL
exit 0`;

const none: LaunchGuard = { watch: () => {}, end: () => {} };

/** Starts a guard. On Windows there is none. */
export function startGuard(graceMs: number): LaunchGuard {
  if (process.platform === "win32") return none;
  // A session of its own: signals to the launcher's group do not reach it.
  const child = spawn("/bin/sh", ["-c", script, "sh", String(Math.ceil(graceMs / 100))], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const { stdin } = child;
  // Without a shell the launcher works as before.
  child.on("error", () => {});
  stdin.on("error", () => {});
  child.unref();
  return {
    watch: (pid) => void stdin.write(`${pid}\n`),
    end: () => void stdin.end("end\n"),
  };
}
