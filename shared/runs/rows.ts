import {z} from 'zod'
import type {Db, Hot} from '../../sql/database.ts'
import {type FinalEntry, findRecordsAt, listFinals, OUTCOMES, PHASES} from '../../sql/run-log.ts'
import {listSegments} from '../../sql/segments.ts'
import type {Config} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {Snapshot, SnapshotSource} from '../mapping/flows/snapshot.ts'
import {readCursor, writeCursor} from '../security/cursor.ts'
import type {Storage} from '../storage/storage.ts'
import type {FoundRun} from './find.ts'
import {assertKept, assertStillKept} from './kept.ts'
import {isLinkCode} from './link-code.ts'
import {RecordsMoved} from './results/outcomes.ts'
import {PLAN_ACTIONS, type PlanAction, stepOf} from './results/plan-csv.ts'
import {openPlannedRows} from './results/planned-rows.ts'
import type {PlannedValues} from './results/planned-values.ts'
import {mayHaveRecord, type RowOutcomeName} from './results/row-result.ts'
import {itemsOf, readLines} from './segment.ts'

/** `request`: if given, reading stops when the client disconnects. */
export type RunRowsDeps = {db: Db; hot: Hot; storage: Storage; config: Pick<Config, 'SECRETS_KEYS'>; request?: {signal: AbortSignal}}

const names = [...OUTCOMES] as const
const oneOf = (values: readonly string[]) => (given: string) => given.split(',').every(one => values.includes(one))

/** The filters of a run's rows. A row matches if one of its entries matches all given filters. */
export const RowsFilter = z.object({
  source: z.string().optional().describe('Id of the file if the run read several. Default: the first'),
  module: z.string().optional().describe('API name of the module'),
  outcome: z
    .string()
    .refine(oneOf(names), `Of: ${names.join(', ')}`)
    .optional()
    .describe('Comma-separated outcomes'),
  action: z
    .string()
    .refine(oneOf(PLAN_ACTIONS), `Of: ${PLAN_ACTIONS.join(', ')}`)
    .optional()
    .describe('Comma-separated actions of a dry run'),
  phase: z.enum(PHASES).optional().describe('The phase of an entry'),
  code: z.string().max(100).optional().describe('Code of the final outcome'),
  linkEmpty: z.enum(['true', 'false']).optional().describe('`true`: only rows that were written without a link'),
  text: z
    .string()
    .max(200)
    .optional()
    .describe(
      'Part of a message, code, record id, planned value or current value, in any letter case. An embed token finds no current values',
    ),
  from: z.coerce.number().int().min(1).optional().describe('Number of the first row to search'),
})
export type RowsFilter = z.output<typeof RowsFilter>
/** `withOld`: whether the caller may read, and find rows by, the current values of records. */
type Page = {limit: number; cursor?: string | undefined; withOld: boolean}

const rowsPerLook = 1_000
const segmentsPerLook = 10
/** The maximum number of rows that one call searches. The call then ends, even if few rows matched. */
const mostLooked = 50_000

/**
 * Returns a page of a file's rows with their outcomes, in row order. The page of a dry run has the planned outcomes. A page may have fewer rows than
 * `limit`, even none, although a next page exists. `reached`: the last row that was searched.
 */
export const readRunRows = async (deps: RunRowsDeps, foundRun: FoundRun, {limit, cursor, withOld, ...filter}: RowsFilter & Page) => {
  const list = `rows ${foundRun.run.id} ${JSON.stringify(filter)}`
  const start = Number(readCursor(deps.config.SECRETS_KEYS, list, cursor) ?? filter.from ?? 1)
  const {snapshot, source} = frozenOf(foundRun, filter.source)
  const page: RunRow[] = []
  let reached = start - 1
  for await (const {rows, to} of readLoggedRows(deps, foundRun, {snapshot, source, from: start, withOld})) {
    const fitting = rows.filter(row => fits(row, filter)).slice(0, limit - page.length)
    page.push(...fitting)
    reached = page.length === limit ? page.at(-1)!.rowNumber : Math.min(to, source.rows)
    if (page.length === limit || reached - start >= mostLooked) break
  }
  await assertStillKept(deps.db, foundRun.run.no)
  return {
    sources: listRead(snapshot),
    source: source.id,
    rows: page,
    reached: Math.max(reached, 0),
    nextCursor: reached < source.rows ? writeCursor(deps.config.SECRETS_KEYS, list, reached + 1) : null,
  }
}

