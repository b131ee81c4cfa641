/** An empty value takes its key away, an empty whole takes them all. */
export const mergeMetadata = (before: Record<string, string> | null, given: Record<string, string> | '' | undefined) => {
  if (given === undefined) return before ?? {}
  if (given === '') return {}
  return Object.fromEntries(Object.entries({...before, ...given}).filter(([, value]) => value !== '' && value !== null))
}

/** An empty text unsets; what was not given stays. */
export const orNull = <T>(given: T | '' | undefined, before: T | null = null): T | null =>
  given === undefined ? before : given === '' ? null : given
