import {setTimeout as sleep} from 'node:timers/promises'
import type {Deployment} from '../support/deployment.ts'
import {type Org, ok, openOrg, readLog} from '../support/importing.ts'
import {prepareFiles} from '../support/lookups.ts'
import {until} from '../support/until.ts'
import type {Case} from './cases.ts'
import {type EndedRunState, judge, type Verdict} from './judge.ts'

/** A run that has not ended after this many seconds is considered stuck. */
const longestSeconds = 240

/** Short leases and CRM time-outs, so that a run under faults ends within seconds. */
export const environment = {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '0.5', CRM_SLOTS: '5', RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'}

/** An org connected to a deployment's CRM stand-in. `pass` advances the clocks of the CRM and of Postgres by some seconds. */
export type Ground = {here: Deployment; org: Org; pass(seconds: number): Promise<void>}

/** Creates the org of a deployment. Requires the discovery worker. */
export const openGround = async (here: Deployment): Promise<Ground> => {
  const org = await openOrg(here)
  let passed = 0
  const pass = async (seconds: number) => {
    passed += seconds
    here.crm.clock.advance(seconds * 1_000)
    await here.ahead(`${passed} seconds`)
  }
  return {here, org, pass}
}

/** An import with files and flows, ready to run. */
export type PreparedCase = {laid: Case; path: string; ids: Record<string, string>; known: Set<string>}

/** Empties the CRM, creates the records that exist before the import, and uploads the files. */
export const prepareCase = async ({here, org}: Ground, laid: Case): Promise<PreparedCase> => {
  here.crm.clear()
  const known = new Set(laid.before.flatMap(({module, records}) => createAsOther(here, module, records)))
  return {laid, known, ...(await prepareFiles(org, laid.files, laid.flows))}
}

/** A run under way. `path`: its API path. `over`: aborted when the run has ended or the wait for the run has failed. */
export type Carried = {run: string; path: string; over: AbortSignal}

/**
 * Starts a run of the import and waits for its end while `meanwhile` causes faults. The returned `judge` compares the result with the CRM. The
 * clocks advance while the run is paused. A poll with status 503 or without a response is repeated.
 */
export const carryCase = async (
  ground: Ground,
  prepared: PreparedCase,
  meanwhile: (carried: Carried) => Promise<unknown> = async () => {},
  {seconds = longestSeconds}: {seconds?: number} = {},
) => {
  const {org} = ground
  const {path, laid} = prepared
  const over = new AbortController()
  const {run} = await ok(org.call('POST', `${path}/runs`, laid.start), 202)
  const breaking = meanwhile({run: run.id, path: `${path}/runs/${run.id}`, over: over.signal})
  // If the wait or `meanwhile` fails, the test does not wait for the other.
  const [ended] = await Promise.all([untilOver(ground, `${path}/runs/${run.id}`, seconds).finally(() => over.abort()), breaking])
  return {
    run: ended,
    judge: async (): Promise<Verdict> =>
      judge(ground.here, {laid, known: prepared.known, chains: [[await reportEnded(org, {...prepared, run: ended})]]}),
  }
}

/** Creates records as another user of the CRM org, and returns their ids. */
export const createAsOther = (
  {crm}: Deployment,
  module: string,
  records: Record<string, unknown>[],
  {org = 'example', as = 'ben@example.org'} = {},
): string[] => crm.create(org, module, records, {as}).map(entry => String((entry as any).details?.id))

export const untilOver = async ({here, org, pass}: Ground, path: string, seconds: number) => {
  for (const deadline = performance.now() + seconds * 1_000; ; await sleep(50)) {
    const answer = await org.call('GET', path).catch(error => ({status: 0, body: null, text: String(error)}))
    if (answer.status === 200 && answer.body.run.state === 'ended') return answer.body.run
    if (answer.status === 200 && answer.body.run.state === 'paused' && (await isLying(here, answer.body.run.id))) await pass(61)
    if (![0, 200, 503].includes(answer.status) || performance.now() > deadline)
      throw new Error(`The run did not end within ${seconds} s: ${answer.status} ${answer.text}`)
  }
}

/** Whether the run is paused until a later time and has no lease, which advancing time would expire. Returns false if the query fails. */
const isLying = async ({hot}: Deployment, run: string): Promise<boolean> => {
  const asked = hot.query(
    'select from runs join run_heads using (run_no) where id = $1 and resume_at > lading_now() and lease_until <= lading_now()',
    [run],
  )
  return asked.then(
    ({rowCount}) => rowCount === 1,
    () => false,
  )
}

/** Returns an ended run with its log, and with results.csv and failed.csv of each source. */
export const reportEnded = async (org: Org, {path, ids, laid, run}: Omit<PreparedCase, 'known'> & {run: any}): Promise<EndedRunState> => {
  const files = async (name: string) => {
    const texts: Record<string, string> = {}
    for (const {source} of laid.parts) {
      const download = () => org.call('GET', `${path}/${name}.csv?run=${run.id}&source=${ids[source]}`)
      // The API answers 503 while it makes too many result files.
      const answer = await until(download, ({status}) => status !== 503)
      if (answer.status !== 200) throw new Error(`No ${name}.csv: ${answer.status} ${answer.text}`)
      texts[source] = answer.text
    }
    return texts
  }
  return {run, log: await readLog(org.call, `${path}/runs/${run.id}`), results: await files('results'), failed: await files('failed')}
}
