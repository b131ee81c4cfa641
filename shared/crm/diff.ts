import {isDeepStrictEqual} from 'node:util'
import type {DiscoveredField, DiscoveredModule, DiscoveryDiff} from './discovered.ts'

type FieldChange = {what: string; before: unknown; after: unknown}
type ModuleChange = DiscoveryDiff['changed'][number]
type Snapshot = {id: string; modules: readonly DiscoveredModule[]}

/** Compares two discoveries by API name. Without an earlier discovery, there are no changes. */
export const diffModules = (before: Snapshot | null, modules: readonly DiscoveredModule[]): DiscoveryDiff => {
  if (!before) return {since: null, added: [], removed: [], changed: []}
  const {added, removed, both} = pair(before.modules, modules)
  const changed = both.map(([old, now]) => diffModule(old, now)).filter(change => change !== null)
  return {since: before.id, added, removed, changed}
}

const diffModule = (old: DiscoveredModule, now: DiscoveredModule): ModuleChange | null => {
  const {added, removed, both} = pair(old.fields, now.fields)
  const changed = both
    .map(([one, other]) => ({field: other.apiName, changes: diffField(one, other)}))
    .filter(({changes}) => changes.length > 0)
  const changes = [
    ...compare(old, now, moduleTraits),
    ...diffLists('layouts', keptOn(old, both), keptOn(now, both)),
    ...diffLists('assignmentRules', old.assignmentRules, now.assignmentRules),
  ]
  if (changes.length + added.length + removed.length + changed.length === 0) return null
  return {module: now.apiName, changes, fields: {added, removed, changed}} as ModuleChange
}

const moduleTraits = [
  ...([
    'id',
    'kind',
    'label',
    'singular',
    'creatable',
    'editable',
    'visible',
    'subformOf',
    'namingField',
    'unread',
    'hasWriteOptions',
  ] as const),
]
const fieldTraits = [
  'label',
  'type',
  'jsonType',
  'length',
  'decimalPlaces',
  'required',
  'hasDefault',
  'layoutRequired',
  'unique',
  'creatable',
  'updatable',
  'readOnly',
  'visible',
  'lookup',
  'subform',
  'unqueryable',
] as (keyof DiscoveredField)[]

const diffField = (old: DiscoveredField, now: DiscoveredField): FieldChange[] => [
  ...compare(old, now, fieldTraits),
  ...diffPicklist(old.picklist, now.picklist),
]

/** `before` has the removed and the changed options in their old form, `after` the added and the changed options in their new form. */
const diffPicklist = (old: DiscoveredField['picklist'], now: DiscoveredField['picklist']): FieldChange[] => {
  const before = without(old, now)
  const after = without(now, old)
  return before.length + after.length === 0 ? [] : [{what: 'picklist', before, after}]
}

/** Reduces the layouts to the fields that both discoveries have. Other fields are reported as added or removed. */
const keptOn = ({layouts}: DiscoveredModule, both: (readonly [DiscoveredField, DiscoveredField])[]) => {
  const names = new Set(both.map(([{apiName}]) => apiName))
  const kept = (fields: string[]) => fields.filter(name => names.has(name)).toSorted()
  return layouts?.map(({fields, required, ...layout}) => ({...layout, fields: kept(fields), required: kept(required)}))
}

/** `before` has the removed and the changed layouts or rules in their old form, `after` the added and the changed ones in their new form. */
const diffLists = (what: string, old: unknown[] = [], now: unknown[] = []): FieldChange[] => {
  const missing = (some: unknown[], others: unknown[]) => some.filter(one => !others.some(other => isDeepStrictEqual(one, other)))
  const [before, after] = [missing(old, now), missing(now, old)]
  return before.length + after.length === 0 ? [] : [{what, before, after}]
}

const without = (options: DiscoveredField['picklist'], others: DiscoveredField['picklist']) => {
  const known = new Set(others.map(option => keyOf(option)))
  return options.filter(option => !known.has(keyOf(option)))
}

const keyOf = ({actual, display, unused}: DiscoveredField['picklist'][number]) => JSON.stringify([actual, display, unused])

const compare = <T extends object>(old: T, now: T, traits: readonly (keyof T & string)[]): FieldChange[] =>
  traits.filter(what => !isDeepStrictEqual(old[what], now[what])).map(what => ({what, before: old[what] ?? null, after: now[what] ?? null}))

const pair = <T extends {apiName: string}>(old: readonly T[], now: readonly T[]) => {
  const before = new Map(old.map(one => [one.apiName, one]))
  const after = new Set(now.map(({apiName}) => apiName))
  return {
    added: now.filter(({apiName}) => !before.has(apiName)).map(({apiName}) => apiName),
    removed: old.filter(({apiName}) => !after.has(apiName)).map(({apiName}) => apiName),
    both: now.flatMap(one => (before.has(one.apiName) ? [[before.get(one.apiName)!, one] as const] : [])),
  }
}
