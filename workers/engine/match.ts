import {type CrmProblem, sayProblem} from '../../shared/crm/error.ts'
import {matchKeyOf} from '../../shared/flows/match-key.ts'
import {findMatches} from '../../sql/chain-rows.ts'
import type {Context} from './context.ts'
import {askPatiently} from './patience.ts'
import {isSupposed} from './rehearsal.ts'
import type {Row, Track} from './row.ts'

/** The CRM takes this many values in one query. Source: wire reference 7.2. */
const valuesPerQuery = 50

export type Unmatched = {row: Row; code: string; message: string}

/**
 * Asks the CRM which records a chunk's rows match: one query for fifty values, every spelling asked as it stands and without its
 * spare blanks, the answers compared again by our own key. Fills `row.matches`; answers the rows whose value the CRM cannot be asked about.
 */
export const matchRows = async (ctx: Context, track: Track, rows: Row[]): Promise<Unmatched[]> => {
  const [first] = track.matchFields
  const asking = rows.filter(row => row.matchKey && !row.decided && !isSupposedLink(row.payload[first?.apiName ?? '']))
  if (!first || asking.length === 0) return []
  const spellings = [...new Set(asking.flatMap(row => spellingsOf(rawOf(row, first.apiName))))]
  const queries: (string | number)[][] = []
  for (let from = 0; from < spellings.length; from += valuesPerQuery) queries.push(spellings.slice(from, from + valuesPerQuery))
  const answers = await allOf(queries.map(values => query(ctx, track, values)))
  const records = new Map<string, string[]>()
  for (const {key, id} of answers.flatMap(({found}) => found)) records.set(key, [...(records.get(key) ?? []), id])
  for (const row of asking) row.matches = records.get(row.matchKey!.toString('latin1')) ?? []
  return unmatched(asking, first, new Map(answers.flatMap(({unaskable}) => unaskable)))
}

/** Every one of them ends before this does, so that a pass which ends leaves no call of its own behind. */
export const allOf = async <T>(asked: Promise<T>[]): Promise<T[]> => {
  await Promise.allSettled(asked)
  return Promise.all(asked)
}

/** True for the placeholder id of a record that a dry run would create: the CRM cannot be searched by it. */
const isSupposedLink = (value: unknown) => typeof value === 'object' && value !== null && 'id' in value && isSupposed(String(value.id))

const spellingsOf = (raw: string | number): (string | number)[] =>
  typeof raw === 'number' ? [raw] : [raw, raw.normalize('NFC').trim().replace(/\s+/g, ' ')]

const rawOf = (row: Row, field: string) => {
  const value = row.payload[field]
  return typeof value === 'number' ? value : String(typeof value === 'object' && value && 'id' in value ? value.id : value)
}

const query = async (ctx: Context, {module, matchFields}: Track, values: (string | number)[]) => {
  const fields = matchFields.map(({apiName}) => apiName)
  const {records, unaskable} = await askPatiently(ctx, () =>
    ctx.connection.findRecords({module: module.apiName, field: fields[0]!, values, fields}, {signal: ctx.lease.lost}),
  )
  const found = records.flatMap(record => {
    const key = matchKeyOf(
      fields.map(field => record[field]),
      matchFields,
    )
    return key ? [{key: key.toString('latin1'), id: record.id}] : []
  })
  return {found, unaskable: unaskable.map(({value, crm}) => [String(value), crm] as const)}
}

const unmatched = (rows: Row[], field: Track['matchFields'][number], refused: Map<string, CrmProblem>): Unmatched[] =>
  rows.flatMap(row => {
    const crm = refused.size ? refused.get(String(rawOf(row, field.apiName))) : undefined
    return crm ? [{row, code: crm.code ?? 'MATCH_REFUSED', message: `${field.apiName} could not be searched: ${sayProblem(crm)}`}] : []
  })

/** `records`: those that rows of the chain wrote under a key. `unanswered`: rows whose create under the key was never answered. */
export type Ours = {records: string[]; unanswered: {key: string; number: number}[]}

/**
 * Returns records and unanswered creates of the chain by match key; in a dry run, the planned ones. Called after the rows hold their row locks, so
 * the result cannot change.
 */
export const findOurs = async (ctx: Context, track: Track, rows: Row[]): Promise<Map<string, Ours>> => {
  const keys = rows.flatMap(({matchKey, decided}) => (matchKey && !decided ? [matchKey] : []))
  const ours = new Map<string, Ours>()
  if (keys.length === 0) return ours
  const chains = [ctx.chain, ctx.retried ?? ctx.chain]
  for (const {key, recordId, rowKey, row} of await findMatches(ctx.hot, {chains, module: track.module.no, keys})) {
    const name = key.toString('latin1')
    const one = ours.get(name) ?? {records: [], unanswered: []}
    if (recordId !== null) one.records.push(recordId)
    else one.unanswered.push({key: rowKey!, number: row!})
    ours.set(name, one)
  }
  return ours
}
