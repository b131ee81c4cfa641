import type {FileDeps} from '../../../shared/files/stored-file.ts'
import {composeRow} from '../../engine/compose/compose-row.ts'
import {evaluateRows} from '../../engine/compose/compose-rows.ts'
import type {Expressions} from '../../engine/compose/expressions.ts'
import {parentKeyOf} from '../../engine/compose/parents.ts'
import {mayBeCut} from '../../engine/match/compare-values.ts'
import {listSpellings} from '../../engine/match/match-rows.ts'
import {type CompiledFlow, type ImportRow, isRow} from '../../engine/model.ts'
import {readChunks} from '../../engine/read/read-rows.ts'
import {creditsOfValues} from './call-plan.ts'

/** The counts of one flow's rows from which its CRM calls are planned, as far as the file decides them. */
export type FlowTally = {
  /** The number of rows that are sent or compared. */
  rows: number
  /** Rows with a match value. */
  keyed: number
  /** Rows whose match value an earlier row has. */
  repeated: number
  /** The number of rows that may end without a write, because a link finds no record or several. */
  mayEnd: number
  /** The number of rows with a text that the CRM may return incomplete. */
  longTexts: number
  /** The number of queries of match values. */
  queries: number
  queryCredits: number
  /** The number of different parents of a subform flow's rows, by their keys; without keys, the number of rows. */
  parents: number
  /** The tallies of lookups, by lookup number. */
  lookups: Map<number, LookupTally>
}
type LookupTally = {values: number; queries: number; credits: number}

/**
 * The maximum number of distinct values of one flow that are remembered, for match values, parents and links each. Beyond that, every value that is
 * not remembered is treated as new, even if it repeats.
 */
const mostDistinct = 500_000

type TallyInput = {
  place: FileDeps
  flow: CompiledFlow
  expressions: Expressions
  signal: AbortSignal
  valuesPerQuery: number
  onRead(rows: number): Promise<void>
}

/** Reads the flow's file and composes its rows as a run does, without calling the CRM. */
export const tallyRows = async (input: TallyInput): Promise<FlowTally> => {
  const {place, flow, signal, onRead} = input
  const tally: FlowTally = {
    rows: 0,
    keyed: 0,
    repeated: 0,
    mayEnd: 0,
    longTexts: 0,
    queries: 0,
    queryCredits: 0,
    parents: 0,
    lookups: new Map(),
  }
  const seen = {keys: new Set<string>(), parents: new Set<string>(), links: new Set<string>()}
  for await (const chunk of readChunks(place, flow)) {
    signal.throwIfAborted()
    const mine = chunk.filter(({struck}) => struck === undefined)
    const evaluated = await evaluateRows(input, flow, mine)
    const rows: ImportRow[] = []
    for (const [at, read] of mine.entries()) {
      const composed = composeRow(flow, read, evaluated?.[at])
      if (!isRow(composed) || (flow.patchPlan && !patches(flow, composed))) continue
      rows.push(composed)
      const key = flow.subform?.link.key
      if (!flow.subform) continue
      if (addDistinct(seen.parents, key ? parentKeyOf(read.cells[key.child])?.toString('latin1') : String(read.rowNumber))) tally.parents++
    }
    tallyChunk(input, tally, rows, seen)
    await onRead(chunk.length)
  }
  return tally
}

const patches = ({patchPlan}: CompiledFlow, {payload, pendingLinks}: ImportRow) =>
  Object.keys(payload).length > 0 || Boolean(pendingLinks?.length) || Boolean(patchPlan!.parent)

const addDistinct = (seen: Set<string>, value: string | undefined): boolean => {
  if (value === undefined || seen.has(value)) return false
  if (seen.size < mostDistinct) seen.add(value)
  return true
}

type SeenValues = {keys: Set<string>; links: Set<string>}

const tallyChunk = ({flow, valuesPerQuery}: TallyInput, tally: FlowTally, rows: ImportRow[], seen: SeenValues): void => {
  const [first] = flow.matchFields
  const keyed = first ? rows.filter(row => row.matchKey || matchLinkOf(flow, row)) : []
  tally.rows += rows.length
  tally.keyed += keyed.length
  for (const row of keyed)
    if (!addDistinct(seen.keys, row.matchKey?.toString('latin1') ?? `link ${matchLinkOf(flow, row)!.text}`)) tally.repeated++
  for (const row of rows) {
    if (row.pendingLinks?.some(({link}) => link.onNone !== 'leave' || link.onMany !== 'leave')) tally.mayEnd++
    if (flow.module.fields.some(field => mayBeCut(field, row.payload[field.apiName]))) tally.longTexts++
  }
  if (first) {
    const asked = queriesOf(
      new Set(keyed.flatMap(row => matchLinkOf(flow, row)?.text ?? listSpellings(row, first.apiName))).size,
      valuesPerQuery,
    )
    tally.queries += asked.queries
    tally.queryCredits += asked.credits
  }
  tallyLinks(tally, rows, seen.links, valuesPerQuery)
}

/** Returns the link that fills the first match field. Its record is the match value. */
const matchLinkOf = ({matchFields: [first]}: CompiledFlow, {pendingLinks = []}: ImportRow) =>
  pendingLinks.find(({field}) => field === first?.apiName)

const tallyLinks = (tally: FlowTally, rows: ImportRow[], seen: Set<string>, valuesPerQuery: number): void => {
  const texts = new Map<number, Set<string>>()
  for (const {link, digest, text} of rows.flatMap(({pendingLinks = []}) => pendingLinks)) {
    if (digest === null || !addDistinct(seen, `${link.lookup.no} ${digest}`)) continue
    const asked = texts.get(link.lookup.no) ?? new Set()
    texts.set(link.lookup.no, asked.add(text).add(text.normalize('NFC').trim().replace(/\s+/g, ' ')))
  }
  for (const [no, {size}] of texts) {
    const before = tally.lookups.get(no) ?? {values: 0, queries: 0, credits: 0}
    const asked = queriesOf(size, valuesPerQuery)
    tally.lookups.set(no, {
      values: before.values + size,
      queries: before.queries + asked.queries,
      credits: before.credits + asked.credits,
    })
  }
}

/** Returns the number of queries that this number of values needs, and their credits. */
const queriesOf = (values: number, valuesPerQuery: number) => {
  const [full, rest] = [Math.floor(values / valuesPerQuery), values % valuesPerQuery]
  return {
    queries: full + (rest ? 1 : 0),
    credits: full * creditsOfValues(valuesPerQuery) + (rest ? creditsOfValues(rest) : 0),
  }
}
