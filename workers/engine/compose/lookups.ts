import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import {CrmError, type CrmRecord, type CrmUser} from '../../../shared/crm/crm.ts'
import {compareAge} from '../../../shared/crm/record-age.ts'
import {longestWord, shortestWord} from '../../../shared/crm/search.ts'
import {atPoint} from '../../../shared/fault-point.ts'
import type {SnapshotLookup} from '../../../shared/mapping/flows/lookups.ts'
import {matchKeyOf, normalise} from '../../../shared/mapping/flows/match-key.ts'
import {type Converted, convert, type Rules} from '../../../shared/mapping/flows/value.ts'
import {findMatches} from '../../../sql/chain-rows.ts'
import {mostCandidates} from '../../../sql/questions.ts'
import {findAnswers, type KeptAnswer, keepAnswers, type LookupAnswer} from '../../../sql/run-lookups.ts'
import type {Context} from '../context.ts'
import {readWithRetry} from '../send/crm-retry.ts'

/** Values to look up, by digest. Each digest has the spellings of its value in the rows. */
export type LookupValues = Map<string, string[]>
export type Lookups = {
  answer(ctx: Context, lookup: SnapshotLookup, lookupValues: LookupValues): Promise<Map<string, LookupAnswer>>
}

/** The number of answers cached in memory. Other answers are read again from the table `run_lookups`. */
const remembered = 10_000
/** The maximum length of a text that a search can find, in characters. */
const longestValue = 2_000

type ReadUsers = (ctx: Context) => Promise<CrmUser[]>

const noLookups: LookupAnswer = {found: 0, candidates: []}

/** Returns the digest of a text. Null: no record can be found by the text. The text cannot be recovered from the digest. */
export const digestOf = (text: string, {field}: SnapshotLookup): string | null =>
  text.length > longestValue ? null : (matchKeyOf([text], [field])?.toString('latin1') ?? null)

/** Types of fields whose values have several spellings. The CRM finds only one of them. */
const SPELLED = new Set(['integer', 'bigint', 'long', 'double', 'percent', 'currency', 'date', 'datetime'])

/**
 * Returns the text to search for. A number or a date is read as if it were written to the searched field. A text that is neither is searched for
 * unchanged.
 */
export const readSearchText = (text: string, {field, method}: SnapshotLookup, rules: Rules | undefined): Converted => {
  const unchanged: Converted = {ok: true, value: text}
  if (method !== 'equals' || !SPELLED.has(field.type)) return unchanged
  const read = convert(text, {...field, length: null, picklist: []}, rules)
  return read.ok || read.code === 'AMBIGUOUS_VALUE' ? read : unchanged
}

/**
 * Opens the lookups of one run. Records that the run or its chain wrote take precedence over the CRM. Any other value is looked up once in
 * the CRM, across all owners of the run, because the answer is stored before it is used.
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
    (users ??= readWithRetry(ctx, () => ctx.connection.listUsers({signal: ctx.lease.lost})).catch(error => {
      users = null
      throw error
    }))

  return {
    async answer(ctx, lookup, lookupValues) {
      const answers = await findOwn(ctx, lookup, lookupValues)
      const rest = [...lookupValues.keys()].filter(digest => !answers.has(digest))
      const nameOf = (digest: string) => `${lookup.no} ${digest}`
      const fresh = new Map(
        rest.filter(digest => !known.has(nameOf(digest)) && !underWay.has(nameOf(digest))).map(one => [one, lookupValues.get(one)!]),
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
      await settleAll(answered)
      return answers
    },
  }
}

/**
 * Finds records that rows of this run or its chain wrote, if their match keys have these values. Makes no query unless the run matches the
 * searched module by this field.
 */
const findOwn = async ({hot, chain, retried}: Context, {ownModule}: SnapshotLookup, lookupValues: LookupValues) => {
  if (ownModule === null || lookupValues.size === 0) return new Map<string, LookupAnswer>()
  const keys = [...lookupValues.keys()].map(digest => Buffer.from(digest, 'latin1'))
  const matches = await findMatches(hot, {chains: [chain, retried ?? chain], module: ownModule, keys})
  const written = matches.flatMap(({key, recordId}) => (recordId === null ? [] : [{digest: key.toString('latin1'), recordId}]))
  const byValue = Map.groupBy(written, ({digest}) => digest)
  return new Map([...byValue].map(([digest, group]) => [digest, answerOf(group.map(({recordId}) => recordId))]))
}

