import {setTimeout as sleep} from 'node:timers/promises'
import type {Deployment} from '../deployment.ts'
import {type Org, ok, openOrg, readLog} from '../importing.ts'
import {prepareFiles} from '../linking.ts'
import {type Case, layCase} from './cases.ts'
import {openDice} from './dice.ts'
import {type Ended, ERRORS, type Errors, judge} from './judge.ts'
import {breakStorage} from './storage.ts'
import {type Done, openViolence} from './violence.ts'
import {layFaults} from './wire-faults.ts'

/** A run that has not ended by then never will. */
const longestSeconds = 90

export type Told = {seed: number; name: string; rows: number; errors: Errors; says: string[]; seconds: number; done: Done}

/** Leases are short, and so is the patience with the CRM: a seed is over in seconds. */
export const environment = {LEASE_SECONDS: '1', CRM_TIMEOUT_SECONDS: '0.5', CRM_SLOTS: '5', RATE_PER_ADDRESS: '0', RATE_PER_BEARER: '0'}

/** What all seeds share: an org connected to the stand-in, and a clock that is moved where a run waits for it. */
export type Ground = {here: Deployment; org: Org; pass(seconds: number): Promise<void>}

export const openGround = async (here: Deployment): Promise<Ground> => {
  const org = await openOrg(here)
  let passed = 0
  const pass = async (seconds: number) => {
    passed += seconds
    here.crm.clock.advance(seconds * 1_000)
    await here.ahead(`${passed} seconds`)
  }
  return {here, org, pass}
}

/** `points`: where workers die or fall asleep, in the place of all that the seed would do to them. */
type Asked = {rows: number; points?: string[] | undefined}

/** One import under faults of every kind: two workers that die, sleep and are cut off, and a CRM that fails on every call. */
export const runSeed = async (ground: Ground, seed: number, {rows: count, points}: Asked): Promise<Told> => {
  const {here, org} = ground
  const began = performance.now()
  const dice = openDice(seed)
  const laid = layCase(seed, dice, count)
  here.crm.clear()
  const known = new Set(laid.before.flatMap(({module, records}) => create(here, module, records)))
  const {path, ids} = await prepareFiles(org, laid.files, laid.flows)
  here.crm.setSwitches({latencyMs: dice.between(20, 100)})
  for (const fault of layFaults(dice, {parts: laid.parts, timeoutMs: here.config.CRM_TIMEOUT_SECONDS * 1_000})) here.crm.faults.add(fault)
  const violence = await openViolence(here, dice, points)
  const over = new AbortController()
  try {
    const {run} = await ok(org.call('POST', `${path}/runs`, laid.start), 202)
    const mend = dice.chance(0.3) ? await breakStorage(here, {org: org.org, run: run.id}) : null
    const raging = violence.rage(over.signal)
    const ended = await untilOver(ground, `${path}/runs/${run.id}`).finally(() => over.abort())
    await raging
    const of = {path, ids, laid, run: ended}
    const verdicts = [await judge(here, {laid, known, ended: await tell(org, of)})]
    if (mend) {
      await mend()
      verdicts.push(await judge(here, {laid, known, ended: await tell(org, of)}))
    }
    const errors = addAll(verdicts.map(({errors}) => errors))
    errors.meterErrors += violence.meterAlarms()
    const rows = laid.parts.reduce((sum, {tags}) => sum + tags.length, 0)
    return {seed, name: laid.name, rows, errors, says: verdicts.flatMap(({says}) => says), ...since(began), done: violence.done}
  } finally {
    over.abort()
    await violence.end()
    here.crm.faults.clear()
    here.crm.setSwitches({latencyMs: 0})
  }
}

export const addAll = (all: Errors[]): Errors =>
  Object.fromEntries(ERRORS.map(kind => [kind, all.reduce((sum, errors) => sum + errors[kind], 0)])) as Errors

const since = (began: number) => ({seconds: (performance.now() - began) / 1_000})

const create = ({crm}: Deployment, module: string, records: Record<string, unknown>[]): string[] =>
  crm.create('example', module, records, {as: 'ben@example.org'}).map(entry => String((entry as any).details?.id))

/** A run that lies down for a while is not waited for: the time is moved. */
const untilOver = async ({org, pass}: Ground, path: string) => {
  for (const deadline = performance.now() + longestSeconds * 1_000; ; await sleep(50)) {
    const {status, body, text} = await org.call('GET', path)
    if (status === 200 && body.run.state === 'ended') return body.run
    if (status === 200 && body.run.state === 'paused') await pass(61)
    if (![200, 503].includes(status) || performance.now() > deadline)
      throw new Error(`The run did not end within ${longestSeconds} s: ${status} ${text}`)
  }
}

const tell = async (
  org: Org,
  {path, ids, laid, run}: {path: string; ids: Record<string, string>; laid: Case; run: any},
): Promise<Ended> => {
  const results: Record<string, string> = {}
  for (const {source} of laid.parts) {
    const answer = await org.call('GET', `${path}/results.csv?run=${run.id}&source=${ids[source]}`)
    if (answer.status !== 200) throw new Error(`No results: ${answer.status} ${answer.text}`)
    results[source] = answer.text
  }
  return {run, log: await readLog(org.call, `${path}/runs/${run.id}`), results}
}
