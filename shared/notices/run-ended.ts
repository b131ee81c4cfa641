import type {Tx} from '../../sql/database.ts'
import type {Run} from '../../sql/runs.ts'
import {announce} from './announce.ts'

/**
 * For the transaction that ends a run, of whichever engine. The rest of what is told is read when the notice is handed out: an ended run
 * changes no more, and the end of a run waits for nothing.
 */
export const announceEnd = (tx: Tx, {org, id, dryRun}: Pick<Run, 'org' | 'id' | 'dryRun'>): Promise<string> =>
  announce(tx, {org, kind: 'run.ended', schedule: null, about: {run: id, dryRun}})