/** Reads the answers that the run has stored already. Queries the CRM for the others, and stores their answers. */
const find = async (
  ctx: Context,
  lookup: SnapshotLookup,
  lookupValues: LookupValues,
  readUsers: ReadUsers,
): Promise<Map<string, LookupAnswer>> => {
  const at = {run: ctx.run.no, lookup: lookup.no}
  const kept = byDigest(await findAnswers(ctx.hot, {...at, hashes: [...lookupValues.keys()].map(digest => Buffer.from(digest, 'latin1'))}))
  const unknown = new Map([...lookupValues].filter(([digest]) => !kept.has(digest)))
  if (unknown.size === 0) return kept
  const asked = lookup.module === null ? groupUsers(await readUsers(ctx), lookup) : await ask(ctx, lookup, unknown)
  const answers = [...unknown.keys()].map(digest => ({hash: Buffer.from(digest, 'latin1'), ...(asked.get(digest) ?? noLookups)}))
  const held = byDigest(await keepAnswers(ctx.hot, {...at, answers}))
  atPoint('after_lookup')
  return new Map([...kept, ...held])
}

const byDigest = (answers: KeptAnswer[]) =>
  new Map(answers.map(({hash, found, candidates}) => [hash.toString('latin1'), {found, candidates}]))

const ask = (ctx: Context, lookup: SnapshotLookup, lookupValues: LookupValues): Promise<Map<string, LookupAnswer>> =>
  lookup.method === 'word' ? askByWord(ctx, lookup, lookupValues) : askByValue(ctx, lookup, lookupValues)

const NUMBERS = new Set(['integer', 'double', 'percent', 'currency'])

/**
 * Queries the CRM for records with these values, `valuesPerQuery` values per query. Sends each spelling unchanged and with normalised
 * blanks. Compares the answers by our own match key.
 */
const askByValue = async (ctx: Context, lookup: SnapshotLookup, lookupValues: LookupValues) => {
  const {apiName, type} = lookup.field
  const literalOf = (text: string) => (NUMBERS.has(type) ? Number(text) : text)
  const spellings = new Set(
    [...lookupValues.values()].flat().flatMap(text => [literalOf(text), literalOf(text.normalize('NFC').trim().replace(/\s+/g, ' '))]),
  )
  const values = [...spellings].filter(value => !Number.isNaN(value))
  const {valuesPerQuery} = ctx.connection
  const queries = Array.from({length: Math.ceil(values.length / valuesPerQuery)}, (_, n) =>
    values.slice(n * valuesPerQuery, (n + 1) * valuesPerQuery),
  )
  const asked = queries.map(some =>
    readWithRetry(ctx, () =>
      ctx.connection.findRecords({module: lookup.module!, field: apiName, values: some, fields: [apiName]}, {signal: ctx.lease.lost}),
    ),
  )
  const answered = await settleAll(asked)
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
 * Searches whole records of the CRM by free text. Of the first 200 results, returns the records whose searched field equals the value, or else those
 * whose field contains every word.
 */
const askByWord = async (ctx: Context, lookup: SnapshotLookup, lookupValues: LookupValues) => {
  const asked = [...lookupValues].map(async ([digest, [text]]) => {
    const word = text!.trim()
    const {length} = [...word]
    if (length < shortestWord || length > longestWord) return [digest, unsearchable] as const
    const query = {module: lookup.module!, word, page: 1, perPage: 200}
    const records = await readWithRetry(ctx, () => ctx.connection.searchWord(query, {signal: ctx.lease.lost}).catch(nullIfRefused))
    if (records === null) return [digest, unsearchable] as const
    return [digest, group(records, lookup).get(digest) ?? answerOf(records.filter(hasWords(word, lookup)).map(({id}) => id))] as const
  })
  return new Map(await settleAll(asked))
}

const unsearchable: LookupAnswer = {found: -1, candidates: []}

const valueCodes = ['INVALID_DATA', 'INVALID_QUERY', 'PATTERN_NOT_MATCHED', 'LIMIT_EXCEEDED']

/** Returns null if the CRM refuses the value. The refusal must not stop the run, because the rows of other values can be written. */
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

/** Builds the answers to a lookup of users from the list of all users. An org has few users, so one list replaces a search for each value. */
const groupUsers = (users: CrmUser[], lookup: SnapshotLookup) =>
  group(
    users.map(({id, email, name}) => ({id, email, full_name: name})),
    lookup,
  )

/** Builds an answer with the oldest records as candidates, at most `mostCandidates`. */
export const answerOf = (ids: string[]): LookupAnswer => {
  const sorted = [...new Set(ids)].sort(compareAge)
  return {found: sorted.length, candidates: sorted.slice(0, mostCandidates)}
}
