import {readFileSync} from 'node:fs'
import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import pg from 'pg'
import {createDatabase} from '../database.ts'
import {type Client, openClient} from '../stack/client.ts'
import {connect, discover, signIn} from '../stack/journey.ts'
import {freePort} from '../stack/port.ts'
import {readProcfile} from '../stack/procfile.ts'
import {root} from '../stack/stack.ts'
import {openSupervisor, type Supervisor} from '../stack/supervisor.ts'

const email = 'ana@example.org'
const readyWithinMs = 30_000

/** A flow without its source, which the import has. */
export type FlowOf = {module: string; match?: object; fields: object[]}

export type Ended = {no: number; seconds: number}

/** The service as the Procfile starts it, less what no import needs; its CRM is the process of `crm`. */
export type Deployment = {
  crmUrl: string
  pidOf(name: 'crm' | 'imports'): number
  /** Uploads the file and runs it to its end; throws unless each of its rows made a record. The seconds are those the run says it took. */
  runImport(file: {csv: Buffer; flow: FlowOf}): Promise<Ended>
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  stop(): Promise<void>
}

type Options = {crm: string[]; env?: Record<string, string>}

export const startDeployment = async (label: string, {crm, env = {}}: Options): Promise<Deployment> => {
  const begun: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const end of begun.splice(0).toReversed()) await end()
  }
  try {
    const database = await createDatabase(`bench_${label}`)
    begun.push(database.drop)
    const directory = await mkdtemp(join(tmpdir(), 'lading-bench-'))
    begun.push(() => rm(directory, {recursive: true}))
    const db = new pg.Client(database.url)
    await db.connect()
    begun.push(() => db.end())
    const [crmPort, port] = [await freePort(), await freePort()]
    const [crmUrl, apiUrl] = [`http://127.0.0.1:${crmPort}`, `http://127.0.0.1:${port}`]
    const supervisor = openSupervisor({
      cwd: root,
      env: {
        ...{DATABASE_URL: database.url, PORT: `${port}`, PUBLIC_URL: apiUrl, STORAGE_DIR: directory, CRM_STANDIN_URL: crmUrl},
        // A deployment has no cache of compiled code either; it costs memory.
        ...{LOG_LEVEL: 'warn', DRAIN_SECONDS: '5', NODE_DISABLE_COMPILE_CACHE: '1', ...env},
      },
      output: (name, line) => process.stderr.write(`${name}: ${line}\n`),
    })
    begun.push(supervisor.stop)
    supervisor.start({name: 'crm', command: ['node', ...crm, '--port', `${crmPort}`]})
    await answers(`${crmUrl}/oauth/serverinfo`)
    for (const line of linesOf('web', 'imports')) supervisor.start(line)
    supervisor.start({name: 'discovery', command: ['node', 'workers/start.ts', 'discovery']})
    await answers(`${apiUrl}/health`)
    const place = await openPlace(apiUrl)
    const query = async <Row extends object>(text: string, values: unknown[] = []) => (await db.query<Row>(text, values)).rows
    return {
      ...{crmUrl, query, stop},
      pidOf: name => pidOf(supervisor, name),
      runImport: file => runImport(place, query, file),
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** With the flags that the Procfile gives them. */
const linesOf = (...names: string[]) => readProcfile(readFileSync(join(root, 'Procfile'), 'utf8')).filter(({name}) => names.includes(name))

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

type Place = {apiUrl: string; token: string; client: Client; org: string; connectorId: string}

const openPlace = async (apiUrl: string): Promise<Place> => {
  const token = await signIn(apiUrl, email)
  const client = openClient(apiUrl, token)
  const {org} = await client.call<{org: {id: string}}>('GET', '/auth/me')
  const connectorId = await connect(client, apiUrl, org.id, email)
  await discover(client, org.id, connectorId)
  return {apiUrl, token, client, org: org.id, connectorId}
}

type Query = Deployment['query']
type Found = {no: number; state: string; entries: number; seconds: number; stop: object | null}

const runImport = async (
  {apiUrl, token, client, org, connectorId}: Place,
  query: Query,
  {csv, flow}: {csv: Buffer; flow: FlowOf},
): Promise<Ended> => {
  const made = await client.call<{import: {id: string}}>('POST', `/orgs/${org}/imports`, {body: {name: 'Bench', connectorId}})
  const path = `/orgs/${org}/imports/${made.import.id}`
  const {source} = await upload(`${apiUrl}${path}/sources?name=bench.csv`, token, csv)
  await client.call('PUT', `${path}/flows`, {body: [{id: 'bench', sourceId: source.id, ...flow}]})
  const {run} = await client.call<{run: {id: string}}>('POST', `${path}/runs`, {body: {}})
  const {no, seconds} = await untilEnded(query, run.id)
  const {run: ended} = await client.call<{run: {counts: Record<string, {created: number}>}}>('GET', `${path}/runs/${run.id}`)
  const {created} = ended.counts[flow.module]!
  if (created !== source.rows) throw new Error(`${created} of ${source.rows} rows made a record: ${JSON.stringify(ended.counts)}`)
  return {no, seconds}
}

const upload = async (url: string, token: string, csv: Buffer) => {
  const headers = {authorization: `Bearer ${token}`, 'content-type': 'text/csv'}
  const answer = await fetch(url, {method: 'POST', headers, body: new Uint8Array(csv.buffer, csv.byteOffset, csv.length)})
  if (!answer.ok) throw new Error(`The file was not taken: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as {source: {id: string; rows: number}}
}

/** Asked seldom, so as not to be measured. Gives up when no entry is added for a minute. */
const untilEnded = async (query: Query, id: string): Promise<Found> => {
  for (let last = -1, since = Date.now(); ; await sleep(200)) {
    const [found] = await query<Found>(
      `select run_no::int as no, state, next_seq::int as entries, stop, extract(epoch from ended_at - started_at)::float8 as seconds
       from runs join run_heads using (run_no) where id = $1`,
      [id],
    )
    if (found!.stop) throw new Error(`The run was stopped: ${JSON.stringify(found!.stop)}`)
    if (found!.state === 'ended') return found!
    if (found!.entries !== last) [last, since] = [found!.entries, Date.now()]
    if (Date.now() - since > 60_000) throw new Error(`The run stands at ${last} entries: ${JSON.stringify(found)}`)
  }
}
