// How a Windows program is started in a cell. Without dependencies: it travels to machines with a GPU, too.

interface Cell {
  readonly script: string;
  readonly root: string;
  readonly mount: string;
  readonly node: string | number;
  readonly timeoutMs?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

interface Command {
  readonly file: string;
  readonly args: string[];
  /** The whole environment: the program sees none of the caller's. */
  readonly env: Record<string, string>;
}

/**
 * The command that starts a Windows program in the cell with the root `root`, where it sees the folder `mount` as its working folder Z:\work. It
 * replaces itself by unshare, whose end by SIGKILL ends everything in the cell and leaves nothing mounted. Exit status: the program's; 139
 * access violation, 134 abort, 124 time limit, 127 not found, 125 any other over 255.
 */
export function enterCommand(program: readonly string[], { script, root, mount, node, timeoutMs, env = {} }: Cell): Command {
  return {
    file: "sh",
    args: [script, root, mount, "/opt/dxtensor/throwaway.sh", ...program],
    /** The whole environment: the program sees none of the caller's. */
    env: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      TERM: process.env.TERM ?? "dumb",
      DXTENSOR_CELL_NODE: String(node),
      ...(timeoutMs === undefined ? {} : { DXTENSOR_CELL_TIMEOUT: String(Math.ceil(timeoutMs / 1000)) }),
      ...env,
    },
  };
}
