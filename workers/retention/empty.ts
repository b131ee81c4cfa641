import {atPoint} from '../../shared/fault-point.ts'
import type {Tx} from '../../sql/database.ts'
import {deleteOfRuns, deleteRuns, perDelete, tablesOfOneRun} from '../../sql/erasure.ts'
import {
  listImportsToDelete,
  listRunsOf,
  listUnemptiedImports,
  listUnemptiedRuns,
  lockRunsToDelete,
  type RunToEmpty,
} from '../../sql/expiry.ts'
import {deleteDecisions, deleteImport, deleteOfChain, isChainOver, keepNames, markImportEmptied, markRunEmptied} from '../../sql/purge.ts'
import {inPieces} from '../pieces.ts'
import type {Keeper} from './expire.ts'
import type {RetentionDeps} from './tally.ts'

const perLook = 100

type OrgRef = Pick<Keeper, 'id'>
type TakePiece = (limit: number) => Promise<number>

/** Deletes the data of expired runs in pieces. Each step works on what is left, so a broken step can be started again. */
export const emptyRuns = async (retaining: RetentionDeps, {id: org}: OrgRef) => {
  for (let after = 0; ; ) {
    const found = await listUnemptiedRuns(retaining.db, {org, after, limit: perLook})
    for (const run of found) await emptyRun(retaining, run)
    if (found.length < perLook) return
    after = found.at(-1)!.no
  }
}

/**
 * Deletes the data of one expired run. The transaction that deletes the rows of segments and of the snapshot lists their objects for
 * removal by `objects.ts`.
 */
const emptyRun = async (retaining: RetentionDeps, run: RunToEmpty) => {
  const {db} = retaining
  const {no, chainNo: chain} = run
  await db.transaction(tx => keepNames(tx, no))
  for (const table of tablesOfOneRun) await deletePieces(retaining, limit => deleteOfRuns(db, {table, runs: [no], limit}), perDelete(table))
  if (chain !== null && (await isChainOver(db, chain)))
    for (const table of ['chain_rows', 'unsettled'] as const)
      await deletePieces(retaining, limit => deleteOfChain(db, {table, chain, limit}))
  await db.transaction(tx => markRunEmptied(tx, run))
  atPoint('in_retention')
}

/** Empties expired imports. Call it after the runs of the imports are emptied. */
export const emptyImports = async (retaining: RetentionDeps, {id: org}: OrgRef) => {
  const {db} = retaining
  for (let after = 0; ; ) {
    const found = await listUnemptiedImports(db, {org, after, limit: perLook})
    for (const importNo of found) {
      await deletePieces(retaining, limit => deleteDecisions(db, {importNo, limit}))
      await db.transaction(tx => markImportEmptied(tx, importNo))
      atPoint('in_retention')
    }
    if (found.length < perLook) return
    after = found.at(-1)!
  }
}

/** Deletes imports that a person deleted. If `days` is given, also deletes imports that expired more than `days` ago. */
export const deleteImports = async (retaining: RetentionDeps, {id: org, days}: OrgRef & {days: number | null}) => {
  const {db, drain, tally} = retaining
  for (let after = 0; ; ) {
    const found = await listImportsToDelete(db, {org, days, after, limit: perLook})
    for (const importNo of found) {
      await deleteAllRuns(retaining, tx => listRunsOf(tx, {importNo, limit: perLook}))
      const rows = await db.transaction(tx => deleteImport(tx, importNo))
      await tally.add({importsDeleted: rows, rows})
      atPoint('in_retention')
    }
    drain.throwIfAborted()
    if (found.length < perLook) return
    after = found.at(-1)!
  }
}

export const deleteRunsOfNone = (retaining: RetentionDeps, {id: org, days}: Keeper) =>
  deleteAllRuns(retaining, tx => lockRunsToDelete(tx, {org, days, limit: perLook}))

const deleteAllRuns = async ({db, drain, tally}: RetentionDeps, list: (tx: Tx) => Promise<readonly number[]>) => {
  for (;;) {
    drain.throwIfAborted()
    const rows = await db.transaction(async tx => deleteRuns(tx, await list(tx)))
    if (rows === 0) return
    await tally.add({runsDeleted: rows, rows})
  }
}

const deletePieces = ({drain, tally}: RetentionDeps, take: TakePiece, limit = perDelete()) =>
  inPieces(drain, limit, take, async rows => {
    await tally.add({rows})
    atPoint('in_retention')
  })
