import {sweepSpools} from '../../shared/imports/spool.ts'
import {deleteOldAiUsage} from '../../sql/ai-usage.ts'
import {deleteOldAudit} from '../../sql/audit-events.ts'
import {deleteOldTurns} from '../../sql/conversations.ts'
import {deleteEndedOAuth} from '../../sql/oauth-grants.ts'
import {deleteOldEvents} from '../../sql/payment-events.ts'
import {
  type Claim,
  claimNight,
  deleteForgotten,
  deleteOldDiscoveries,
  deleteOldFirings,
  deleteOldJobs,
  deleteOldNights,
  endNight,
  listKeepers,
  noteNight,
} from '../../sql/retention.ts'
import {inPieces} from '../pieces.ts'
import type {Tools} from '../tools.ts'
import {deleteImports, deleteRunsOfNone, emptyImports, emptyRuns} from './empty.ts'
import {expireImports, expireRuns, type Keeper} from './expire.ts'
import {removeDoomed, removeOrphans} from './objects.ts'
import {attempt, leaseSeconds, openTally, type Retaining} from './tally.ts'

const orgsPerLook = 100
const rowsPerDelete = 10_000
const discoveriesPerDelete = 20
const nightsKeptDays = 400
/** For so long the log tells what the payment provider has told of, and nothing is applied twice under its id: it tells for three days. */
const paymentEventsKeptDays = 90
const aiUsageKeptDays = 400
/** Whoever has come to a smaller plan has time to fetch what they want to keep, or to think again. */
const graceDays = 14
/** Begun again after this many deaths, it would die again. */
const mostTries = 100

export type Nightly = Pick<Tools, 'db' | 'storage' | 'log' | 'drain'> & {config: Pick<Tools['config'], 'RETENTION_HOUR_UTC' | 'AUDIT_DAYS'>}

/** The night, if it has come and nobody has had it: claimed by a row, so that any number of processes do it once. Answers whether it was done here. */
export const doNight = async (tools: Nightly): Promise<boolean> => {
  const claim = await claimNight(tools.db, {hour: tools.config.RETENTION_HOUR_UTC, seconds: leaseSeconds, mostTries})
  if (!claim) return false
  const retaining = {...tools, tally: openTally(tools, claim)}
  try {
    await keepWindows(retaining)
    await keepHouse(retaining, tools.config)
  } catch (error) {
    // Whoever looks next carries it on.
    await noteNight(tools.db, claim, {counts: {}, seconds: 0})
    throw error
  }
  await end(tools, claim)
  return true
}

const end = async ({db, log}: Nightly, claim: Claim) => {
  await endNight(db, claim)
  log.info({night: claim.day, tries: claim.tries}, 'retention done')
}

const keepWindows = async (retaining: Retaining) => {
  for (let after = ''; ; ) {
    const keepers = await listKeepers(retaining.db, {after, graceDays, limit: orgsPerLook})
    for (const keeper of keepers) {
      // Also an org of which nothing goes takes its time, and the night is held meanwhile.
      await retaining.tally.add({})
      await keepWindow(retaining, keeper)
    }
    if (keepers.length < orgsPerLook) return
    after = keepers.at(-1)!.id
  }
}

const keepWindow = async (retaining: Retaining, keeper: Keeper) => {
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
  const sweep = (name: 'firings' | 'jobs' | 'turns' | 'discoveries', limit: number, take: (limit: number) => Promise<number>) =>
    step(name, () => inPieces(drain, limit, take, rows => tally.add({[name]: rows, rows})))
  await sweep('firings', rowsPerDelete, limit => deleteOldFirings(db, {...old, limit}))
  await sweep('jobs', rowsPerDelete, limit => deleteOldJobs(db, {...old, limit}))
  await sweep('turns', rowsPerDelete, limit => deleteOldTurns(db, {...old, limit}))
  await sweep('discoveries', discoveriesPerDelete, limit => deleteOldDiscoveries(db, {org, limit}))
}

/** What is no single org's. */
const keepHouse = async (retaining: Retaining, {AUDIT_DAYS}: Pick<Nightly['config'], 'AUDIT_DAYS'>) => {
  const {db, drain, tally} = retaining
  const sweepAudit = (limit: number) => deleteOldAudit(db, {days: AUDIT_DAYS, limit})
  const sweepEvents = (limit: number) => deleteOldEvents(db, {days: paymentEventsKeptDays, limit})
  await attempt(retaining, 'objects', null, () => removeDoomed(retaining))
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
