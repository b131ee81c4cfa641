import {setTimeout as sleep} from 'node:timers/promises'
import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import type {Deployment} from '../support/deployment.ts'
import type {Org} from '../support/importing.ts'
import {until} from '../support/until.ts'
import type {Stage} from './scenario.ts'

type Answer = {status: number; ms: number; id: string | null}

/** A client that writes through the API continuously and records each answer. */
export type Probe = {
  answers: Answer[]
  /** Waits until the next write is acknowledged, and returns the time in ms. */
  recovers(): Promise<number>
  /** Stops the probe. Reports answers other than 201 and 503, answers slower than `longestMs`, and acknowledged writes that are missing. */
  end(here: Deployment, stage: Stage, limits: {longestMs: number}): Promise<void>
}

export const openProbe = ({call, org, connector}: Org, {everyMs = 50} = {}): Probe => {
  const answers: Answer[] = []
  const under = new Set<Promise<void>>()
  let over = false
  const ask = async () => {
    const began = performance.now()
    const made = await call('POST', `/orgs/${org}/imports`, {name: 'Probe', connectorId: connector}).catch(() => null)
    answers.push({status: made?.status ?? 0, ms: performance.now() - began, id: made?.status === 201 ? made.body.import.id : null})
  }
  const going = (async () => {
    while (!over) {
      const one: Promise<void> = ask().finally(() => under.delete(one))
      under.add(one)
      // Up to 40 requests are unanswered at once, as with many users.
      while (under.size >= 40) await Promise.race(under)
      await sleep(everyMs)
    }
  })()
  return {
    answers,
    async recovers() {
      const began = performance.now()
      const since = answers.length
      await until(() => answers.slice(since).some(({status}) => status === 201), Boolean)
      return performance.now() - began
    },
    async end(here, stage, {longestMs}) {
      over = true
      await going
      await Promise.all(under)
      const refused = answers.filter(({status}) => status === 503)
      const others = answers.filter(({status}) => status !== 201 && status !== 503)
      const kept = answers.flatMap(({id}) => id ?? [])
      stage.figure('writes acknowledged', kept.length, {least: 10})
      stage.figure('answered 503', refused.length)
      stage.figure('longest answer, ms', Math.round(Math.max(...answers.map(({ms}) => ms))), {most: longestMs})
      stage.expect(others.length === 0, `a write was answered ${[...new Set(others.map(({status}) => status))]}`)
      stage.figure('acknowledged writes lost', kept.length - (await countImports(here, kept)), {most: 0})
    },
  }
}

const countImports = ({db}: Deployment, ids: string[]) =>
  db.oneFirst(sql.type(z.object({count: z.number()}))`select count(*) from imports where id = any(${sql.array(ids, 'text')})`)
