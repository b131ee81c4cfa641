import {recordStaffAction} from '../shared/accounts/staff-action.ts'
import {endBillingOf} from '../shared/billing/ending.ts'
import {revokeAll} from '../shared/crm/connectors/disconnect.ts'
import {eraseOrg} from '../shared/jobs.ts'
import type {Tx} from '../sql/database.ts'
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
import {deletePendingOf} from '../sql/purge.ts'
import {inPieces} from './pieces.ts'
import {type Work, worker} from './worker.ts'

const runsPerLook = 100
const discoveriesPerDelete = 20

/**
 * Erases an org that is marked for erasure. First takes its runs from their owners, revokes its grants and ends its billing. Then deletes
 * its rows in pieces that block nothing, its files, and the org last. A broken attempt can be started again, because each step works on
 * what is left. Files are deleted after imports: an upload that ends meanwhile finds no import and removes its own file.
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
  await deletePendingOf(tx, org)
  await blankTokens(tx, org)
  if (await deleteOrg(tx, org)) await recordStaffAction(tx, null, {kind: 'erased', org, detail: {rows}})
}
