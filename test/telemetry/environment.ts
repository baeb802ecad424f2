/** Variables of a program that may send: this process's own without those that say no, and a folder for consent. */
export function environmentIn(data: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(CI|DO_NOT_TRACK|DXTENSOR_TELEMETRY\w*|VITEST\w*|NODE_OPTIONS)$/.test(name),
  );
  return { ...(Object.fromEntries(own) as Record<string, string>), XDG_DATA_HOME: data, LOCALAPPDATA: data, NO_COLOR: "1", ...more };
}
