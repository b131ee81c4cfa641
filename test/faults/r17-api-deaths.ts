import {mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {isDeepStrictEqual} from 'node:util'
import {type ApiProcess, startApiProcess} from '../support/api-process.ts'
import {type Call, type HttpAnswer, openCalls} from '../support/client.ts'
import type {Deployment} from '../support/deployment.ts'
import {openHalfRequest, readAnswer} from '../support/half-request.ts'
import {accounts, type Org, ok, prepareImport} from '../support/importing.ts'
import {environment, openGround} from './carried.ts'
import type {Scenario, Stage} from './scenario.ts'

const deaths = 8
const flowsAtOnce = 12
const drainWithinMs = 10_000

/** Kills an API process during requests, and sends the same requests to the next process. */
export const apiDeaths: Scenario = {
  row: 'R17',
  fault: 'the API is killed during requests, and gets SIGTERM while others are active',
  goal: 'no settings half written, the same answer to the same request, active requests finished within 10 s',
  async play(stage) {
    const here = await stage.open({workers: ['discovery', 'writes'], environment})
    const {org} = await openGround(here)
    here.crm.setSwitches({latencyMs: 40})
    const {path, source} = await prepareImport(org, {csv: 'name,number,city\na,b,c\n', flow: accounts})
    const run = (await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows: 100, connectorId: org.connector}), 200)).runId
    const next = openApi(here, stage)
    let api = await next()
    const told = {half: 0, other: 0, lost: 0, cut: 0}
    for (let n = 1; n <= deaths; n++) {
      const [edit, write] = [editOf(path, source.id, n), writeOf(org, run, n)]
      const calls = openCalls(api.url)(org.session)
      const asked = [edit, write].map(one => one(calls).catch(() => null))
      await sleep(stage.dice.between(0, 300))
      api.signal('SIGKILL')
      await api.exit
      stage.did('kills')
      const [edited, written] = await Promise.all(asked)
      told.cut += [edited, written].filter(answer => !answer).length
      api = await next()
      const after = openCalls(api.url)(org.session)
      const marks = new Set((await ok(after('GET', path), 200)).import.flows.map(({id}: {id: string}) => id.split('-')[0]))
      if (marks.size !== 1) told.half++
      if (edited?.status === 200 && !marks.has(`v${n}`)) told.lost++
      const again = await untilTold(() => write(after))
      const third = await write(after)
      if (again.status !== 200 || !isDeepStrictEqual(again.body, third.body)) told.other++
      if (written?.status === 200 && !isDeepStrictEqual(written.body, again.body)) told.other++
    }
    stage.figure('requests cut off', told.cut, {least: 1})
    stage.figure('settings half written', told.half, {most: 0})
    stage.figure('acknowledged settings lost', told.lost, {most: 0})
    stage.figure('other answers to the same request', told.other, {most: 0})
    const made = here.crm.records('example', 'Accounts').map(({Account_Number}) => Account_Number)
    stage.figure('records twice or missing', Math.abs(made.length - deaths) + (made.length - new Set(made).size), {most: 0})
    await playDrain(api, org, stage)
  },
}

/** Returns a request that replaces all flows of an import. The ids of the flows contain `n`. */
const editOf = (path: string, sourceId: string, n: number) => (call: Call) =>
  call(
    'PUT',
    `${path}/flows`,
    Array.from({length: flowsAtOnce}, (_, at) => ({...accounts, sourceId, id: `v${n}-${at}`})),
  )

const writeOf = (org: Org, runId: string, n: number) => (call: Call) =>
  call('POST', `/orgs/${org.org}/connectors/${org.connector}/records/Accounts`, {
    runId,
    items: [{rowKey: `row ${n}`, writeId: `write ${n}`, payload: {Account_Name: `Company ${n}`, Account_Number: `R17 ${n}`}}],
  })

/** Repeats a write while its answer is WRITE_UNDER_WAY, at most 100 times. */
const untilTold = async (ask: () => Promise<HttpAnswer>): Promise<HttpAnswer> => {
  for (let times = 0; ; times++) {
    const answer = await ask()
    if (times === 100 || answer.body.code !== 'WRITE_UNDER_WAY') return answer
    await sleep(200)
  }
}

const openApi = ({config}: Deployment, stage: Stage) => {
  const storage = mkdtempSync(join(tmpdir(), 'lading-faults-'))
  stage.begun(async () => rmSync(storage, {recursive: true, force: true}))
  return async (): Promise<ApiProcess> => {
    const api = await startApiProcess({
      NODE_ENV: 'test',
      DATABASE_URL: config.DATABASE_URL!,
      CRM_STANDIN_URL: config.CRM_STANDIN_URL!,
      STORAGE_DIR: storage,
      ...environment,
    })
    stage.begun(async () => {
      api.signal('SIGKILL')
      await api.exit
      for (const line of api.output().split('\n')) stage.logged(line)
    })
    return api
  }
}

/** Sends half a request before the API gets SIGTERM and the other half after it. The API must answer the request. */
const playDrain = async (api: ApiProcess, {org, session}: Org, stage: Stage) => {
  const body = '{"name": "slow"}'
  const half = openHalfRequest(api.url)
  half.send(`POST /orgs/${org}/tokens HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${session}\r\ncontent-type: application/json\r\n`)
  half.send(`content-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`)
  // A request on another connection proves that the first half has arrived.
  await openCalls(api.url)(null)('GET', '/robots.txt')
  const began = performance.now()
  api.signal('SIGTERM')
  stage.did('drains')
  await api.hears('"draining"')
  const late = await openCalls(api.url)(null)('GET', '/robots.txt').catch(() => null)
  half.send(body.slice(5))
  const {status} = readAnswer(await half.answer)
  const code = await api.exit
  stage.figure('ms until it had left', Math.round(performance.now() - began), {most: drainWithinMs})
  stage.expect(status === 201, `what was under way was answered ${status}`)
  stage.expect(late === null, 'somebody new was let in by an API that drains')
  stage.expect(code === 0, `the API left with ${code}`)
}
