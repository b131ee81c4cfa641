import {openCalls} from '../client.ts'
import {accounts, ok, prepareImport} from '../importing.ts'
import {listFirings, makeSchedule, startFileHost} from '../scheduling.ts'
import type {Here} from '../taking.ts'
import {until} from '../until.ts'
import {openUpload, rowsOf} from '../uploading.ts'
import type {Stage} from './scenario.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

type Place = {here: Here; stage: Stage; nowMs: number}
/** `at`: the API that is asked. `aheadHours`: how far Postgres's clock is moved already. */
type Asked = {at: string; aheadHours: number}

/**
 * What ends or comes due at a time goes by Postgres's clock, whatever that of the process that is asked or that looks after it.
 */
export const playExpiries = async (stage: Stage, here: Here, {at, aheadHours}: Asked) => {
  const {world} = here
  const place = {here, stage, nowMs: (await world.hot.query('select lading_now() as now')).rows[0].now.getTime()}
  const pass = (minutes: number) => world.ahead(`${aheadHours * 60 + minutes} minutes`)
  const token = await makeToken(place)
  const endUpload = await beginUpload(place)
  const fires = await makeDue(place)
  await pass(6)
  await fires()
  await pass(61)
  const {status, body} = await openCalls(at)(token)('GET', '/auth/me')
  stage.expect(body.code === 'TOKEN_EXPIRED', `a token that ended a minute ago is answered ${status}`)
  await endUpload()
  await pass(0)
}

/** Answers the bearer of one that ends in an hour. */
const makeToken = async ({here: {org}, stage, nowMs}: Place): Promise<string> => {
  const make = (ms: number) => org.call('POST', `/orgs/${org.org}/tokens`, {name: 'ci', expiresAt: new Date(nowMs + ms).toISOString()})
  const late = await make(-minute)
  stage.expect(late.status === 400, `a token that would have ended a minute ago is answered ${late.status}`)
  return (await ok(make(hour), 201)).secret
}

/** An upload lasts a day from its last part. */
const beginUpload = async ({here: {org}, stage, nowMs}: Place) => {
  const {path} = await prepareImport(org, {csv: 'name,number,city\na,b,c\n', flow: accounts})
  const {upload, sendRest, finish} = await openUpload(org.call, path, {bytes: rowsOf(2_000)})
  const lasts = Date.parse(upload.expiresAt) - nowMs
  stage.expect(Math.abs(lasts - day) < 5 * minute, `an upload lasts ${lasts / hour} hours`)
  return async () => {
    await sendRest()
    await ok(finish(), 201)
  }
}

/** A schedule of every five minutes; answers what waits for its first time. */
const makeDue = async ({here: {org}, stage, nowMs}: Place) => {
  const host = await startFileHost()
  stage.begun(host.stop)
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
