import type {VerifyResult} from '../../../sql/verify-results.ts'

/**
 * A sent value that differed when its record was read back, or whose record was missing. `module`, `flow`: their numbers in the snapshot.
 * `read`: the value that was read back; undefined if the record is missing.
 */
export type Difference = {
  row: number
  key: string
  flow: number
  module: number
  recordId: string
  phase: 'write' | 'patch'
  field: string
  result: Exclude<VerifyResult, 'as_sent' | 'uncompared'>
  sent: unknown
  read?: unknown
}
