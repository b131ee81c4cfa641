import {atPoint} from '../../shared/fault-point.ts'
import type {Tx} from '../../sql/database.ts'
import {
  deleteDecisions,
  deleteImport,
  deleteOfChain,
  isChainOver,
  keepNames,
  markImportEmptied,
  markRunEmptied,
} from '../../sql/emptying.ts'
import {deleteOfRuns, deleteRuns, ofRunsAlone, perDelete} from '../../sql/erasure.ts'
import {
  listImportsToDelete,
  listRunsOf,
  listUnemptiedImports,
  listUnemptiedRuns,
  lockRunsToDelete,
  type Unemptied,
} from '../../sql/expiry.ts'
import {inPieces} from '../pieces.ts'
import type {Keeper} from './expire.ts'
import type {Retaining} from './tally.ts'

const perLook = 100

type Of = Pick<Keeper, 'id'>
type Take = (limit: number) => Promise<number>

/** What expired runs kept, in pieces. Each step finds what is there, so one that broke off is simply begun again. */
export const emptyRuns = async (retaining: Retaining, {id: org}: Of) => {
  for (let after = 0; ; ) {
    const found = await listUnemptiedRuns(retaining.db, {org, after, limit: perLook})
    for (const run of found) await emptyRun(retaining, run)
    if (found.length < perLook) return
    after = found.at(-1)!.no
  }
}

/** Deleted segments, and the snapshot, leave their objects to `objects.ts`: written down in the transaction that lets go of them. */
const emptyRun = async (retaining: Retaining, run: Unemptied) => {
  const {db} = retaining
  const {no, chainNo: chain} = run
  await db.transaction(tx => keepNames(tx, no))
  for (const table of ofRunsAlone) await deletePieces(retaining, limit => deleteOfRuns(db, {table, runs: [no], limit}), perDelete(table))
  if (chain !== null && (await isChainOver(db, chain)))
    for (const table of ['chain_rows', 'unsettled'] as const)
      await deletePieces(retaining, limit => deleteOfChain(db, {table, chain, limit}))
  await db.transaction(tx => markRunEmptied(tx, run))
  atPoint('in_retention')
}

/** After their runs. */
export const emptyImports = async (retaining: Retaining, {id: org}: Of) => {
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

/** Imports that were bare for another window, where days are named, and those that somebody deleted: then nothing is left. */
export const deleteImports = async (retaining: Retaining, {id: org, days}: Of & {days: number | null}) => {
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

/** The same of runs that have no import. */
export const deleteRunsOfNone = (retaining: Retaining, {id: org, days}: Keeper) =>
  deleteAllRuns(retaining, tx => lockRunsToDelete(tx, {org, days, limit: perLook}))

const deleteAllRuns = async ({db, drain, tally}: Retaining, list: (tx: Tx) => Promise<readonly number[]>) => {
  for (;;) {
    drain.throwIfAborted()
    const rows = await db.transaction(async tx => deleteRuns(tx, await list(tx)))
    if (rows === 0) return
    await tally.add({runsDeleted: rows, rows})
  }
}

const deletePieces = ({drain, tally}: Retaining, take: Take, limit = perDelete()) =>
  inPieces(drain, limit, take, async rows => {
    await tally.add({rows})
    atPoint('in_retention')
  })
