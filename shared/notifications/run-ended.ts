import type {Tx} from '../../sql/database.ts'
import type {Run} from '../../sql/runs.ts'
import {announce} from './announce.ts'

/**
 * Announces the end of a run of any engine, in the transaction that ends it. The rest of the notice is read when it is sent: an ended run no longer
 * changes, and the end must not wait.
 */
export const announceEnd = (tx: Tx, {org, id, dryRun}: Pick<Run, 'org' | 'id' | 'dryRun'>): Promise<string> =>
  announce(tx, {org, kind: 'run.ended', schedule: null, about: {run: id, dryRun}})
