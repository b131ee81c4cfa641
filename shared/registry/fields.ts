import type {Db, Pool, Tx} from '../../sql/database.ts'
import {Refusal} from '../errors.ts'
import {type Annotation, type AnnotationValue, type Issue, mostAnnotations} from './annotation.ts'
import type {Author} from './change.ts'
import {annotationsOf, isSame} from './diff.ts'
import type {Registry} from './document.ts'
import {type Asked, editRegistry} from './edit.ts'
import {curate, fieldNames, invalid} from './modules.ts'
import {chooseModule, findModules, type Known} from './name.ts'

type Named = {module: string; connector?: string | undefined}

/** A field with what the org says about it. `all`: with those that are there no more, and those only an annotation knows. */
export const describeFields = async (db: Db, registry: Registry, known: Known, {all}: {all: boolean}) => {
  const annotations = new Map(annotationsOf(registry, known.curated?.key ?? '').map(one => [one.apiName, one]))
  const found = await fieldNames(db, known)
  const annotationOf = (apiName: string) => annotations.get(apiName) ?? null
  const present = found.fields.map(field => ({...field, annotation: annotationOf(field.apiName), removed: false}))
  if (!all) return present
  const gone = found.removed.map(({field, removedAt}) => ({
    ...{...field, annotation: annotationOf(field.apiName), removed: true, removedAt},
  }))
  const unseen = [...annotations.values()].filter(({apiName}) => !found.all.has(apiName))
  return [...present, ...gone, ...unseen.map(annotation => ({apiName: annotation.apiName, annotation, removed: true, removedAt: null}))]
}

/** What is said about one field: a value left out stays, null takes it back. */
type AnnotationPatch = {[N in AnnotationValue]?: Annotation[N] | null | undefined}

export const patchAnnotation = (db: Pool, author: Author, asked: Asked & Named & {apiName: string}, patch: AnnotationPatch) =>
  editRegistry(db, author, asked, async (registry, tx) => {
    const {known, held, key, set, isKnown} = await openSet(tx, author.org, registry, asked)
    const {apiName} = asked
    if (!isKnown(apiName)) throw new Refusal('NOT_FOUND', `${known.apiName} has no field ${apiName}: a discovery finds new ones`)
    const before = set.find(one => one.apiName === apiName)
    const annotation = {...before, ...patch, apiName}
    const values = Object.entries(annotation).filter(([, value]) => value !== null && value !== undefined)
    const after = Object.fromEntries(values) as Annotation
    // With its last value the annotation goes too.
    const rest = values.length > 1 ? [after] : []
    const changed = before ? set.flatMap(one => (one === before ? rest : [one])) : [...set, ...rest]
    if (isSame(set, changed)) return {registry, annotation: before ?? null}
    assertFew(changed)
    return {registry: withSet(held, key, changed), annotation: rest[0] ?? null}
  })

/** A module's whole set at once. Answers how many fields are annotated that were not, otherwise than they were, and no more. */
export const replaceAnnotations = (db: Pool, author: Author, asked: Asked & Named, after: Annotation[]) =>
  editRegistry(db, author, asked, async (registry, tx) => {
    const {known, held, key, set, isKnown} = await openSet(tx, author.org, registry, asked)
    const unknown = after.flatMap(({apiName}, at): Issue[] =>
      isKnown(apiName) ? [] : [{code: 'custom', path: [at, 'apiName'], message: `${known.apiName} has no field ${apiName}`}],
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

/** The module with its annotations as they are; `held` is the registry with the module in it, should it be annotated now. */
const openSet = async (tx: Tx, org: string, registry: Registry, {module: name, connector}: Named) => {
  const everything = await findModules(tx, org, registry)
  const known = chooseModule(everything, {name, connector})
  const [held, {key}] = curate(registry, known, everything)
  const set = annotationsOf(held, key)
  const {all} = await fieldNames(tx, known)
  const annotated = new Set(set.map(({apiName}) => apiName))
  return {known, held, key, set, isKnown: (apiName: string) => all.has(apiName) || annotated.has(apiName)}
}

const withSet = (registry: Registry, key: string, set: Annotation[]): Registry => {
  const {[key]: _, ...others} = registry.fields
  return {...registry, fields: set.length > 0 ? {...others, [key]: set} : others}
}

const assertFew = (set: Annotation[]) => {
  if (set.length > mostAnnotations)
    throw invalid([{code: 'too_big', path: [], message: `At most ${mostAnnotations} fields of a module are annotated`}])
}
