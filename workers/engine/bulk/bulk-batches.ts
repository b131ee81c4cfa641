import {type BulkColumn, findBulkColumn, idColumn, writeBulkCell} from '../../../shared/crm/bulk/bulk-columns.ts'
import type {CompiledFlow, ImportRow, StepKind} from '../model.ts'
import type {Op} from '../settle/verdict.ts'
import type {BulkRoute} from './choose-write.ts'

export type BulkKind = 'create' | 'update'
/** Rows that fit into one file. */
export type BulkRows = {kind: BulkKind; ops: Op[]}

/** The rows of a pass that wait for a file, by the fields that they fill. */
export type BulkBatches = {
  route: BulkRoute
  /** Whether a file will hold the row. */
  holds(kind: StepKind, op: Op): boolean
  /** Adds the row. Returns false if it must be written by a record call. */
  add(kind: StepKind, op: Op): boolean
  /** Removes the rows of a full file; null if there is none. */
  takeFull(): BulkRows | null
  /** Removes the largest group of rows, full or not; null if no row waits. */
  takeLargest(): BulkRows | null
  /** Whether a job of the pass is in progress. The CRM executes one job of an org at a time. */
  isBusy: boolean
  /**
   * Whether to write the rows by a job. If the run was started with bulk writes, the first small file of each kind is written so despite
   * its cost.
   */
  isWorthIt(rows: BulkRows): boolean
  /** Writes every further row by record calls. `why`: the CRM takes no such file. */
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
  return {
    route,
    isBusy: false,
    isOff: false,
    holds(kind, op) {
      return !this.isOff && kind !== 'delete' && fits(route, flow, kind, op)
    },
    add(kind, op) {
      // Flows that keep edits also queue updates after `switchOff`, because edits are looked up when a file is prepared.
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
    takeLargest() {
      const [largest] = [...groups].sort(([, one], [, other]) => other.ops.length - one.ops.length)
      return largest ? take(...largest) : null
    },
    isWorthIt({kind, ops}) {
      if (this.isOff || ops.length >= route.leastRows) return !this.isOff
      const isFirst = route.isForced && !small.has(kind)
      small.add(kind)
      return isFirst
    },
    async switchOff(why) {
      this.isOff = true
      await route.keepRefused(why)
    },
  }
}

/**
 * Returns the name of the group that may share a file. Updates share a file only if they fill the same fields, because an empty cell clears
 * a field. Creates always share one, because their empty cells set nothing.
 */
export const nameGroup = (kind: BulkKind, {payload}: ImportRow): string =>
  kind === 'create' ? kind : `${kind} ${Object.keys(payload).sort().join()}`

/** Whether a file can hold the row. Rows that were sent before use record calls, whose answers have more detail. */
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

/** Whether the value can be a key. The result of a job names rows by key, and the CRM may trim it. */
const isKey = (value: unknown): boolean => typeof value === 'string' && value !== '' && value === value.trim() && !/[\r\n]/.test(value)

const keyOf = ({apiName}: BulkColumn, {payload, idempotency}: ImportRow): unknown =>
  idempotency?.field === apiName ? idempotency.value : payload[apiName]

const columnOf = ({module}: CompiledFlow, name: string): BulkColumn | null => {
  const field = module.fields.find(({apiName}) => apiName === name)
  return field ? findBulkColumn(field) : null
}

/** The content of a file. `keys`: the first column, in the order of the rows. */
export type BulkContent = {columns: BulkColumn[]; records: Record<string, unknown>[]; keys: string[]}

/** Composes the file of rows that fit together. */
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
