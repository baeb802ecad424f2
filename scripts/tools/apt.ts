// Debian's packages, installed on this machine where that is allowed: as root, where apt is.
import { ask, runProgram } from "./program.ts";
import { say } from "./project.ts";

export const canInstall = (): boolean => process.getuid?.() === 0 && ask("apt-get", ["--version"]) !== null;

/** Whether apt says that it installed them. dpkg needs what lies in sbin. */
export async function installPackages(caller: string, names: readonly string[]): Promise<boolean> {
  say(`${caller}: installing with apt: ${names.join(" ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive", PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin` };
  const options = { stdout: 2, stderr: 2, env } as const;
  await runProgram("apt-get", ["-qq", "update"], options);
  const done = await runProgram("apt-get", ["-qq", "install", "-y", "--no-install-recommends", ...names], options);
  return done.code === 0;
}
