import type {Begun, Deployment, Options} from '../deployment.ts'
import {openDeployment} from '../deployment.ts'
import {type Dice, openDice} from './dice.ts'
import {addAll, type Errors, NO_ERRORS, type Verdict} from './judge.ts'
import {findSecrets} from './secrets.ts'

/** One row of the fault matrix: what is broken, what must hold meanwhile and after, and how it is played. */
export type Scenario = {
  row: string
  /** What is broken, in a few words. */
  fault: string
  /** What must hold, in a few words. */
  goal: string
  play(stage: Stage): Promise<void>
}

/** What the command line may say of it. `seeds`, `rows` and `points` are of the rows that carry imports under seeds, `cells` of R19. */
export type Asked = {seed: number; seeds: number; rows: number; points?: string[] | undefined; cells?: string[] | undefined}

/** What a scenario has at hand. Whatever is told to it here is on its line of the table. */
export type Stage = {
  /** The same choices for the same seed. */
  dice: Dice
  asked: Asked
  /** A deployment of its own, ended with the scenario. */
  open(options: Options): Promise<Deployment>
  /** What else was begun, ended with it, the last first. */
  begun: Begun
  /** What was done to it: `did('kills')`. A scenario that did nothing has shown nothing, and fails. */
  did(what: string, times?: number): void
  /** A figure, and what it may be. */
  figure(name: string, value: number, limit?: {most: number} | {least: number}): void
  /** What must hold, said as what does not: `expect(status === 503, 'the API answered 500 while Postgres was away')`. */
  expect(holds: boolean, otherwise: string): void
  /** The verdict of the common oracle over a run, or several. */
  judged(...verdicts: Verdict[]): void
  /** What a process of it logs: no secret may be in it. Lines may be listened to besides. */
  logged(line: string): void
}

/** What became of a scenario. It holds when `says` is empty. */
export type Played = {
  row: string
  fault: string
  goal: string
  holds: boolean
  seconds: number
  runs: number
  did: Record<string, number>
  figures: Record<string, number>
  errors: Errors
  says: string[]
}

/** A scenario that does not come to its end has failed. */
export const playScenario = async (scenario: Scenario, asked: Asked, longestSeconds: number): Promise<Played> => {
  const began = performance.now()
  const ends: (() => Promise<unknown>)[] = []
  const {stage, told} = openStage(scenario, asked, end => ends.push(end))
  const says = told.says
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`It was not over after ${longestSeconds} s`)), longestSeconds * 1_000)
  try {
    await Promise.race([scenario.play(stage), late.promise])
    if (!Object.values(told.did).some(Boolean)) says.push('nothing was done to it')
  } catch (error) {
    says.push(nameError(error))
  } finally {
    clearTimeout(timer)
    for (const end of ends.toReversed()) await end().catch(error => says.push(`at its end: ${nameError(error)}`))
  }
  const {row, fault, goal} = scenario
  return {row, fault, goal, holds: says.length === 0, seconds: (performance.now() - began) / 1_000, ...told}
}

const openStage = ({row}: Scenario, asked: Asked, begun: Begun) => {
  const told = {
    runs: 0,
    did: {} as Record<string, number>,
    figures: {} as Record<string, number>,
    errors: NO_ERRORS,
    says: [] as string[],
  }
  const expect: Stage['expect'] = (holds, otherwise) => void (holds || told.says.push(otherwise))
  const stage: Stage = {
    dice: openDice(asked.seed),
    asked,
    begun,
    expect,
    open: options => openDeployment(`faults ${row}`, options, begun),
    did: (what, times = 1) => void (told.did[what] = (told.did[what] ?? 0) + times),
    figure(name, value, limit) {
      told.figures[name] = value
      if (!limit) return
      const holds = 'most' in limit ? value <= limit.most : value >= limit.least
      expect(holds, `${name} is ${value}, and may be ${'most' in limit ? `${limit.most} at most` : `${limit.least} at least`}`)
    },
    judged(...verdicts) {
      told.runs += verdicts.length
      told.errors = addAll([told.errors, ...verdicts.map(({errors}) => errors)])
      told.says.push(...verdicts.flatMap(({says}) => says))
    },
    logged(line) {
      for (const secret of findSecrets(line)) told.says.push(`a log has ${secret}: ${line.slice(0, 200)}`)
    },
  }
  return {stage, told}
}

const nameError = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error))
