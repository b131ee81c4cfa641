import {z} from 'zod'
import {Refusal} from '../errors.ts'

/**
 * What of an import a question is about. Its key is a JSON array: the kind, then these parts in this order. `source` is the id of a file; where
 * `optional` says so a part may be empty, for none. Kinds and parts are told in `api/README.md` too.
 */
const KINDS = {
  source: {parts: ['source'], optional: []},
  field: {parts: ['source', 'module', 'field'], optional: []},
  vals: {parts: ['module'], optional: []},
  failed: {parts: ['source', 'module', 'problem', 'code', 'field'], optional: ['source', 'module', 'problem', 'code', 'field']},
  issue: {parts: ['source', 'problem', 'module', 'field'], optional: ['source', 'module', 'field']},
  checks: {parts: [], optional: []},
  run: {parts: [], optional: []},
} as const satisfies Record<string, {parts: readonly Part[]; optional: readonly Part[]}>

type Part = 'source' | 'module' | 'field' | 'problem' | 'code'
type Kind = keyof typeof KINDS
/** As it is answered: a part without a word is null. */
export type Place = {kind: Kind} & {[P in Part]?: string | null}

/** Of the key. It stands in an index, which takes 2,704 bytes. */
const longest = 600

const Parts = z.tuple([z.enum(Object.keys(KINDS) as Kind[])]).rest(z.string().refine(text => !/\p{Cc}/u.test(text) && text.isWellFormed()))

/** A place as a body has it: the array. Throws INVALID_PLACE. */
export const readPlace = (given: unknown): Place => {
  const {data} = Parts.safeParse(given)
  if (!data) throw invalidPlace()
  const [kind, ...words] = data
  const {parts, optional}: {parts: readonly Part[]; optional: readonly Part[]} = KINDS[kind]
  const isWhole = words.length === parts.length && parts.every((part, at) => words[at] !== '' || optional.includes(part))
  if (!isWhole || JSON.stringify(data).length > longest) throw invalidPlace()
  return {kind, ...Object.fromEntries(parts.map((part, at) => [part, words[at] || null]))}
}

/** A place as a query has it: the key. Throws INVALID_PLACE. */
export const readPlaceKey = (key: string): Place => readPlace(parse(key))

/** However it was written, a place has one key. */
export const keyOfPlace = (place: Place): string => JSON.stringify([place.kind, ...KINDS[place.kind].parts.map(part => place[part] ?? '')])

const parse = (key: string): unknown => {
  try {
    return JSON.parse(key)
  } catch {
    throw invalidPlace()
  }
}

export const invalidPlace = () =>
  new Refusal(
    'INVALID_PLACE',
    'This names no place of the import: a place is an array of its kind and parts, such as ["source","src_…"], ["vals","Leads"] or ["checks"]',
  )
