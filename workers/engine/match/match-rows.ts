import {settleAll} from '../../../shared/concurrency/settle-all.ts'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import {type CrmProblem, describeProblem} from '../../../shared/crm/error.ts'
import {matchKeyOf} from '../../../shared/mapping/flows/match-key.ts'
import {findMatches} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import {isPlannedId} from '../dry-run/planned-ids.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {findUnchanged, findWithValues} from './unchanged-records.ts'

export type MatchFailure = {row: ImportRow; code: string; message: string; target: null}

/**
 * Finds the records that rows match, and fills `row.matches` and `row.unchanged`. Queries the CRM for rows that no export matched,
 * `valuesPerQuery` values per query. Compares the answers by our own match key. Returns the rows whose value the CRM cannot search for.
 */
export const matchRows = async (ctx: Context, flow: CompiledFlow, rows: ImportRow[]): Promise<MatchFailure[]> => {
  const [first] = flow.matchFields
  const asking = await withoutKnown(
    flow,
    rows.filter(row => row.matchKey && !row.decided && !isSupposedLink(row.payload[first?.apiName ?? ''])),
  )
  if (!first || asking.length === 0) return []
  const spellings = [...new Set(asking.flatMap(row => listSpellings(row, first.apiName)))]
  const queries: (string | number)[][] = []
  const {valuesPerQuery} = ctx.connection
  for (let from = 0; from < spellings.length; from += valuesPerQuery) queries.push(spellings.slice(from, from + valuesPerQuery))
  const answers = await settleAll(queries.map(values => query(ctx, flow, values)))
  const records = new Map<string, CrmRecord[]>()
  for (const {key, record} of answers.flatMap(({found}) => found)) records.set(key, [...(records.get(key) ?? []), record])
  const matchesOf = (row: ImportRow) => records.get(row.matchKey!.toString('latin1')) ?? []
  for (const row of asking) row.matches = matchesOf(row).map(({id}) => id)
  await findUnchanged(ctx, flow, asking, matchesOf)
  return matchFailures(asking, first, new Map(answers.flatMap(({unaskable}) => unaskable)))
}

/** Matches rows against the export, if the flow has one. Returns the rows that the export did not match. */
const withoutKnown = async ({snapshotMatches}: CompiledFlow, rows: ImportRow[]): Promise<ImportRow[]> => {
  const known = rows.length > 0 ? await snapshotMatches?.match(rows) : undefined
  return known ? rows.filter(row => !known.has(row)) : rows
}

/** Whether the value links to the placeholder id of a record that a dry run would create. The CRM cannot search for such an id. */
const isSupposedLink = (value: unknown) => typeof value === 'object' && value !== null && 'id' in value && isPlannedId(String(value.id))

/** Returns the spellings of the row's value to query: unchanged, and with normalised blanks. */
export const listSpellings = (row: ImportRow, field: string): (string | number)[] => {
  const raw = rawOf(row, field)
  return typeof raw === 'number' ? [raw] : [raw, raw.normalize('NFC').trim().replace(/\s+/g, ' ')]
}

const rawOf = (row: ImportRow, field: string) => {
  const value = row.payload[field]
  return typeof value === 'number' ? value : String(typeof value === 'object' && value && 'id' in value ? value.id : value)
}

const query = async (ctx: Context, flow: CompiledFlow, values: (string | number)[]) => {
  const {matchFields} = flow
  const fields = matchFields.map(({apiName}) => apiName)
  const {records, unaskable} = await findWithValues(ctx, flow, {field: fields[0]!, values, fields})
  const found = records.flatMap(record => {
    const key = matchKeyOf(
      fields.map(field => record[field]),
      matchFields,
    )
    return key ? [{key: key.toString('latin1'), record}] : []
  })
  return {found, unaskable: unaskable.map(({value, crm}) => [String(value), crm] as const)}
}

const matchFailures = (rows: ImportRow[], field: CompiledFlow['matchFields'][number], refused: Map<string, CrmProblem>): MatchFailure[] =>
  rows.flatMap(row => {
    const crm = refused.size ? refused.get(String(rawOf(row, field.apiName))) : undefined
    const message = crm && `${field.apiName} could not be searched: ${describeProblem(crm)}`
    return crm ? [{row, code: crm.code ?? 'MATCH_REFUSED', message: message!, target: null}] : []
  })

/** What the chain wrote under a match key. `records`: the records of its rows. `unanswered`: its rows whose create was never answered. */
export type ChainMatches = {records: string[]; unanswered: {key: string; number: number}[]}

/**
 * Returns the records and the unanswered creates of the chain by match key. In a dry run, includes the planned records. Call it while the
 * rows hold their row locks, so that the result cannot change.
 */
export const findChainMatches = async (ctx: Context, flow: CompiledFlow, rows: ImportRow[]): Promise<Map<string, ChainMatches>> => {
  const keys = rows.flatMap(({matchKey, decided}) => (matchKey && !decided ? [matchKey] : []))
  const ours = new Map<string, ChainMatches>()
  if (keys.length === 0) return ours
  const chains = [ctx.chain, ctx.retried ?? ctx.chain]
  for (const {key, recordId, rowKey, row} of await findMatches(ctx.hot, {chains, module: flow.module.no, keys})) {
    const name = key.toString('latin1')
    const one = ours.get(name) ?? {records: [], unanswered: []}
    if (recordId !== null) one.records.push(recordId)
    else one.unanswered.push({key: rowKey!, number: row!})
    ours.set(name, one)
  }
  return ours
}
