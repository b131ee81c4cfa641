import {setTimeout as sleep} from 'node:timers/promises'
import {Agent, request} from 'undici'
import {mapConcurrent} from '../../shared/concurrency/map-concurrent.ts'
import {cancelRun, type PreparedImport, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {medianOf, percentileOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 5
const runs = 50
const processes = 2
const rowsEach = 5_000
const latencyMs = 400
const slots = 10
const seconds = 2
const connections = 10
const underWayWithinMs = 60_000

/**
 * Measures what 50 active runs cost other users of the API. Two requests are measured: reading the progress of these runs, and authorising
 * another run. Each figure is the time or rate during the runs ÷ that of the same requests to the same process without runs.
 * The runs use two `imports` processes over one CRM org with ten slots and 400 ms per call. Ten connections send requests as fast as they are
 * answered. The results are the medians of five interleaved rounds.
 */
export const measureParallelRuns = async () => {
  const deployment = await startDeployment('parallel', {
    crm: ['test/bench/idle-crm.ts', '--latency', `${latencyMs}`],
    env: {CRM_SLOTS: `${slots}`, IMPORTS_PER_WORKER: `${runs / processes}`, RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'},
    imports: processes,
  })
  try {
    const [place] = deployment.places
    const csv = fileOf(rowsEach, 'p ')
    const imports = await mapConcurrent(
      Array.from({length: runs}, () => csv),
      4,
      csv => prepareImport(place, {csv, flow: plain}),
    )
    return await compare(deployment, imports as Imports)
  } finally {
    await deployment.stop()
  }
}

type Imports = [PreparedImport, ...PreparedImport[]]
type CompareRunsInput = {progress: Load; authorise: Load}
type Load = {perSecond: number; p99: number}

const compare = async (deployment: Deployment, imports: Imports) => {
  const measured: {quiet: CompareRunsInput; busy: CompareRunsInput}[] = []
  // The first round does not count, because its runs compile the code.
  for (let round = 0, ids = await Promise.all(imports.map(one => startRun(one, {rows: {to: 100}}))); round <= rounds; round++) {
    await deployment.ended(ids, {cancelled: true})
    const quiet = await ask(imports, ids)
    ids = await Promise.all(imports.map(one => startRun(one)))
    await untilUnderWay(deployment, ids)
    const busy = await ask(imports, ids)
    await untilUnderWay(deployment, ids)
    await Promise.all(imports.map((one, at) => cancelRun(one, ids[at]!)))
    if (round > 0) measured.push({quiet, busy})
  }
  const median = (of: (round: {quiet: CompareRunsInput; busy: CompareRunsInput}) => number) => medianOf(measured.map(of))
  return {
    progressUnder50Runs: median(({quiet, busy}) => busy.progress.perSecond / quiet.progress.perSecond),
    progressP99Under50Runs: median(({quiet, busy}) => busy.progress.p99 / quiet.progress.p99),
    progressP99Milliseconds: median(({busy}) => busy.progress.p99),
    authoriseUnder50Runs: median(({quiet, busy}) => busy.authorise.perSecond / quiet.authorise.perSecond),
    authoriseP99Under50Runs: median(({quiet, busy}) => busy.authorise.p99 / quiet.authorise.p99),
    authoriseP99Milliseconds: median(({busy}) => busy.authorise.p99),
  }
}

const ask = async (imports: Imports, ids: string[]): Promise<CompareRunsInput> => ({
  progress: await load(imports, at => ({method: 'GET', path: `${imports[at]!.path}/runs/${ids[at]}`})),
  authorise: await load(imports, at => ({
    method: 'POST',
    path: '/entitlements/runs/authorise',
    body: JSON.stringify({importId: imports[at]!.id, declaredRows: 1}),
  })),
})

type Request = {method: 'GET' | 'POST'; path: string; body?: string}

/** Sends requests about the imports in turn. Each connection sends its next request as soon as it has an answer. */
const load = async ([{place}, ...others]: Imports, requestOf: (at: number) => Request): Promise<Load> => {
  const dispatcher = new Agent({connections, pipelining: 1})
  const headers = {authorization: `Bearer ${place.token}`, 'content-type': 'application/json'}
  const times: number[] = []
  const [from, until] = [performance.now(), performance.now() + seconds * 1000]
  let sent = 0
  const lane = async () => {
    for (let at = performance.now(); at < until; at = performance.now()) {
      const {path, ...rest} = requestOf(sent++ % (others.length + 1))
      const answer = await request(`${place.apiUrl}${path}`, {dispatcher, headers, ...rest})
      const text = await answer.body.text()
      if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}: ${text}`)
      times.push(performance.now() - at)
    }
  }
  try {
    await Promise.all(Array.from({length: connections}, lane))
    return {perSecond: times.length / ((performance.now() - from) / 1000), p99: percentileOf(times, 99)}
  } finally {
    await dispatcher.close()
  }
}

/** Waits until all runs are active and have written rows. */
const untilUnderWay = async ({query}: Deployment, ids: string[]) => {
  for (const until = Date.now() + underWayWithinMs; Date.now() < until; await sleep(100)) {
    const [found] = await query<{count: number}>(
      `select count(*)::int as count from runs join run_heads using (run_no)
       where id = any($1) and state = 'writing' and lease_until > lading_now() and next_seq > 1`,
      [ids],
    )
    if (found!.count === ids.length) return
  }
  throw new Error(`${ids.length} runs were not under way at once`)
}
