import {fork} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import type {Config} from '../../../shared/config.ts'
import {traceparent} from '../../../shared/telemetry/tracing.ts'
import {findHead, recordCrash} from '../../../sql/run-heads.ts'
import type {Run} from '../../../sql/runs.ts'
import {hungAfter} from '../../watchdog.ts'
import type {EngineDeps, ExecuteOptions, RunState} from '../run.ts'

/** A run is stopped after this many crashes without a settled row or an orderly release in between. */
export const mostCrashes = 3

/**
 * The maximum number of takeovers with which a run still executes in the worker's own process. A settled row or an orderly release resets
 * the count.
 */
const mostSharedTakeovers = 1

const entry = fileURLToPath(new URL('../../isolated-run.ts', import.meta.url))

export type IsolatedRunInput = {config: Config; org: string; id: string; hungAfterSeconds: number; parent: string | undefined}
/** A child process that took the run and exits without a result has crashed. */
export type IsolatedRunResult = {state: RunState} | {error: string}
export type IsolatedRunMessage = 'taken' | IsolatedRunResult

type IsolationDeps = Pick<EngineDeps, 'config' | 'db'>

/**
 * The run in this worker's child process, or null. A worker has at most one child process, because each needs as much memory as a worker.
 * `handOver`: drains the child process, so that another worker takes its run and another run can use the child process.
 */
let current: {run: number; handOver(): void} | null = null

/** Whether the run's lease was taken at least twice since the last settled row or orderly release, for example after killed workers. */
export const needsIsolation = async ({db}: Pick<EngineDeps, 'db'>, run: number) =>
  ((await findHead(db, run))?.takeovers ?? 0) > mostSharedTakeovers

/**
 * Executes the run in a child process. If a child that took the run exits without a result, counts a crash and throws. If this process is
 * killed or drained, the child ends too, and no crash is counted. Returns `held` while another run uses the child process or another owner
 * has the lease, and `released` after a drain.
 */
export const executeIsolated = async (deps: IsolationDeps, run: Run, options: ExecuteOptions): Promise<RunState> => {
  if (current) {
    const {run, handOver} = current
    // If the other run no longer needs isolation, for example because it settled a row, its child process is drained. Another worker then
    // takes that run, and the next try of this run finds the child process free.
    if (!(await needsIsolation(deps, run))) handOver()
    return 'held'
  }
  const handingOver = new AbortController()
  current = {run: run.no, handOver: () => handingOver.abort()}
  try {
    return await executeInChild(deps, run, {...options, signal: AbortSignal.any([options.signal, handingOver.signal])})
  } finally {
    current = null
  }
}

const executeInChild = async ({config, db}: IsolationDeps, {no, org, id}: Run, {signal, log}: ExecuteOptions): Promise<RunState> => {
  const head = await findHead(db, no)
  // While another owner has the lease, a child process could not execute the run, and would keep other runs from this worker's only child process.
  if (!head || head.leaseLive) return 'held'
  if (signal.aborted) return 'released'
  const input: IsolatedRunInput = {config, org, id, hungAfterSeconds: hungAfter(), parent: traceparent()}
  const {isTaken, result, exitCode, exitSignal} = await runChild(input, signal)
  if (result && 'state' in result) return result.state
  if (result) throw new Error(result.error)
  if (signal.aborted) return 'released'
  const crashes = isTaken ? await recordCrash(db, no) : null
  log.error({run: id, exitCode, signal: exitSignal, crashes, mostCrashes}, 'the child process of the run exited without a result')
  throw new Error(`The child process of the run exited with ${exitSignal ?? `exit code ${exitCode}`}`)
}

/** Runs a child process and resolves when it has exited. After an abort, the child has `DRAIN_SECONDS` to exit and is then killed. */
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
    // If the message cannot be sent, the child has exited and `close` reports how.
    child.send(input, () => {})
    const [exitCode, exitSignal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    const result = messages.find(message => message !== 'taken')
    return {isTaken: messages.includes('taken'), result, exitCode, exitSignal}
  } finally {
    clearTimeout(deadline)
    signal.removeEventListener('abort', drain)
  }
}
