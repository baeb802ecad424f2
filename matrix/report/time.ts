/** "43 s", "3 min 7 s" */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${ms < 9950 ? (ms / 1000).toFixed(1) : seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
