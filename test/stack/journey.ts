import {setTimeout as sleep} from 'node:timers/promises'
import {type Client, cookiesOf} from './client.ts'

/** The progress of a run, as the API returns it. */
export type Progress = {done: number; total: number | null; unit?: string; rowsPerSecond: number | null; etaSeconds: number | null}
type Outcomes = Partial<Record<string, number>>
export type Run = {id: string; state: string; progress: Progress | null; counts: Record<string, Outcomes>; stop: unknown}
export type LogEntry = {
  seq: number
  rowKey: string
  module: string
  phase: string
  attempt: number
  outcome: string
  recordId: string | null
}

const pollMs = 100
const patienceMs = 90_000

/** Signs in as a user of the CRM stand-in and returns the session token. */
export const signIn = async (api: string, email: string) => {
  const start = await fetch(`${api}/auth/zoho/start?dc=local&return=${encodeURIComponent(api)}`, {redirect: 'manual'})
  const {token} = await consent<{token: string}>(locationOf(start), cookiesOf(start), email)
  return token
}

/** Connects the org to the CRM stand-in and returns the connector's id. */
export const connect = async (session: Client, api: string, org: string, email: string) => {
  const answer = await session.send('POST', `/auth/orgs/${org}/connect`, {body: {dc: 'local', name: 'Example CRM', return: api}})
  const {url} = (await answer.json()) as {url: string}
  const {connectorId} = await consent<{connectorId: string}>(url, cookiesOf(answer), email)
  return connectorId
}

/** Grants consent, follows the redirect and returns the message that the last page would post to its opener. */
const consent = async <T>(url: string, cookie: string, email: string): Promise<T> => {
  const agreed = await fetch(`${url}&sim_user=${encodeURIComponent(email)}&sim_decision=allow`, {redirect: 'manual'})
  const page = await fetch(locationOf(agreed), {headers: {cookie}})
  const html = await page.text()
  const message = html.match(/<script type="application\/json" id="message">(.*?)<\/script>/s)?.[1]
  if (!page.ok || !message) throw new Error(`The consent ended with ${page.status} and no message: ${html.slice(0, 300)}`)
  return JSON.parse(message)
}

const locationOf = (response: Response) => {
  const location = response.headers.get('location')
  if (!location) throw new Error(`${response.url} answered ${response.status} and sends the browser nowhere`)
  return new URL(location, response.url).href
}

/** Runs a discovery and returns its modules. Throws if the discovery does not succeed. */
export const discover = async (client: Client, org: string, connectorId: string) => {
  const {job} = await client.call<{job: {id: string}}>('POST', `/orgs/${org}/discovery/run`, {body: {connectorId}})
  const {state, error} = await poll(
    async () => {
      const found = await client.call<{job: JobState} | JobState>('GET', `/orgs/${org}/jobs/${job.id}`)
      return 'job' in found ? found.job : found
    },
    {isOver: ({state}) => ['done', 'refused', 'failed', 'cancelled'].includes(state), signOfLife: ({state}) => state},
  )
  if (state !== 'done') throw new Error(`Discovery ended as ${state}: ${JSON.stringify(error)}`)
  const latest = await client.call<{discovery: {modules: unknown[]}}>('GET', `/orgs/${org}/discovery/latest?connector=${connectorId}`)
  return latest.discovery.modules
}

/** Polls until `isOver` accepts the answer and returns it. Throws if nothing has changed for 90 seconds. */
const poll = async <T>(look: () => Promise<T>, {isOver, signOfLife}: {isOver(seen: T): boolean; signOfLife(seen: T): unknown}) => {
  let last: unknown
  for (let changedAt = Date.now(); Date.now() - changedAt < patienceMs; await sleep(pollMs)) {
    const seen = await look()
    if (isOver(seen)) return seen
    if (signOfLife(seen) !== last) changedAt = Date.now()
    last = signOfLife(seen)
  }
  throw new Error(`Nothing has changed for ${patienceMs / 1000} seconds: ${JSON.stringify(last)}`)
}

type JobState = {state: string; error: unknown}

const columns = {
  Account_Name: 'name',
  Billing_City: 'city',
  Billing_State: 'state',
  Billing_Country: 'country',
  Account_Number: 'iata',
  Latitude: 'latitude',
  Longitude: 'longitude',
}

/** Creates an import of one file into Accounts, matched by the airport's code and ready to run. */
export const prepareImport = async (client: Client, {org, connectorId, csv}: {org: string; connectorId: string; csv: string}) => {
  const created = await client.call<{import: {id: string}}>('POST', `/orgs/${org}/imports`, {body: {name: 'Airports', connectorId}})
  const path = `/orgs/${org}/imports/${created.import.id}`
  const upload = {text: csv, headers: {'content-type': 'text/csv'}}
  const {source} = await client.call<{source: {id: string; rows: number}}>('POST', `${path}/sources?name=airports.csv`, upload)
  const flow = {
    id: 'airports',
    sourceId: source.id,
    module: 'Accounts',
    match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip'},
    fields: Object.entries(columns).map(([field, column]) => ({field, mode: 'column', source: column})),
  }
  await client.call('PUT', `${path}/flows`, {body: [flow]})
  return {id: created.import.id, path, rows: source.rows}
}

type PreparedImport = Awaited<ReturnType<typeof prepareImport>>

/** Authorises and starts a run, and polls it until it has ended. `onProgress` gets the progress of every poll. */
export const runImport = async (
  client: Client,
  {id, path, rows}: PreparedImport,
  onProgress: (progress: Progress) => void,
): Promise<Run> => {
  const {runId} = await client.call<{runId: string}>('POST', '/entitlements/runs/authorise', {body: {importId: id, declaredRows: rows}})
  await client.call('POST', `${path}/runs`, {body: {runId}})
  return poll(
    async () => {
      const {run} = await client.call<{run: Run}>('GET', `${path}/runs/${runId}`)
      if (run.progress) onProgress(run.progress)
      return run
    },
    {isOver: ({state}) => state === 'ended', signOfLife: ({state, progress}) => `${state}, ${progress?.done} rows`},
  )
}

/** Reads all pages of a run's log. */
export const readLog = async (client: Client, path: string, runId: string) => {
  const entries: LogEntry[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const from = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: LogPage = await client.call<LogPage>('GET', `${path}/runs/${runId}/records?limit=1000${from}`)
    entries.push(...page.records)
    cursor = page.nextCursor
  }
  return entries
}

type LogPage = {records: LogEntry[]; nextCursor: string | null}
