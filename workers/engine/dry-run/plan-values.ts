import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {setTimeout as sleep} from 'node:timers/promises'
import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {PlannedValues} from '../../../shared/runs/results/planned-values.ts'
import {packLines, SEGMENT_FORMAT} from '../../../shared/runs/segment.ts'
import {sqlStateOf} from '../../../sql/database.ts'
import {findLastLine, insertLoose, insertSegments, nameLoose, PLAN_LIST} from '../../../sql/segments.ts'
import type {Context, LedgerContext} from '../context.ts'
import {isEqual} from '../match/compare-values.ts'
import {readById} from '../match/read-by-id.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {RunPaused} from '../run-endings.ts'
import type {Op} from '../settle/verdict.ts'
import {isPlannedId} from './planned-ids.ts'

/** Stores the values that a dry run would write. They go to file storage, never to the database. */
export type ValueStore = {
  /** Resolves when the values are stored. Call it before the settlement, so that every logged row has its values. */
  keep(values: PlannedValues[]): Promise<void>
}

/** The time in ms during which values are collected into one object. Every caller waits at least this long. */
const gatherMs = 100
const tries = 3

export const openValueStore = (ctx: LedgerContext): ValueStore => {
  let waiting: PlannedValues[] = []
  let next: Promise<void> | null = null
  let last: Promise<unknown> = Promise.resolve()
  const begin = async () => {
    await sleep(gatherMs)
    await last.catch(() => {})
    const values = waiting
    waiting = []
    next = null
    last = store(ctx, values)
    await last
  }
  return {
    keep: async values => {
      if (values.length === 0) return
      waiting.push(...values)
      await (next ??= begin())
    },
  }
}

const store = async ({db, storage, run, log}: LedgerContext, values: PlannedValues[]) => {
  const {packed, ...lines} = await packLines(values)
  for (let tried = 1; ; tried++) {
    const key = `${run.org}/runs/${run.id}/plan-${randomUUID()}.ndjson.gz`
    try {
      await insertLoose(db, key)
      await storage.put(key, Readable.from([packed]))
      const first = (await findLastLine(db, {run: run.no, list: PLAN_LIST})) + 1
      const segment = {list: PLAN_LIST, first, last: first + lines.rows - 1, ...lines, format: SEGMENT_FORMAT, storage: storage.kind, key}
      return await db.transaction(async tx => {
        await insertSegments(tx, {run: run.no, segments: [segment]})
        await nameLoose(tx, [key])
      })
    } catch (error) {
      log.warn({err: error, state: sqlStateOf(error)}, 'could not store the values of the plan')
      if (tried === tries) throw new RunPaused('UNAVAILABLE', 'The plan cannot be stored at the moment. The run resumes by itself', 30)
      await sleep(200 * tried)
    }
  }
}

/** Returns the current and the planned values of these operations. Costs one CRM call per hundred records and fifty fields. */
export const compareValues = async (ctx: Context, flow: CompiledFlow, ops: Op[]): Promise<PlannedValues[]> => {
  const there = ops.filter(({target}) => target !== null && !isPlannedId(target))
  const fields = [...new Set(there.flatMap(({row}) => Object.keys(row.payload)))]
  const ids = [...new Set(there.map(({target}) => target!))]
  const records = await readById(ctx, flow, {ids, fields})
  return ops.map(({row, target}) => valuesOf(flow, row, records.get(target ?? '') ?? null))
}

/** Pairs the planned values of a row with the record's. `record`: null if it does not exist yet, or its values are unknown. */
export const valuesOf = (flow: CompiledFlow, {number, payload}: ImportRow, record: CrmRecord | null): PlannedValues => {
  const changes = Object.entries(payload).flatMap(([name, value]): PlannedValues['changes'] => {
    const field = flow.module.fields.find(({apiName}) => apiName === name)
    const old = record?.[name]
    const [before, after] = [textOf(old), textOf(value)]
    const isSame = before === after || (field && isEqual([field], {[name]: value}, {[name]: old}))
    return isSame ? [] : [[name, before, after]]
  })
  return {row: number, flow: flow.no, phase: flow.patchPlan ? 'patch' : 'write', changes}
}

/** Formats a value for a cell; a link is shown by its record id. */
const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  if (typeof value === 'object') return 'id' in value ? textOf(value.id) : JSON.stringify(value)
  const text = String(value)
  return isPlannedId(text)
    ? `the record of row ${text.slice(text.lastIndexOf('.') + 1)} of ${text.slice('row:'.length, text.lastIndexOf('.'))}`
    : text
}
