import {type Client, openClient} from '../stack/client.ts'
import {connect, discover, signIn} from '../stack/journey.ts'
import {fetchFresh} from './fetch-fresh.ts'

/** A flow without its source, which belongs to the import. */
export type FlowOf = {module: string; match?: object; fields: object[]}

/** A connected and discovered org with the session of a person. */
export type BenchImport = {apiUrl: string; token: string; client: Client; org: string; connectorId: string}

/** An import that can run repeatedly. */
export type PreparedImport = {place: BenchImport; path: string; id: string; module: string; rows: number}

export const openPlace = async (apiUrl: string, email: string): Promise<BenchImport> => {
  const token = await signIn(apiUrl, email)
  const client = openClient(apiUrl, token)
  const {org} = await client.call<{org: {id: string}}>('GET', '/auth/me')
  const connectorId = await connect(client, apiUrl, org.id, email)
  await discover(client, org.id, connectorId)
  return {apiUrl, token, client, org: org.id, connectorId}
}

export const prepareImport = async (place: BenchImport, {csv, flow}: {csv: Buffer; flow: FlowOf}): Promise<PreparedImport> => {
  const {client} = place
  const {id, path, source} = await uploadImport(place, csv)
  await client.call('PUT', `${path}/flows`, {body: [{id: 'bench', sourceId: source.id, ...flow}]})
  return {place, path, id, module: flow.module, rows: source.rows}
}

/** Creates an import of one file. */
export const uploadImport = async ({apiUrl, token, client, org, connectorId}: BenchImport, csv: Buffer) => {
  const made = await client.call<{import: {id: string}}>('POST', `/orgs/${org}/imports`, {body: {name: 'Bench', connectorId}})
  const {id} = made.import
  const path = `/orgs/${org}/imports/${id}`
  return {id, path, ...(await upload(`${apiUrl}${path}/sources?name=bench.csv`, token, csv))}
}

export type StartOptions = {rows?: {to: number}; match?: 'snapshot'; write?: 'records' | 'bulk'; verify?: 'off' | 'all'}

/** Starts a run over the whole file or its first rows. Returns the run's id. */
export const startRun = async ({place, path}: PreparedImport, body: StartOptions = {}): Promise<string> =>
  (await place.client.call<{run: {id: string}}>('POST', `${path}/runs`, {body})).run.id

export const cancelRun = ({place, path}: PreparedImport, run: string) => place.client.call('POST', `${path}/runs/${run}/cancel`)

/** Throws unless each row of the file created a record. */
export const assertWhole = async ({place, path, module, rows}: PreparedImport, id: string) => {
  const {run} = await place.client.call<{run: {counts: Record<string, {created: number}>}}>('GET', `${path}/runs/${id}`)
  const {created} = run.counts[module]!
  if (created !== rows) throw new Error(`${created} of ${rows} rows made a record: ${JSON.stringify(run.counts)}`)
}

/** Throws unless the run skipped exactly this number of unchanged rows, and updated the other rows. */
export const assertUnchanged = async ({place, path, module, rows}: PreparedImport, id: string, unchanged: number) => {
  const {run} = await place.client.call<{run: {unchanged: number; counts: Record<string, {updated: number}>}}>('GET', `${path}/runs/${id}`)
  const {updated} = run.counts[module]!
  if (run.unchanged !== unchanged || updated !== rows - unchanged)
    throw new Error(`${run.unchanged} rows were unchanged, ${updated} updated: ${JSON.stringify(run.counts)}`)
}

const upload = async (url: string, token: string, csv: Buffer) => {
  const headers = {authorization: `Bearer ${token}`, 'content-type': 'text/csv'}
  const answer = await fetchFresh(url, {method: 'POST', headers, body: new Uint8Array(csv.buffer, csv.byteOffset, csv.length)})
  if (!answer.ok) throw new Error(`The file was not taken: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as {source: {id: string; rows: number}}
}
