// Debian suites that stand in for a platform where no container registry is reached, and where each is fetched from.
// A suite that leaves its mirror for the archive is a change of one line here, or of DXTENSOR_DEBIAN_MIRROR.
const debian = "http://deb.debian.org/debian";

export interface Suite {
  readonly glibc: string;
  readonly standsFor: string;
  readonly mirror: string;
  readonly archive: string;
}

export const suites: Readonly<Record<string, Suite>> = {
  bullseye: { glibc: "2.31", standsFor: "Ubuntu 20.04 (glibc 2.31)", mirror: debian, archive: "http://archive.debian.org/debian" },
  bookworm: { glibc: "2.36", standsFor: "Ubuntu 22.04 (glibc 2.35)", mirror: debian, archive: "http://archive.debian.org/debian" },
  trixie: { glibc: "2.41", standsFor: "Ubuntu 24.04 (glibc 2.39)", mirror: debian, archive: "http://archive.debian.org/debian" },
  sid: { glibc: "newest", standsFor: "what comes next", mirror: debian, archive: debian },
};

/** Of DXTENSOR_DEBIAN_MIRROR: "URL", or "bullseye=URL,sid=URL" for some suites only. */
function fromVariable(suite: string, value: string | undefined): string | undefined {
  for (const part of (value ?? "").split(",").filter((text: string) => text !== "")) {
    const named = /^([a-z]+)=(.+)$/.exec(part);
    if (named === null) return part;
    if (named[1] === suite) return named[2];
  }
  return undefined;
}

/** The mirror that a machine's own apt uses for Debian, from the text of its sources. */
export function readAptMirror(text: string): string | undefined {
  for (const line of text.split("\n")) {
    const url = /^(?:deb\s+(?:\[[^\]]*\]\s+)?|URIs:\s*)(https?:\/\/\S+\/debian)\/?(?:\s|$)/.exec(line.trim())?.[1];
    if (url !== undefined) return url;
  }
  return undefined;
}

/** An option's, DXTENSOR_DEBIAN_MIRROR's, apt's own. */
interface Mirrors {
  readonly explicit?: string | undefined;
  readonly variable?: string | undefined;
  readonly apt?: string | undefined;
}

/** Mirrors to try for a suite, in order. */
export function mirrorsOf(suite: string, { explicit, variable, apt }: Mirrors = {}): string[] {
  const chosen = explicit ?? fromVariable(suite, variable);
  if (chosen !== undefined) return [chosen.replace(/\/$/, "")];
  const { mirror, archive } = suites[suite]!;
  return [...new Set([apt, mirror, archive].filter((url) => url !== undefined))];
}
