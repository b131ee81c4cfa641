import {setTimeout as sleep} from 'node:timers/promises'
import {exportMarginMs} from '../../workers/engine/match-snapshot/match-snapshot.ts'
import {assertUnchanged, prepareImport, type StartOptions, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {fetchFresh} from './fetch-fresh.ts'
import type {MeasureOptions} from './figures.ts'
import {assertRecords, readEnds} from './route-state.ts'
import {fileOf, plain} from './rows.ts'

const usualRows = 200_000
const fullRows = 1_000_000
/** Number of records in one job of an export. */
const rowsPerJob = 200_000
const latencyMs = 400
const crmOrg = 'example'
/** One row of this many differs from its record. */
const changedEvery = 5
/** Number of value lists in a query of a CRM org that accepts only one. Other orgs accept ten. */
const fewestLists = 1

/**
 * Measures an import of matched rows, of which every fifth changes. A run that matches by an export and skips unchanged rows is compared with
 * runs that match by queries and write every row. The queries hold one value list, then ten. The CRM is compared with the file after each run,
 * and each row must have the same record in all runs. One round each.
 */
export const measureMatchedImport = async ({rows = usualRows}: MeasureOptions) => {
  const crm = ['test/simulators/crm.ts', '--control', '--no-bodies', '--journal', '10']
  const deployment = await startDeployment('matched-import', {crm, env: {CRM_LAG_SECONDS: '1'}, standsStillMs: 900_000})
  try {
    await setAllowance(deployment)
    const csv = fileOf(rows, 'S-')
    await deployment.runImport({csv, flow: flowOf('skip')})
    await setSwitches(deployment, {latencyMs, ...jobTimesOf(rows)})
    await deployment.query(`update connectors set capabilities = capabilities || jsonb_build_object('coqlInLists', $1::int)`, [fewestLists])
    const queried = await importChanged(deployment, csv, {rows, round: 0, unchanged: 'write'})
    // The earlier imports wrote every record. Without this pause, the run would read all of them as changes, which seldom happens to a user's
    // run.
    await sleep(exportMarginMs)
    const exported = await importChanged(deployment, csv, {rows, round: 1, unchanged: 'skip', start: {match: 'snapshot'}})
    await deployment.query(`update connectors set capabilities = capabilities - 'coqlInLists'`)
    const inLists = await importChanged(deployment, csv, {rows, round: 2, unchanged: 'write'})
    if (new Set([queried, exported, inLists].map(({digest}) => digest)).size > 1) throw new Error('The routes matched other records')
    return {
      matchedImportCredits: exported.credits / queried.credits,
      matchedImportTime: exported.seconds / queried.seconds,
      matchedImportCreditsOverLists: exported.credits / inLists.credits,
      matchedImportTimeOverLists: exported.seconds / inLists.seconds,
      matchedImportSeconds: exported.seconds,
    }
  } finally {
    await deployment.stop()
  }
}

type Unchanged = 'skip' | 'write'
const flowOf = (unchanged: Unchanged) => ({...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged}})

/** With 1,000,000 rows, a job takes 60 s + 1 ms a row. With fewer rows, jobs take the same share of a run, so that ratios stay comparable. */
const jobTimesOf = (rows: number) => ({
  bulkSeconds: (60 * rows) / fullRows,
  bulkRowMs: Math.ceil(rows / rowsPerJob) / Math.ceil(fullRows / rowsPerJob),
})

type ChangedImport = {rows: number; round: number; unchanged: Unchanged; start?: StartOptions}

const importChanged = async (deployment: Deployment, base: Buffer, {rows, round, unchanged, start = {}}: ChangedImport) => {
  const csv = changeCities(base, round)
  const flow = flowOf(unchanged)
  const before = await readSpent(deployment)
  const prepared = await prepareImport(deployment.places[0], {csv, flow})
  const [ended] = await deployment.ended([await startRun(prepared, start)])
  const credits = (await readSpent(deployment)) - before
  await assertUnchanged(prepared, ended!.id, unchanged === 'skip' ? rows - rows / changedEvery : 0)
  await assertRecords(deployment, flow, [csv])
  const {digest} = await readEnds(prepared, ended!.id)
  return {credits, seconds: ended!.seconds, digest}
}

/** Changes the city of every fifth row. Rows that earlier rounds changed stay changed. */
const changeCities = (csv: Buffer, round: number): Buffer => {
  const [head, ...lines] = csv.toString().trimEnd().split('\n')
  const changed = lines.map((line, n) => (n % changedEvery <= round ? line.replace(',City ', ',Town ') : line))
  return Buffer.from(`${[head, ...changed].join('\n')}\n`)
}

export const setAllowance = ({crmUrl}: Deployment) => post(crmUrl, 'credits', {org: crmOrg, allowance: 10_000_000})

export const setSwitches = ({crmUrl}: Deployment, switches: object) => post(crmUrl, 'switches', switches)

export const post = async (crmUrl: string, route: string, body: object): Promise<void> => {
  const answer = await fetchFresh(`${crmUrl}/__sim/${route}`, {method: 'POST', body: JSON.stringify(body)})
  if (!answer.ok) throw new Error(`The stand-in refused ${route}: ${await answer.text()}`)
}

export const readSpent = async ({crmUrl}: Deployment): Promise<number> => {
  const answer = await fetchFresh(`${crmUrl}/__sim/credits?org=${crmOrg}`)
  return ((await answer.json()) as {used: number}).used
}
