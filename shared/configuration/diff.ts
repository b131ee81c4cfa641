import {type Annotation, type AnnotationValue, annotationValues} from './annotation.ts'
import type {Change} from './change.ts'
import {type ModuleValue, moduleValues, type Registry, type RegistryModule} from './document.ts'
import {type Settings, usualSettings} from './settings.ts'

/**
 * One changed value. `target`: null for a setting of the org. Null too for the write pause of a connection, because `edit.ts` adds the
 * connection's name later.
 */
export type ValueChange = Pick<Change, 'page' | 'subject' | 'before' | 'after'> & {target: string | null; connectorId: string | null}

export const usualModule = {
  enabled: null,
  singular: null,
  uniqueFields: [],
  idempotencyField: null,
  match: null,
  exclusions: [],
  seedMappings: [],
  onEdited: null,
} as const

/**
 * Returns all differing values, each with its complete new value in `after`; null means no value. Applied in this order, the changes turn the
 * registry `before` into `after`. `module.added` creates a module with the values of `usualModule`. `field.annotated` records that an annotation
 * without values exists.
 */
export const diffRegistry = (before: Registry, after: Registry): ValueChange[] => [
  ...diffSettings(before.settings, after.settings),
  ...diffWriting(before.writing, after.writing),
  ...diffModules(before.modules, after.modules),
  ...diffFields(before, after),
]

type Json = Change['after']
const asJson = (value: unknown) => (value ?? null) as Json

/** Returns whether two values have the same JSON, regardless of the order of keys. */
export const isSame = (one: unknown, other: unknown) => canonical(one) === canonical(other)
const canonical = (value: unknown) =>
  JSON.stringify(value ?? null, (_, part) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )

const diffSettings = (before: Settings, after: Settings): ValueChange[] =>
  (Object.keys(usualSettings) as (keyof Settings)[])
    .filter(name => !isSame(normalise(before)[name], normalise(after)[name]))
    .map(name => ({
      page: 'general',
      subject: `settings.${name}`,
      target: null,
      connectorId: null,
      before: asJson(before[name]),
      after: asJson(after[name]),
    }))

/** Documents may state the defaults of these settings. The store keeps no trace of a stated default. */
const normalise = (settings: Settings): Settings => ({
  ...settings,
  undo: settings.undo === 'off' ? 'off' : null,
  embedOrigins: settings.embedOrigins?.length ? settings.embedOrigins : null,
})

const diffWriting = (before: Registry['writing'], after: Registry['writing']): ValueChange[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter(id => Object.hasOwn(before, id) !== Object.hasOwn(after, id))
    .map(id => ({
      page: 'writing',
      subject: 'writing.paused',
      target: null,
      connectorId: id,
      before: Object.hasOwn(before, id),
      after: Object.hasOwn(after, id),
    }))

/** Returns whether both entries are the same CRM module: same connection and same API name. A key alone can move to another module. */
export const isOneModule = (one: RegistryModule, other: RegistryModule | undefined) =>
  other !== undefined && one.connectorId === other.connectorId && one.apiName === other.apiName

const diffModules = (before: RegistryModule[], after: RegistryModule[]): ValueChange[] => {
  const old = new Map(before.map(module => [module.key, module]))
  const now = new Map(after.map(module => [module.key, module]))
  const removed = before.filter(module => !isOneModule(module, now.get(module.key)))
  return [
    ...removed.map(module => moduleChange(module, 'module.removed', module, null)),
    ...after.flatMap(module => {
      const same = old.get(module.key)
      if (isOneModule(module, same)) return diffModule(same!, module)
      const {key, apiName, connectorId, order} = module
      const added = {key, apiName, connectorId, order}
      return [moduleChange(module, 'module.added', null, added), ...diffModule({...usualModuleOf(module), order}, module)]
    }),
  ]
}

const usualModuleOf = ({key, apiName, connectorId, order}: RegistryModule): RegistryModule => ({
  key,
  apiName,
  connectorId,
  order,
  ...structuredClone({...usualModule, uniqueFields: [], exclusions: [], seedMappings: []}),
})

const diffModule = (before: RegistryModule, after: RegistryModule): ValueChange[] =>
  ([...Object.keys(moduleValues), 'order'] as (ModuleValue | 'order')[])
    .filter(name => !isSame(before[name], after[name]))
    .map(name => moduleChange(after, `module.${name}`, before[name], after[name]))

const moduleChange = ({key, connectorId}: RegistryModule, subject: string, before: unknown, after: unknown): ValueChange => ({
  page: 'modules',
  subject,
  target: key,
  connectorId,
  before: asJson(before),
  after: asJson(after),
})

const diffFields = (before: Registry, after: Registry): ValueChange[] => {
  const connectors = new Map([...before.modules, ...after.modules].map(({key, connectorId}) => [key, connectorId]))
  return [...new Set([...Object.keys(before.fields), ...Object.keys(after.fields)])].flatMap(key =>
    diffAnnotations(key, connectors.get(key) ?? null, annotationsOf(before, key), annotationsOf(after, key)),
  )
}

export const annotationsOf = ({fields}: Pick<Registry, 'fields'>, key: string): Annotation[] =>
  (Object.hasOwn(fields, key) ? fields[key] : undefined) ?? []

const diffAnnotations = (key: string, connectorId: string | null, before: Annotation[], after: Annotation[]): ValueChange[] => {
  const old = new Map(before.map(one => [one.apiName, valuesOf(one)]))
  const now = new Map(after.map(one => [one.apiName, valuesOf(one)]))
  const names = [...new Set([...old.keys(), ...now.keys()])]
  const changes = names.flatMap(name => diffValues(`${key}.${name}`, connectorId, old.get(name) ?? {}, now.get(name) ?? {}))
  // Without a recorded order, remaining names keep their order and new names follow. Any other order is recorded as a separate change.
  const usual = names.filter(name => now.has(name))
  const order = [...now.keys()]
  if (isSame(usual, order)) return changes
  const wasOrder = asJson([...old.keys()])
  return [...changes, {page: 'fields', subject: 'field.order', target: key, connectorId, before: wasOrder, after: order}]
}

type Values = Partial<Record<AnnotationValue | 'annotated', unknown>>

const valuesOf = ({apiName: _, ...values}: Annotation): Values => (Object.keys(values).length > 0 ? values : {annotated: true})

const SUBJECTS: Partial<Record<keyof Values, string>> = {pii: 'excludeFromAi'}
const valueNames = [...Object.keys(annotationValues), 'annotated'] as (keyof Values)[]

/**
 * Returns the changed values of one annotation. Added values come before removed ones, so that a remaining annotation always has a value while
 * the changes are applied.
 */
const diffValues = (target: string, connectorId: string | null, before: Values, after: Values): ValueChange[] =>
  valueNames
    .filter(name => !isSame(before[name], after[name]))
    .map(name => ({
      page: 'fields',
      subject: `field.${SUBJECTS[name] ?? name}`,
      target,
      connectorId,
      before: asJson(before[name]),
      after: asJson(after[name]),
    }))
    .toSorted((one, other) => Number(one.after === null) - Number(other.after === null))
