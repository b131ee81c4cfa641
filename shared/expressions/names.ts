/** Every built-in helper, `helpers.<name>`. A test compares this list with the exports of `inside/helpers/`. */
export const HELPERS = [
  'trim',
  'collapse',
  'upper',
  'lower',
  'title',
  'sentence',
  'splitName',
  'split',
  'join',
  'replace',
  'coalesce',
  'lookup',
  'bool',
  'date',
  'dateTime',
  'addDate',
  'formatDate',
  'toZone',
  'fromZone',
  'number',
  'formatNumber',
  'phone',
  'email',
  'url',
  'hash',
] as const

export const GIVEN = ['row', 'value', 'context', 'helpers'] as const

/** JavaScript globals that an expression can use. `Date` returns the run's clock; `Math.random` is seeded per row. */
export const GLOBALS = [
  'undefined',
  'NaN',
  'Infinity',
  'Math',
  'JSON',
  'String',
  'Number',
  'Boolean',
  'Array',
  'Object',
  'Date',
  'RegExp',
  'parseInt',
  'parseFloat',
  'isNaN',
  'isFinite',
  'encodeURIComponent',
  'decodeURIComponent',
] as const

/** These properties lead to constructors and so to other code. They are refused on every value except `row`, whose columns may have these names. */
export const FORBIDDEN_PROPERTIES = new Set(['constructor', '__proto__', 'prototype'])

const RESERVED = new Set<string>([
  ...HELPERS,
  ...GIVEN,
  ...GLOBALS,
  ...FORBIDDEN_PROPERTIES,
  'core',
  'globalThis',
  'eval',
  'Function',
  'arguments',
])

export const isReservedNamespace = (name: string) => RESERVED.has(name)
