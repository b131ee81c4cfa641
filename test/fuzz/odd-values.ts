import fc from 'fast-check'

/** Values that have broken services: limits of numbers, text and depth, and names of built-in object properties. */
const odd = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udfffb',
  '\ufeff',
  '\u202e',
  '\u2028',
  '💥'.repeat(50),
  'ﬃ',
  "'; drop table runs; --",
  '%00',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e999',
  '9'.repeat(400),
  'x'.repeat(10_000),
  '{{1}}',
  '\r\nx: y',
]
const numbers = [0, -0, -1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 2 ** 63, 1e308, 5e-324]

/** Returns `[[[…]]]` as text. The value itself is never built. */
export const deepJson = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

const withKey = (key: string, value: unknown) => Object.fromEntries([[key, value]])

export const boundaries = {
  strings: fc.constantFrom(...odd),
  values: fc.oneof(
    fc.constantFrom<unknown>(...odd, ...numbers, null, true, false, [], {}, [[]], [null]),
    fc.constantFrom<unknown>(withKey('__proto__', {polluted: true}), withKey('constructor', {prototype: {polluted: true}})),
    fc.constantFrom<unknown>(Array(5000).fill(0), Array(1001).fill('x'), JSON.parse(deepJson(200))),
    fc.jsonValue({maxDepth: 3}),
  ),
}

/** Changes a value at one position: replaces the value there, removes it, or adds a key to it. */
export const bend = (value: unknown, {at, how, put}: {at: number; how: 'replace' | 'remove' | 'add'; put: unknown}): unknown => {
  const places = placesOf(value)
  const path = places[at % places.length]!
  if (how === 'add')
    return changed(value, path, one =>
      isObject(one) ? Object.fromEntries([...Object.entries(one), [ODD_KEYS[at % ODD_KEYS.length]!, put]]) : put,
    )
  return changed(value, path, () => (how === 'remove' && path.length ? GONE : put))
}

const ODD_KEYS = ['__proto__', 'constructor', 'extra', '', 'id', 'org', 'toJSON']
const GONE = Symbol('gone')

const placesOf = (value: unknown, path: (string | number)[] = []): (string | number)[][] => {
  if (Array.isArray(value)) return [path, ...value.slice(0, 5).flatMap((one, at) => placesOf(one, [...path, at]))]
  if (isObject(value)) return [path, ...Object.entries(value).flatMap(([key, one]) => placesOf(one, [...path, key]))]
  return [path]
}

const changed = (value: unknown, [step, ...rest]: (string | number)[], change: (value: unknown) => unknown): unknown => {
  if (step === undefined) return change(value)
  const entries = Object.entries(value as object).map(
    ([key, one]) => [key, key === String(step) ? changed(one, rest, change) : one] as const,
  )
  const kept = entries.filter(([, one]) => one !== GONE)
  return Array.isArray(value) ? kept.map(([, one]) => one) : Object.fromEntries(kept)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)
