import {crc32, gunzipSync, gzipSync} from 'node:zlib'
import type {RunSeal} from '../../../shared/runs/run-seal.ts'
import type {Run} from '../../../sql/runs.ts'
import type {QueuedRows} from '../../../sql/verify-queue.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {SettlementParts} from '../settle/settler.ts'

/**
 * A row whose values were, or may have been, written to its record. `writtenAt`: the record's `Modified_Time` after the write; null if the
 * CRM did not return it. `isSure`: false if the update got no answer; such a row is not read back. `isSecond`: this is the patch of a row that
 * the run wrote before. The row counts once.
 */
export type WrittenRow = {
  row: number
  key: string
  flow: number
  module: number
  recordId: string
  phase: 'write' | 'patch'
  sent: Record<string, unknown>
  writtenAt: string | null
  isSure: boolean
  isSecond?: true
}

export type SettledRow = WrittenRow & {isCanary: boolean}

type WrittenDetails = {recordId: string; writtenAt?: string | null | undefined; isSure?: boolean}

/** Adds to the settlement that the CRM wrote the row's payload, or may have written it (`isSure`). */
export const noteWritten = (
  {flow, settled}: {flow: Pick<CompiledFlow, 'no' | 'module' | 'patchPlan'>; settled: SettlementParts},
  {number, key, payload, isSecondWrite, isCanary = false}: Pick<ImportRow, 'number' | 'key' | 'payload' | 'isSecondWrite' | 'isCanary'>,
  {recordId, writtenAt = null, isSure = true}: WrittenDetails,
) => {
  const {no, module, patchPlan} = flow
  const phase = patchPlan ? 'patch' : 'write'
  const written: SettledRow = {row: number, key, flow: no, module: module.no, recordId, sent: payload, writtenAt, isSure, isCanary, phase}
  if (isSecondWrite) written.isSecond = true
  settled.written.push(written)
}

const firstRows = 100
const oneIn = 20

/** Whether the row belongs to the sample: the first 100 rows of a flow, and about 5 % of the others, by key digest. */
export const isInSample = ({row, key}: Pick<WrittenRow, 'row' | 'key'>): boolean => row <= firstRows || crc32(key) % oneIn === 0

/**
 * Packs the rows of a settlement that verification must read back; null if there are none. Rows of the canary are always read back. A retry may write
 * few rows of the sample. So each owner of a retry adds other rows of a flow until a hundred rows of the flow are chosen.
 */
export type PackWritten = (rows: readonly SettledRow[]) => QueuedRows | null

export const makeWrittenPacker = ({verify: mode, retryOf}: Pick<Run, 'verify' | 'retryOf'>, {seal}: RunSeal): PackWritten => {
  const chosenKeys = new Map<number, Set<string>>()
  const isInSampleOfRetry = (row: SettledRow) => {
    const keys = chosenKeys.get(row.flow) ?? new Set()
    chosenKeys.set(row.flow, keys)
    const isChosen = isInSample(row) || keys.has(row.key) || keys.size < firstRows
    if (isChosen && row.isSure && keys.size < firstRows) keys.add(row.key)
    return isChosen
  }
  const isSampled = retryOf === null ? isInSample : isInSampleOfRetry
  return rows => {
    const chosen = rows.filter(row => row.isCanary || mode === 'all' || (mode === 'sample' && isSampled(row)))
    if (chosen.length === 0) return null
    const items = chosen.map(({isCanary: _, ...row}): WrittenRow => row)
    const sealed = seal(gzipSync(JSON.stringify(items), {level: 1}))
    const countedRows = items.filter(({isSure, isSecond}) => isSure && !isSecond).length
    return {records: [...new Set(items.map(({recordId}) => recordId))], rows: items.length, countedRows, sealed}
  }
}

export const unpackWritten = (sealed: Buffer, {unseal}: RunSeal): WrittenRow[] => JSON.parse(gunzipSync(unseal(sealed)).toString())
