import {openLimiter} from '../concurrency/limiter.ts'
import type {Library} from './library.ts'
import {LIMITS} from './limits.ts'
import {type PackedRows, packRows} from './pack.ts'
import {type PreparedProgram, prepareProgram} from './program.ts'
import type {Fault, FaultCode, Request, SandboxAnswers} from './protocol.ts'
import {type SandboxThread, sandboxUnavailable, startThread} from './sandbox-thread.ts'
import {unpack} from './unpack.ts'

/** A JavaScript expression. `value` names the field whose cell the expression sees as `value`. */
export type ExpressionSource = string | {source: string; value: string}
export type ExpressionRow = Readonly<Record<string, unknown>>

export type EvaluationCode =
  | 'EXPRESSION_SYNTAX'
  | 'EXPRESSION_REFUSED'
  | 'EXPRESSION_THROWN'
  | 'EXPRESSION_VALUE'
  | 'EXPRESSION_TOO_LARGE'
  | FaultCode

/** The error of an expression. `line` and `column` count from 1 in its source; they are null if no position applies (time, memory). */
export type EvaluationError = {code: EvaluationCode; message: string; line: number | null; column: number | null}
export type ExpressionOutcome = {value: unknown} | {error: EvaluationError}

export type Batch<Name extends string = string> = {
  expressions: Readonly<Record<Name, ExpressionSource>>
  /** Plain JSON values; expressions see each whole row as `row`. */
  rows: readonly ExpressionRow[]
  /** The org's expression context: plain data, frozen inside the sandbox. */
  context?: unknown
  libraries?: readonly Library[]
  /** The time that `Date` returns, in milliseconds since 1970. */
  clock: number
  /** Together with the row's number, the seed determines `Math.random`, so that its values repeat in another process or batch. */
  seed: string
  numbers?: readonly number[]
  /**
   * Aborts the evaluation; `evaluate` then throws the signal's reason. The signal is checked before every transfer and, after a fault,
   * before every row of the transfer.
   */
  signal?: AbortSignal
}

/**
 * Evaluates expressions in one QuickJS thread, for one run or one caller of one org. Calls are queued. After a fault, the batch is repeated row by
 * row: only the failing row gets the error, but a row above its time limit takes twice the limit. Throws `SANDBOX_UNAVAILABLE` if no thread can
 * start, or the reason of the batch's signal. Close the sandbox after use; an idle sandbox does not keep the process alive.
 */
export type Sandbox = {
  evaluate<Name extends string>(batch: Batch<Name>): Promise<Record<Name, ExpressionOutcome>[]>
  /** Sends one request, such as the check of a library, to the thread. A dead thread is replaced first. */
  ask<Kind extends Request['kind']>(request: Extract<Request, {kind: Kind}>): Promise<{answer: SandboxAnswers[Kind]} | Fault>
  close(): Promise<void>
}

/**
 * `onFault`: called for every fault of the thread. A batch can have several: the fault of the transfer, and then one for each failed attempt at a
 * single row.
 */
type Options = {rowMilliseconds?: number; onFault?: (fault: Fault) => void}

export const openSandbox = (options: Options = {}): Sandbox => {
  const inside = openInside(options)
  const inTurn = openLimiter(1)
  let prepared: PreparedProgram | null = null
  return {
    evaluate: batch =>
      inTurn(async () => {
        prepared = prepareProgram(batch, prepared)
        return (await evaluateAll(inside, prepared, batch)) as Record<keyof typeof batch.expressions, ExpressionOutcome>[]
      }),
    ask: request =>
      inTurn(() => {
        inside.forget()
        return inside.ask(request)
      }),
    close: () => inTurn(inside.end),
  }
}

type Inside = ReturnType<typeof openInside>

/** Manages the thread of a sandbox: starts it on first use, replaces a dead one, and remembers the program that the thread has loaded. */
const openInside = ({rowMilliseconds = LIMITS.rowMilliseconds, onFault}: Options) => {
  let thread: SandboxThread | null = null
  let held: PreparedProgram | null = null

  const ask = async <Kind extends Request['kind']>(request: Extract<Request, {kind: Kind}>) => {
    if (!thread?.isAlive()) {
      thread = startThread(rowMilliseconds)
      held = null
    }
    const answered = await thread.ask<Kind>(request)
    if ('fault' in answered) {
      held = null
      onFault?.(answered)
    }
    return answered
  }

  /**
   * Loads the program unless the thread has it. After a fault, tries once more: with a new runtime of the thread, or with a new thread if the thread
   * died.
   */
  const hold = async (program: PreparedProgram) => {
    for (let attempt = 1; held !== program; attempt++) {
      const answered = await ask<'define'>({kind: 'define', program: program.program})
      if ('fault' in answered) {
        if (attempt === 2) throw sandboxUnavailable(thread?.failure())
        continue
      }
      program.refuse(answered.answer)
      held = program
    }
  }

  return {
    ask,
    hold,
    forget: () => (held = null),
    end: async () => thread?.end(),
  }
}

const evaluateAll = async (inside: Inside, prepared: PreparedProgram, batch: Batch) => {
  if (prepared.ran.length === 0) return batch.rows.map(() => ({...prepared.failed}))
  const outcomes: Record<string, ExpressionOutcome>[] = []
  for (const packed of packRows(prepared, batch)) {
    const answered = typeof packed === 'string' ? prepared.allFail({code: 'EXPRESSION_TOO_LARGE', message: packed}) : null
    if (answered) outcomes.push(answered)
    else outcomes.push(...(await cross(inside, prepared, batch, packed as PackedRows)))
  }
  return outcomes
}

/** Maximum number of attempts for a row whose fault is not certain. */
const MOST_ATTEMPTS = 3

/**
 * Evaluates the rows of one transfer. After a fault, evaluates them row by row. A row is tried again before it fails if other rows may have
 * used up its memory, or if it got no CPU time.
 */
const cross = async (
  inside: Inside,
  prepared: PreparedProgram,
  batch: Batch,
  packed: PackedRows,
): Promise<Record<string, ExpressionOutcome>[]> => {
  const {rows, width, numbers} = packed
  const alone = numbers.length === 1
  const outcomes: Record<string, ExpressionOutcome>[] = []
  for (let faults = 0; outcomes.length < numbers.length; ) {
    batch.signal?.throwIfAborted()
    await inside.hold(prepared)
    const head = {first: outcomes.length, width, numbers, clock: batch.clock, seed: batch.seed, alone}
    const answered = await inside.ask<'run'>({kind: 'run', rows, head})
    if (!('fault' in answered)) outcomes.push(...unpack(prepared, answered.answer))
    else if (!alone) return oneByOne(inside, prepared, batch, packed)
    else if (answered.certain || ++faults === MOST_ATTEMPTS) return [prepared.faulted(answered)]
  }
  return outcomes
}

const oneByOne = async (inside: Inside, prepared: PreparedProgram, batch: Batch, packed: PackedRows) => {
  const outcomes: Record<string, ExpressionOutcome>[] = []
  for (const one of packed.split()) outcomes.push(...(await cross(inside, prepared, batch, one)))
  return outcomes
}
