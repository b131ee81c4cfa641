import {once} from 'node:events'
import {createServer, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {accounts, type Org, ok} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'
import {until} from './until.ts'

/** Starts a host for files over HTTP, which answers with its current `answer`. */
export const startFileHost = async () => {
  const requests: {path: string; authorization: string | undefined}[] = []
  const host: {answer(response: ServerResponse): void} = {answer: response => void response.end()}
  const server = createServer((request, response) => {
    requests.push({path: request.url!, authorization: request.headers.authorization})
    response.setHeader('content-type', 'text/csv')
    host.answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  const serve = (text: string) => {
    host.answer = response => void response.end(text)
  }
  const fail = (status: number) => {
    host.answer = response => void response.writeHead(status).end()
  }
  const answer = (how: (response: ServerResponse) => void) => {
    host.answer = how
  }
  return {place, requests, serve, fail, answer, stop, source: {kind: 'https', url: `http://${place}/orders.csv`, bearer: 'let-me-in'}}
}
export type FileHost = Awaited<ReturnType<typeof startFileHost>>

export const template = (connector: string | null, more: object = {}) => ({
  name: 'Companies of the night',
  connectorId: connector,
  sources: [{slot: 'companies', label: 'Companies', columns: ['name', 'number', 'city']}],
  flows: [{id: 'f', sourceId: 'companies', ...accounts}],
  ...more,
})

/** A schedule that fires only on 29 February, so practically never during a test. */
export const seldom = {cron: '0 0 29 2 *', timezone: 'UTC'}

export const makeTemplate = async ({call, org, connector}: Org, more: object = {}) => {
  const {template: made} = await ok(call('POST', `/orgs/${org}/templates`, template(connector, more)), 201)
  return `/orgs/${org}/templates/${made.id}`
}

/** Creates a template with a schedule that fires only on request, unless `more` sets another `cron`. */
export const makeSchedule = async (org: Org, host: FileHost, more: object = {}) => {
  const of = await makeTemplate(org)
  const body = {name: 'Nightly', ...seldom, source: host.source, ...more}
  const {schedule} = await ok(org.call('POST', `${of}/schedules`, body), 201)
  return {template: of, schedule, body, path: `${of}/schedules/${schedule.id}`}
}

export const listFirings = async ({call}: Pick<Org, 'call'>, path: string): Promise<any[]> =>
  (await ok(call('GET', `${path}/firings?limit=200`), 200)).firings

export const fire = async (org: Org, path: string, body: object = {}) => {
  const {firing} = await ok(org.call('POST', `${path}/run`, body), 202)
  return untilOver(org, path, firing.id)
}

export const untilOver = (org: Org, path: string, id: string, isOver = (firing: any) => firing.state === 'ended') =>
  until(
    async () => (await listFirings(org, path)).find(firing => firing.id === id),
    firing => firing !== undefined && isOver(firing),
  )

export const noticesOf = async ({hot}: TestDeployment, schedule: string): Promise<{kind: string; about: any}[]> =>
  (await hot.query('select kind, about from notices where schedule_id = $1 order by notice_no', [schedule])).rows
