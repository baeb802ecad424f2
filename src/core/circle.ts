/** Points of the unit circle. */

/** cos and sin of 2π t / n, exact at multiples of 45 degrees. */
export function cosSin(t: number, n: number): [cos: number, sin: number] {
  const r = ((t % n) + n) % n;
  // The angle is brought below an eighth, where neither loses digits.
  const octant = Math.floor((8 * r) / n);
  const near = (odd: boolean): number => (2 * Math.PI * (odd ? ((octant + 1) * n) / 8 - r : r - (octant * n) / 8)) / n;
  const angle = near(octant % 2 === 1);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  switch (octant) {
    case 0:
      return [c, s];
    case 1:
      return [s, c];
    case 2:
      return [-s, c];
    case 3:
      return [-c, s];
    case 4:
      return [-c, -s];
    case 5:
      return [-s, -c];
    case 6:
      return [s, -c];
    default:
      return [c, -s];
  }
}
