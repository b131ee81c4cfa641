import {fork} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import type {Config} from '../../shared/config.ts'
import {traceparent} from '../../shared/tracing.ts'
import {findHead, recordCrash} from '../../sql/run-heads.ts'
import type {Run} from '../../sql/runs.ts'
import {hungAfter} from '../watchdog.ts'
import type {EngineTools, ExecuteOptions, RunState} from './run.ts'

/** Crashes without a settled row between them after which a run is stopped. */
export const mostCrashes = 3

/** Takeovers without a settled row between them after which a run executes in a child process. */
const mostSharedTakeovers = 1

const entry = fileURLToPath(new URL('../isolated-run.ts', import.meta.url))

/** What the child process is given, by a message. */
export type IsolatedRunInput = {config: Config; org: string; id: string; hungAfterSeconds: number; parent: string | undefined}
/** What it answers. A child process that took the run and ends without a result crashed. */
export type IsolatedRunResult = {state: RunState} | {error: string}
export type IsolatedRunMessage = 'taken' | IsolatedRunResult

type IsolationTools = Pick<EngineTools, 'config' | 'db'>

/** The run that this process executes in a child process: one at a time, because each takes as much memory as a worker. */
let current: {run: number; handOver(): void} | null = null

/** A run lost with two processes in a row before it settled a row. A restart cannot be told from a crash by that. */
export const needsIsolation = async ({db}: Pick<EngineTools, 'db'>, run: number) =>
  ((await findHead(db, run))?.takeovers ?? 0) > mostSharedTakeovers

/**
 * Executes the run in a child process. Only the death of the child counts as a crash of the run: when this process is killed or drained, the child
 * ends with it and nothing is counted. Answers `held` while another run has the child process.
 */
export const executeIsolated = async (tools: IsolationTools, run: Run, options: ExecuteOptions): Promise<RunState> => {
  if (current) {
    const {run, handOver} = current
    // A run that settled a row executes in any worker again, and this one has the next turn.
    if (!(await needsIsolation(tools, run))) handOver()
    return 'held'
  }
  const handingOver = new AbortController()
  current = {run: run.no, handOver: () => handingOver.abort()}
  try {
    return await executeInChild(tools, run, {...options, signal: AbortSignal.any([options.signal, handingOver.signal])})
  } finally {
    current = null
  }
}

const executeInChild = async ({config, db}: IsolationTools, {no, org, id}: Run, {signal, log}: ExecuteOptions): Promise<RunState> => {
  const head = await findHead(db, no)
  // A child process that cannot take the lease would only keep others waiting.
  if (!head || head.leaseLive) return 'held'
  if (signal.aborted) return 'released'
  const input: IsolatedRunInput = {config, org, id, hungAfterSeconds: hungAfter(), parent: traceparent()}
  const {isTaken, result, exitCode, exitSignal} = await runChild(input, signal)
  if (result && 'state' in result) return result.state
  if (result) throw new Error(result.error)
  if (signal.aborted) return 'released'
  const crashes = isTaken ? await recordCrash(db, no) : null
  log.error(
    {run: id, exitCode, signal: exitSignal, crashes, mostCrashes},
    'the child process that executed the run ended without an answer',
  )
  throw new Error(`The child process that executed the run ended with ${exitSignal ?? `exit code ${exitCode}`}`)
}

/** Ends with the child process. After an abort the child has as long as a drain takes. */
const runChild = async (input: IsolatedRunInput, signal: AbortSignal) => {
  const child = fork(entry, {stdio: ['ignore', 'inherit', 'inherit', 'ipc'], serialization: 'advanced'})
  const messages: IsolatedRunMessage[] = []
  let deadline: NodeJS.Timeout | undefined
  const drain = () => {
    child.kill('SIGTERM')
    deadline = setTimeout(() => child.kill('SIGKILL'), input.config.DRAIN_SECONDS * 1000)
  }
  child.on('message', message => messages.push(message as IsolatedRunMessage))
  signal.addEventListener('abort', drain, {once: true})
  try {
    // If the message cannot be sent, the child has ended: `close` tells how.
    child.send(input, () => {})
    const [exitCode, exitSignal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    const result = messages.find(message => message !== 'taken')
    return {isTaken: messages.includes('taken'), result, exitCode, exitSignal}
  } finally {
    clearTimeout(deadline)
    signal.removeEventListener('abort', drain)
  }
}
