import {parentPort, workerData} from 'node:worker_threads'
import type {Scripts} from './builtin.ts'
import {LIMITS} from './limits.ts'
import {type FaultCode, monotonicMilliseconds, type Request, type SandboxAnswer, WATCH} from './protocol.ts'
import {SandboxFault} from './quickjs.ts'
import {openRuntime, type Runtime} from './runtime.ts'

/** Entry point of a sandbox thread. The thread handles one request at a time and creates a new runtime after a fault. */
const {watch, milliseconds, scripts} = workerData as {watch: Float64Array; milliseconds: number; scripts: Scripts}
const port = parentPort!

/** Sets the local time zone, which QuickJS reads from this thread, to UTC, so that results do not depend on the machine. */
for (const part of ['Seconds', 'Minutes', 'Hours', 'Date', 'Month', 'FullYear', 'Day'] as const)
  Date.prototype[`get${part}`] = Date.prototype[`getUTC${part}`]
Date.prototype.getTimezoneOffset = () => 0

let deadline = 0
let spentBefore = process.threadCpuUsage()
const began = (row: number, expression: number) => {
  if (row !== watch[WATCH.row] || expression <= 0) allow(milliseconds)
  watch[WATCH.row] = row
  watch[WATCH.expression] = expression
}

/**
 * Gives the sandbox `time` ms from now. The caller ends the thread if more than the limit of a row has passed since `since`. So `since` is one row
 * limit before the deadline, because loading may take longer than a row.
 */
const allow = (time: number) => {
  deadline = monotonicMilliseconds() + time
  watch[WATCH.since] = deadline - milliseconds
  spentBefore = process.threadCpuUsage()
}

/**
 * A row is over only if this thread also used the CPU for more than half of a row's time limit. So a suspended process or an overloaded machine does
 * not end a row.
 */
const isOver = () => monotonicMilliseconds() > deadline && spentMilliseconds() > milliseconds / 2

const spentMilliseconds = () => {
  const {user, system} = process.threadCpuUsage(spentBefore)
  return (user + system) / 1000
}

let runtime: Runtime | null = null
let runs = 0

const perform = async (request: Request): Promise<SandboxAnswer> => {
  deadline = Infinity
  if (!runtime) {
    runtime = await openRuntime({began, isOver, scripts})
    runs = 0
  }
  if (request.kind === 'run') began(-1, -1)
  else allow(LIMITS.loadMilliseconds)
  if (request.kind === 'define') return {answer: runtime.define(request.program)}
  if (request.kind === 'check') return {answer: runtime.check(request.library, request.examples)}
  runs++
  return {answer: runtime.run(request.rows, request.head)}
}

/**
 * Returns whether the row itself caused the fault. This is certain in a new runtime, which has no leftovers of other rows. A row that used much CPU
 * time is also treated as the cause, because a retry would take as long again.
 */
const isCertain = () => runs <= 1 || spentMilliseconds() > milliseconds / 6

/** Answers a request. A failed runtime is not used again and not closed; its memory is dropped. */
const answer = async (request: Request): Promise<SandboxAnswer> => {
  try {
    return await perform(request)
  } catch (error) {
    runtime = null
    const after = monotonicMilliseconds() - watch[WATCH.since]!
    return {fault: codeOf(error), row: watch[WATCH.row]!, expression: watch[WATCH.expression]!, certain: isCertain(), after}
  }
}

const codeOf = (error: unknown): FaultCode => {
  if (error instanceof SandboxFault && error.message.startsWith('interrupted')) return 'EXPRESSION_TIMEOUT'
  if (error instanceof SandboxFault && error.message.startsWith('out of memory')) return 'EXPRESSION_MEMORY'
  if (error instanceof SandboxFault && error.message.startsWith('stack overflow')) return 'EXPRESSION_STACK'
  if (error instanceof RangeError) return 'EXPRESSION_STACK'
  return 'SANDBOX_UNAVAILABLE'
}

port.on('message', async (request: Request) => {
  const answered = await answer(request)
  watch[WATCH.since] = 0
  port.postMessage(answered)
})
