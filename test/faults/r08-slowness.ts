import {readFileSync} from 'node:fs'
import {connect, type Socket} from 'node:net'
import {setTimeout as sleep} from 'node:timers/promises'
import {type ApiProcess, startApiProcess} from '../support/api-process.ts'
import {type Call, openCalls} from '../support/client.ts'
import type {Deployment} from '../support/deployment.ts'
import {accounts, type Org, runImport} from '../support/importing.ts'
import {openProxy} from '../support/tcp-proxy.ts'
import {environment, openGround} from './carried.ts'
import type {Scenario, Stage} from './scenario.ts'

const [slowCalls, slowReaders, slowSenders] = [20, 30, 20]
const [bigRows, cellBytes] = [250, 60_000]
const phaseMs = 5_000
const MiB = 1024 ** 2
/** Lower bounds for the values that are compared. With smaller values, other load on the machine would distort the comparison. */
const [leastLagMs, leastP95Ms] = [100, 100]

/** Runs the API in a separate process. Measures answers to one org while calls of another org are slow, then while Postgres is slow for all. */
export const slowness: Scenario = {
  row: 'R8',
  fault: 'a CRM that takes 30 s, clients that do not read, clients that hardly send, then a slow Postgres',
  goal: 'memory stays flat, the event loop lags at most 100 ms (p99), and the latency of another org at most doubles (p95)',
  async play(stage) {
    const {here, org, other, api, wire} = await openSlow(stage)
    const big = await makeBigResults(org)
    const call = openCalls(api.url)(other)
    const quiet = await look(call, api, here)
    const idle = peakMemory(api)
    const ends = [beginSlowCalls(here, api, org, stage), ...beginSlowReaders(api, org, big, stage), ...beginSlowSenders(api, org, stage)]
    await sleep(2_000)
    const begun = peakMemory(api)
    const busy = await look(call, api, here)
    stage.figure('MiB more while it lasts', Math.round((peakMemory(api) - begun) / MiB), {most: 48})
    for (const end of ends) end()
    here.crm.faults.clear()
    const after = await look(call, api, here)
    wire.slow({latencyMs: 50})
    stage.did('spells of a slow Postgres')
    const slow = await look(call, api, here)
    wire.restore()
    const p95 = Math.max(quiet.p95, after.p95, leastP95Ms)
    const lag = Math.max(leastLagMs, 2 * Math.max(quiet.lag, after.lag))
    stage.figure('ms p95 of another org, nothing slow', Math.round(quiet.p95))
    stage.figure('ms p95 of it meanwhile', Math.round(busy.p95))
    stage.figure('times as long as then, or as 100 ms', busy.p95 / p95, {most: 2})
    stage.figure('ms the event loop is late, p99, nothing slow', Math.round(quiet.lag))
    stage.figure('ms meanwhile', Math.round(busy.lag), {most: lag})
    stage.figure('ms with a slow Postgres', Math.round(slow.lag), {most: lag})
    // Each reader has a few unread rows of 60 KB in memory. Without back pressure, all rows would be in memory.
    stage.figure('MiB that were asked for and not read', Math.round((slowReaders * bigRows * cellBytes) / MiB))
    stage.figure('MiB more at its peak', Math.round((peakMemory(api) - idle) / MiB), {most: 200})
    stage.expect(
      [quiet, busy, after, slow].every(({refused}) => refused === 0),
      'another org was refused something',
    )
  },
}

