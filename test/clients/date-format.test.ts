import {EventEmitter} from 'node:events'
import test from 'ava'
import {describeForecast} from '../../api/clients/cli/forecast.ts'
import {openOutput} from '../../api/clients/cli/output.ts'
import {writeDay} from '../../api/clients/date-text.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

test('a day is written in the date format of the org', t => {
  const moment = new Date('2026-03-05T23:30:00.000Z')
  const cases = {'yyyy-MM-dd': '2026-03-05', 'dd.MM.yyyy': '05.03.2026', 'd.M.yy': '5.3.26', 'MM/DD/YYYY': '03/05/2026', 'D M YY': '5 3 26'}
  for (const [format, text] of Object.entries(cases)) t.is(writeDay(moment, format, 'UTC'), text)
  t.is(writeDay(moment, 'dd.MM.yyyy', 'Europe/Berlin'), '06.03.2026')
})

test('a terminal shows times in the date format of the org, and other outputs show full timestamps', t => {
  const stream = (isTTY: boolean) => Object.assign(new EventEmitter(), {isTTY, columns: 80}) as unknown as NodeJS.WriteStream
  const moment = '2026-03-05T11:30:00.000Z'
  const terminal = openOutput(false, {out: stream(true), err: stream(true), columns: 80})
  t.is(terminal.time(moment, 'UTC'), '2026-03-05 11:30')
  terminal.useDateFormat('dd.MM.yyyy')
  t.is(terminal.time(moment, 'UTC'), '05.03.2026 11:30')
  const [count, seconds] = [
    {min: 9, max: 9},
    {p50: 1, p95: 2},
  ]
  const forecast = {credits: count, seconds, finishesAt: moment, pausesAtRow: 5, quota: {remaining: 5}, basis: 'file'}
  t.regex(describeForecast(forecast, terminal).at(-1)!, /^It ends about 05\.03\.2026 /)
  t.is(openOutput(false, {out: stream(false), err: stream(false), columns: 80}).time(moment, 'UTC'), moment)
})

test('clients read the date format of the org with the current user', async t => {
  const {token} = await house.makeOrg()
  const call = house.as(token)
  const {org} = (await call('GET', '/auth/me')).body
  t.is(org.dateFormat, 'yyyy-MM-dd')
  t.is((await call('PATCH', `/orgs/${org.id}/config/settings`, {dateFormat: 'dd.MM.yyyy'})).status, 200)
  t.is((await call('GET', '/auth/me')).body.org.dateFormat, 'dd.MM.yyyy')
})
