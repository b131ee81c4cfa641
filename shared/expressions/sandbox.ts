import type {Library} from './library.ts'
import {LIMITS} from './limits.ts'
import {type Packed, packRows} from './pack.ts'
import {type PreparedProgram, prepareProgram} from './program.ts'
import type {Answers, Fault, FaultCode, Request} from './protocol.ts'
import {type SandboxThread, sandboxUnavailable, startThread} from './sandbox-thread.ts'
import {unpack} from './unpack.ts'

/** A JavaScript expression; `value` names the field whose cell it sees as `value`. */
export type ExpressionSource = string | {source: string; value: string}
export type Row = Readonly<Record<string, unknown>>

export type EvaluationCode =
  | 'EXPRESSION_SYNTAX'
  | 'EXPRESSION_REFUSED'
  | 'EXPRESSION_THROWN'
  | 'EXPRESSION_VALUE'
  | 'EXPRESSION_TOO_LARGE'
  | FaultCode

/** Line and column are of the expression's own source, from 1; null where no place is to blame (time, memory). */
export type EvaluationError = {code: EvaluationCode; message: string; line: number | null; column: number | null}
export type Outcome = {value: unknown} | {error: EvaluationError}

export type Batch<Name extends string = string> = {
  expressions: Readonly<Record<Name, ExpressionSource>>
  /** Plain JSON values; each row is seen whole as `row`. */
  rows: readonly Row[]
  /** The org's expression context: plain data, frozen inside. */
  context?: unknown
  libraries?: readonly Library[]
  /** What `Date` tells: milliseconds since 1970. */
  clock: number
  /** With a row's number it decides what `Math.random` gives: the same again in another process, another batch. */
  seed: string
  /** The rows' numbers in their file; their places in `rows` when not given. */
  numbers?: readonly number[]
  /** Heard before every crossing, and before every row of one that had a fault: `evaluate` then throws its reason. */
  signal?: AbortSignal
}

/**
 * A place where expressions run: one thread with one QuickJS, for one run (or one caller) of one org. Calls wait for one another. A
 * fault costs the runtime, never the process: the batch is then run again row by row, the guilty row gets its error and every other its
 * value. Throws only `SANDBOX_UNAVAILABLE`, when no thread can be had, and what the batch's signal is aborted with: rows that each take too
 * long take twice their limit each. Close it when done; left open and idle it keeps no process alive.
 */
export type Sandbox = {
  evaluate<Name extends string>(batch: Batch<Name>): Promise<Record<Name, Outcome>[]>
  /** One request to a fresh or a healthy thread; for checking libraries. */
  ask<Kind extends Request['kind']>(request: Extract<Request, {kind: Kind}>): Promise<{answer: Answers[Kind]} | Fault>
  close(): Promise<void>
}

/** `onFault` is told of every fault as it happens: a batch has one for the crossing, and one for the row when it is run again. */
type Options = {rowMilliseconds?: number; onFault?: (fault: Fault) => void}

export const openSandbox = (options: Options = {}): Sandbox => {
  const inside = openInside(options)
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
  let prepared: PreparedProgram | null = null
  return {
    evaluate: batch =>
      inTurn(async () => {
        prepared = prepareProgram(batch, prepared)
        return (await evaluateAll(inside, prepared, batch)) as Record<keyof typeof batch.expressions, Outcome>[]
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

/** The thread behind a sandbox, replaced when it died, and which program it holds. */
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

  /** Gives the program to a thread that does not hold it. A thread that cannot even do that is tried once more, afresh. */
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
  const outcomes: Record<string, Outcome>[] = []
  for (const packed of packRows(prepared, batch)) {
    const answered = typeof packed === 'string' ? prepared.allFail({code: 'EXPRESSION_TOO_LARGE', message: packed}) : null
    if (answered) outcomes.push(answered)
    else outcomes.push(...(await cross(inside, prepared, batch, packed as Packed)))
  }
  return outcomes
}

/** How often a row is tried of which nothing certain is known. */
const MOST_ATTEMPTS = 3

/**
 * One crossing's rows, in as many answers as they need; row by row after a fault. A row that ran out of a memory that others have used, or
 * was given no processor, is tried again before it is blamed.
 */
const cross = async (inside: Inside, prepared: PreparedProgram, batch: Batch, packed: Packed): Promise<Record<string, Outcome>[]> => {
  const {rows, width, numbers} = packed
  const alone = numbers.length === 1
  const outcomes: Record<string, Outcome>[] = []
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

const oneByOne = async (inside: Inside, prepared: PreparedProgram, batch: Batch, packed: Packed) => {
  const outcomes: Record<string, Outcome>[] = []
  for (const one of packed.split()) outcomes.push(...(await cross(inside, prepared, batch, one)))
  return outcomes
}
