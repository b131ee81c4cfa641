import {CrmError, type CrmRecord, type CrmUser} from '../../shared/crm/crm.ts'
import {longestWord} from '../../shared/crm/search.ts'
import {atPoint} from '../../shared/fault-point.ts'
import type {SnapshotLookup} from '../../shared/flows/lookups.ts'
import {matchKeyOf, normalise} from '../../shared/flows/match-key.ts'
import {findMatches} from '../../sql/chain-rows.ts'
import {mostCandidates} from '../../sql/questions.ts'
import {findAnswers, type KeptAnswer, keepAnswers, type LookupAnswer} from '../../sql/run-lookups.ts'
import type {Context} from './context.ts'
import {allOf} from './match.ts'
import {askPatiently} from './patience.ts'

/** Values by the digest that names them, each in the spellings that rows have it in. */
export type Wanted = Map<string, string[]>
export type Lookups = {
  /** What each value comes to, by its digest. */
  answer(ctx: Context, lookup: SnapshotLookup, wanted: Wanted): Promise<Map<string, LookupAnswer>>
}

/** Answers kept in memory; the others are read again from the run's own table. */
const remembered = 10_000
const valuesPerQuery = 50
/** No field that is searched holds a longer text. */
const longestValue = 2_000

type ReadUsers = (ctx: Context) => Promise<CrmUser[]>

const none: LookupAnswer = {found: 0, candidates: []}

/** Null for what no record can be found by. Nothing of the value can be read back from it. */
export const digestOf = (text: string, {field}: SnapshotLookup): string | null =>
  text.length > longestValue ? null : (matchKeyOf([text], [field])?.toString('latin1') ?? null)

/**
 * The lookups of one run. What the run itself made is known first; then each value is looked up once, whoever carries the run: its answer
 * is kept before it is used.
 */
export const openLookups = (): Lookups => {
  const known = new Map<string, LookupAnswer>()
  const underWay = new Map<string, Promise<LookupAnswer>>()
  const remember = (name: string, answer: LookupAnswer) => {
    known.delete(name)
    known.set(name, answer)
    if (known.size > remembered) known.delete(known.keys().next().value!)
    return answer
  }
  let users: Promise<CrmUser[]> | null = null
  const readUsers = (ctx: Context) =>
    (users ??= askPatiently(ctx, () => ctx.connection.listUsers({signal: ctx.lease.lost})).catch(error => {
      users = null
      throw error
    }))

  return {
    async answer(ctx, lookup, wanted) {
      const answers = await findOwn(ctx, lookup, wanted)
      const rest = [...wanted.keys()].filter(digest => !answers.has(digest))
      const nameOf = (digest: string) => `${lookup.no} ${digest}`
      const fresh = new Map(
        rest.filter(digest => !known.has(nameOf(digest)) && !underWay.has(nameOf(digest))).map(one => [one, wanted.get(one)!]),
      )
      const asking = fresh.size ? find(ctx, lookup, fresh, readUsers) : null
      for (const digest of fresh.keys()) {
        const name = nameOf(digest)
        const answered = asking!.then(found => remember(name, found.get(digest)!))
        underWay.set(
          name,
          answered.finally(() => underWay.delete(name)),
        )
      }
      const answered = rest.map(async digest => {
        const name = nameOf(digest)
        const answer = known.get(name)
        answers.set(digest, answer ? remember(name, answer) : await underWay.get(name)!)
      })
      await allOf(answered)
      return answers
    },
  }
}

/** What flows of this run, or of its chain, wrote under these values. Nothing is asked where none writes what is searched. */
const findOwn = async ({hot, chain, retried}: Context, {ownModule}: SnapshotLookup, wanted: Wanted) => {
  const own = new Map<string, LookupAnswer>()
  if (ownModule === null || wanted.size === 0) return own
  const keys = [...wanted.keys()].map(digest => Buffer.from(digest, 'latin1'))
  for (const {key, recordId} of await findMatches(hot, {chains: [chain, retried ?? chain], module: ownModule, keys})) {
    if (recordId === null) continue
    const digest = key.toString('latin1')
    own.set(digest, answerOf([...(own.get(digest)?.candidates ?? []), recordId]))
  }
  return own
}

/** Those that an owner of the run has looked up before, and the others from the CRM. */
const find = async (ctx: Context, lookup: SnapshotLookup, wanted: Wanted, readUsers: ReadUsers): Promise<Map<string, LookupAnswer>> => {
  const at = {run: ctx.run.no, lookup: lookup.no}
  const kept = byDigest(await findAnswers(ctx.hot, {...at, hashes: [...wanted.keys()].map(digest => Buffer.from(digest, 'latin1'))}))
  const unknown = new Map([...wanted].filter(([digest]) => !kept.has(digest)))
  if (unknown.size === 0) return kept
  const asked = lookup.module === null ? groupUsers(await readUsers(ctx), lookup) : await ask(ctx, lookup, unknown)
  const answers = [...unknown.keys()].map(digest => ({hash: Buffer.from(digest, 'latin1'), ...(asked.get(digest) ?? none)}))
  const held = byDigest(await keepAnswers(ctx.hot, {...at, answers}))
  atPoint('after_lookup')
  return new Map([...kept, ...held])
}

