import type {ModuleSource} from './module-source.ts'
import type {Position} from './position.ts'

/** A library in messages between a sandbox and its thread. */
export type CompiledLibrary = ModuleSource & {namespace: string}

/**
 * A program as sent to the thread. `value` is the field whose cell the expression sees as `value`. `fields` has all fields that are read,
 * or null for whole rows.
 */
export type SandboxProgram = {
  expressions: {source: string; value: string | null}[]
  fields: string[] | null
  libraries: CompiledLibrary[]
  context: string | undefined
}

/** An expression that the parser accepts but QuickJS does not compile. */
export type RefusedProgram = {index: number; message: string} & NullablePosition
export type NullablePosition = Position | {line: null; column: null}

/**
 * The header of a transfer. `alone`: the transfer has only one row. Each expression is then noted before it runs, so that a fault names the
 * expression.
 */
export type ProgramHead = {first: number; width: number; numbers: readonly number[]; clock: number; seed: string; alone: boolean}

export type Example = {name: string; arguments: string}

export type Request =
  | {kind: 'define'; program: SandboxProgram}
  | {kind: 'run'; rows: string; head: ProgramHead}
  | {kind: 'check'; library: CompiledLibrary; examples: Example[]}

export type FaultCode = 'EXPRESSION_TIMEOUT' | 'EXPRESSION_MEMORY' | 'EXPRESSION_STACK' | 'SANDBOX_UNAVAILABLE'

/**
 * An error that destroys the runtime. `row` and `expression` are the position, -1 if unknown. `certain`: the row itself is the likely cause, so
 * it is not tried again. `after` is the time in milliseconds for which the row had been running.
 */
export type Fault = {fault: FaultCode; row: number; expression: number; certain: boolean; after: number}

/**
 * The result of loading a library. If QuickJS does not load it, `refused` has the error. Otherwise `kinds` has the kinds of its exports and
 * `results` the result of each example, as JSON. Examples that did not begin within their total time have no result.
 */
export type CheckedLibrary = {kinds: string; results: string[]; refused: {message: string; stack: string} | null}

export type SandboxAnswers = {define: RefusedProgram[]; run: string; check: CheckedLibrary}
export type SandboxAnswer = {answer: SandboxAnswers[keyof SandboxAnswers]} | Fault

/**
 * Layout of an array that the sandbox thread shares with its caller. The array shows the caller how long a row has been running, even if the
 * thread cannot answer. `since` is the start in milliseconds of `process.hrtime`, a clock common to all threads; 0 means idle. `row` and
 * `expression` are the numbers of the current row and expression.
 */
export const WATCH = {since: 0, row: 1, expression: 2, length: 3} as const

export const monotonicMilliseconds = () => Number(process.hrtime.bigint() / 1000n) / 1000