const fits = ({entries}: RunRow, {module, outcome, action, phase, code, linkEmpty, text}: RowsFilter) =>
  entries.some(
    entry =>
      (module === undefined || entry.module === module) &&
      (outcome === undefined || outcome.split(',').includes(entry.outcome)) &&
      (action === undefined || (entry.action !== null && action.split(',').includes(entry.action))) &&
      (phase === undefined || entry.phase === phase) &&
      (code === undefined || entry.code === code) &&
      (linkEmpty !== 'true' || entry.linkEmpty) &&
      (text === undefined || hasOutcome(entry, text.toLowerCase())),
  )

const hasOutcome = ({code, message, recordId, changes}: RunRowEntry, text: string) =>
  [code, message, recordId, ...(changes ?? []).flatMap(({old, new: now}) => [old, now])].some(value => value?.toLowerCase().includes(text))

/**
 * Returns the run's snapshot and the source with this id; if `id` is undefined, the first source. Throws if the run expired, has no readable
 * snapshot, or did not read the source.
 */
export const frozenOf = ({run, snapshot, unread}: FoundRun, id: string | undefined): {snapshot: Snapshot; source: SnapshotSource} => {
  assertKept(run)
  if (unread) throw unread
  if (!snapshot) throw new Refusal('NO_FILE', 'This run read no file through this service. Read its log instead')
  const source = readBy(snapshot).find(source => id === undefined || source.id === id)
  if (!source) throw new Refusal('SOURCE_NOT_FOUND', 'The run read no such file')
  return {snapshot, source}
}

export const listRead = (snapshot: Snapshot) => readBy(snapshot).map(({id, label, rows}) => ({id, label, rows}))

/** Returns the sources that a flow of the run reads. */
export const readBy = ({sources, flows}: Snapshot): SnapshotSource[] =>
  sources.filter(({no}) => flows.some(({sourceNo}) => sourceNo === no))

export type RunRowEntry = {
  module: string
  moduleLabel: string
  flowId: string | null
  phase: (typeof PHASES)[number]
  field: string | null
  fieldLabel: string | null
  outcome: RowOutcomeName
  /** The action that a dry run plans. Null for a lookup, for a value that is kept, and for a run that writes. */
  action: PlanAction | null
  recordId: string | null
  code: string | null
  message: string | null
  mayExistTwice: boolean
  /** Whether failed.csv leaves the row out, because an earlier create of it got no answer. */
  mayExist: boolean
  /** Whether the row was written without the link in `field`. */
  linkEmpty: boolean
  /** The values that a dry run would change. Null if no values are stored or the run writes. `old` is empty if the caller may not read it. */
  changes: {field: string; label: string; old: string; new: string}[] | null
}
type RunRow = {rowNumber: number; entries: RunRowEntry[]}

/**
 * The rows to read, from row `from`. `withValues`: whether to read the values that a dry run would write; by default true. `withOld`: whether
 * these have the current values of the records; by default false.
 */
type RowLooksQuery = {snapshot: Snapshot; source: SnapshotSource; from: number; withValues?: boolean; withOld?: boolean}

/**
 * Yields rows in groups, beginning with row `from`. `to`: the last row of the group. If the run's records move to storage meanwhile, reading
 * continues there.
 */
export async function* readLoggedRows(
  deps: RunRowsDeps,
  {run}: FoundRun,
  query: RowLooksQuery,
): AsyncGenerator<{rows: RunRow[]; to: number}> {
  const {withValues = true, withOld = false} = query
  const describe = describeIn(query.snapshot, {dryRun: run.dryRun, withOld})
  const planned = run.dryRun && withValues ? openPlannedRows(deps, run.no) : null
  let {from} = query
  for (let tries = 1; ; tries++) {
    try {
      for await (const {finals, to} of readInPieces(deps, {run: run.no, ...query, from})) {
        const values = (await planned?.between({from, to})) ?? []
        yield {rows: describe(finals, values), to}
        if (deps.request?.signal.aborted) return
        from = to + 1
      }
      return
    } catch (error) {
      if (!(error instanceof RecordsMoved) || tries > 1) throw error
    }
  }
}

