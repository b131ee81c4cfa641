import {sweepSpools} from '../../shared/runs/results/spool.ts'
import {deleteOldAiUsage} from '../../sql/ai-usage.ts'
import {deleteOldAudit} from '../../sql/audit-events.ts'
import {deleteOldTurns} from '../../sql/conversations.ts'
import {deleteOldImages} from '../../sql/image-keys.ts'
import {deleteEndedOAuth} from '../../sql/oauth-grants.ts'
import {deleteOldEvents} from '../../sql/payment-events.ts'
import {
  claimNight,
  deleteForgotten,
  deleteOldDiscoveries,
  deleteOldFirings,
  deleteOldJobs,
  deleteOldNights,
  endNight,
  listKeepers,
  type NightClaim,
  noteNight,
} from '../../sql/retention.ts'
import {deleteOldTestFetches} from '../../sql/test-fetches.ts'
import {deleteOldMarks} from '../../sql/written-records.ts'
import type {WorkerDeps} from '../deps.ts'
import {refreshDays} from '../engine/edits/mark-written.ts'
import {inPieces} from '../pieces.ts'
import {deleteImports, deleteRunsOfNone, emptyImports, emptyRuns} from './empty.ts'
import {expireImports, expireRuns, type Keeper} from './expire.ts'
import {removeOrphans, removePendingDeletes} from './objects.ts'
import {attempt, leaseSeconds, openTally, type RetentionDeps} from './tally.ts'

const orgsPerLook = 100
const rowsPerDelete = 10_000
const discoveriesPerDelete = 20
const imagesPerDelete = 100
const nightsKeptDays = 400
/** The days for which payment events are kept, for the log and so that no event is applied twice. The provider redelivers for three days. */
const paymentEventsKeptDays = 90
const aiUsageKeptDays = 400
/**
 * For how many days an org keeps all its data after a change. Changes are another plan, the end of a trial, and a new or ended link to
 * another org. In this time the org can export data or change the plan again.
 */
const graceDays = 14
/** The maximum number of attempts of a night. After so many lost processes, another attempt would be lost too. */
const mostTries = 100

export type Nightly = Pick<WorkerDeps, 'db' | 'storage' | 'log' | 'drain'> & {
  config: Pick<WorkerDeps['config'], 'RETENTION_HOUR_UTC' | 'AUDIT_DAYS'>
}

/**
 * Runs the nightly retention if it is due and not claimed. One row per night is claimed, so the night runs once however many processes
 * there are. Returns whether it ran in this process.
 */
export const doNight = async (nightly: Nightly): Promise<boolean> => {
  const claim = await claimNight(nightly.db, {hour: nightly.config.RETENTION_HOUR_UTC, seconds: leaseSeconds, mostTries})
  if (!claim) return false
  const retaining = {...nightly, tally: openTally(nightly, claim)}
  try {
    await keepWindows(retaining)
    await deleteExpired(retaining, nightly.config)
  } catch (error) {
    // The claim is ended at once, so that the next process that polls continues the night.
    await noteNight(nightly.db, claim, {counts: {}, seconds: 0})
    throw error
  }
  await end(nightly, claim)
  return true
}

const end = async ({db, log}: Nightly, claim: NightClaim) => {
  await endNight(db, claim)
  log.info({night: claim.day, tries: claim.tries}, 'retention done')
}

const keepWindows = async (retaining: RetentionDeps) => {
  for (let after = ''; ; ) {
    const keepers = await listKeepers(retaining.db, {after, graceDays, limit: orgsPerLook})
    for (const keeper of keepers) {
      // Renews the lease of the night, also for an org with nothing to delete, because reading the org takes time.
      await retaining.tally.add({})
      await keepWindow(retaining, keeper)
    }
    if (keepers.length < orgsPerLook) return
    after = keepers.at(-1)!.id
  }
}

const keepWindow = async (retaining: RetentionDeps, keeper: Keeper) => {
  const {db, drain, tally} = retaining
  const {id: org, days} = keeper
  const step = (name: string, act: () => Promise<unknown>) => attempt(retaining, name, org, act)
  await step('imports', () => expireImports(retaining, keeper))
  await step('runs', () => expireRuns(retaining, keeper))
  await step('emptying runs', () => emptyRuns(retaining, keeper))
  await step('emptying imports', () => emptyImports(retaining, keeper))
  await step('bare imports', () => deleteImports(retaining, keeper))
  await step('bare runs', () => deleteRunsOfNone(retaining, keeper))
  const old = {org, days}
  const sweep = (name: 'firings' | 'jobs' | 'turns' | 'discoveries' | 'marks', limit: number, take: (limit: number) => Promise<number>) =>
    step(name, () => inPieces(drain, limit, take, rows => tally.add({[name]: rows, rows})))
  await sweep('firings', rowsPerDelete, limit => deleteOldFirings(db, {...old, limit}))
  await sweep('jobs', rowsPerDelete, limit => deleteOldJobs(db, {...old, limit}))
  await sweep('turns', rowsPerDelete, limit => deleteOldTurns(db, {...old, limit}))
  await sweep('marks', rowsPerDelete, limit => deleteOldMarks(db, {org, days: 2 * Math.max(days, refreshDays), limit}))
  await sweep('discoveries', discoveriesPerDelete, limit => deleteOldDiscoveries(db, {org, limit}))
}

const deleteExpired = async (retaining: RetentionDeps, {AUDIT_DAYS}: Pick<Nightly['config'], 'AUDIT_DAYS'>) => {
  const {db, drain, tally} = retaining
  const sweepAudit = (limit: number) => deleteOldAudit(db, {days: AUDIT_DAYS, limit})
  const sweepImages = (limit: number) => deleteOldImages(db, {limit})
  const sweepEvents = (limit: number) => deleteOldEvents(db, {days: paymentEventsKeptDays, limit})
  await attempt(retaining, 'images', null, () => inPieces(drain, imagesPerDelete, sweepImages, images => tally.add({images})))
  const sweepTests = (limit: number) => deleteOldTestFetches(db, {limit})
  await attempt(retaining, 'test fetches', null, () => inPieces(drain, rowsPerDelete, sweepTests, rows => tally.add({rows})))
  await attempt(retaining, 'objects', null, () => removePendingDeletes(retaining))
  await attempt(retaining, 'orphans', null, () => removeOrphans(retaining))
  await attempt(retaining, 'spools', null, async () => tally.add({spools: await sweepSpools()}))
  await attempt(retaining, 'forgotten', null, async () => tally.add({rows: await db.transaction(deleteForgotten)}))
  await attempt(retaining, 'access of clients', null, () =>
    inPieces(
      drain,
      rowsPerDelete,
      limit => deleteEndedOAuth(db, limit),
      rows => tally.add({rows}),
    ),
  )
  await attempt(retaining, 'ai usage', null, async () => tally.add({rows: await deleteOldAiUsage(db, {days: aiUsageKeptDays})}))
  await attempt(retaining, 'payment events', null, () => inPieces(drain, rowsPerDelete, sweepEvents, rows => tally.add({rows})))
  await attempt(retaining, 'audit', null, () => inPieces(drain, rowsPerDelete, sweepAudit, rows => tally.add({rows})))
  await attempt(retaining, 'nights', null, () => deleteOldNights(db, {days: nightsKeptDays}))
}
