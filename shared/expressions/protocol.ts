import type {ModuleSource} from './module-source.ts'
import type {Position} from './position.ts'

/** What crosses between a sandbox and its thread. */
export type CompiledLibrary = ModuleSource & {namespace: string}

/** `value` is the field whose cell is the expression's `value`; `fields` are all that are read, or null for whole rows. */
export type Program = {
  expressions: {source: string; value: string | null}[]
  fields: string[] | null
  libraries: CompiledLibrary[]
  context: string | undefined
}

/** An expression the parser let pass and QuickJS does not compile. */
export type Refused = {index: number; message: string} & NullablePosition
export type NullablePosition = Position | {line: null; column: null}

/** `alone`: each expression is announced, so that a thread that must be ended leaves the name of the one that did it. */
export type Head = {first: number; width: number; numbers: readonly number[]; clock: number; seed: string; alone: boolean}

export type Example = {name: string; arguments: string}

export type Request =
  | {kind: 'define'; program: Program}
  | {kind: 'run'; rows: string; head: Head}
  | {kind: 'check'; library: CompiledLibrary; examples: Example[]}

export type FaultCode = 'EXPRESSION_TIMEOUT' | 'EXPRESSION_MEMORY' | 'EXPRESSION_STACK' | 'SANDBOX_UNAVAILABLE'

/**
 * A fault costs the runtime; `row` and `expression` say how far it was, -1 where that is not known. `certain`: neither
 * what earlier rows left behind nor a machine that gave it no time can be to blame. `after`: the milliseconds the row had been running when it was ended.
 */
export type Fault = {fault: FaultCode; row: number; expression: number; certain: boolean; after: number}

/** `refused` when QuickJS does not load it; else what its exports are, and each example's result, as JSON. */
export type Checked = {kinds: string; results: string[]; refused: {message: string; stack: string} | null}

export type Answers = {define: Refused[]; run: string; check: Checked}
export type Answer = {answer: Answers[keyof Answers]} | Fault

/**
 * One array both threads see, so that the outside knows how long the row inside has been running even when the thread cannot answer:
 * the milliseconds (of `process.hrtime`, one clock for all threads) at which it began, 0 when idle; its number; its expression.
 */
export const WATCH = {since: 0, row: 1, expression: 2, length: 3} as const

export const monotonicMilliseconds = () => Number(process.hrtime.bigint() / 1000n) / 1000