async function* readInPieces({db, hot, storage}: RunRowsDeps, {run, snapshot, source, from: first}: RowLooksQuery & {run: number}) {
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

/** Returns a function that describes rows, with the labels that modules and fields have in the CRM. */
const describeIn = ({modules, flows}: Snapshot, {dryRun, withOld}: {dryRun: boolean; withOld: boolean}) => {
  const known = new Map(modules.map(module => [module.no, module]))
  const describe = (final: FinalEntry, values: PlannedValues[], row: readonly FinalEntry[]): RunRowEntry => {
    const module = known.get(final.module)
    const labelOf = (field: string) => module?.fields.find(({apiName}) => apiName === field)?.label ?? field
    const outcome = OUTCOMES[final.outcome] as RowOutcomeName
    const phase = PHASES[final.phase]!
    const {target, recordId, code, message} = final
    const finalStep = {module: module?.apiName ?? '', outcome, phase, recordId, code, message}
    const query =
      outcome === 'planned' ? values.find(one => one.row === final.number && one.flow === final.flow && one.phase === phase) : null
    return {
      ...finalStep,
      moduleLabel: module?.label ?? finalStep.module,
      flowId: flows.find(({no}) => no === final.flow)?.flow.id ?? null,
      field: target || null,
      fieldLabel: target ? labelOf(target) : null,
      mayExistTwice: final.disclosed,
      mayExist: mayHaveRecord(final),
      linkEmpty: isLinkEmpty(final, row),
      action: dryRun && outcome !== 'lookup' && (phase !== 'edit' || outcome === 'would_ask') ? stepOf(finalStep) : null,
      changes: query?.changes.map(([field, old, now]) => ({field, label: labelOf(field), old: withOld ? old : '', new: now})) ?? null,
    }
  }
  return (finals: readonly FinalEntry[], values: PlannedValues[]): RunRow[] => {
    const byRow = Map.groupBy(values, ({row}) => row)
    return [...Map.groupBy(finals, ({number}) => number)].map(([rowNumber, query]) => {
      const entries = query.filter(final => !hasQuestion(final, query))
      return {rowNumber, entries: entries.map(final => describe(final, byRow.get(rowNumber) ?? [], query))}
    })
  }
}

const WRITTEN = ['created', 'updated', 'inherited', 'planned']
/** Codes of skipped rows whose record needed no write or kept its edited values. */
const HELD = ['UNCHANGED', 'KEPT_EDIT']

/** Whether the row was written without a link: a lookup found no record, or a patch could not set the link. */
const isLinkEmpty = ({flow, phase, outcome, recordId, code, target}: FinalEntry, row: readonly FinalEntry[]): boolean => {
  if (PHASES[phase] === 'patch')
    return !['updated', 'planned', 'unanswered'].includes(OUTCOMES[outcome]!) && isLinkCode(code) && target !== null
  if (OUTCOMES[outcome] !== 'lookup' || recordId !== null) return false
  const isWritten = (other: FinalEntry) => WRITTEN.includes(OUTCOMES[other.outcome]!) || HELD.includes(other.code ?? '')
  return row.some(other => other.flow === flow && PHASES[other.phase] === 'write' && isWritten(other))
}

/** Whether `final` is a skipped write entry of a flow that also has a `would_ask` entry for the row. The `would_ask` entry is shown instead. */
const hasQuestion = (final: FinalEntry, row: FinalEntry[]) =>
  PHASES[final.phase] === 'write' &&
  OUTCOMES[final.outcome] === 'skipped' &&
  row.some(({flow, outcome}) => flow === final.flow && OUTCOMES[outcome] === 'would_ask')
