import {openCalls} from '../support/client.ts'
import {accounts, ok, prepareImport} from '../support/importing.ts'
import type {Here} from '../support/record-claims.ts'
import {type FileHost, listFirings, makeSchedule} from '../support/schedules.ts'
import {until} from '../support/until.ts'
import {openUpload, rowsOf} from '../support/uploads.ts'
import type {Stage} from './scenario.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

type MakeTokenInput = {here: Here; stage: Stage; nowMs: number}
/** `at`: URL of the API to call. `host`: a host that this API may fetch from. `aheadHours`: how far Postgres's clock is already advanced. */
type PlayExpiriesInput = {at: string; host: FileHost; aheadHours: number}

/** Checks that expiries and due times follow Postgres's clock, regardless of the clock of the process that reads them. */
export const playExpiries = async (stage: Stage, here: Here, {at, host, aheadHours}: PlayExpiriesInput) => {
  const {world} = here
  const place = {here, stage, nowMs: (await world.hot.query('select lading_now() as now')).rows[0].now.getTime()}
  const pass = (minutes: number) => world.ahead(`${aheadHours * 60 + minutes} minutes`)
  const token = await makeToken(place)
  const endUpload = await beginUpload(place)
  const fires = await makeDue(place, host)
  await pass(6)
  await fires()
  await pass(61)
  const {status, body} = await openCalls(at)(token)('GET', '/auth/me')
  stage.expect(body.code === 'TOKEN_EXPIRED', `a token that ended a minute ago is answered ${status}`)
  await endUpload()
  await pass(0)
}

/** Returns a token that expires in an hour. Checks that the API refuses a token that has already expired. */
const makeToken = async ({here: {org}, stage, nowMs}: MakeTokenInput): Promise<string> => {
  const make = (ms: number) => org.call('POST', `/orgs/${org.org}/tokens`, {name: 'ci', expiresAt: new Date(nowMs + ms).toISOString()})
  const late = await make(-minute)
  stage.expect(late.status === 400, `a token that would have ended a minute ago is answered ${late.status}`)
  return (await ok(make(hour), 201)).secret
}

/** Begins an upload and checks that it expires in a day. The returned function finishes the upload. */
const beginUpload = async ({here: {org}, stage, nowMs}: MakeTokenInput) => {
  const {path} = await prepareImport(org, {csv: 'name,number,city\na,b,c\n', flow: accounts})
  const {upload, sendRest, finish} = await openUpload(org.call, path, {bytes: rowsOf(2_000)})
  const lasts = Date.parse(upload.expiresAt) - nowMs
  stage.expect(Math.abs(lasts - day) < 5 * minute, `an upload lasts ${lasts / hour} hours`)
  return async () => {
    await sendRest()
    await ok(finish(), 201)
  }
}

/** Creates a schedule for every five minutes. The returned function waits for the first firing and deletes the schedule. */
const makeDue = async ({here: {org}, stage, nowMs}: MakeTokenInput, host: FileHost) => {
  const {schedule, path} = await makeSchedule(org, host, {cron: '*/5 * * * *'})
  const [{at: next}] = schedule.next
  const due = Date.parse(next) - nowMs
  stage.expect(due > -minute && due <= 6 * minute, `what is due every five minutes is due in ${due / minute}`)
  const before = await listFirings(org, path)
  stage.expect(due < 2_000 || before.length === 0, 'a schedule fired before its time')
  return async () => {
    const [first] = await until(
      () => listFirings(org, path),
      firings => firings.length > 0,
    )
    stage.expect(first.dueAt === next, `what was due at ${next} fired for ${first.dueAt}`)
    await org.call('DELETE', path)
  }
}
