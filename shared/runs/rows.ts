import {z} from 'zod'
import type {Db, Hot} from '../../sql/database.ts'
import {type FinalEntry, findRecordsAt, listFinals, OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {listSegments} from '../../sql/segments.ts'
import type {Config} from '../config.ts'
import {readCursor, writeCursor} from '../cursor.ts'
import {Refusal} from '../errors.ts'
import type {Snapshot, SnapshotSource} from '../flows/snapshot.ts'
import {PLAN_ACTIONS, type PlanAction, stepOf} from '../imports/plan-csv.ts'
import type {Outcome} from '../imports/row-result.ts'
import type {Storage} from '../storage.ts'
import type {FoundRun} from './find.ts'
import {assertKept, assertStillKept} from './kept.ts'
import {RecordsMoved} from './outcomes.ts'
import {openPlannedRows} from './planned-rows.ts'
import type {PlannedValues} from './planned-values.ts'
import {itemsOf, readLines} from './segment.ts'

/** Whoever has gone is looked for no further. */
export type RowsPlace = {db: Db; hot: Hot; storage: Storage; config: Pick<Config, 'SECRETS_KEYS'>; request?: {signal: AbortSignal}}

const names = [...OUTCOMES] as const
const oneOf = (values: readonly string[]) => (given: string) => given.split(',').every(one => values.includes(one))

/** Which rows are wanted. Of a row any of its entries may fit, and that one in all that is asked. */
export const RowsFilter = z.object({
  source: z.string().optional().describe('The file, where the run read several; left out: the first of them'),
  module: z.string().optional().describe('By its API name'),
  outcome: z
    .string()
    .refine(oneOf(names), `Of: ${names.join(', ')}`)
    .optional()
    .describe('Outcomes, with commas between them'),
  action: z
    .string()
    .refine(oneOf(PLAN_ACTIONS), `Of: ${PLAN_ACTIONS.join(', ')}`)
    .optional()
    .describe('Of a dry run: what would be done, with commas between them'),
  code: z.string().max(100).optional().describe('The code it ended with'),
  text: z.string().max(200).optional().describe("Part of a message, code, record's id, or planned value; case is all the same"),
  from: z.coerce.number().int().min(1).optional().describe('The number of the first row to look at'),
})
export type RowsFilter = z.output<typeof RowsFilter>
type Page = {limit: number; cursor?: string | undefined}

const rowsPerLook = 1_000
const segmentsPerLook = 10
/** One call looks at no more rows than this, however few of them fit. */
const mostLooked = 50_000

/**
 * What became of a file's rows, or would by a dry run, in their order. A page may hold fewer rows than asked for, even none, while there
 * is a next one: `reached` says up to which row it looked.
 */
export const readRunRows = async (place: RowsPlace, found: FoundRun, {limit, cursor, ...filter}: RowsFilter & Page) => {
  const list = `rows ${found.run.id} ${JSON.stringify(filter)}`
  const start = Number(readCursor(place.config.SECRETS_KEYS, list, cursor) ?? filter.from ?? 1)
  const {snapshot, source} = frozenOf(found, filter.source)
  const page: ToldRow[] = []
  let reached = start - 1
  for await (const {rows, to} of readToldRows(place, found, {snapshot, source, from: start})) {
    const fitting = rows.filter(row => fits(row, filter)).slice(0, limit - page.length)
    page.push(...fitting)
    reached = page.length === limit ? page.at(-1)!.rowNumber : Math.min(to, source.rows)
    if (page.length === limit || reached - start >= mostLooked) break
  }
  await assertStillKept(place.db, found.run.no)
  return {
    sources: listRead(snapshot),
    source: source.id,
    rows: page,
    reached: Math.max(reached, 0),
    nextCursor: reached < source.rows ? writeCursor(place.config.SECRETS_KEYS, list, reached + 1) : null,
  }
}

const fits = ({entries}: ToldRow, {module, outcome, action, code, text}: RowsFilter) =>
  entries.some(
    entry =>
      (module === undefined || entry.module === module) &&
      (outcome === undefined || outcome.split(',').includes(entry.outcome)) &&
      (action === undefined || (entry.action !== null && action.split(',').includes(entry.action))) &&
      (code === undefined || entry.code === code) &&
      (text === undefined || holds(entry, text.toLowerCase())),
  )

const holds = ({code, message, recordId, changes}: ToldEntry, text: string) =>
  [code, message, recordId, ...(changes ?? []).flatMap(({old, new: now}) => [old, now])].some(said => said?.toLowerCase().includes(text))

/** The run's, and of its files the one that is named, or else the first. */
export const frozenOf = ({run, snapshot, unread}: FoundRun, id: string | undefined): {snapshot: Snapshot; source: SnapshotSource} => {
  assertKept(run)
  if (unread) throw unread
  if (!snapshot) throw new Refusal('NO_FILE', 'This run has read no file here: its log says what became of its rows')
  const source = readBy(snapshot).find(source => id === undefined || source.id === id)
  if (!source) throw new Refusal('SOURCE_NOT_FOUND', 'The run read no such file')
  return {snapshot, source}
}

/** Its files, as the API names them. */
export const listRead = (snapshot: Snapshot) => readBy(snapshot).map(({id, label, rows}) => ({id, label, rows}))

const readBy = ({sources, flows}: Snapshot) => sources.filter(({no}) => flows.some(({sourceNo}) => sourceNo === no))

export type ToldEntry = {
  module: string
  moduleLabel: string
  flowId: string | null
  phase: (typeof PHASES)[number]
  field: string | null
  fieldLabel: string | null
  outcome: Outcome
  /** Null of a run that writes, and of a link. */
  action: PlanAction | null
  recordId: string | null
  code: string | null
  message: string | null
  mayExistTwice: boolean
  /** Of a dry run. Null: nothing is to be written, or the values are not kept yet. */
  changes: {field: string; label: string; old: string; new: string}[] | null
}
type ToldRow = {rowNumber: number; entries: ToldEntry[]}

/** `withValues`: what a dry run would write is read too. */
type Of = {snapshot: Snapshot; source: SnapshotSource; from: number; withValues?: boolean}

/** From a row on, some at a time; `to` is the last row looked at. A run's records go to storage once, and are then read there. */
export async function* readToldRows(place: RowsPlace, {run}: FoundRun, of: Of): AsyncGenerator<{rows: ToldRow[]; to: number}> {
  const describe = describeIn(of.snapshot, run.dryRun)
  const {withValues = true} = of
  const planned = run.dryRun && withValues ? openPlannedRows(place, run.no) : null
  let {from} = of
  for (let tries = 1; ; tries++) {
    try {
      for await (const {finals, to} of looksFrom(place, {run: run.no, ...of, from})) {
        const values = (await planned?.between({from, to})) ?? []
        yield {rows: describe(finals, values), to}
        if (place.request?.signal.aborted) return
        from = to + 1
      }
      return
    } catch (error) {
      if (!(error instanceof RecordsMoved) || tries > 1) throw error
    }
  }
}

async function* looksFrom({db, hot, storage}: RowsPlace, {run, snapshot, source, from: first}: Of & {run: number}) {
  const {recordsAt, seq} = await findRecordsAt(db, run)
  const flows = snapshot.flows.filter(({sourceNo}) => sourceNo === source.no).map(({no}) => no)
  if (recordsAt === 'db') {
    for (let from = first; from <= source.rows; from += rowsPerLook) {
      const to = from + rowsPerLook - 1
      const finals = await listFinals(hot, {run, flows, from, to, seq})
      if (!finals) throw new RecordsMoved('The records were moved to storage')
      yield {finals, to}
    }
    return
  }
  for (let from = first; ; ) {
    const segments = await listSegments(db, {run, list: source.no, from, limit: segmentsPerLook})
    for (const segment of segments) {
      yield {finals: itemsOf<FinalEntry>(await readLines(storage, segment), {before: ({number}) => number < from}), to: segment.last}
      from = segment.last + 1
    }
    if (segments.length < segmentsPerLook) break
  }
  yield {finals: [], to: source.rows}
}

/** Names modules and fields as the connection names them. */
const describeIn = ({modules, flows}: Snapshot, dryRun: boolean) => {
  const known = new Map(modules.map(module => [module.no, module]))
  const describe = (final: FinalEntry, values: PlannedValues[]): ToldEntry => {
    const module = known.get(final.module)
    const labelOf = (field: string) => module?.fields.find(({apiName}) => apiName === field)?.label ?? field
    const outcome = OUTCOMES[final.outcome] as Outcome
    const phase = PHASES[final.phase]!
    const {target, recordId, code, message} = final
    const told = {module: module?.apiName ?? '', outcome, phase, recordId, code, message}
    const of = outcome === 'planned' ? values.find(one => one.row === final.number && one.flow === final.flow && one.phase === phase) : null
    return {
      ...{...told, moduleLabel: module?.label ?? told.module, flowId: flows.find(({no}) => no === final.flow)?.flow.id ?? null},
      ...{field: target || null, fieldLabel: target ? labelOf(target) : null, mayExistTwice: final.disclosed},
      action: dryRun && outcome !== 'lookup' ? stepOf(told) : null,
      changes: of?.changes.map(([field, old, now]) => ({field, label: labelOf(field), old, new: now})) ?? null,
    }
  }
  return (finals: readonly FinalEntry[], values: PlannedValues[]): ToldRow[] => {
    const byRow = Map.groupBy(values, ({row}) => row)
    return [...Map.groupBy(finals, ({number}) => number)].map(([rowNumber, of]) => {
      const entries = of.filter(final => !isAskedInstead(final, of))
      return {rowNumber, entries: entries.map(final => describe(final, byRow.get(rowNumber) ?? []))}
    })
  }
}

/** Of a row that would be asked about there is nothing else to say of its write. */
const isAskedInstead = (final: FinalEntry, row: FinalEntry[]) =>
  PHASES[final.phase] === 'write' && row.some(({flow, outcome}) => flow === final.flow && OUTCOMES[outcome] === 'would_ask')
