import {endBillingOf} from '../shared/billing/ending.ts'
import {revokeAll} from '../shared/connectors/disconnect.ts'
import {eraseOrg} from '../shared/jobs.ts'
import {recordStaffAction} from '../shared/people/staff-action.ts'
import type {Tx} from '../sql/database.ts'
import {deleteDoomedUnder} from '../sql/emptying.ts'
import {
  blankTokens,
  deleteConnectors,
  deleteDiscoveries,
  deleteOfOrg,
  deleteOfRuns,
  deleteOrg,
  deleteRuns,
  holdRuns,
  isErasing,
  listRunNos,
  OF_ORG,
  ofRuns,
  perDelete,
} from '../sql/erasure.ts'
import {inPieces} from './pieces.ts'
import {type Work, worker} from './worker.ts'

const runsPerLook = 100
const discoveriesPerDelete = 20

/**
 * Erases an org that was marked for it: first its runs are taken from whoever carries them, its grants are given up and what it pays for ends, then its rows leave in pieces small enough to
 * hold nothing up, then its files, and the org itself last. Each step finds what is there, so an attempt that broke off is simply begun
 * again. Files come after imports: an upload that ends now finds no import and takes its file away itself.
 */
export default worker(eraseOrg, {concurrency: 1}, async ({org}, work) => {
  const {db, storage, log} = work
  if (!(await isErasing(db, org))) return {rows: 0}
  await holdRuns(db, org)
  await revokeAll(work, org)
  await endBillingOf(work, org, {when: 'now'})
  const rows = (await eraseRuns(work, org)) + (await eraseRest(work, org))
  await storage.removeAll(org)
  await db.transaction(tx => eraseOrgItself(tx, {org, rows}))
  log.info({org, rows}, 'org erased')
  return {rows}
})

const eraseRuns = async (work: Work, org: string): Promise<number> => {
  const {db, signal} = work
  let rows = 0
  for (;;) {
    const runs = await listRunNos(db, {org, limit: runsPerLook})
    if (runs.length === 0) return rows
    for (const table of ofRuns) rows += await inPieces(signal, perDelete(table), limit => deleteOfRuns(db, {table, runs, limit}))
    rows += await db.transaction(tx => deleteRuns(tx, runs))
  }
}

const eraseRest = async (work: Work, org: string): Promise<number> => {
  const {db, signal} = work
  let rows = 0
  for (const table of OF_ORG) rows += await inPieces(signal, perDelete(table), limit => deleteOfOrg(db, {table, org, limit}))
  return rows + (await inPieces(signal, discoveriesPerDelete, limit => deleteDiscoveries(db, {org, limit})))
}

const eraseOrgItself = async (tx: Tx, {org, rows}: {org: string; rows: number}) => {
  await deleteConnectors(tx, org)
  await deleteDoomedUnder(tx, org)
  await blankTokens(tx, org)
  if (await deleteOrg(tx, org)) await recordStaffAction(tx, null, {kind: 'erased', org, detail: {rows}})
}
