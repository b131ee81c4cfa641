import {randomUUID} from 'node:crypto'
import {Readable} from 'node:stream'
import {setTimeout as sleep} from 'node:timers/promises'
import type {CrmRecord} from '../../shared/crm/crm.ts'
import type {PlannedValues} from '../../shared/runs/planned-values.ts'
import {packLines, SEGMENT_FORMAT} from '../../shared/runs/segment.ts'
import {sqlStateOf} from '../../sql/database.ts'
import {findLastLine, insertLoose, insertSegments, nameLoose, PLAN_LIST} from '../../sql/segments.ts'
import type {Context, Held} from './context.ts'
import {RunPaused} from './ending.ts'
import {isEqual} from './equal.ts'
import {allOf} from './match.ts'
import {askPatiently} from './patience.ts'
import {isSupposed} from './rehearsal.ts'
import type {Row, Track} from './row.ts'
import type {Op} from './verdict.ts'

/** By the CRM's own bounds. Source: wire reference 5.1. */
const [idsPerRead, fieldsPerRead] = [100, 50]

/** Where a dry run keeps the values it would write: in storage, never in the database. */
export type ValueStore = {
  /** Resolves when they are stored. Those of a step come before the step is settled, so a step the log has is never without them. */
  keep(values: PlannedValues[]): Promise<void>
}

/** What comes within this time is one object: whoever waits for it waits so long. */
const gatherMs = 100
const tries = 3

export const openValueStore = (ctx: Held): ValueStore => {
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

const store = async ({db, storage, run, log}: Held, values: PlannedValues[]) => {
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
      log.warn({err: error, state: sqlStateOf(error)}, 'values of the plan not stored')
      if (tried === tries) throw new RunPaused('UNAVAILABLE', 'The plan cannot be stored just now', 30)
      await sleep(200 * tried)
    }
  }
}

/** Of these steps, what the records have now and would get. Costs one call of the CRM for a hundred records and fifty fields. */
export const compareValues = async (ctx: Context, track: Track, ops: Op[]): Promise<PlannedValues[]> => {
  const there = ops.filter(({target}) => target !== null && !isSupposed(target))
  const fields = [...new Set(there.flatMap(({row}) => Object.keys(row.payload)))]
  const ids = [...new Set(there.map(({target}) => target!))]
  const records = new Map<string, CrmRecord>()
  for (const record of await readFields(ctx, track, {ids, fields})) records.set(record.id, {...records.get(record.id), ...record})
  return ops.map(({row, target}) => valuesOf(track, row, records.get(target ?? '') ?? null))
}

/** Records may come in several parts, of fifty fields each. */
export const readFields = async (ctx: Context, {module}: Pick<Track, 'module'>, {ids, fields}: {ids: string[]; fields: string[]}) => {
  const reads = inPieces(ids, idsPerRead).flatMap(some =>
    inPieces(fields, fieldsPerRead).map(names =>
      askPatiently(ctx, () => ctx.connection.readRecords({module: module.apiName, ids: some, fields: names}, {signal: ctx.lease.lost})),
    ),
  )
  return (await allOf(reads)).flat()
}

const inPieces = <T>(items: T[], size: number): T[][] =>
  Array.from({length: Math.ceil(items.length / size)}, (_, n) => items.slice(n * size, (n + 1) * size))

/** `record`: null where there is none yet, or what it has is not known. */
export const valuesOf = (track: Track, {number, payload}: Row, record: CrmRecord | null): PlannedValues => {
  const changes = Object.entries(payload).flatMap(([name, value]): PlannedValues['changes'] => {
    const field = track.module.fields.find(({apiName}) => apiName === name)
    const old = record?.[name]
    const [before, after] = [textOf(old), textOf(value)]
    const isSame = before === after || (field && isEqual([field], {[name]: value}, {[name]: old}))
    return isSame ? [] : [[name, before, after]]
  })
  return {row: number, flow: track.no, phase: track.patching ? 'patch' : 'write', changes}
}

/** As a person reads it in a cell; of a link its record. */
const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(textOf).join('; ')
  if (typeof value === 'object') return 'id' in value ? textOf(value.id) : JSON.stringify(value)
  const text = String(value)
  return isSupposed(text)
    ? `the record of row ${text.slice(text.lastIndexOf('.') + 1)} of ${text.slice('row:'.length, text.lastIndexOf('.'))}`
    : text
}
