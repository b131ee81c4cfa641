/**
 * JSON numbers are parsed as doubles, so a number of 2^53 or more, positive or negative, may have lost digits. A number too large for a double
 * would be stored or sent as null.
 */
export const isExact = (value: unknown): boolean => {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}

export const notExact = 'A number of 9007199254740992 or more, positive or negative, would lose digits. Send it as text'