const byDigest = (answers: KeptAnswer[]) =>
  new Map(answers.map(({hash, found, candidates}) => [hash.toString('latin1'), {found, candidates}]))

const ask = (ctx: Context, lookup: SnapshotLookup, wanted: Wanted): Promise<Map<string, LookupAnswer>> =>
  lookup.method === 'word' ? askByWord(ctx, lookup, wanted) : askByValue(ctx, lookup, wanted)

const NUMBERS = new Set(['integer', 'double', 'percent', 'currency'])

/** One query for fifty values, every spelling as it stands and without its spare blanks; the answers are compared again by our own key. */
const askByValue = async (ctx: Context, lookup: SnapshotLookup, wanted: Wanted) => {
  const {apiName, type} = lookup.field
  const literalOf = (text: string) => (NUMBERS.has(type) ? Number(text) : text)
  const spellings = new Set(
    [...wanted.values()].flat().flatMap(text => [literalOf(text), literalOf(text.normalize('NFC').trim().replace(/\s+/g, ' '))]),
  )
  const values = [...spellings].filter(value => !Number.isNaN(value))
  const queries = Array.from({length: Math.ceil(values.length / valuesPerQuery)}, (_, n) =>
    values.slice(n * valuesPerQuery, (n + 1) * valuesPerQuery),
  )
  const asked = queries.map(some =>
    askPatiently(ctx, () =>
      ctx.connection.findRecords({module: lookup.module!, field: apiName, values: some, fields: [apiName]}, {signal: ctx.lease.lost}),
    ),
  )
  const answered = await allOf(asked)
  const answers = group(
    answered.flatMap(({records}) => records),
    lookup,
  )
  for (const {value} of answered.flatMap(({unaskable}) => unaskable)) {
    const digest = digestOf(value, lookup)
    if (digest !== null && !answers.has(digest)) answers.set(digest, unsearchable)
  }
  return answers
}

const group = (records: CrmRecord[], lookup: SnapshotLookup) => {
  const ids = Map.groupBy(records, record => digestOf(String(plain(record[lookup.field.apiName]) ?? ''), lookup))
  return new Map([...ids].flatMap(([digest, found]) => (digest === null ? [] : [[digest, answerOf(found.map(({id}) => id))] as const])))
}

const plain = (value: unknown) => (typeof value === 'object' && value !== null && 'id' in value ? value.id : value)

/**
 * The CRM's free-text search looks everywhere in a record. Those that have the value in the field searched, to the letter, are meant before
 * those that have every word of it there; the others are not.
 */
const askByWord = async (ctx: Context, lookup: SnapshotLookup, wanted: Wanted) => {
  const asked = [...wanted].map(async ([digest, [text]]) => {
    const word = text!.trim()
    if ([...word].length > longestWord) return [digest, unsearchable] as const
    const query = {module: lookup.module!, word, page: 1, perPage: 200}
    const records = await askPatiently(ctx, () => ctx.connection.searchWord(query, {signal: ctx.lease.lost}).catch(nullIfRefused))
    if (records === null) return [digest, unsearchable] as const
    return [digest, group(records, lookup).get(digest) ?? answerOf(records.filter(hasWords(word, lookup)).map(({id}) => id))] as const
  })
  return new Map(await allOf(asked))
}

/** The CRM cannot be searched by this value. */
const unsearchable: LookupAnswer = {found: -1, candidates: []}

const valueCodes = ['INVALID_DATA', 'INVALID_QUERY', 'PATTERN_NOT_MATCHED', 'LIMIT_EXCEEDED']

/** One value that the CRM refuses must not stop the run: the rows of the others can be written. */
const nullIfRefused = (error: unknown): null => {
  if (error instanceof CrmError && error.crm.status === 400 && valueCodes.includes(error.crm.code ?? '')) return null
  throw error
}

const hasWords = (text: string, {field}: SnapshotLookup) => {
  const words = text.toLowerCase().split(/\s+/)
  return (record: CrmRecord) => {
    const shown = normalise(record[field.apiName], field)?.toLowerCase() ?? ''
    return words.every(word => shown.includes(word))
  }
}

/** An org has few users: all of them are read once, and every value has its answer. */
const groupUsers = (users: CrmUser[], lookup: SnapshotLookup) =>
  group(
    users.map(({id, email, name}) => ({id, email, full_name: name})),
    lookup,
  )

/** The CRM's ids are numbers that grow: the oldest record first. */
const answerOf = (ids: string[]): LookupAnswer => {
  const sorted = [...new Set(ids)].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return {found: sorted.length, candidates: sorted.slice(0, mostCandidates)}
}
