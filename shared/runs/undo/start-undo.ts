import type {Tx} from '../../../sql/database.ts'
import {insertNames, listNames} from '../../../sql/external-runs.ts'
import {lockImport, setImportState} from '../../../sql/imports.ts'
import {insertCursors} from '../../../sql/run-cursors.ts'
import {insertHead} from '../../../sql/run-heads.ts'
import {copySnapshot} from '../../../sql/run-snapshots.ts'
import {findDryRun, findRun, insertRun, type Run, setRunJob} from '../../../sql/runs.ts'
import {findScheduledTemplate, listSchedules} from '../../../sql/schedules.ts'
import {queueUndo} from '../../../sql/undo.ts'
import {assertWritable} from '../../crm/connectors/writing.ts'
import {Refusal} from '../../errors.ts'
import {newId} from '../../ids.ts'
import {runImport} from '../../jobs.ts'
import {enqueue, type Queue} from '../../queue.ts'
import {stop} from '../../schedules/stop.ts'
import {freeImport} from '../external/run.ts'
import {readRun} from '../names.ts'
import {assertUndoable} from './undo-status.ts'

type StartUndo = {
  org: string
  person: string
  admin: boolean
  importId: string
  runId: string
  dryRun: boolean
  force?: 'created' | undefined
}

/** The number of an undo's only run cursor, which counts records instead of rows. */
export const UNDO_CURSOR = 0

/** Enqueues the undo of an ended run, in the caller's transaction. An undo is not metered. */
export const startUndo = async (tx: Tx, queue: Queue, {org, person, admin, importId, runId, dryRun, force}: StartUndo) => {
  if (force && !admin)
    throw new Refusal('ADMIN_REQUIRED', 'Only admins can delete created records that were changed since. Leave force out')
  const found = await lockImport(tx, {org, id: importId})
  if (!found) throw new Refusal('IMPORT_NOT_FOUND', 'No such import')
  const run = await findRun(tx, {org, id: runId})
  if (!run || run.importNo !== found.no) throw new Refusal('RUN_NOT_FOUND', 'The import has no such run')
  await assertUndoable(tx, run)
  await takeImport(tx, {org, importNo: found.no, dryRun})
  const connector = run.connectorId!
  if (!dryRun) await assertWritable(tx, {org, connector})
  const {unread} = await readRun(tx, run)
  if (unread) throw unread
  const id = newId('run')
  const no = await insertRun(tx, {id, org, person, connector, importNo: found.no, declaredRows: run.declaredRows})
  await insertHead(tx, {run: no, rowsLimit: run.rowsLimit, limitBy: run.limitBy})
  // A run of an external engine has names instead of a snapshot.
  const snapshotNo = run.snapshotNo === null ? null : await copySnapshot(tx, run.snapshotNo)
  if (snapshotNo === null) await insertNames(tx, {run: no, names: await listNames(tx, run.no)})
  const undoDays = dryRun || run.undoOf !== null ? null : run.undoDays
  await queueUndo(tx, {no, of: run.no, connector, importNo: found.no, snapshotNo, dryRun, force: force === 'created', undoDays})
  await insertCursors(tx, {run: no, flows: [UNDO_CURSOR]})
  if (!dryRun) {
    await setImportState(tx, {no: found.no, state: 'running'})
    await stopSchedules(tx, run)
  }
  const job = await enqueue(queue, runImport, {org, run: id}, {tx})
  await setRunJob(tx, {no, job})
  return {runId: id, job}
}

/**
 * If a schedule started the run or another run of its retry chain, stops all schedules of its template, so that the next firing does not repeat what
 * was undone.
 */
const stopSchedules = async (tx: Tx, {no, org}: Run) => {
  const template = await findScheduledTemplate(tx, no)
  if (template === null) return
  const message = 'A run of this template was undone. Correct the template or its file, then turn the schedule on again'
  for (const one of await listSchedules(tx, {org, template, after: null, limit: mostSchedules}))
    await stop(tx, one, {code: 'RUN_UNDONE', message})
}

const mostSchedules = 1_000

/** Refuses if the import already has a run of the same kind in progress: a run that writes, or a dry run. */
const takeImport = async (tx: Tx, {org, importNo, dryRun}: {org: string; importNo: number; dryRun: boolean}) => {
  if (!dryRun) return freeImport(tx, {org, importNo})
  if ((await findDryRun(tx, {importNo})) !== null)
    throw new Refusal('IMPORT_RUNNING', 'A dry run of this import is in progress. Wait for it to end, or cancel it')
}
