import {type BulkColumn, findBulkColumn, idColumn, writeBulkCell} from '../../../shared/crm/bulk/bulk-columns.ts'
import type {CompiledFlow, ImportRow, StepKind} from '../model.ts'
import type {Op} from '../settle/verdict.ts'
import type {BulkRoute} from './choose-write.ts'

export type BulkKind = 'create' | 'update'
/** Rows of one kind that may share a bulk file. `isForRecords`: record calls must write the rows, which may be of several groups. */
export type BulkRows = {kind: BulkKind; ops: Op[]; isForRecords?: true}

/** The rows of a pass that wait for a bulk file, in groups. Only rows of one group may share a file. */
export type BulkBatches = {
  route: BulkRoute
  /** Whether the row fits into a bulk file and the flow still writes in bulk. */
  holds(kind: StepKind, op: Op): boolean
  /** Queues the row. Returns false if a record call must write it. */
  add(kind: StepKind, op: Op): boolean
  /** Removes and returns the rows of a full file. Null: no group fills a file. */
  takeFull(): BulkRows | null
  /**
   * Takes rows while nothing else is in progress: at most one file of the largest group. Null: no row waits. If a job is not worth it, also takes
   * other small groups of the kind, for record calls. Small: under a quarter of `leastRows`; after `switchOff`, any size.
   */
  takeIdle(): BulkRows | null
  /** Takes the group of this row for record calls, if a job is not worth it. Null: no such group. */
  takeLate(number: number): BulkRows | null
  /** Whether a job of the pass is in progress. The CRM executes one job of an org at a time. */
  isBusy: boolean
  /**
   * Whether a job should write the rows. True for at least `leastRows` rows. If the run or its flow asks for bulk writes, also true for the first
   * smaller file of creates and the first of updates. Never true after `switchOff`.
   */
  isWorthIt(rows: BulkRows): boolean
  /** From now on, record calls write all rows. `why`: the reason, such as a refused file or a failed job. */
  switchOff(why: string): Promise<void>
  isOff: boolean
}

export const openBulkBatches = (route: BulkRoute, flow: CompiledFlow): BulkBatches => {
  const small = new Set<BulkKind>()
  const groups = new Map<string, BulkRows>()
  const take = (name: string, group: BulkRows): BulkRows => {
    const ops = group.ops.splice(0, route.rowsPerJob)
    if (group.ops.length === 0) groups.delete(name)
    return {kind: group.kind, ops}
  }
  const forRecords = (kind: BulkKind, names: string[]): BulkRows => {
    const ops = names.flatMap(name => groups.get(name)!.ops)
    for (const name of names) groups.delete(name)
    return {kind, ops, isForRecords: true}
  }
  const deservesJob = (isOff: boolean, kind: BulkKind, rows: number) =>
    !isOff && (rows >= route.leastRows || (route.isForced && !small.has(kind)))
  return {
    route,
    isBusy: false,
    isOff: false,
    holds(kind, op) {
      return !this.isOff && kind !== 'delete' && fits(route, flow, kind, op)
    },
    add(kind, op) {
      // After `switchOff`, flows that keep edits still queue rows, because `prepareBulk` looks up their edits before record calls.
      if (kind === 'delete' || (this.isOff && !flow.edits) || !fits(route, flow, kind, op)) return false
      const name = nameGroup(kind, op.row)
      const group = groups.get(name) ?? {kind, ops: []}
      group.ops.push(op)
      groups.set(name, group)
      return true
    },
    takeFull() {
      const full = [...groups].find(([, {ops}]) => ops.length >= route.rowsPerJob)
      return full ? take(...full) : null
    },
    takeIdle() {
      const [largest] = [...groups].sort(([, one], [, other]) => other.ops.length - one.ops.length)
      if (!largest) return null
      const [first, {kind, ops}] = largest
      if (deservesJob(this.isOff, kind, ops.length)) return take(...largest)
      // Larger groups may still grow until a job is worth it.
      const most = this.isOff ? Number.POSITIVE_INFINITY : route.leastRows / 4
      const tiny = [...groups].filter(([name, one]) => name !== first && one.kind === kind && one.ops.length < most)
      return forRecords(kind, [first, ...tiny.map(([name]) => name)])
    },
    takeLate(number) {
      const [name, late] = [...groups].find(([, {ops}]) => ops.some(({row}) => row.number === number)) ?? []
      return late && !deservesJob(this.isOff, late.kind, late.ops.length) ? forRecords(late.kind, [name!]) : null
    },
    isWorthIt({kind, ops}) {
      const isWorthIt = deservesJob(this.isOff, kind, ops.length)
      if (!this.isOff && ops.length < route.leastRows) small.add(kind)
      return isWorthIt
    },
    async switchOff(why) {
      this.isOff = true
      await route.keepRefused(why)
    },
  }
}

/**
 * Returns the name of the group to which the row belongs. Updates share a file only if they fill the same fields, because an empty cell
 * clears a field. All creates share a group, because their empty cells set nothing.
 */
export const nameGroup = (kind: BulkKind, {payload}: ImportRow): string =>
  kind === 'create' ? kind : `${kind} ${Object.keys(payload).sort().join()}`

/** Whether a bulk file can contain the row. A row that was sent before does not fit, because the answers of record calls have more detail. */
export const fits = ({keyColumn}: BulkRoute, flow: CompiledFlow, kind: BulkKind, {row}: Op): boolean => {
  if (row.isByRecords || row.unansweredSends > 0 || row.hasLostCreate || row.decided || row.open || row.waitsFor) return false
  const values = Object.entries(row.payload)
  if (values.length === 0) return false
  if (kind === 'create' && (keyColumn === null || !isKey(keyOf(keyColumn, row)) || values.some(([, value]) => value === null))) return false
  return values.every(([name, value]) => {
    const column = columnOf(flow, name)
    return column !== null && writeBulkCell(column, value) !== null
  })
}

/** Whether the value can be the key of a row. The result of a job names rows by key, and the CRM may trim the keys. */
const isKey = (value: unknown): boolean => typeof value === 'string' && value !== '' && value === value.trim() && !/[\r\n]/.test(value)

const keyOf = ({apiName}: BulkColumn, {payload, idempotency}: ImportRow): unknown =>
  idempotency?.field === apiName ? idempotency.value : payload[apiName]

const columnOf = ({module}: CompiledFlow, name: string): BulkColumn | null => {
  const field = module.fields.find(({apiName}) => apiName === name)
  return field ? findBulkColumn(field) : null
}

/** The content of a file. `keys`: the first column, in the order of the rows. */
export type BulkContent = {columns: BulkColumn[]; records: Record<string, unknown>[]; keys: string[]}

export const composeBulk = ({keyColumn}: Pick<BulkRoute, 'keyColumn'>, flow: CompiledFlow, {kind, ops}: BulkRows): BulkContent => {
  const key = kind === 'create' ? keyColumn! : idColumn
  const names = [...new Set(ops.flatMap(({row}) => Object.keys(row.payload)))].filter(name => name !== key.apiName)
  const keys = ops.map(({row, target}) => (kind === 'create' ? String(keyOf(key, row)) : target!))
  return {
    columns: [key, ...names.map(name => columnOf(flow, name)!)],
    records: ops.map(({row}, at) => ({...row.payload, [key.apiName]: keys[at]!})),
    keys,
  }
}