const openSlow = async (stage: Stage) => {
  const here = await stage.open({workers: ['discovery', 'imports'], environment: {...environment, CRM_TIMEOUT_SECONDS: '5'}})
  const {org} = await openGround(here)
  const {token: other} = await here.makeOrg()
  const {DATABASE_URL, CRM_STANDIN_URL, STORAGE_DIR} = here.config
  const wire = await openProxy(DATABASE_URL!)
  stage.begun(wire.close)
  const api = await startApiProcess({
    ...environment,
    NODE_ENV: 'test',
    DATABASE_URL: wire.url,
    CRM_STANDIN_URL: CRM_STANDIN_URL!,
    STORAGE_DIR,
    CRM_TIMEOUT_SECONDS: '40',
    ADMIN_TOKEN: here.adminToken,
  })
  stage.begun(async () => {
    api.signal('SIGKILL')
    await api.exit
    for (const line of api.output().split('\n')) stage.logged(line)
  })
  return {here, org, other, api, wire}
}

/** Makes results that are far larger than a connection's buffers: the results copy a column of long cells. Returns their path. */
const makeBigResults = async (org: Org): Promise<string> => {
  const long = 'x'.repeat(cellBytes)
  const csv = `name,number,city,long\n${Array.from({length: bigRows}, (_, n) => `Company ${n},B-${n},Town,${long}`).join('\n')}\n`
  const {path, source, run} = await runImport(org, {csv, flow: accounts})
  return `${path}/results.csv?run=${run.id}&source=${source.id}`
}

type SeenSpeed = {p95: number; lag: number; refused: number}

/** Measures the latency of another org (p95, ms) and the lag of the event loop (p99, ms) for five seconds. */
const look = async (call: Call, {url}: ApiProcess, {adminToken}: Deployment): Promise<SeenSpeed> => {
  const scrape = () => openCalls(url)(adminToken)('GET', '/metrics')
  // Each scrape resets the lag.
  await scrape()
  const times: number[] = []
  let refused = 0
  for (const end = performance.now() + phaseMs; performance.now() < end; await sleep(20)) {
    const began = performance.now()
    const {status} = await call('GET', '/auth/me')
    times.push(performance.now() - began)
    if (status !== 200) refused++
  }
  const [, lag] = /^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec((await scrape()).text) ?? []
  return {p95: times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]!, lag: Number(lag) * 1_000, refused}
}

const peakMemory = ({pid}: ApiProcess): number => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024

const beginSlowCalls = ({crm}: Deployment, {url}: ApiProcess, {org, connector, session}: Org, stage: Stage) => {
  crm.faults.add({match: {method: 'GET', org: 'example'}, times: 1_000, action: {type: 'slow', ms: 30_000, when: 'before'}})
  const leaving = new AbortController()
  for (let n = 0; n < slowCalls; n++)
    void fetch(`${url}/orgs/${org}/connectors/${connector}/records/Accounts/4400001000000000${100 + n}`, {
      headers: {authorization: `Bearer ${session}`},
      signal: leaving.signal,
    }).catch(() => null)
  stage.did('slow calls to the CRM', slowCalls)
  return () => leaving.abort()
}

/** Starts clients that request much and read nothing. */
const beginSlowReaders = (api: ApiProcess, org: Org, path: string, stage: Stage) =>
  Array.from({length: slowReaders}, () => {
    const socket = open(api, `GET ${path}`, org, '')
    socket.pause()
    stage.did('readers who do not read')
    return () => void socket.destroy()
  })

/** Starts clients that declare a large body and send a few bytes at a time. */
const beginSlowSenders = (api: ApiProcess, org: Org, stage: Stage) =>
  Array.from({length: slowSenders}, () => {
    const socket = open(api, `POST /orgs/${org.org}/imports`, org, 'content-type: application/json\r\ncontent-length: 60000\r\n')
    const timer = setInterval(() => socket.write(' '), 100)
    stage.did('senders who hardly send')
    return () => {
      clearInterval(timer)
      socket.destroy()
    }
  })

const open = ({url}: ApiProcess, request: string, {session}: Org, headers: string): Socket => {
  const {hostname, port} = new URL(url)
  const socket = connect({host: hostname, port: Number(port)})
  socket.on('error', () => {})
  socket.write(`${request} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${session}\r\n${headers}\r\n`)
  return socket
}
