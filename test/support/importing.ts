import {setTimeout as sleep} from 'node:timers/promises'
import type {Call, HttpAnswer} from './client.ts'
import type {TestDeployment} from './test-deployment.ts'

/** Creates an org with a session, a connection and a discovery. */
export const openOrg = async (world: TestDeployment, user = 'ana@example.org') => {
  const session = await world.signIn(user)
  const call = world.as(session)
  const org = (await call('GET', '/auth/me')).body.org.id as string
  const connector = await world.connect(session, {user})
  await ok(call('POST', `/orgs/${org}/discovery/run`, {connectorId: connector}, {prefer: 'wait=30'}), 200)
  return {call, org, connector, session}
}
export type Org = Awaited<ReturnType<typeof openOrg>>

export const ok = async (answering: Promise<HttpAnswer>, status: number) => {
  const answer = await answering
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text}`)
  return answer.body
}

type PrepareImportOptions = {csv: string; flow: object | object[]; start?: object}

/** Creates an import of one file with one flow or several. Their ids are `f`, `f2`, `f3` … */
export const prepareImport = async ({call, org, connector}: Org, {csv, flow}: Omit<PrepareImportOptions, 'start'>) => {
  const {import: made} = await ok(call('POST', `/orgs/${org}/imports`, {name: 'Test', connectorId: connector}), 201)
  const path = `/orgs/${org}/imports/${made.id}`
  const {source} = await ok(call('POST', `${path}/sources?name=test.csv`, csv, {'content-type': 'text/csv'}), 201)
  const flows = [flow].flat().map((one, at) => ({id: at === 0 ? 'f' : `f${at + 1}`, sourceId: source.id, ...one}))
  await ok(call('PUT', `${path}/flows`, flows), 200)
  return {path, source}
}

export const runImport = async (org: Org, {csv, flow, start = {}}: PrepareImportOptions) => {
  const {path, source} = await prepareImport(org, {csv, flow})
  const {run} = await ok(org.call('POST', `${path}/runs`, start), 202)
  return {path, source, run: await untilEnded(org.call, `${path}/runs/${run.id}`)}
}

/** Undoes a run. Returns the run of the undo, as it ended, and its log. */
export const undoRun = async ({call}: Org, {path, run}: {path: string; run: {id: string}}, body: object = {}) => {
  const begun = await ok(call('POST', `${path}/runs/${run.id}/undo`, body), 202)
  const ended = await untilEnded(call, `${path}/runs/${begun.run.id}`)
  return {path, run: ended, log: await readLog(call, `${path}/runs/${ended.id}`)}
}

/** Polls the run until it has ended, at most `seconds`. Continues after a 503, because the database may be briefly unavailable. */
export const untilEnded = (call: Call, path: string, seconds = 180) => untilRun(call, path, run => run.state === 'ended', seconds)

export const untilRun = async (call: Call, path: string, is: (run: any) => boolean, seconds = 180) => {
  for (const deadline = Date.now() + seconds * 1000; ; ) {
    const answer = await call('GET', path)
    if (answer.status === 200 && is(answer.body.run)) return answer.body.run
    if ((answer.status !== 200 && answer.status !== 503) || Date.now() > deadline)
      throw new Error(`The run did not come so far in ${seconds} s: ${answer.text}`)
    await sleep(50)
  }
}

export const readLog = async (call: Call, path: string, limit = 1000) => {
  const records: any[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: any = await ok(call('GET', `${path}/records?limit=${limit}${cursor && `&cursor=${cursor}`}`), 200)
    records.push(...page.records)
    cursor = page.nextCursor
  }
  return records
}

export const accounts = {
  module: 'Accounts',
  match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'name'},
    {field: 'Account_Number', mode: 'column', source: 'number'},
    {field: 'Billing_City', mode: 'column', source: 'city'},
  ],
}

/** A flow that deletes the companies whose numbers are in the file. */
export const deletion = {
  module: 'Accounts',
  action: 'delete',
  match: {by: ['Account_Number']},
  fields: [{field: 'Account_Number', mode: 'column', source: 'number'}],
}

/** A flow of leads with a number field, so that a file can have values that the field refuses. */
export const leads = {
  module: 'Leads',
  fields: [
    {field: 'Last_Name', mode: 'column', source: 'name'},
    {field: 'Company', mode: 'column', source: 'company'},
    {field: 'Email', mode: 'column', source: 'mail'},
    {field: 'No_of_Employees', mode: 'column', source: 'staff'},
  ],
}

export const accountRows = (count: number, prefix = 'A-') =>
  `name,number,city\n${Array.from({length: count}, (_, n) => `Company ${n + 1},${prefix}${n + 1},Town ${n % 7}`).join('\n')}\n`
