/** Keys that come first. All others follow in alphabetical order. */
const FIRST = [
  'key',
  'namespace',
  'id',
  'slot',
  'name',
  'apiName',
  'label',
  'field',
  'version',
  'connectorId',
  'sourceId',
  'module',
  'mode',
  'source',
  'sources',
  'flows',
]

const rankOf = (key: string) => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length)

/** Formats JSON with sorted keys, so that equal values give equal text. */
export const formatJson = (value: unknown): string => `${JSON.stringify(sorted(value), null, 2)}\n`

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).sort(([one], [other]) => rankOf(one) - rankOf(other) || (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([key, part]) => [key, sorted(part)]))
}
