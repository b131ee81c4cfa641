import {createInterface} from 'node:readline'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {startApiProcess} from '../support/api-process.ts'
import {openCalls} from '../support/client.ts'
import {openOrg} from '../support/importing.ts'
import type {Here} from '../support/record-claims.ts'
import {type FileHost, startFileHost} from '../support/schedules.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'
import {carryCase, environment, type Ground, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {playExpiries} from './expiries.ts'
import {hasOwnClocks, type OwnClock, openOwnClock} from './own-clock.ts'
import {playReasons, renewAccess} from './reasons.ts'
import type {Scenario, Stage} from './scenario.ts'

const rows = 1_200
/** Lease in seconds, long enough that a busy machine does not cost a living owner its lease. */
const leaseSeconds = 4

type Site = {at: string; ground: Ground; here: Here; host: FileHost; api: OwnClock; first: OwnClock; second: OwnClock}

/**
 * Runs Postgres with the true time, and an API, two workers and the CRM each with a separate clock. Where separate clocks are impossible, a
 * figure says so, and Postgres is two hours ahead of or behind the others.
 */
export const clocks: Scenario = {
  row: 'R15',
  fault: 'the clocks of the API, of workers and of the CRM are two hours ahead or behind, and jump in the middle of a run',
  goal: 'leases, record claims, sessions, tokens, uploads and schedules follow one clock, that of Postgres',
  async play(stage) {
    if (!hasOwnClocks) stage.figure('without faketime', 1)
    const site = await openSite(stage)
    for (const hours of [2, -2]) {
      await setClocks(site, hours)
      stage.did('clocks moved', 4)
      await assertOff(stage, site, hours)
      await playJump(stage, site, hours)
      await renewAccess(site.here)
      await playReasons(stage, site.here, `${hours} h off the machine's`)
      await playExpiries(stage, site.here, {at: site.at, host: site.host, aheadHours: hasOwnClocks ? 0 : -hours})
    }
  },
}

const openSite = async (stage: Stage): Promise<Site> => {
  const world = await stage.open({workers: ['discovery'], environment: {...environment, CRM_TIMEOUT_SECONDS: '2'}})
  const org = await openOrg(world)
  const [api, first, second] = await Promise.all([openOwnClock(stage.begun), openOwnClock(stage.begun), openOwnClock(stage.begun)])
  const {DATABASE_URL, STORAGE_DIR, CRM_STANDIN_URL} = world.config
  const settings = {DATABASE_URL: DATABASE_URL!, STORAGE_DIR, CRM_STANDIN_URL: CRM_STANDIN_URL!, CRM_TIMEOUT_SECONDS: '2'}
  const limits = {RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0', LEASE_SECONDS: String(leaseSeconds)}
  const host = await startFileHost()
  stage.begun(host.stop)
  const served = await startApiProcess({NODE_ENV: 'test', PRIVATE_HOSTS: host.place, ...settings, ...limits, ...api.environment})
  stage.begun(async () => {
    served.signal('SIGKILL')
    await served.exit
  })
  await Promise.all([startOwn(stage, world, first, ['imports', 'writes']), startOwn(stage, world, second, ['imports', 'clock'])])
  const skewed = {...org, call: openCalls(served.url)(org.session)}
  return {at: served.url, ground: {here: world, org: skewed, pass: async () => {}}, here: {world, org: skewed}, host, api, first, second}
}

const startOwn = async (stage: Stage, {config}: Here['world'], clock: OwnClock, names: string[]) => {
  const worker = startWorker(config, {LOG_LEVEL: 'info', LEASE_SECONDS: String(leaseSeconds), CRM_SLOTS: '1', ...clock.environment}, names)
  stage.begun(() => endWorker(worker))
  const isWorking = Promise.withResolvers<void>()
  createInterface(worker.stdout!).on('line', line => {
    stage.logged(line)
    if (line.includes('"working"')) isWorking.resolve()
  })
  await isWorking.promise
}

/**
 * Moves the API and the second worker by `hours`, and the first worker by as much in the other direction. The CRM's clock never moves back.
 * Without separate clocks, moves Postgres by `-hours` instead.
 */
const setClocks = async ({api, first, second, here: {world}}: Site, hours: number) => {
  world.crm.clock.set(Date.now() + Math.max(0, hours) * 3_600_000)
  if (!hasOwnClocks) return void (await world.ahead(`${-hours} hours`))
  await Promise.all([api.set(hours), first.set(-hours), second.set(hours)])
}

/** Checks by the dates of the API's answers that its clock was moved. Does nothing without separate clocks. */
const assertOff = async (stage: Stage, {here}: Site, hours: number) => {
  const off = async () => {
    const {headers} = await here.org.call('GET', '/auth/me')
    return Math.round((Date.parse(headers.get('date')!) - Date.now()) / 3_600_000)
  }
  if (hasOwnClocks) stage.figure('hours off', Math.abs(await until(off, seen => seen === hours)), {least: 2})
}

/** Runs an import for longer than two leases, and loses its first create. Meanwhile, separate clocks of both workers swap their offsets. */
const playJump = async (stage: Stage, {ground, here: {world}, first, second}: Site, hours: number) => {
  const laid = writeCase(0, stage.dice, rows)
  const prepared = await prepareCase(ground, {...laid, start: {}})
  world.crm.setSwitches({latencyMs: 400})
  world.crm.faults.add({match: {method: 'POST', path: '/crm/v8/Accounts'}, times: 1, action: 'dropAfter'})
  const carried = await carryCase(ground, prepared, async ({run}) => {
    await until(
      () => world.crm.count('example', 'Accounts'),
      count => count > rows / 3,
      60,
    )
    if (hasOwnClocks) await Promise.all([first.set(hours), second.set(-hours)])
    stage.did('clocks moved', hasOwnClocks ? 2 : 0)
    return run
  })
  world.crm.setSwitches({latencyMs: 0})
  stage.judged(await carried.judge())
  const {fence, earlier} = await world.db.one(sql.type(z.object({fence: z.number(), earlier: z.number()}))`
    select fence, (select count(*) from log_entries where run_no = h.run_no and message like '%before this import began%') as earlier
    from run_heads h join runs using (run_no) where id = ${carried.run.id}`)
  stage.expect(fence === 1, `the run of a living owner was taken ${fence - 1} times`)
  stage.expect(earlier === 0, `${earlier} lost creates were taken for older records`)
}
