import {z} from 'zod'
import {Refusal} from '../../errors.ts'

/**
 * The places of an import that a question can be about. The key of a place is a JSON array: the kind, then the parts listed here in order.
 * `source` is a source id; a part listed in `optional` may be empty. `docs/assistant.md` documents the kinds and parts.
 */
const KINDS = {
  source: {parts: ['source'], optional: []},
  field: {parts: ['source', 'module', 'field'], optional: []},
  vals: {parts: ['module'], optional: []},
  failed: {parts: ['source', 'module', 'problem', 'code', 'field'], optional: ['source', 'module', 'problem', 'code', 'field']},
  issue: {parts: ['source', 'problem', 'module', 'field'], optional: ['source', 'module', 'field']},
  checks: {parts: [], optional: []},
  run: {parts: [], optional: []},
} as const satisfies Record<string, {parts: readonly PlaceKey[]; optional: readonly PlaceKey[]}>

type PlaceKey = 'source' | 'module' | 'field' | 'problem' | 'code'
type Kind = keyof typeof KINDS
/** A place as the API returns it; an empty part is null. */
export type ConversationPlace = {kind: Kind} & {[P in PlaceKey]?: string | null}

/** Maximum length of a key in characters. Keys are indexed, and an index entry of Postgres has at most 2,704 bytes. */
const longest = 600

const Parts = z.tuple([z.enum(Object.keys(KINDS) as Kind[])]).rest(z.string().refine(text => !/\p{Cc}/u.test(text) && text.isWellFormed()))

/** Parses a place from the array of a request body. Throws INVALID_PLACE. */
export const readPlace = (given: unknown): ConversationPlace => {
  const {data} = Parts.safeParse(given)
  if (!data) throw invalidPlace()
  const [kind, ...words] = data
  const {parts, optional}: {parts: readonly PlaceKey[]; optional: readonly PlaceKey[]} = KINDS[kind]
  const isWhole = words.length === parts.length && parts.every((part, at) => words[at] !== '' || optional.includes(part))
  if (!isWhole || JSON.stringify(data).length > longest) throw invalidPlace()
  return {kind, ...Object.fromEntries(parts.map((part, at) => [part, words[at] || null]))}
}

export const readPlaceKey = (key: string): ConversationPlace => readPlace(parse(key))

export const keyOfPlace = (conversationPlace: ConversationPlace): string =>
  JSON.stringify([conversationPlace.kind, ...KINDS[conversationPlace.kind].parts.map(part => conversationPlace[part] ?? '')])

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
    'This is not a place of the import. A place is an array of its kind and parts, such as ["source","src_…"], ["vals","Leads"] or ["checks"]',
  )
