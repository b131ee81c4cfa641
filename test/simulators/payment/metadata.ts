/** An empty value removes its key; an empty whole removes all keys. */
export const mergeMetadata = (before: Record<string, string> | null, given: Record<string, string> | '' | undefined) => {
  if (given === undefined) return before ?? {}
  if (given === '') return {}
  return Object.fromEntries(Object.entries({...before, ...given}).filter(([, value]) => value !== '' && value !== null))
}

/** An empty text unsets the value; a missing one keeps it. */
export const orNull = <T>(given: T | '' | undefined, before: T | null = null): T | null =>
  given === undefined ? before : given === '' ? null : given
