import {openCrm} from '../../shared/crm/crm.ts'
import {openBudget} from '../../shared/crm/limits/budget.ts'
import {until} from '../support/until.ts'
import {carryCase, environment, type Ground, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import type {Scenario, Stage} from './scenario.ts'

const rows = 400
const minutesSpent = 6
const [deaths, mintsInTenMinutes] = [4, 10]
const [adapters, callsEach] = [3, 10]
const always = 1_000_000

/** Checks rate limits, the quota and renewals of tokens. `test/shared/crm/outcome.test.ts` covers the `crm.*` fields of each answer. */
export const throttles: Scenario = {
  row: 'R7',
  fault: 'the CRM rate-limits, its daily quota is exhausted, and access tokens expire faster than renewals are allowed',
  goal: 'one call a minute while exhausted, none exhausted without the header; at most ten renewals in ten minutes, one at a time',
  async play(stage) {
    const ground = await openGround(await stage.open({workers: ['discovery', 'imports'], environment}))
    await slowDown(stage, ground)
    await spendDay(stage, ground)
    await killTokens(stage, ground)
    await renewAtOnce(stage, ground)
  },
}

/** Answers 429 once without the quota header and once with credits left. Neither means an exhausted quota. */
const slowDown = async (stage: Stage, ground: Ground) => {
  const {crm, hot} = ground.here
  const prepared = await prepareCase(ground, writeCase(0, stage.dice, rows))
  crm.faults.add({match: {path: '/crm/v8/**', nth: 2}, times: 1, action: 'rateLimit'})
  crm.faults.add({match: {path: '/crm/v8/**', nth: 4}, times: 1, action: {type: 'rateLimit', credits: 3}})
  const carried = await carryCase(ground, prepared)
  stage.did('rate limits', used(ground))
  crm.faults.clear()
  const {rows: spent} = await hot.query('select from crm_allowances where spent_at is not null')
  stage.figure('days spent by a rate limit', spent.length, {most: 0})
  stage.judged(await carried.judge())
}

/** Exhausts the quota during a run, for six minutes of the advanced clock, and counts the calls to the CRM. */
const spendDay = async (stage: Stage, ground: Ground) => {
  const {crm} = ground.here
  const prepared = await prepareCase(ground, writeCase(2, stage.dice, rows))
  crm.faults.add({match: {path: '/crm/v8/**', nth: 3}, times: 1, action: {type: 'rateLimit', credits: 0}})
  crm.faults.add({match: {path: '/crm/v8/**', nth: 4}, times: always, action: {type: 'rateLimit', credits: 0}})
  const {faults} = crm
  let [minutes, counted] = [0, 0]
  const calls = () => crm.journal({path: '/crm/'}).length
  const pass = async (seconds: number) => {
    // Counts from the second minute on, when the calls that were in flight at the start are answered.
    if (minutes === 1) counted = calls()
    if (minutes === minutesSpent + 1) {
      stage.figure('calls a minute while spent', (calls() - counted) / minutesSpent, {most: 1})
      stage.figure('minutes it was asked again', calls() - counted, {least: 1})
      faults.clear()
    }
    minutes++
    return ground.pass(seconds)
  }
  const carried = await carryCase({...ground, pass}, prepared)
  stage.did('minutes without credits', minutes)
  stage.expect(carried.run.stop === null, `a run without credits was stopped: ${carried.run.stop?.stopped}`)
  crm.faults.clear()
  stage.judged(await carried.judge())
}

/** Uses up ten renewals by other processes, then lets the run's tokens expire. The run pauses until another renewal is allowed. */
const killTokens = async (stage: Stage, ground: Ground) => {
  const {here, org} = ground
  const {crm, hot} = here
  const prepared = await prepareCase(ground, writeCase(0, stage.dice, rows))
  await hot.query('delete from grant_mints')
  crm.clearJournal()
  for (let n = 0; n < mintsInTenMinutes; n++) {
    await hot.query('update grants set access_expires_at = lading_now()')
    const adapter = await openAdapter(ground)
    await adapter.connection.readRecord('Leads', '1')
    await adapter.close()
  }
  stage.did('renewals', renewals(ground))
  for (let n = 1; n <= deaths; n++) crm.faults.add({match: {path: '/crm/v8/**', nth: n}, times: 1, action: 'expireToken'})
  const lay = new Map<string, number>()
  const pass = async (seconds: number) => {
    const {rows: paused} = await hot.query(`select pause ->> 'code' as code from runs where state = 'paused'`)
    for (const {code} of paused) lay.set(code, (lay.get(code) ?? 0) + 1)
    return ground.pass(seconds)
  }
  const carried = await carryCase({here, org, pass}, prepared)
  stage.did('tokens that died', used(ground))
  crm.faults.clear()
  const {rows: busiest} = await hot.query(
    `select max(n)::int as n from (select count(*) over (partition by connector_id order by minted_at
       range between interval '599 seconds' preceding and current row) as n from grant_mints) m`,
  )
  stage.figure('renewals in any ten minutes', busiest[0].n, {most: mintsInTenMinutes})
  stage.figure(
    'minutes a run lay down for that',
    [...lay.values()].reduce((sum, n) => sum + n, 0),
    {least: 1},
  )
  stage.figure('renewals of it all', renewals(ground), {least: mintsInTenMinutes + 1})
  stage.expect(carried.run.stop === null, `a run that could get no token was stopped: ${carried.run.stop?.stopped}`)
  stage.judged(await carried.judge())
}

/** Opens a separate CRM client, as another process would. It shares only the database with other clients. */
const openAdapter = async ({here: {db, config, tools}, org}: Ground) => {
  const budget = openBudget(tools)
  const own = openCrm({db, config, log: tools.log, budget})
  const connection = await own.open(org.connector)
  const close = async () => {
    await own.close()
    await budget.close()
  }
  return {connection, close}
}

const renewals = ({here: {crm}}: Ground) => crm.journal({path: '/oauth/v2/token'}).length
const used = ({here: {crm}}: Ground) => crm.faults.list().reduce((sum, {used}) => sum + used, 0)

/** Lets the calls of three processes find an expired token at the same moment. One renewal must serve them all. */
const renewAtOnce = async (stage: Stage, ground: Ground) => {
  const {crm, hot} = ground.here
  await hot.query('delete from grant_mints')
  await hot.query('update grants set access_expires_at = lading_now()')
  crm.clearJournal()
  crm.faults.add({match: {path: '/oauth/v2/token'}, times: 1, action: 'hold'})
  const opened = await Promise.all(Array.from({length: adapters}, () => openAdapter(ground)))
  const calls = opened.flatMap(({connection}) => Array.from({length: callsEach}, () => connection.readRecord('Leads', '1')))
  await until(
    () => crm.held(),
    held => held > 0,
  )
  await new Promise(resolve => setTimeout(resolve, 1_000))
  stage.figure('renewals under way at once', crm.held(), {most: 1})
  crm.release()
  const settled = await Promise.allSettled(calls)
  stage.did('calls that found the token over', settled.length)
  const failed = settled.filter(({status}) => status === 'rejected')
  stage.expect(failed.length === 0, `${failed.length} of these calls failed: ${(failed[0] as PromiseRejectedResult)?.reason}`)
  stage.figure('renewals for all of them', crm.journal({path: '/oauth/v2/token'}).length, {most: 1})
  for (const {close} of opened) await close()
}
