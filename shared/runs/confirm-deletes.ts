import {isDeepStrictEqual} from 'node:util'
import type {Db, Tx} from '../../sql/database.ts'
import {isDeletedAt} from '../../sql/run-log.ts'
import {findLastDryRun, type Run} from '../../sql/runs.ts'
import {isAtLeast, type Role} from '../accounts/roles.ts'
import {Refusal} from '../errors.ts'
import {deletes} from '../mapping/flows/delete.ts'
import type {Flow} from '../mapping/flows/flow.ts'
import type {RowRange} from '../mapping/flows/snapshot.ts'
import {readRun} from './names.ts'

type DeletesToConfirm = {
  importNo: number
  flows: readonly Flow[]
  retryOf: string | undefined
  rows: RowRange | undefined
  confirmDeletes?: number | undefined
  role: Role | null
}

/** `role`: null for a schedule, which may not delete records. */
export const assertMayDelete = (flows: readonly Pick<Flow, 'action'>[], role: Role | null): void => {
  if (!flows.some(deletes)) return
  if (role === null)
    throw new Refusal('DELETES_UNCONFIRMED', 'A schedule cannot delete records, because a person must confirm their number each time', {
      deletes: null,
    })
  if (!isAtLeast(role, 'builder'))
    throw new Refusal('ROLE_REQUIRED', 'Flows that delete records require the builder role. Ask a member with that role')
}

/**
 * Checks that the caller confirmed the number of records that the newest dry run would delete. Returns this number, which the run must not exceed;
 * null if no flow deletes. Throws DELETES_UNCONFIRMED if the number differs or is 0. Throws the same if the dry run is incomplete or stale, or if
 * a run that writes was started after the dry run. The dry run must also read the same rows and retry the same run.
 */
export const confirmDeletes = async (
  tx: Tx,
  {importNo, flows, retryOf, rows, confirmDeletes: confirmed, role}: DeletesToConfirm,
): Promise<number | null> => {
  if (!flows.some(deletes)) return null
  assertMayDelete(flows, role)
  const dry = await findLastDryRun(tx, importNo)
  const isValid = dry !== null && isComplete(dry) && (dry.retryOf ?? undefined) === retryOf && (await readsSameRows(tx, dry, rows))
  if (!isValid)
    throw new Refusal('DELETES_UNCONFIRMED', 'Start a dry run of these rows first. It counts the records that the run would delete', {
      deletes: null,
    })
  const count = dry.counts.reduce((sum, some, at) => sum + (isDeletedAt(at) ? some : 0), 0)
  if (count === 0) throw unconfirmed(count, 'By the dry run, this import would delete no record, so there is nothing to run')
  if (confirmed !== count) throw unconfirmed(count, `The run would delete ${count} records. To start it, send \`confirmDeletes\`: ${count}`)
  return count
}

const unconfirmed = (count: number, message: string) => new Refusal('DELETES_UNCONFIRMED', message, {deletes: count})

const isComplete = ({state, stop, stale, undoOf}: Run) => state === 'ended' && stop === null && stale === false && undoOf === null

/** Whether the run reads exactly these rows of the file. `undefined`: all rows. False if its snapshot was deleted or cannot be read. */
export const readsSameRows = async (db: Db, run: Run, rows: RowRange | undefined): Promise<boolean> => {
  const {snapshot} = await readRun(db, run)
  return snapshot !== null && isDeepStrictEqual(snapshot.rows, rows)
}
