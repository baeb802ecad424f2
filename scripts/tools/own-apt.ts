// An apt separate from the machine's own: one suite of one mirror, with lists and cache in a separate folder, without root.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const key = "/usr/share/keyrings/debian-archive-keyring.gpg";

/**
 * Arguments with which apt-get and apt-cache see nothing but `suite` of `mirror`; what they keep lies in `folder`. The archive's
 * signature is checked with the archive's own key where the machine has it, else with the keys that apt trusts.
 */
export function ownApt(
  folder: string,
  { mirror, suite, architecture }: { readonly mirror: string; readonly suite: string; readonly architecture?: string },
): string[] {
  for (const name of ["lists/partial", "cache/archives/partial", "parts"]) mkdirSync(join(folder, name), { recursive: true });
  // The hooks of container images would clean the system's own cache.
  writeFileSync(join(folder, "apt.conf"), "#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n");
  const options = [architecture === undefined ? "" : `arch=${architecture}`, existsSync(key) ? `signed-by=${key}` : ""].filter(Boolean);
  const marked = options.length === 0 ? "" : `[${options.join(" ")}] `;
  writeFileSync(join(folder, "sources.list"), `deb ${marked}${mirror} ${suite} main\n`);
  const settings = [
    `Dir::Etc::sourcelist=${folder}/sources.list`,
    `Dir::Etc::sourceparts=${folder}/parts`,
    "Dir::Etc::preferences=/dev/null",
    `Dir::Etc::preferencesparts=${folder}/parts`,
    `Dir::State::lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    "Dir::State::status=/dev/null",
    "Acquire::Languages=none",
    `APT::Sandbox::User=${process.getuid?.() === 0 ? "root" : (process.env.USER ?? "nobody")}`,
    // Without it an unreachable mirror is only a warning.
    "APT::Update::Error-Mode=any",
  ];
  return ["-c", join(folder, "apt.conf"), ...settings.flatMap((setting) => ["-o", setting])];
}
