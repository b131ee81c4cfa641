/** Every built-in helper; `helpers.<name>`. A test holds this list against what the sources under `inside/helpers/` export. */
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

/** What an expression is given. */
export const GIVEN = ['row', 'value', 'context', 'helpers'] as const

/** Plain JavaScript an expression may name besides. `Date` tells the run's clock, `Math.random` is seeded by row. */
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

/** Ways to a constructor, and from there to other code. Refused on everything but `row`, whose columns may have these names. */
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

/** Whether a library may not take this name: it is ours, or it is the language's. */
export const isReservedNamespace = (name: string) => RESERVED.has(name)
