import {setTimeout as sleep} from 'node:timers/promises'
import type {Deployment} from '../deployment.ts'
import {type Org, ok, openOrg, readLog} from '../importing.ts'
import {prepareFiles} from '../linking.ts'
import {until} from '../until.ts'
import type {Case} from './cases.ts'
import {type Ended, judge, type Verdict} from './judge.ts'

/** A run that has not ended by then never will. */
const longestSeconds = 90

/** Leases are short, and so is the patience with the CRM: a run under faults is over in seconds. */
export const environment = {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '0.5', CRM_SLOTS: '5', RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'}

/** An org connected to the stand-in of a deployment, and a clock that is moved where a run waits for it. */
export type Ground = {here: Deployment; org: Org; pass(seconds: number): Promise<void>}

/** Needs the discovery worker. */
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

/** An import laid out and ready to run. */
export type Prepared = {laid: Case; path: string; ids: Record<string, string>; known: Set<string>}

/** Clears the CRM of records, lays there what stood there before, and uploads the files. */
export const prepareCase = async ({here, org}: Ground, laid: Case): Promise<Prepared> => {
  here.crm.clear()
  const known = new Set(laid.before.flatMap(({module, records}) => createAsOther(here, module, records)))
  return {laid, known, ...(await prepareFiles(org, laid.files, laid.flows))}
}

/** What a run under way is known by; `over` is aborted when it has ended, or nobody waits for it any more. */
export type Carried = {run: string; path: string; over: AbortSignal}

/**
 * Runs it to its end while `meanwhile` breaks what it likes, and until that is done; `judge` holds what has become of it against the CRM,
 * now or later again. A run that lies down is not waited for: time is moved. A service that answers 503, or not at all, is waited for.
 */
export const carryCase = async (
  ground: Ground,
  prepared: Prepared,
  meanwhile: (carried: Carried) => Promise<unknown> = async () => {},
  {seconds = longestSeconds}: {seconds?: number} = {},
) => {
  const {org} = ground
  const {path, laid} = prepared
  const over = new AbortController()
  const {run} = await ok(org.call('POST', `${path}/runs`, laid.start), 202)
  const breaking = meanwhile({run: run.id, path: `${path}/runs/${run.id}`, over: over.signal})
  // A failure of one is told, and the other is not waited for then.
  const [ended] = await Promise.all([untilOver(ground, `${path}/runs/${run.id}`, seconds).finally(() => over.abort()), breaking])
  return {
    run: ended,
    judge: async (): Promise<Verdict> =>
      judge(ground.here, {laid, known: prepared.known, chains: [[await tellEnded(org, {...prepared, run: ended})]]}),
  }
}

/** The ids of records that another user of the CRM's org makes. */
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

/** Waits for its time. One that may be taken by now is left alone: its new owner's lease would be over before it has begun. */
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

/** What the service tells of a run that has ended. */
export const tellEnded = async (org: Org, {path, ids, laid, run}: Omit<Prepared, 'known'> & {run: any}): Promise<Ended> => {
  const files = async (name: string) => {
    const texts: Record<string, string> = {}
    for (const {source} of laid.parts) {
      const download = () => org.call('GET', `${path}/${name}.csv?run=${run.id}&source=${ids[source]}`)
      // Only so many files are made at once.
      const answer = await until(download, ({status}) => status !== 503, 60)
      if (answer.status !== 200) throw new Error(`No ${name}.csv: ${answer.status} ${answer.text}`)
      texts[source] = answer.text
    }
    return texts
  }
  return {run, log: await readLog(org.call, `${path}/runs/${run.id}`), results: await files('results'), failed: await files('failed')}
}
