import type {ChildProcess} from 'node:child_process'
import test, {type ExecutionContext} from 'ava'
import {nextAfter} from '../../shared/schedules/cron.ts'
import {type Org, ok, openOrg} from '../support/importing.ts'
import {type FileHost, listFirings, makeTemplate, startFileHost} from '../support/schedules.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'
import {endWorker, startWorker} from '../support/worker-process.ts'

const [hourMs, dayMs] = [3_600_000, 86_400_000]
const berlin = {timezone: 'Europe/Berlin'}

let house: TestDeployment
let host: FileHost
let org: Org
let clocks: ChildProcess[] = []

test.before(async t => {
  host = await startFileHost()
  house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'schedules'], environment: {PRIVATE_HOSTS: host.place}})
  const made = await openOrg(house)
  // A session would expire within the months of this test.
  const {secret} = await ok(made.call('POST', `/orgs/${made.org}/tokens`, {name: 'months ahead'}), 201)
  org = {...made, call: house.as(secret)}
})
test.after.always(async () => {
  await Promise.all(clocks.map(endWorker))
  await host.stop()
})

const startClocks = () => {
  clocks = Array.from({length: 3}, () => startWorker(house.config, {}, ['clock']))
}
/** Ends all clock processes at once. */
const killClocks = () => Promise.all(clocks.map(endWorker))

/** Returns the next change between standard and summer time after `from`, to the minute. */
const changeAfter = (from: number): number => {
  const shown = new Intl.DateTimeFormat('en', {timeZone: berlin.timezone, timeZoneName: 'longOffset', hour: '2-digit'})
  const offsetAt = (at: number) => shown.formatToParts(at).find(({type}) => type === 'timeZoneName')!.value
  let at = Math.ceil(from / dayMs) * dayMs
  while (offsetAt(at) === offsetAt(at + dayMs)) at += dayMs
  while (offsetAt(at) === offsetAt(at + 60_000)) at += 60_000
  return at + 60_000
}

/** Sets the time of every process of this deployment. */
const setClock = (at: number) => house.ahead(`${at - Date.now()} milliseconds`)

/** Serves two new rows in each answer. The returned function counts the answers. */
const serveNewRows = () => {
  let served = 0
  host.answer(response => {
    served++
    response.end(`name,number,city\nOne,S${served}-1,A\nTwo,S${served}-2,B\n`)
  })
  return () => served
}

const make = async (template: string, name: string, cron: string) => {
  const {schedule} = await ok(org.call('POST', `${template}/schedules`, {name, cron, ...berlin, source: host.source}), 201)
  return {path: `${template}/schedules/${schedule.id}`, cron, ...berlin}
}
type MadeRun = Awaited<ReturnType<typeof make>>

/** Returns the due times of a schedule within this period by the cron library, whose own test covers every minute. */
const dueBetween = (schedule: MadeRun, from: number, to: number): string[] => {
  const due: string[] = []
  const end = new Date(to).toISOString()
  for (let at = nextAfter(schedule, new Date(from).toISOString()); at! <= end; at = nextAfter(schedule, at!)) due.push(at!)
  return due
}

const firedAt = async ({path}: MadeRun) => (await listFirings(org, path)).map(({dueAt}) => dueAt).sort()
const untilIdle = (all: MadeRun[], count: number) =>
  until(
    async () => (await Promise.all(all.map(({path}) => listFirings(org, path)))).flat(),
    firings => firings.length >= count && firings.every(({state}) => state === 'ended'),
    60,
  )

/**
 * Moves the time by three hours without clock processes, then starts them. Only the newest of the missed due times is fired. Returns that time.
 */
const surviveOutage = async (t: ExecutionContext, hourly: MadeRun, from: number): Promise<string> => {
  const before = (await listFirings(org, hourly.path)).length
  await killClocks()
  await setClock(from + 3 * hourMs)
  startClocks()
  await untilIdle([hourly], before + 1)
  const missed = dueBetween(hourly, from, from + 3 * hourMs)
  t.is(missed.length, 3)
  const [caughtUp] = await listFirings(org, hourly.path)
  t.like(caughtUp, {dueAt: missed.at(-1), missed: 2, by: 'clock'})
  return missed.at(-1)!
}

test('three clock processes fire every due time once across both changes of summer time, and once after an outage', async t => {
  const served = serveNewRows()
  const template = await makeTemplate(org)
  const spring = changeAfter(Date.now())
  const changes = [spring, changeAfter(spring + dayMs)]
  const all: {schedule: MadeRun; due: string[]}[] = []
  startClocks()

  for (const change of changes) {
    const begin = change - 1.1 * hourMs
    await setClock(begin)
    const daily = await make(template, 'In the hour that is left out, or comes twice', '30 2 * * *')
    const hourly = await make(template, 'Every hour', '0 * * * *')
    const end = change + 1.1 * hourMs
    const moments = [...new Set([daily, hourly].flatMap(schedule => dueBetween(schedule, begin, end)))].sort()
    let count = 0
    for (const moment of moments) {
      await setClock(Date.parse(moment))
      count += [daily, hourly].filter(schedule => dueBetween(schedule, begin, end).includes(moment)).length
      await untilIdle([daily, hourly], count)
    }
    await ok(org.call('PATCH', daily.path, {enabled: false}), 200)
    all.push({schedule: daily, due: dueBetween(daily, begin, end)})

    const made = {schedule: hourly, due: dueBetween(hourly, begin, end)}
    if (change === spring) made.due.push(await surviveOutage(t, hourly, end))
    await ok(org.call('PATCH', hourly.path, {enabled: false}), 200)
    all.push(made)
  }

  for (const {schedule, due} of all) t.deepEqual(await firedAt(schedule), due)
  t.deepEqual(
    all.map(({due}) => due.length),
    [1, 4, 1, 3],
  )
  const firings = (await Promise.all(all.map(({schedule}) => listFirings(org, schedule.path)))).flat()
  for (const firing of firings) t.like(firing, {outcome: 'done', counts: {rowsWritten: 2, modules: {Accounts: {created: 2, failed: 0}}}})
  t.is(new Set(firings.map(({runId}) => runId)).size, firings.length)
  t.is(served(), firings.length)
})
