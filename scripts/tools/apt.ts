// Debian's packages, installed on this machine where that is allowed: as root, where apt is.
import { ask, runProgram } from "./program.ts";
import { say } from "./project.ts";

export const canInstall = (): boolean => process.getuid?.() === 0 && ask("apt-get", ["--version"]) !== null;

/** Whether apt says that it installed them; by sudo, where that asks for no password, when the user is not root. dpkg needs what lies in sbin. */
export async function installPackages(caller: string, names: readonly string[]): Promise<boolean> {
  say(`${caller}: installing with apt: ${names.join(" ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive", PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin` };
  // sudo hands on no variables of its own accord.
  const asRoot = ["sudo", "-n", "env", ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const [command, ...before] = [...(process.getuid?.() === 0 ? [] : asRoot), "apt-get", "-qq"];
  const options = { stdout: 2, stderr: 2, env } as const;
  await runProgram(command!, [...before, "update"], options);
  const done = await runProgram(command!, [...before, "install", "-y", "--no-install-recommends", ...names], options);
  return done.code === 0;
}
