import type {ModuleSource} from './module-source.ts'
import type {Position} from './position.ts'

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

/** `alone`: the transfer has only one row. Each expression is then recorded before it runs, so that a fault can name the expression. */
export type ProgramHead = {first: number; width: number; numbers: readonly number[]; clock: number; seed: string; alone: boolean}

export type Example = {name: string; arguments: string}

export type Request =
  | {kind: 'define'; program: SandboxProgram}
  | {kind: 'run'; rows: string; head: ProgramHead}
  | {kind: 'check'; library: CompiledLibrary; examples: Example[]}

export type FaultCode = 'EXPRESSION_TIMEOUT' | 'EXPRESSION_MEMORY' | 'EXPRESSION_STACK' | 'SANDBOX_UNAVAILABLE'

/**
 * An error that destroys the runtime. `row` and `expression`: the position, -1 if unknown. `certain`: the row is the likely cause, so the row is not
 * tried again. `after`: how long the row had run, in milliseconds.
 */
export type Fault = {fault: FaultCode; row: number; expression: number; certain: boolean; after: number}

/**
 * If QuickJS does not load the library, `refused` has the error. Otherwise `kinds` has the kinds of the exports and `results` the result of each
 * example, as JSON. Examples that did not begin within their total time have no result.
 */
export type CheckedLibrary = {kinds: string; results: string[]; refused: {message: string; stack: string} | null}

export type SandboxAnswers = {define: RefusedProgram[]; run: string; check: CheckedLibrary}
export type SandboxAnswer = {answer: SandboxAnswers[keyof SandboxAnswers]} | Fault

/**
 * Layout of an array that the sandbox thread shares with its caller, so that the caller sees how long a row has been running. `since`: the start in
 * milliseconds of `process.hrtime`, a clock common to all threads; 0 means idle. `row` and `expression`: the numbers of the current row and
 * expression.
 */
export const WATCH = {since: 0, row: 1, expression: 2, length: 3} as const

export const monotonicMilliseconds = () => Number(process.hrtime.bigint() / 1000n) / 1000
