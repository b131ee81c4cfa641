import {getCompileCacheDir} from 'node:module'
import {dirname} from 'node:path'
import {Worker} from 'node:worker_threads'
import {Refusal} from '../errors.ts'
import {builtinScripts} from './builtin.ts'
import {LIMITS} from './limits.ts'
import {type Answer, type Answers, type Fault, type FaultCode, monotonicMilliseconds, type Request, WATCH} from './protocol.ts'

/** A thread with a sandbox in it, seen from outside: asked one thing at a time, and ended when a row does not end. */
export type SandboxThread = ReturnType<typeof startThread>

/** Where ending is tried, as a part of twice the row's time: ending takes a few milliseconds itself. */
const HARD_LIMIT = 1.75

export const startThread = (milliseconds: number) => {
  const watch = new Float64Array(new SharedArrayBuffer(WATCH.length * 8))
  const worker = openWorker({watch, milliseconds, scripts: builtinScripts()})
  let isAlive = true
  /** A thread that fails says why by its `error`; `exit` follows, and that is what everything waits for. */
  let failure: unknown
  /** The request under way: answered by the thread, or by its end. */
  let onMessage = (_: Answer) => {}
  let onEnd = () => {}
  worker.on('error', error => (failure = error))
  worker.on('message', answer => onMessage(answer))
  const ended = new Promise<void>(resolve =>
    worker.once('exit', () => {
      isAlive = false
      onEnd()
      resolve()
    }),
  )

  const ask = async <Kind extends Request['kind']>(request: Extract<Request, {kind: Kind}>): Promise<{answer: Answers[Kind]} | Fault> => {
    const asked = monotonicMilliseconds()
    const spent = () => monotonicMilliseconds() - (watch[WATCH.since] || asked)
    if (!isAlive) return {fault: 'SANDBOX_UNAVAILABLE', row: -1, expression: -1, certain: true, after: 0}
    worker.ref()
    watch.fill(-1)
    watch[WATCH.since] = 0
    const {promise, resolve} = Promise.withResolvers<Answer>()
    const before = process.cpuUsage()
    const died = (fault: FaultCode, certain: boolean, after: number) => () =>
      resolve({fault, row: watch[WATCH.row]!, expression: watch[WATCH.expression]!, certain, after})
    onMessage = resolve
    onEnd = () => died('SANDBOX_UNAVAILABLE', true, spent())()
    worker.postMessage(request)
    const left = () => (watch[WATCH.since] || asked + LIMITS.startMilliseconds) + milliseconds * HARD_LIMIT - monotonicMilliseconds()
    const watchdog = watchOver(left, milliseconds / 4, () => {
      onEnd = died('EXPRESSION_TIMEOUT', hasWorked(before, milliseconds), spent())
      // What it still answers comes from a thread that is going: the next request must not go there.
      onMessage = () => {}
      void worker.terminate()
    })
    const answer = await promise
    watchdog.stop()
    worker.unref()
    return answer as {answer: Answers[Kind]} | Fault
  }

  return {
    ask,
    isAlive: () => isAlive,
    failure: () => failure,
    end: async () => {
      await worker.terminate()
      await ended
    },
  }
}

const openWorker = (workerData: object) => {
  try {
    const resourceLimits = {stackSizeMb: 4, maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8}
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {workerData, env: environment(), execArgv: [], resourceLimits})
    worker.unref()
    return worker
  } catch (cause) {
    throw sandboxUnavailable(cause)
  }
}

/** Nothing of ours, but the place where this process has what it compiled, if it has one: a thread starts in half the processor time. */
const environment = () => {
  const directory = getCompileCacheDir()
  return directory ? {NODE_COMPILE_CACHE: dirname(directory)} : {}
}

/** For callers: nothing was evaluated, and it is not their expression's fault. */
export const sandboxUnavailable = (cause?: unknown) =>
  Object.assign(new Refusal('SANDBOX_UNAVAILABLE', 'The sandbox for expressions did not answer; try again in a moment'), {cause})

/** Whether this whole process, and so perhaps the thread, had half a row's time of a processor: less, and the machine is to blame. */
const hasWorked = (before: NodeJS.CpuUsage, milliseconds: number) => {
  const {user, system} = process.cpuUsage(before)
  return (user + system) / 1000 > milliseconds / 2
}

/** Lateness of a timer that means nothing. */
const LATE_MILLISECONDS = 50

/**
 * Calls `expire` once nothing is left. Looks again meanwhile, since `left` shrinks when a row begins and grows with the next. Where this
 * thread itself stood still (a stopped process), the other did too, and that time is given back.
 */
const watchOver = (left: () => number, everyMilliseconds: number, expire: () => void) => {
  let timer: NodeJS.Timeout
  let due = monotonicMilliseconds()
  let stoodStill = 0
  const look = () => {
    const now = monotonicMilliseconds()
    if (now - due > LATE_MILLISECONDS) stoodStill += now - due
    const milliseconds = left() + stoodStill
    if (milliseconds <= 0) return expire()
    const wait = Math.min(Math.max(1, milliseconds), everyMilliseconds)
    due = now + wait
    timer = setTimeout(look, wait)
  }
  look()
  return {stop: () => clearTimeout(timer)}
}
