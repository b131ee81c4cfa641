import type {Deployment, Options, StartedParts} from '../support/deployment.ts'
import {openDeployment} from '../support/deployment.ts'
import {addAll, type Errors, NO_ERRORS, type Verdict} from './judge.ts'
import {openRandom, type Random} from './random.ts'
import {findSecrets} from './secrets.ts'

/** One scenario of the fault matrix. */
export type Scenario = {
  row: string
  /** The fault, in a few words. */
  fault: string
  /** What must hold, in a few words. */
  goal: string
  /** A program that must be on the PATH. Without it, the matrix leaves the scenario out and says so. */
  program?: string
  play(stage: Stage): Promise<void>
}

/** Options of the command line. `seeds` applies to R1 and R19 to R21, `rows` to R1 and R21, `points` to R1, and `cells` to R19 and R20. */
export type PlayScenarioInput = {seed: number; seeds: number; rows: number; points?: string[] | undefined; cells?: string[] | undefined}

/** What a scenario uses to act and to report. Its reports appear in the scenario's line of the table. */
export type Stage = {
  /** Random choices that are equal for equal seeds. */
  dice: Random
  asked: PlayScenarioInput
  /** Opens a separate deployment, which is stopped when the scenario ends. */
  open(options: Options): Promise<Deployment>
  /** Registers a function to call when the scenario ends. The last registered function is called first. */
  begun: StartedParts
  /** Counts a fault that was caused: `did('kills')`. A scenario that counts none proves nothing, and fails. */
  did(what: string, times?: number): void
  /** Reports a figure. A figure beyond its limit is a violation. */
  figure(name: string, value: number, limit?: {most: number} | {least: number}): void
  /** Reports a violation if `holds` is false: `expect(status === 503, 'the API answered 500 while Postgres was away')`. */
  expect(holds: boolean, otherwise: string): void
  /** Adds the verdict on one or several runs. */
  judged(...verdicts: Verdict[]): void
  /** Checks a log line of a process for secrets, and reports each as a violation. */
  logged(line: string): void
}

/** The result of a scenario. A scenario holds if `says` is empty. */
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

/** Runs a scenario and ends everything that it started. A scenario that does not end in time has failed. */
export const playScenario = async (scenario: Scenario, asked: PlayScenarioInput, longestSeconds: number): Promise<Played> => {
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

const openStage = ({row}: Scenario, asked: PlayScenarioInput, begun: StartedParts) => {
  const told = {
    runs: 0,
    did: {} as Record<string, number>,
    figures: {} as Record<string, number>,
    errors: NO_ERRORS,
    says: [] as string[],
  }
  const expect: Stage['expect'] = (holds, otherwise) => void (holds || told.says.push(otherwise))
  const stage: Stage = {
    dice: openRandom(asked.seed),
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
