import type {Db, Pool, Tx} from '../../sql/database.ts'
import {Refusal} from '../errors.ts'
import {type Annotation, type AnnotationValue, type Issue, mostAnnotations} from './annotation.ts'
import type {Author} from './change.ts'
import {annotationsOf, isSame} from './diff.ts'
import type {Registry} from './document.ts'
import {editRegistry, type RegistryEditInput} from './edit.ts'
import {excludedFields} from './import-settings.ts'
import {curate, fieldNames, invalid} from './modules.ts'
import {chooseModule, findModules, type KnownModule} from './name.ts'

type FieldRef = {module: string; connector?: string | undefined}

/** Returns the fields of a module with their annotations. `all` includes removed fields, and fields that only an annotation names. */
export const describeFields = async (db: Db, registry: Registry, knownModule: KnownModule, {all}: {all: boolean}) => {
  const annotations = new Map(annotationsOf(registry, knownModule.curated?.key ?? '').map(one => [one.apiName, one]))
  const found = await fieldNames(db, knownModule)
  const annotationOf = (apiName: string) => annotations.get(apiName) ?? null
  const excluded = excludedFields(knownModule.curated?.exclusions ?? [], [...annotations.values()])
  const present = found.fields.map(field => ({
    ...field,
    annotation: annotationOf(field.apiName),
    excluded: excluded.has(field.apiName),
    removed: false,
  }))
  if (!all) return present
  const gone = found.removed.map(({field, removedAt}) => ({
    ...field,
    annotation: annotationOf(field.apiName),
    excluded: excluded.has(field.apiName),
    removed: true,
    removedAt,
  }))
  const unseen = [...annotations.values()].filter(({apiName}) => !found.all.has(apiName))
  return [...present, ...gone, ...unseen.map(annotation => ({apiName: annotation.apiName, annotation, removed: true, removedAt: null}))]
}

/** A change of one field's annotation: a value that is left out stays, null removes it. */
type AnnotationPatch = {[N in AnnotationValue]?: Annotation[N] | null | undefined}

export const patchAnnotation = (
  db: Pool,
  author: Author,
  input: RegistryEditInput & FieldRef & {apiName: string},
  patch: AnnotationPatch,
) =>
  editRegistry(db, author, input, async (registry, tx) => {
    const {known: knownModule, held, key, set, isKnown} = await openSet(tx, author.org, registry, input)
    const {apiName} = input
    if (!isKnown(apiName))
      throw new Refusal('NOT_FOUND', `${knownModule.apiName} has no field ${apiName}. Run a discovery to find new fields`)
    const before = set.find(one => one.apiName === apiName)
    if (Object.keys(patch).length === 0) return {registry, annotation: before ?? null}
    const annotation = {...before, ...patch, apiName}
    const values = Object.entries(annotation).filter(([, value]) => value !== null && value !== undefined)
    const after = Object.fromEntries(values) as Annotation
    const rest = values.length > 1 ? [after] : []
    const changed = before ? set.flatMap(one => (one === before ? rest : [one])) : [...set, ...rest]
    if (isSame(set, changed)) return {registry, annotation: before ?? null}
    assertFew(changed)
    return {registry: withSet(held, key, changed), annotation: rest[0] ?? null}
  })

export const replaceAnnotations = (db: Pool, author: Author, input: RegistryEditInput & FieldRef, after: Annotation[]) =>
  editRegistry(db, author, input, async (registry, tx) => {
    const {known: knownModule, held, key, set, isKnown} = await openSet(tx, author.org, registry, input)
    const unknown = after.flatMap(({apiName}, at): Issue[] =>
      isKnown(apiName) ? [] : [{code: 'custom', path: [at, 'apiName'], message: `${knownModule.apiName} has no field ${apiName}`}],
    )
    if (unknown.length > 0) throw invalid(unknown)
    const old = new Map(set.map(one => [one.apiName, one]))
    const now = new Set(after.map(({apiName}) => apiName))
    const counts = {
      added: after.filter(({apiName}) => !old.has(apiName)).length,
      changed: after.filter(one => old.has(one.apiName) && !isSame(one, old.get(one.apiName))).length,
      removed: set.filter(({apiName}) => !now.has(apiName)).length,
    }
    return {registry: isSame(set, after) ? registry : withSet(held, key, after), counts}
  })

/** `held`: the registry with an entry for this module, so that annotations can be added. */
const openSet = async (tx: Tx, org: string, registry: Registry, {module: name, connector}: FieldRef) => {
  const everything = await findModules(tx, org, registry)
  const knownModule = chooseModule(everything, {name, connector})
  const [held, {key}] = curate(registry, knownModule, everything)
  const set = annotationsOf(held, key)
  const {all} = await fieldNames(tx, knownModule)
  const annotated = new Set(set.map(({apiName}) => apiName))
  return {known: knownModule, held, key, set, isKnown: (apiName: string) => all.has(apiName) || annotated.has(apiName)}
}

const withSet = (registry: Registry, key: string, set: Annotation[]): Registry => {
  const {[key]: _, ...others} = registry.fields
  return {...registry, fields: set.length > 0 ? {...others, [key]: set} : others}
}

const assertFew = (set: Annotation[]) => {
  if (set.length > mostAnnotations)
    throw invalid([{code: 'too_big', path: [], message: `At most ${mostAnnotations} annotated fields per module`}])
}
