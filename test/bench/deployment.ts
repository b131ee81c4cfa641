import {readFileSync} from 'node:fs'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import pg from 'pg'
import {freePort} from '../stack/port.ts'
import {readProcfile} from '../stack/procfile.ts'
import {root} from '../stack/stack.ts'
import {openSupervisor, type Supervisor} from '../stack/supervisor.ts'
import {createDatabase} from '../support/database.ts'
import {assertWhole, type BenchImport, type FlowOf, openPlace, prepareImport, startRun} from './bench-import.ts'
import {copyAsInImage} from './image-copy.ts'

const readyWithinMs = 30_000
const usualStandsStillMs = 60_000

/** A run that has ended. `startedAt` and `endedAt` are in seconds since the epoch, by the clock of this machine. */
export type EndedRun = {id: string; no: number; seconds: number; startedAt: number; endedAt: number}

/** A file to import. It is CSV unless `type` is another media type. */
export type FileOf = {csv: Buffer; flow: FlowOf; type?: string}

/** Starts the service as the image and the Procfile do, with only the processes that imports need. `crm`: the command that starts its CRM. */
export type Deployment = {
  crmUrl: string
  /** One connected org for each of `people`. */
  places: [BenchImport, ...BenchImport[]]
  pidOf(name: 'crm' | 'imports' | 'web' | 'discovery'): number
  /** Uploads the file and runs it to its end. Throws unless each row created a record. The seconds are those stored with the run. */
  runImport(file: FileOf): Promise<EndedRun>
  /** Waits for runs to end, in any order. Throws if one was stopped, except with `cancelled`. */
  ended(runs: string[], how?: {cancelled: boolean}): Promise<EndedRun[]>
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  stop(): Promise<void>
}

/**
 * How to start the service. `beside`: more workers in the process of the discovery. `imports`: number of imports processes. `people`: who signs
 * in, each with a separate CRM org. `standsStillMs`: waiting for runs ends with an error if they add no log entry for so long.
 */
type Options = {
  crm: string[]
  env?: Record<string, string>
  beside?: string[]
  imports?: number
  people?: [string, ...string[]]
  standsStillMs?: number
}

export const startDeployment = async (label: string, options: Options): Promise<Deployment> => {
  const {crm, env = {}, beside = [], imports = 1, people = ['ana@example.org'], standsStillMs = usualStandsStillMs} = options
  const begun: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const end of begun.splice(0).toReversed()) await end()
  }
  try {
    const database = await createDatabase(`bench_${label}`)
    begun.push(database.drop)
    const directory = await mkdtemp(join(tmpdir(), 'lading-bench-'))
    begun.push(() => rm(directory, {recursive: true}))
    const [program, storage] = [join(directory, 'program'), join(directory, 'storage')]
    const db = new pg.Client(database.url)
    await db.connect()
    begun.push(() => db.end())
    const [crmPort, port] = [await freePort(), await freePort()]
    const [crmUrl, apiUrl] = [`http://127.0.0.1:${crmPort}`, `http://127.0.0.1:${port}`]
    const supervisor = openSupervisor({
      cwd: program,
      env: {
        DATABASE_URL: database.url,
        PORT: `${port}`,
        PUBLIC_URL: apiUrl,
        STORAGE_DIR: storage,
        CRM_STANDIN_URL: crmUrl,
        // The cache of compiled code is off, because it costs memory and a production deployment has none.
        LOG_LEVEL: 'warn',
        DRAIN_SECONDS: '5',
        NODE_DISABLE_COMPILE_CACHE: '1',
        ...(await copyAsInImage(program)),
        ...env,
      },
      output: (name, line) => process.stderr.write(`${name}: ${line}\n`),
    })
    begun.push(supervisor.stop)
    supervisor.start({name: 'crm', command: ['node', ...crm, '--port', `${crmPort}`]})
    await answers(`${crmUrl}/oauth/serverinfo`)
    supervisor.start(lineOf('web'))
    for (let n = 1; n <= imports; n++) supervisor.start({...lineOf('imports'), name: n === 1 ? 'imports' : `imports ${n}`})
    supervisor.start({name: 'discovery', command: ['node', 'workers/start.ts', 'discovery', ...beside]})
    await answers(`${apiUrl}/health`)
    const [first, ...others] = people
    const places: [BenchImport, ...BenchImport[]] = [await openPlace(apiUrl, first)]
    for (const email of others) places.push(await openPlace(apiUrl, email))
    const query = async <Row extends object>(text: string, values: unknown[] = []) => (await db.query<Row>(text, values)).rows
    const ended: Deployment['ended'] = (runs, how) => untilEnded(query, standsStillMs, runs, how)
    return {
      crmUrl,
      places,
      query,
      stop,
      pidOf: name => pidOf(supervisor, name),
      runImport: file => runImport(places[0], ended, file),
      ended,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Returns the Procfile's line for a process, which includes its flags. */
const lineOf = (wanted: string) => readProcfile(readFileSync(join(root, 'Procfile'), 'utf8')).find(({name}) => name === wanted)!

const answers = async (url: string) => {
  for (const until = Date.now() + readyWithinMs; Date.now() < until; await sleep(50)) {
    const response = await fetch(url, {signal: AbortSignal.timeout(2000)}).catch(() => null)
    await response?.body?.cancel()
    if (response?.ok) return
  }
  throw new Error(`Nothing answers at ${url}`)
}

const pidOf = ({processes}: Supervisor, name: string) => {
  const {pid, starts} = processes.get(name)!
  if (starts !== 1 || !pid) throw new Error(`The process ${name} died, and nothing of it can be measured`)
  return pid
}

type Query = Deployment['query']

const runImport = async (place: BenchImport, ended: Deployment['ended'], file: {csv: Buffer; flow: FlowOf}): Promise<EndedRun> => {
  const prepared = await prepareImport(place, file)
  const id = await startRun(prepared)
  const [run] = await ended([id])
  await assertWhole(prepared, id)
  return run!
}

type FoundRun = EndedRun & {state: string; entries: number; stop: object | null}

/**
 * Waits for the ends of runs. Throws if a run was stopped, except with `cancelled`, or if no log entry is added for `standsStillMs`. Polls
 * rarely, so that polling does not affect the measurement.
 */
const untilEnded = async (query: Query, standsStillMs: number, ids: string[], {cancelled} = {cancelled: false}): Promise<EndedRun[]> => {
  for (let last = -1, since = Date.now(); ; await sleep(200)) {
    const found = await query<FoundRun>(
      `select id, run_no::float8 as no, state, next_seq::int as entries, stop, extract(epoch from ended_at - started_at)::float8 as seconds,
         extract(epoch from started_at)::float8 as "startedAt", extract(epoch from ended_at)::float8 as "endedAt"
       from runs join run_heads using (run_no) where id = any($1)`,
      [ids],
    )
    const stopped = found.find(({stop}) => stop)
    if (stopped && !cancelled) throw new Error(`A run was stopped: ${JSON.stringify(stopped.stop)}`)
    if (found.every(({state}) => state === 'ended')) return found
    const entries = found.reduce((sum, run) => sum + run.entries, 0)
    if (entries !== last) [last, since] = [entries, Date.now()]
    if (Date.now() - since > standsStillMs)
      throw new Error(`Runs stand still: ${JSON.stringify(found.filter(run => run.state !== 'ended'))}`)
  }
}
